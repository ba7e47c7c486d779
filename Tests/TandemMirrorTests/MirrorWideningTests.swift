import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

@Suite("Mirrors: columns whose type does not fit a value any more", .timeLimit(.minutes(20)))
struct MirrorWideningTests {
  private func mirror(widens: Bool = true, isDryRun: Bool = false) -> DatabaseMirror {
    var mirror = DatabaseMirror.unguarded("id")
    mirror.widensColumns = widens
    mirror.isDryRun = isDryRun
    return mirror
  }

  /// The declaration of the table.
  private func declaration(_ connection: DatabaseConnection) throws -> String {
    try connection.rows("SELECT sql FROM sqlite_schema WHERE name = 't'").joined()
  }

  @Test(
    "a list whose keys or values cease to be numbers is refused by name, and mirrored if it may widen",
    arguments: [
      #"[{"id":"x","n":1,"r":0.5}]"#, #"[{"id":1,"n":"007","r":0.5}]"#,
      #"[{"id":1,"n":1,"r":"1.50"}]"#,
      #"[{"id":"1a","n":"1e5","r":"0.10"},{"id":7,"n":2,"r":2.5}]"#,
      #"[{"id":2.5,"n":1,"r":0.5}]"#,
    ])
  func stuck(list: String) throws {
    let connection = try database()
    try mirror().run(json: #"[{"id":1,"n":1,"r":1.5},{"id":2,"n":2,"r":2.0}]"#, into: connection)
    #expect(try declaration(connection).contains("INTEGER NOT NULL"))
    let before = try dump(connection)
    let refusal = message { try mirror(widens: false).run(json: list, into: connection) }
    #expect(refusal?.contains("widen the column (`widensColumns`)") == true, "\(refusal ?? "")")
    #expect(try dump(connection) == before)
    let plan = try mirror(isDryRun: true).run(json: list, into: connection)
    #expect(try dump(connection) == before)
    let outcome = try mirror().run(json: list, into: connection)
    #expect(outcome.difference == plan.difference)
    #expect(outcome.widenedColumns == plan.widenedColumns && !outcome.widenedColumns.isEmpty)
    let records = try RecordReader.records(in: Array(list.utf8), format: .json)
    let fields = try connection.rows("SELECT id, n, r FROM t").sorted()
    #expect(fields == records.map { $0.values.map(\.description).joined(separator: "|") }.sorted())
    #expect(try mirror(widens: false).run(json: list, into: connection).isUpToDate)
  }

  @Test("the alias of the rowid stays NOT NULL, which its declaration says once")
  func rowidNotNull() throws {
    for (declared, widened) in [
      ("id INTEGER NOT NULL", "id NOT NULL"), ("id INTEGER", "id NOT NULL"),
      ("id INTEGER DEFAULT (NOT NULL)", "id NOT NULL DEFAULT (NOT NULL)"),
      ("id INTEGER CHECK (id > 0) not /* null */ null", "id CHECK (id > 0) not /* null */ null"),
    ] {
      let connection = try database("CREATE TABLE t (\(declared), PRIMARY KEY (id))")
      try mirror().run(json: #"[{"id":"x"}]"#, into: connection)
      #expect(
        try declaration(connection).contains("CREATE TABLE t (\(widened), PRIMARY KEY (id))"))
    }
  }

  @Test("a table that has the name of the copy is an error, and stays as it is")
  func tableNamedLikeTheCopy() throws {
    let connection = try database(
      "CREATE TABLE tandem_widening (x)", "INSERT INTO tandem_widening VALUES (7)")
    try mirror().run(json: #"[{"id":1}]"#, into: connection)
    let before = try dump(connection)
    let failure = message { try mirror().run(json: #"[{"id":"x"}]"#, into: connection) }
    #expect(failure?.contains("tandem_widening") == true, "\(failure ?? "")")
    #expect(try dump(connection) == before)
  }

  @Test(
    "a wider table is the same otherwise: rows, rowids, indexes, triggers, tracking, views, keys")
  func everythingElse() throws {
    let connection = try database(
      "CREATE TABLE parent (p INTEGER PRIMARY KEY)", "INSERT INTO parent VALUES (1), (2)",
      "CREATE TABLE log (line)",
      """
      CREATE TABLE t (
        "id" INTEGER PRIMARY KEY, -- the key, of type INTEGER
        [n] int DEFAULT (1 + (2)) CHECK (n <> 'INTEGER'), name VARCHAR(20) COLLATE NOCASE UNIQUE,
        parent INT REFERENCES parent (p) ON DELETE CASCADE, note DOUBLE PRECISION NOT NULL DEFAULT 0.5,
        "a, b" DECIMAL(10, 2), twice AS (n || n) STORED, CONSTRAINT positive CHECK (note >= 0)
      )
      """,
      "INSERT INTO t (id, n, name, parent, note, \"a, b\") VALUES (1, 1, 'a', 1, 2.0, 1.5), (9, 2, 'B', 2, 3, NULL)",
      "CREATE INDEX by_n ON t (n DESC) WHERE n > 0", "CREATE INDEX by_length ON t (length(name))",
      "CREATE VIEW v AS SELECT id, name FROM t",
      "CREATE TRIGGER own AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.name || \"new\".id); END",
      "CREATE TRIGGER other AFTER INSERT ON log BEGIN UPDATE parent SET p = p WHERE p IN (SELECT id FROM t); END"
    )
    try connection.transaction {
      try connection.track(TableTracking(table: "t", in: connection))
    }
    let rows = try connection.rows("SELECT rowid, *, typeof(note) FROM t")
    let keys = try connection.rows("SELECT * FROM pragma_foreign_key_list('t')")
    let schema =
      "SELECT type, name, sql FROM sqlite_schema WHERE name <> 't' AND name NOT LIKE 'tandem_%' AND sql IS NOT NULL ORDER BY 1, 2"
    let others = try connection.rows(schema)
    let outcome = try mirror().run(
      json: #"[{"id":1,"n":1,"name":"a"},{"id":9,"n":"02","name":"c"}]"#, into: connection)
    #expect(outcome.widenedColumns == ["n"])
    #expect(outcome.difference.count == 1)
    #expect(
      try connection.rows("SELECT rowid, *, typeof(note) FROM t")
        == [rows[0], #"9|9|"02"|"c"|2|3.0|null|"0202"|"real""#])
    #expect(try connection.rows(schema) == others)
    #expect(try connection.rows("SELECT * FROM pragma_foreign_key_list('t')") == keys)
    #expect(try connection.rows("SELECT line FROM log") == [#""c9""#])
    #expect(try connection.rows("SELECT name FROM v ORDER BY 1") == [#""a""#, #""c""#])
    #expect(try connection.isTracking(TableTracking(table: "t", in: connection)))
    #expect(try connection.rows("PRAGMA integrity_check") == [#""ok""#])
    #expect(try connection.rows("SELECT k1 FROM tandem_changes_t WHERE k1 IS NOT NULL") == ["9"])
    for statement in [
      "INSERT INTO t (id, name) VALUES (10, 'A')", "INSERT INTO t (id, n) VALUES (10, 'INTEGER')",
      "INSERT INTO t (id, parent) VALUES (10, 7)", "INSERT INTO t (id, note) VALUES (10, NULL)",
    ] {
      #expect(throws: DatabaseError.self, "\(statement)") { try connection.execute(statement) }
    }
    // The key, too; its values stay unique.
    let wider = try mirror().run(
      json: #"[{"id":1,"n":1,"name":"a"},{"id":"x","n":2,"name":"d"}]"#, into: connection)
    #expect(wider.widenedColumns == ["id"])
    #expect(try connection.rows("SELECT rowid, id FROM t WHERE id = 1") == ["1|1"])
    #expect(throws: DatabaseError.self) {
      try connection.execute("INSERT INTO t (id) VALUES ('x')")
    }
    #expect(throws: DatabaseError.self) { try connection.execute("INSERT INTO t (n) VALUES (5)") }
    #expect(try connection.isTracking(TableTracking(table: "t", in: connection)))
    #expect(try declaration(connection).contains("-- the key, of type INTEGER"))
  }

  @Test("strict tables and tables without rowids are widened, too")
  func otherTables() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, a ANY) STRICT",
      "INSERT INTO t VALUES (1, 1, '007')")
    try mirror().run(json: #"[{"id":"x","n":0.5,"a":"007"}]"#, into: connection)
    #expect(try connection.rows("SELECT * FROM t") == [#""x"|0.5|"007""#])
    #expect(try declaration(connection).contains("STRICT"))
    let other = try database(
      "CREATE TABLE t (n TEXT, id REAL, PRIMARY KEY (id)) WITHOUT ROWID",
      "INSERT INTO t VALUES ('1', 1.0)")
    try mirror().run(json: #"[{"id":"1","n":"1"},{"id":2.5,"n":"x"}]"#, into: other)
    #expect(try other.rows("SELECT id, n FROM t ORDER BY id") == [#"2.5|"x""#, #""1"|"1""#])
  }

  @Test("rowids stay, also where they are the only key of a row that others know")
  func rowids() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER, n)",
      "INSERT INTO t (rowid, id, n) VALUES (7, 2, 'b'), (3, 1, 'a'), (5, 3, 'c')")
    let list = #"[{"id":1,"n":"a"},{"id":2,"n":"b"},{"id":"03","n":"c"}]"#
    try mirror().run(json: list, into: connection)
    #expect(
      try connection.rows("SELECT rowid, id FROM t WHERE n <> 'c' ORDER BY 1") == ["3|1", "7|2"])
    // A column may have the name of the rowid.
    let other = try database(
      "CREATE TABLE t (rowid TEXT, id INTEGER, oid)",
      "INSERT INTO t (_rowid_, rowid, id) VALUES (9, 'x', 1), (4, 'y', 2)")
    try mirror().run(json: #"[{"id":1},{"id":2},{"id":"x"}]"#, into: other)
    #expect(
      try other.rows("SELECT _rowid_, rowid, id FROM t WHERE id <> 'x' ORDER BY 1")
        == [#"4|"y"|2"#, #"9|"x"|1"#])
  }

  @Test("a table that counts its keys cannot be widened, and stays as it was")
  func autoincrement() throws {
    let connection = try database("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, n)")
    let before = try dump(connection)
    for isDryRun in [true, false] {
      let error = message {
        try mirror(isDryRun: isDryRun).run(json: #"[{"id":"x","n":1}]"#, into: connection)
      }
      #expect(error?.contains("create the table anew") == true)
    }
    #expect(try dump(connection) == before)
  }

  @Test("rows of other tables that refer to it stay, with the columns they refer to")
  func referenced() async throws {
    let scene = try ContentScene()
    let database = try Database(path: "\(scene.folder.path)/list.db")
    try await database.write { transaction in
      for sql in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, up REFERENCES t ON DELETE RESTRICT)",
        "INSERT INTO t (id) VALUES (1), (2)",
        "CREATE TABLE visit (t INTEGER REFERENCES t (id) ON DELETE CASCADE)",
        "INSERT INTO visit VALUES (1), (2)",
      ] {
        try transaction.connection.execute(sql)
      }
    }
    scene.server["/list"] = #"[{"id":1},{"id":"x"}]"#
    let report = try await mirror().run(
      from: .url(ContentScene.listURL), into: database, client: scene.server)
    #expect(report.outcome?.widenedColumns == ["id"])
    let (rows, visits) = try await database.read { transaction in
      (
        try transaction.connection.rows("SELECT id FROM t ORDER BY id"),
        try transaction.connection.rows("SELECT t FROM visit")
      )
    }
    #expect(rows == ["1", #""x""#])
    // The row that the list does not have is gone, and what refers to it, as its foreign key says.
    #expect(visits == ["1"])
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.connection.execute("INSERT INTO visit VALUES (7)") }
    }
  }
}
