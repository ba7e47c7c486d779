import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Mirrors: tables with a schema of their own")
struct MirrorSchemaTests {
  let mirror = DatabaseMirror.unguarded("id")

  /// Expects an error with these words, and a database as it was.
  func expectError(
    _ words: String, json: String, in connection: DatabaseConnection,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let before = try dump(connection)
    let error = message { try mirror.run(json: json, into: connection) }
    #expect(error?.contains(words) == true, "\(error ?? "no error")", sourceLocation: location)
    #expect(try dump(connection) == before, sourceLocation: location)
    #expect(!connection.isInTransaction, sourceLocation: location)
  }

  @Test("a record whose fields have another order than the columns is compared by their names")
  func otherOrder() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES (1, 'x', 'y')")
    let outcome = try mirror.run(json: #"[{"id":1,"b":"x","a":"y"}]"#, into: connection)
    #expect(outcome.difference.updated.count == 1)
    #expect(try connection.rows("SELECT * FROM t") == [#"1|"y"|"x""#])
    let again = try mirror.run(json: #"[{"a":"y","b":"x","id":1}]"#, into: connection)
    #expect(again.changes.isEmpty)
  }

  @Test("columns that the list never had keep their values, and their defaults")
  func ownColumns() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, name, note DEFAULT 'none', twice AS (id * 2))",
      "INSERT INTO t VALUES (1, 'a', 'mine'), (2, 'b', NULL)")
    let outcome = try mirror.run(
      json: #"[{"id":1,"name":"A"},{"id":2,"name":"b"},{"id":3,"name":"c"}]"#, into: connection)
    #expect(outcome.difference.updated.map(\.old) == [["id": 1, "name": "a"]])
    #expect(
      try connection.rows("SELECT * FROM t") == [
        #"1|"A"|"mine"|2"#, #"2|"b"|null|4"#, #"3|"c"|"none"|6"#,
      ])
  }

  @Test("a field that vanished becomes null, also in a table that was there before")
  func vanishedField() throws {
    let connection = try database("CREATE TABLE t (id, name, own)")
    try mirror.run(json: #"[{"id":1,"name":"a"},{"id":2}]"#, into: connection)
    try connection.execute("UPDATE t SET own = 'x'")
    let outcome = try mirror.run(json: #"[{"id":1},{"id":2}]"#, into: connection)
    #expect(outcome.difference.updated.map(\.new) == [["id": 1, "name": .null]])
    #expect(try connection.rows("SELECT * FROM t") == [#"1|null|"x""#, #"2|null|"x""#])
  }

  @Test("generated columns, views and reserved names are refused")
  func unfitTables() throws {
    let connection = try database(
      "CREATE TABLE t (id, made AS (id))", "CREATE VIEW v AS SELECT 1 AS id")
    try expectError("column made is generated", json: #"[{"id":1,"made":1}]"#, in: connection)
    for (table, words) in [
      ("v", "v is a view"), ("V", "v is a view"), ("sqlite_schema", "reserved"),
      ("sqlite_sequence", "reserved"), ("Tandem_mirror", "reserved"), ("tandem_x", "reserved"),
    ] {
      let error = message {
        try DatabaseMirror.unguarded("id", table: table).run(json: #"[{"id":1}]"#, into: connection)
      }
      #expect(error?.contains(words) == true, "\(table): \(error ?? "")")
    }
  }

  @Test("a table without rowids is as good as any")
  func withoutRowID() throws {
    let connection = try database(
      "CREATE TABLE t (name TEXT, id TEXT, PRIMARY KEY (id)) WITHOUT ROWID",
      "INSERT INTO t VALUES ('a', 'x'), ('b', 'y')")
    let outcome = try mirror.run(
      json: #"[{"id":"y","name":"B"},{"id":"z","name":"c"}]"#, into: connection)
    #expect(outcome.difference.count == 3)
    #expect(try connection.rows("SELECT * FROM t") == [#""B"|"y""#, #""c"|"z""#])
  }

  @Test(
    "a table may have any name, and so may its columns",
    arguments: [
      "a table", "it's", #"a "quoted" one"#, "Städte", "select", "ta\u{308}", "'", #"""#, "[x]",
      "`", "%", "?1", ";",
      "\"\u{301}", "'\u{301}", "\u{301}", "a\nb", "--", "🚏",
    ])
  func names(name: String) throws {
    let connection = try database()
    let mirror = DatabaseMirror.unguarded(name, table: name)
    let origin = MirrorOrigin(
      url: "http://a.example/", validators: RecordListValidators(HTTPValidators(entityTag: "\"1\""))
    )
    func records(_ value: Int64) throws -> [Record] {
      try [1, value].map { try #require(Record([(name, .integer($0)), ("v", .integer(value))])) }
    }
    #expect(try mirror.run(records(2), into: connection, origin: origin).createsTable)
    #expect(try connection.schema(ofTable: name)?.columnNames == [name, "v"])
    #expect(try mirror.validators(for: origin.url, in: connection) == origin.validators)
    #expect(try mirror.run(records(2), into: connection, origin: origin).difference.isEmpty)
    #expect(try mirror.run(records(3), into: connection, origin: origin).difference.count == 3)
    #expect(try mirror.validators(for: origin.url, in: connection) == origin.validators)
    let table = "\"" + name.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    #expect(try connection.rows("SELECT * FROM \(table)") == ["1|3", "3|3"])
    try connection.execute("DELETE FROM \(table)")
    #expect(try mirror.validators(for: origin.url, in: connection) == nil)
  }

  @Test("constraints of the table are errors that name the row, with nothing changed")
  func constraints() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL CHECK (n < 10), u UNIQUE)",
      "INSERT INTO t VALUES (1, 1, 'a')")
    try expectError(
      "NOT NULL constraint failed: t.n, for the row with key id = 2",
      json: #"[{"id":1,"n":2},{"id":2}]"#, in: connection)
    try expectError(
      "CHECK constraint failed: n < 10, for the row with key id = 1",
      json: #"[{"id":1,"n":10},{"id":2,"n":1}]"#, in: connection)
    try expectError(
      "UNIQUE constraint failed: t.u, for the row with key id = 2",
      json: #"[{"id":1,"n":1,"u":"a"},{"id":2,"n":1,"u":"a"}]"#, in: connection)
    let strict = try database("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER) STRICT")
    try expectError("would be rejected by its column", json: #"[{"id":1,"n":"x"}]"#, in: strict)
    let blobs = try database("CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB) STRICT")
    try expectError("which is of type BLOB;", json: #"[{"id":1,"b":1}]"#, in: blobs)
  }

  @Test("rows may exchange the values of UNIQUE columns, in pairs, circles and chains")
  func exchangedValues() throws {
    for notNull in ["", "NOT NULL"] {
      let connection = try database(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u INTEGER \(notNull) UNIQUE, own, g AS (u))",
        "INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd'), (5, 50, 'e')")
      let outcome = try mirror.run(
        json: """
          [{"id":1,"u":20},{"id":2,"u":10},{"id":3,"u":40},{"id":4,"u":50},{"id":6,"u":30}]
          """, into: connection)
      #expect(outcome.difference.updated.count == 4)
      #expect(
        try connection.rows("SELECT * FROM t") == [
          #"1|20|"a"|20"#, #"2|10|"b"|10"#, #"3|40|"c"|40"#, #"4|50|"d"|50"#, "6|30|null|30",
        ])
    }
  }

  @Test(
    "rows that others refer to exchange unique values, and no row is deleted",
    arguments: ["u UNIQUE", "u TEXT NOT NULL UNIQUE", "u INT NOT NULL, v AS (u), UNIQUE (u)"]
  )
  func exchangedReferences(columns: String) throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, \(columns))",
      "INSERT INTO t (id, u) VALUES (1, 10), (2, 20), (3, 30)",
      "CREATE TABLE child (t REFERENCES T (id) ON DELETE CASCADE)",
      "INSERT INTO child VALUES (1), (2)")
    let text = columns.contains("TEXT") ? "\"" : ""
    try mirror.run(
      json: """
        [{"id":1,"u":\(text)30\(text)},{"id":2,"u":\(text)10\(text)},{"id":3,"u":\(text)20\(text)}]
        """, into: connection)
    #expect(
      try connection.rows("SELECT id, CAST(u AS INT) FROM t ORDER BY id") == [
        "1|30", "2|10", "3|20",
      ])
    #expect(try connection.rows("SELECT * FROM child") == ["1", "2"])
  }

  @Test("unique values that others refer to are not exchanged: that is an error")
  func exchangedParentValues() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE)",
      "INSERT INTO t VALUES (1, 10), (2, 20)",
      "CREATE TABLE child (u REFERENCES T (u) ON UPDATE CASCADE)",
      "INSERT INTO child VALUES (10), (20)")
    try expectError(
      "UNIQUE constraint failed: t.u, for the row with key id = 1; rows cannot exchange unique values where others refer to t",
      json: #"[{"id":1,"u":20},{"id":2,"u":10}]"#, in: connection)
    try mirror.run(json: #"[{"id":1,"u":11},{"id":2,"u":20}]"#, into: connection)
    #expect(try connection.rows("SELECT * FROM child") == ["11", "20"])
  }

  /// Expects that two rows of a table exchange their values.
  private func expectExchange(_ schema: [String]) throws -> DatabaseConnection {
    let connection = try database()
    for statement in schema { try connection.execute(statement) }
    try connection.execute("INSERT INTO t (id, u, own) VALUES (1, 10, 'a'), (2, 20, 'b')")
    try mirror.run(json: #"[{"id":1,"u":20},{"id":2,"u":10}]"#, into: connection)
    let rows = try connection.rows("SELECT id, u, own FROM t ORDER BY id")
    #expect(rows == [#"1|20|"a""#, #"2|10|"b""#])
    return connection
  }

  @Test(
    "rows exchange unique values that cannot have others for the time being",
    arguments: [
      ["CREATE TABLE t (id INTEGER PRIMARY KEY, u INT NOT NULL UNIQUE CHECK (u < 100), own)"],
      [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u INT, own)",
        "CREATE UNIQUE INDEX e ON t (abs(u))",
      ],
      ["CREATE TABLE t (id INTEGER PRIMARY KEY, u INT, own, g AS (u) UNIQUE)"],
      ["CREATE TABLE t (id INTEGER PRIMARY KEY, u INT NOT NULL ON CONFLICT IGNORE UNIQUE, own)"],
    ])
  func exchangedCheckedValues(schema: [String]) throws { _ = try expectExchange(schema) }

  @Test("rows exchange unique values without an update that a trigger sees")
  func exchangedValuesUnderTrigger() throws {
    let connection = try expectExchange([
      "CREATE TABLE t (id INTEGER PRIMARY KEY, u INT UNIQUE, own)", "CREATE TABLE log (u)",
      "CREATE TRIGGER o AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.u); END",
    ])
    #expect(try connection.rows("SELECT * FROM log").isEmpty)
  }

  @Test("many rows move by one place each, in either direction")
  func chain() throws {
    let connection = try database("CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE)")
    for step in [0, 1, -1] {
      let list = (1...300).map { #"{"id":\#($0),"u":\#($0 + step)}"# }.joined(separator: ",")
      try mirror.run(json: "[\(list)]", into: connection)
      #expect(try connection.rows("SELECT count(*) FROM t WHERE u = id + \(step)") == ["300"])
    }
  }

  @Test("foreign keys of other tables cascade, or forbid the run")
  func foreignKeys() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3)",
      "CREATE TABLE cascading (t REFERENCES t ON DELETE CASCADE)",
      "INSERT INTO cascading VALUES (1), (2)",
      "CREATE TABLE restricting (t REFERENCES t ON DELETE RESTRICT)",
      "INSERT INTO restricting VALUES (3)",
      "CREATE TABLE plain (t REFERENCES t)", "INSERT INTO plain VALUES (3)")
    try expectError("FOREIGN KEY constraint failed", json: #"[{"id":1},{"id":2}]"#, in: connection)
    try connection.execute("DELETE FROM restricting")
    try expectError("FOREIGN KEY constraint failed", json: #"[{"id":1},{"id":2}]"#, in: connection)
    try mirror.run(json: #"[{"id":2},{"id":3}]"#, into: connection)
    #expect(try connection.rows("SELECT * FROM cascading") == ["2"])
  }

  @Test("a tree of rows that refer to each other comes and goes as a whole")
  func selfReferences() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, parent REFERENCES t ON DELETE CASCADE)")
    let tree = #"[{"id":1,"parent":3},{"id":2,"parent":1},{"id":3,"parent":null}]"#
    try mirror.run(json: tree, into: connection)
    #expect(try mirror.run(json: tree, into: connection).difference.isEmpty)
    // Row 2 stays in the list, but goes with its parent; so it cannot be updated either.
    try expectError("changed where one should", json: #"[{"id":2,"parent":9}]"#, in: connection)
    try expectError(
      "would have 0 rows for the 1 records",
      json: #"[{"id":2,"parent":1}]"#, in: connection)
    let outcome = try mirror.run(json: #"[{"id":4,"parent":null}]"#, into: connection)
    #expect(outcome.difference.deleted.count == 3)
    #expect(try connection.rows("SELECT id FROM t") == ["4"])
  }

  @Test("triggers of the application run; those that undo the mirror's work are an error")
  func triggers() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, n)", "CREATE TABLE log (event)",
      "CREATE TRIGGER inserted AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.id); END",
      "CREATE TRIGGER updated AFTER UPDATE ON t BEGIN UPDATE log SET event = event + 10; END")
    try mirror.run(json: #"[{"id":1},{"id":2}]"#, into: connection)
    try mirror.run(json: #"[{"id":1,"n":1},{"id":2}]"#, into: connection)
    #expect(try connection.rows("SELECT * FROM log") == ["11", "12"])

    try connection.execute(
      "CREATE TRIGGER a BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'not today'); END")
    try expectError("not today", json: #"[{"id":1},{"id":3}]"#, in: connection)
    try connection.execute("DROP TRIGGER a")
    for event in ["INSERT", "UPDATE", "DELETE"] {
      try connection.execute(
        "CREATE TRIGGER a BEFORE \(event) ON t BEGIN SELECT RAISE(IGNORE); END")
      try expectError(
        "changed where one should", json: #"[{"id":1,"n":7},{"id":3}]"#, in: connection)
      try connection.execute("DROP TRIGGER a")
    }
    try connection.execute(
      "CREATE TRIGGER a AFTER INSERT ON t BEGIN DELETE FROM t WHERE id = 1; END")
    try expectError(
      "would have 2 rows for the 3 records", json: #"[{"id":1,"n":1},{"id":2},{"id":3}]"#,
      in: connection)
  }

  @Test(
    "what the table makes of a value is an error, with nothing changed",
    arguments: [
      ["CREATE TABLE t (id INTEGER PRIMARY KEY, n NOT NULL ON CONFLICT REPLACE DEFAULT 7)"],
      [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n)",
        "CREATE TRIGGER a AFTER INSERT ON t WHEN new.n IS NULL BEGIN UPDATE t SET n = 7 WHERE id = new.id; END",
      ],
      [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n)",
        "CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET n = 7 WHERE id = 1; END",
      ],
      [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n)", "CREATE TABLE log (id)",
        "CREATE TRIGGER a AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.id); END",
        "CREATE TRIGGER b AFTER INSERT ON log BEGIN UPDATE T SET N = 7 WHERE id = 1; END",
      ],
    ])
  func changedValues(statements: [String]) throws {
    let connection = try database()
    for statement in statements { try connection.execute(statement) }
    let list = #"[{"id":1,"n":null},{"id":2,"n":"b"}]"#
    try expectError(
      "7 in column n of the row with key 1, in place of null", json: list, in: connection)
    try mirror.run(json: #"[{"id":1,"n":7},{"id":2,"n":"b"}]"#, into: connection)
    #expect(try connection.rows("SELECT * FROM t") == ["1|7", #"2|"b""#])
  }

  @Test("a key that a trigger changes by its other name is an error, with nothing changed")
  func changedKey() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, n)",
      "CREATE TRIGGER a AFTER INSERT ON t WHEN new.id < 9 BEGIN UPDATE t SET rowid = 9 WHERE id = new.id; END"
    )
    try expectError("other rows than the list", json: #"[{"id":1,"n":1}]"#, in: connection)
    #expect(try connection.rows("SELECT * FROM t").isEmpty)
  }

  @Test("a row that an action of a foreign key changes is an error, with nothing changed")
  func changedReference() throws {
    let connection = try database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, parent REFERENCES t ON DELETE SET NULL)",
      "PRAGMA foreign_keys=ON")
    try mirror.run(json: #"[{"id":1,"parent":null},{"id":2,"parent":1}]"#, into: connection)
    try expectError(
      "null in column parent of the row with key 2", json: #"[{"id":2,"parent":1}]"#, in: connection
    )
  }

  @Test(
    "a strict table gets a column for a field without a type",
    arguments: ["null", #"1},{"id":2,"n":"x""#])
  func strictAddition(values: String) throws {
    let connection = try database("CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT")
    try mirror.run(json: #"[{"id":1,"n":\#(values)}]"#, into: connection)
    #expect(
      try connection.rows("SELECT type FROM pragma_table_info('t') WHERE name = 'n'") == [#""ANY""#]
    )
    try mirror.run(json: #"[{"id":1,"n":"007"}]"#, into: connection)
    #expect(try connection.rows("SELECT * FROM t") == [#"1|"007""#])
  }

  @Test("a transaction that is open already is an error")
  func openTransaction() throws {
    let connection = try database("BEGIN")
    #expect(
      message { try mirror.run(json: #"[{"id":1}]"#, into: connection) }?
        .contains("within a transaction") == true)
    #expect(connection.isInTransaction)
  }

  @Test("progress counts the changes, and ends with all of them")
  func progress() throws {
    let connection = try database()
    let records: [Record] = (0..<2_500).map { ["id": .integer($0)] }
    var calls: [[Int]] = []
    _ = try mirror.run(records, into: connection) { calls.append([$0, $1]) }
    #expect(calls == [[1000, 2500], [2000, 2500], [2500, 2500]])
  }
}
