import Synchronization
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

/// Another form for keys that SQLite numbers: nothing else in the file changes.
struct KeyChangeTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
  }

  private func execute(_ statements: [String]) throws {
    try database.write(foreignKeys: .ignored) { transaction in
      for sql in statements { try transaction.connection.execute(sql) }
    }
  }

  private func rows(_ sql: String) throws -> [[FieldValue]] {
    try database.read { try $0.connection.rows(sql) }
  }

  private func text(_ sql: String) throws -> String? { try rows(sql).first?.first?.textValue }

  /// The entries of the schema but for those of SQLite, and the rows of each table with their rowids and types.
  private func contents() throws -> [String: [String]] {
    var contents: [String: [String]] = [:]
    for row in try rows(
      "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite@_%' ESCAPE '@'")
    {
      guard let name = row[1].textValue else { continue }
      contents["\(row[0].textValue ?? "") \(name)"] = [row[2].textValue ?? ""]
      guard row[0] == "table", row[2].textValue?.contains("VIRTUAL") == false else { continue }
      let hasRowid = try rows("SELECT wr FROM pragma_table_list('\(name)')") == [[0]]
      contents["rows of \(name)"] = try rows(
        "SELECT \(hasRowid ? "rowid, " : "")* FROM \(name.sqlQuoted)"
      ).map { $0.map(exact).joined(separator: ", ") }.sorted()
    }
    return contents
  }

  /// Expects a refusal, after which the file is as it was.
  private func expectRefusal(
    _ tables: [String], _ form: KeyForm, _ words: String,
    location: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try contents()
    let error = await #expect(throws: DatabaseError.self, sourceLocation: location) {
      _ = try await database.rekey(tables, form)
    }
    #expect(
      error?.message.contains(words) == true, "\(error?.message ?? "")", sourceLocation: location)
    #expect(try contents() == before, sourceLocation: location)
  }

  // MARK: AUTOINCREMENT

  @Test(
    "AUTOINCREMENT is added where the declaration has its key, and nothing else changes",
    arguments: [
      ("id INTEGER PRIMARY KEY, v UNIQUE", "id INTEGER PRIMARY KEY AUTOINCREMENT, v UNIQUE"),
      (
        "\"id\" integer NOT NULL PRIMARY KEY ASC ON CONFLICT REPLACE /* k */ CHECK (id > 0), v",
        "\"id\" integer NOT NULL PRIMARY KEY ASC ON CONFLICT REPLACE AUTOINCREMENT /* k */ CHECK (id > 0), v"
      ),
      (
        "v DEFAULT 'PRIMARY KEY', id INTEGER, CONSTRAINT k PRIMARY KEY (id DESC) ON CONFLICT ABORT",
        "v DEFAULT 'PRIMARY KEY', id INTEGER, CONSTRAINT k PRIMARY KEY (id DESC AUTOINCREMENT) ON CONFLICT ABORT"
      ),
      (
        "id INTEGER CONSTRAINT p PRIMARY KEY, v TEXT COLLATE NOCASE, n AS (id + 1) STORED, UNIQUE (v)",
        "id INTEGER CONSTRAINT p PRIMARY KEY AUTOINCREMENT, v TEXT COLLATE NOCASE, n AS (id + 1) STORED, UNIQUE (v)"
      ),
      (
        "id INTEGER PRIMARY KEY, v TEXT, up INTEGER REFERENCES t ON DELETE CASCADE) STRICT",
        "id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT, up INTEGER REFERENCES t ON DELETE CASCADE) STRICT"
      ),
    ])
  func autoincrement(former: String, later: String) async throws {
    try execute([
      "CREATE TABLE other (id INTEGER PRIMARY KEY AUTOINCREMENT, t REFERENCES t)",
      "CREATE TABLE t (\(former)\(former.hasSuffix("STRICT") ? "" : "\n)")",
      "CREATE INDEX i ON t (v DESC) WHERE v IS NOT NULL", "CREATE VIEW w AS SELECT id FROM t",
      "CREATE TRIGGER g AFTER DELETE ON t BEGIN DELETE FROM other WHERE t = old.id; END",
      "INSERT INTO t (id, v) VALUES (1, 'a'), (7, 'b'), (900, 'c')",
      "INSERT INTO other VALUES (4, 7), (5, 1000)", "DELETE FROM other WHERE id = 5",
    ])
    var expected = try contents()
    let change = try await database.rekey(["T"], .autoincrement)
    #expect(change.tables.map(\.name) == ["t"] && change.notes.isEmpty)
    let sql = try #require(try text("SELECT sql FROM sqlite_schema WHERE name = 't'"))
    #expect(sql.hasPrefix("CREATE TABLE t (\(later)"), "\(sql)")
    expected["table t"] = [sql]
    #expect(try contents() == expected)
    #expect(
      try rows("SELECT * FROM sqlite_sequence ORDER BY name") == [["other", 5], ["t", 900]])
    #expect(try rows("PRAGMA integrity_check") == [["ok"]])
    // The number of a deleted row is not given again.
    try execute(["DELETE FROM t WHERE id = 900", "INSERT INTO t (v) VALUES ('d')"])
    #expect(try rows("SELECT id FROM t WHERE v = 'd'") == [[901]])
    // Programs that had the file open know it.
    let again = try await database.rekey(["t"], .autoincrement)
    #expect(again.notes == ["t has AUTOINCREMENT already"] && again.statements.isEmpty)
  }

  @Test(
    "AUTOINCREMENT is refused with a reason where SQLite numbers nothing, or would find no number")
  func autoincrementRefusals() async throws {
    try execute([
      "CREATE TABLE a (id TEXT PRIMARY KEY)", "CREATE TABLE b (id INTEGER PRIMARY KEY DESC)",
      "CREATE TABLE c (id INTEGER PRIMARY KEY) WITHOUT ROWID", "CREATE TABLE d (id)",
      "CREATE VIEW e AS SELECT 1", "CREATE TABLE f (id INTEGER PRIMARY KEY, \"AUTOINCREMENT\")",
      "CREATE VIRTUAL TABLE g USING fts5 (x)", "INSERT INTO f (id) VALUES (\(Int64.max))",
      "CREATE TABLE h (id INTEGER PRIMARY KEY)",
    ])
    for table in ["a", "b", "c", "d"] {
      try await expectRefusal([table], .autoincrement, "no key that SQLite numbers")
    }
    try await expectRefusal(["e"], .autoincrement, "is a view or a virtual table")
    try await expectRefusal(["g"], .autoincrement, "is a view or a virtual table")
    try await expectRefusal(["h", "none"], .autoincrement, "there is no table none")
    try await expectRefusal(["f"], .autoincrement, "give that row another number")
  }

  @Test("a table that is tracked, synchronized or mirrored is refused in both forms")
  func ownTriggers() async throws {
    try execute([
      "CREATE TABLE a (id INTEGER PRIMARY KEY)", "CREATE TABLE b (id INTEGER PRIMARY KEY)",
      "CREATE TABLE c (id INTEGER PRIMARY KEY, b REFERENCES b)",
      "CREATE TABLE tandem_shadow_c (id)",
      "CREATE TRIGGER tandem_validators_insert_b AFTER INSERT ON b BEGIN SELECT 1; END",
    ])
    try await database.write {
      try $0.connection.track(TableTracking(table: "a", in: $0.connection))
    }
    for form in [KeyForm.autoincrement, .text] {
      try await expectRefusal(["a"], form, "untrack it first")
      try await expectRefusal(["b"], form, "is mirrored")
      try await expectRefusal(["c"], form, "synchronize and detach them first")
    }
    try execute(["DROP TRIGGER tandem_validators_insert_b"])
    try await expectRefusal(["b"], .text, "c is synchronized")
  }

  // MARK: Random texts

  private static let schema = [
    """
    CREATE TABLE "my list" (id INTEGER PRIMARY KEY AUTOINCREMENT, -- the key
      name TEXT NOT NULL COLLATE NOCASE UNIQUE, up INTEGER REFERENCES "my list" (ID),
      real REAL, any, blob BLOB, twice AS (real * 2), stored TEXT AS (upper(name)) STORED,
      CHECK (up <> id))
    """,
    """
    CREATE TABLE item (n INTEGER PRIMARY KEY AUTOINCREMENT, list bigint NOT NULL
      REFERENCES [my list] ON DELETE CASCADE, title DEFAULT 'it''s', FOREIGN KEY (list) REFERENCES "my list")
    """,
    "CREATE TABLE profile (list INTEGER PRIMARY KEY REFERENCES 'my list', v ANY) STRICT",
    """
    CREATE TABLE member (list INT REFERENCES "my list", "who" TEXT, "since", PRIMARY KEY (who, list))
      WITHOUT ROWID
    """,
    """
    CREATE TABLE visit (who TEXT, list NUMERIC, at INTEGER DEFAULT (1 + 1), FOREIGN KEY (who, list)
      REFERENCES member (who, list) ON UPDATE CASCADE)
    """,
    "CREATE TABLE picture (profile INTEGER REFERENCES profile, size INTEGER)",
    "CREATE TABLE alone (id INTEGER PRIMARY KEY, list INTEGER)",
    "CREATE INDEX up ON \"my list\" (up, name DESC) WHERE up IS NOT NULL",
    "CREATE UNIQUE INDEX upper ON item (list, upper(title))",
    "CREATE VIEW names AS SELECT \"my list\".id, name, title FROM \"my list\" JOIN item ON list = id",
    "CREATE TRIGGER second AFTER UPDATE ON item BEGIN SELECT new.list; END",
    "CREATE TRIGGER first AFTER UPDATE ON item BEGIN SELECT new.n; END",
    "CREATE TRIGGER third INSTEAD OF INSERT ON names BEGIN SELECT 1; END",
  ]
  private static let rows = [
    """
    INSERT INTO "my list" (id, name, up, real, any, blob) VALUES (1, 'One', NULL, 1.0, '1', x'00'),
      (2, 'Two', 1, 2.5, 2, NULL), (-9, 'three', 2, NULL, 1e300, 'text'), (50, 'gone', 1, 0, 0, 0)
    """,
    "DELETE FROM \"my list\" WHERE id = 50",
    "INSERT INTO item VALUES (3, 1, 'a'), (5, -9, x'61'), (8, 2, 4), (9, 2, NULL)",
    "DELETE FROM item WHERE n = 9", "INSERT INTO profile VALUES (2, 1), (-9, 'x')",
    "INSERT INTO member VALUES (1, 'u', 1.5), (2, 'u', 'x'), (2, 'U', NULL)",
    "INSERT INTO visit (rowid, who, list, at) VALUES (7, 'u', 2, 9), (20, 'U', 2, '5'), (4, NULL, 1, 1)",
    "INSERT INTO picture VALUES (-9, 4), (NULL, 5)", "INSERT INTO alone VALUES (6, 2)",
  ]

  @Test("numbers become texts everywhere, and everything else is as it was")
  func text() async throws {
    try execute(Self.schema + Self.rows + ["ANALYZE"])
    let before = try contents()
    let change = try await database.rekey(["MY LIST"], .text)
    #expect(change.tables.map(\.name) == ["my list"])
    #expect(
      Set(change.references.map { "\($0.table).\($0.column)" })
        == [
          "my list.up", "item.list", "profile.list", "member.list", "visit.list", "picture.profile",
        ]
    )
    #expect(
      change.notes == [
        "look at the trigger second, the view names: they name keys that are texts now"
      ])
    let keys = try rows("SELECT rowid, id FROM \"my list\"")
    #expect(Set(keys.map { $0[1] }).count == 3)
    for key in keys {
      let format = try Regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
      #expect(key[1].textValue?.wholeMatch(of: format) != nil, "\(key[1])")
    }
    // With the numbers in place of the texts, all is as before.
    var after = try contents()
    for table in after.keys where table.hasPrefix("rows of ") {
      after[table] = after[table]?.map { row in
        keys.reduce(row) { row, key in
          row.replacing(exact(key[1]), with: exact(key[0]))
        }
      }.sorted()
    }
    let random = try #require(
      try text("SELECT dflt_value FROM pragma_table_info('my list') WHERE name = 'id'"))
    var expected = before
    for (place, number, text) in [
      (
        0, "id INTEGER PRIMARY KEY AUTOINCREMENT",
        "id TEXT DEFAULT (\(random)) NOT NULL PRIMARY KEY"
      ),
      (0, "up INTEGER", "up TEXT"), (1, "list bigint", "list TEXT"),
      (2, "list INTEGER", "list TEXT NOT NULL"), (3, "list INT ", "list TEXT "),
      (4, "list NUMERIC", "list TEXT"), (5, "profile INTEGER", "profile TEXT"),
    ] {
      let name = "table " + ["my list", "item", "profile", "member", "visit", "picture"][place]
      expected[name] = expected[name]?.map { $0.replacing(number, with: text) }
    }
    #expect(after == expected)
    #expect(try rows("SELECT * FROM sqlite_sequence") == [["item", 9]])
    #expect(try rows("PRAGMA foreign_key_check").isEmpty)
    #expect(try rows("PRAGMA integrity_check") == [["ok"]])
    #expect(
      try rows("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'item'")
        == [["second"], ["first"]])
    #expect(try rows("SELECT name FROM sqlite_temp_schema").isEmpty)
    // The table works: a row without a key gets one, and its children follow the former actions.
    try await database.write { transaction in
      try transaction.execute("INSERT INTO \"my list\" (name) VALUES ('new')")
      try transaction.execute("DELETE FROM visit")
      try transaction.execute("DELETE FROM member")
      try transaction.execute("DELETE FROM \"my list\" WHERE name = 'new' AND length(id) = 36")
    }
    #expect(try rows("SELECT count(*) FROM \"my list\"") == [[3]])
    try await expectRefusal(["my list"], .text, "is a text already")
  }

  @Test("what would break is refused, with the table, the column and the reason")
  func textRefusals() async throws {
    try execute([
      "CREATE TABLE a (id INTEGER PRIMARY KEY)", "INSERT INTO a VALUES (1), (2)",
      "CREATE TABLE b (id INTEGER PRIMARY KEY REFERENCES a, x)", "INSERT INTO b VALUES (1, 1)",
      "CREATE TABLE c (x, y, PRIMARY KEY (x, y))", "CREATE TABLE d (x)",
      "CREATE TABLE e (id INTEGER PRIMARY KEY)",
      "CREATE TABLE e2 (e INTEGER DEFAULT 0 REFERENCES e)",
      "CREATE TABLE f (id INTEGER PRIMARY KEY)", "CREATE TABLE f2 (x, f AS (x + 1) REFERENCES f)",
      "CREATE TABLE g (id INTEGER PRIMARY KEY)", "CREATE TABLE g2 (g REFERENCES g)",
      "INSERT INTO g2 VALUES (7), (7), ('x')",
      "CREATE TABLE h (id INTEGER PRIMARY KEY, v)", "INSERT INTO h VALUES (1, 'x')",
      "CREATE VIRTUAL TABLE hs USING fts5 (v, content = 'h', content_rowid = id)",
      "CREATE TABLE i (id INT PRIMARY KEY)", "INSERT INTO i VALUES (1), (1.5), (NULL)",
      "CREATE TABLE j (id INTEGER PRIMARY KEY, CHECK (typeof(id) = 'integer'))",
      "INSERT INTO j VALUES (1)",
      "CREATE TABLE k (id INTEGER PRIMARY KEY REFERENCES l)",
      "CREATE TABLE l (id INTEGER PRIMARY KEY REFERENCES k)",
      "CREATE TABLE m (id INTEGER PRIMARY KEY)", "CREATE TABLE q (id INTEGER PRIMARY KEY)",
      "CREATE TABLE n (m REFERENCES m REFERENCES q)",
      "CREATE TABLE o (\"AUTOINCREMENT\", id INTEGER DEFAULT 1 PRIMARY KEY)",
      "CREATE TABLE p (id INTEGER PRIMARY KEY DEFAULT NULL)",
    ])
    for (tables, words) in [
      (["b"], "b.id refers to a.id, which would stay a number; name the table a as well"),
      (["c"], "the key of c has the columns x, y"), (["d"], "d has no primary key"),
      (["e"], "e2.e has the default 0"), (["f"], "f2.f is computed"),
      (["g"], "g2.g refers to rows of g that do not exist, in 3 rows, such as 7"),
      (["h"], "the virtual table hs finds the rows of h by their numbers"),
      (["i"], "values that are no integers"), (["j"], "CHECK constraint failed"),
      (["k", "l"], "refer to each other"), (["m"], "name the table q as well"),
      (["m", "q"], "refer to each other or to several tables"), (["o"], "o.id has the default 1"),
      (["p"], "p.id has the default NULL"),
    ] {
      try await expectRefusal(tables, .text, words)
    }
    _ = try await database.rekey(["b", "a"], .text)
    #expect(
      try rows("SELECT a.rowid, b.x FROM a JOIN b USING (id)") == [[1, 1]])
  }

  @Test(
    "other keys than a rowid become texts too: of tables without rowid, and of any numeric type")
  func otherKeys() async throws {
    try execute([
      "CREATE TABLE a (id INTEGER PRIMARY KEY, v) WITHOUT ROWID",
      "INSERT INTO a VALUES (1, 2), (3, 4)",
      "CREATE TABLE b (v, id BIGINT, a REFERENCES a, PRIMARY KEY (id))",
      "INSERT INTO b VALUES ('x', 10, '1'), ('y', 11, 3.0)",
      "CREATE TABLE rowid (rowid INTEGER PRIMARY KEY, _rowid_, oid)",
      "INSERT INTO rowid VALUES (5, 6, 7)",
    ])
    _ = try await database.rekey(["a", "b", "rowid"], .text)
    #expect(
      try rows("SELECT b.v, a.v, length(b.id), typeof(a) FROM b JOIN a ON a.id = a ORDER BY 1")
        == [["x", 2, 36, "text"], ["y", 4, 36, "text"]])
    #expect(try rows("SELECT length(rowid), _rowid_, oid FROM rowid") == [[36, 6, 7]])
  }

  @Test("indexes of some rows or of expressions, and computed columns, that name a key are noted")
  func dependents() async throws {
    try execute([
      "CREATE TABLE a (id INTEGER PRIMARY KEY, v, number AS ('no ' || id), twice AS (v * 2))",
      "CREATE TABLE b (a REFERENCES a, v)", "CREATE INDEX plain ON b (a)",
      "CREATE INDEX some ON b (v) WHERE a = 1", "CREATE INDEX sum ON b (a + 1)",
      "CREATE INDEX other ON b (v + 1)",
    ])
    let change = try await database.rekey(["a"], .text)
    #expect(
      change.notes == [
        "look at the index some, the index sum, the computed column a.number: they name keys that are texts now"
      ])
  }

  @Test("a dry run changes nothing, and its statements do the same; many rows are copied in parts")
  func parts() async throws {
    try execute(Self.schema + Self.rows)
    let before = try contents()
    let dry = try await database.rekey(["my list", "alone"], .text, isDryRun: true)
    #expect(try contents() == before)
    try execute(dry.statements)
    #expect(try rows("SELECT length(id), list FROM alone") == [[36, 2]])
    try execute([
      """
      WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50000)
      INSERT INTO item (list, title) SELECT (SELECT id FROM "my list" WHERE rowid = 1 + i % 2), i FROM c
      """, "CREATE TABLE many (id INTEGER PRIMARY KEY, v)",
      "INSERT INTO many SELECT n * n, title FROM item",
      "INSERT INTO many VALUES (\(Int64.min), 'least'), (\(Int64.max), 'greatest')",
    ])
    let sum = try rows("SELECT count(*), sum(v) FROM many")
    let shares = Mutex<[Double]>([])
    _ = try await database.rekey(["many"], .text) { _, share in
      shares.withLock { $0.append(share) }
    }
    #expect(try rows("SELECT count(*), sum(v) FROM many") == sum)
    #expect(
      try rows("SELECT rowid FROM many WHERE v IN ('least', 'greatest') ORDER BY rowid")
        == [[.integer(.min)], [.integer(.max)]])
    let all = shares.withLock { $0 }
    #expect(all.count >= 6 && all == all.sorted() && all.first == 0 && all.last ?? 1 < 1)
  }
}
