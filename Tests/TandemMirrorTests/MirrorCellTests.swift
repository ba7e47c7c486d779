import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

@Suite("Mirrors: cells of CSV, whose types are a decision")
struct MirrorCellTests {
  let folder: TemporaryFolder
  let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.path(of: "list.db"))
  }

  func execute(_ statements: String...) async throws {
    try await database.write { transaction in
      for sql in statements { try transaction.connection.execute(sql) }
    }
  }

  func rows(_ sql: String) async throws -> [String] {
    try await database.read { try $0.connection.rows(sql) }
  }

  /// Mirrors a list from a file.
  @discardableResult
  func mirror(
    _ csv: String, key: [String] = ["id"], types: [String: ColumnType] = [:], widens: Bool = false
  ) async throws -> DatabaseMirror.Outcome {
    var mirror = DatabaseMirror(table: "t", key: key)
    mirror.columnTypes = types
    mirror.widensColumns = widens
    let path = try folder.write(csv, to: "list.csv")
    return try #require(try await mirror.run(from: .file(path), into: database).outcome)
  }

  func counts(_ outcome: DatabaseMirror.Outcome) -> [Int] {
    [outcome.changes.insertedCount, outcome.changes.updatedCount, outcome.changes.deletedCount]
  }

  func message(_ body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "no error"
    } catch { return "\(error)" }
  }

  @Test(
    "a row keeps its key, whatever other cells are in the column",
    arguments: [
      ("id PRIMARY KEY", "1, 2"), ("id BLOB PRIMARY KEY", "1, 2"),
      ("id BLOB PRIMARY KEY", "'1', '2'"),
      ("id NUMERIC PRIMARY KEY", "1, 2"), ("id TEXT PRIMARY KEY", "1, 2"),
      ("id REAL PRIMARY KEY", "1, 2"), ("id INT PRIMARY KEY", "1, 2"),
      ("id INTEGER PRIMARY KEY", "1, 2"), ("id PRIMARY KEY", "1.0, '2'"),
    ])
  func oddKey(column: String, keys: String) async throws {
    let keys = keys.split(separator: ", ")
    try await execute(
      "CREATE TABLE t (\(column), a INT, note)",
      "INSERT INTO t VALUES (\(keys[0]), 5, 'mine'), (\(keys[1]), 6, 'also')",
      "CREATE TABLE child (t REFERENCES t (id) ON DELETE CASCADE)",
      "INSERT INTO child SELECT id FROM t")
    let before = try await rows("SELECT id, note FROM t ORDER BY a")
    let widened = try await mirror("id,a\n1,5\n2,6\nA3,7\n", widens: true)
    #expect(counts(widened) == [1, 0, 0])
    #expect(try await rows("SELECT count(*) FROM child") == ["2"])
    let after = try await rows("SELECT id, note FROM t ORDER BY a")
    #expect(after == before + [#""A3"|null"#])
    // Each of these lists has the same keys, so that no row is another one.
    for list in ["id,a\n2,6\nA3,7\n1,5\n", "id,a\n\"2\",\"6\"\n\"1\",\"5\"\n\"A3\",\"7\"\n"] {
      #expect(counts(try await mirror(list)) == [0, 0, 0])
    }
    #expect(counts(try await mirror("id,a\n1,5\n2,6\n")) == [0, 0, 1])
    #expect(try await rows("SELECT id, note FROM t ORDER BY a") == before)
    #expect(try await rows("SELECT count(*) FROM child") == ["2"])
  }

  @Test("keys of several fields, of fractions and with zeros at the end stay, too")
  func otherKeys() async throws {
    try await execute(
      "CREATE TABLE t (land, code, a, PRIMARY KEY (land, code))",
      "INSERT INTO t VALUES ('DE', 1, 0), ('DE', '2', 0), (7, 1.5, 0), (7, '2.50', 0)")
    let list = "land,code,a\nDE,1,0\nDE,2,0\n7,1.50,0\n7,2.50,0\n"
    #expect(counts(try await mirror(list, key: ["land", "code"])) == [0, 0, 0])
    #expect(counts(try await mirror(list + "x,y,0\n", key: ["land", "code"])) == [1, 0, 0])
    try await execute("DROP TABLE t", "CREATE TABLE t (id REAL PRIMARY KEY, a)")
    try await mirror("id,a\n1.50,x\n2.00,y\n")
    try await mirror("id,a\n1.50,x\n2.00,y\n3a,z\n", widens: true)
    #expect(try await rows("SELECT * FROM t") == [#"1.5|"x""#, #"2.0|"y""#, #""3a"|"z""#])
    #expect(counts(try await mirror("id,a\n1.50,x\n2.00,y\n3a,z\n")) == [0, 0, 0])
    #expect(counts(try await mirror("id,a\n1.50,x\n2.00,y\n3a,z\n4.50,z\n")) == [1, 0, 0])
    #expect(counts(try await mirror("id,a\n1.50,x\n2.00,y\n4.50,z\n")) == [0, 0, 1])
  }

  @Test("a key that no row has gets the form of its own cell, and two rows are not one")
  func newKeys() async throws {
    try await execute("CREATE TABLE t (id PRIMARY KEY)", "INSERT INTO t VALUES ('1'), (2), ('1.1')")
    try await mirror("id\n1\n2\n3\nx\n007\n1.1\n1.10\n")
    let ids = #"2 3 "007" "1" "1.1" "1.10" "x""#
    #expect(try await rows("SELECT id FROM t ORDER BY id").joined(separator: " ") == ids)
    #expect(counts(try await mirror("id\n1\n2\n3\nx\n007\n1.1\n1.10\n")) == [0, 0, 0])
    try await execute("DELETE FROM t", "INSERT INTO t VALUES ('1'), (1)")
    #expect(counts(try await mirror("id\n1\nx\n")) == [1, 0, 1])
    #expect(try await rows("SELECT id FROM t ORDER BY id") == ["1", #""x""#])
  }

  @Test("an odd cell changes no other value of a column without a type")
  func values() async throws {
    try await execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)")
    try await mirror("id,a,b\n1,5,1.50\n2,6,2.25\n")
    #expect(counts(try await mirror("id,a,b\n1,5,1.50\n2,6,2.25\n3,n/a,n/a\n")) == [1, 0, 0])
    #expect(
      try await rows("SELECT a, b FROM t ORDER BY id") == ["5|1.5", "6|2.25", #""n/a"|"n/a""#])
    #expect(counts(try await mirror("id,a,b\n1,05,1.5\n2,7,2.25\n3,n/a,n/a\n")) == [0, 2, 0])
    #expect(
      try await rows("SELECT a, b FROM t ORDER BY id") == [
        #""05"|1.5"#, "7|2.25", #""n/a"|"n/a""#,
      ])
  }

  @Test("records at hand that were cells keep their rows")
  func records() async throws {
    try await execute(
      "CREATE TABLE t (id PRIMARY KEY, note)", "INSERT INTO t VALUES (1, 'mine'), ('2', NULL)")
    let records = try RecordReader.records(in: Array("id\n1\n2\nA3\n".utf8), format: .csv)
    let mirror = DatabaseMirror(table: "t", key: ["id"])
    #expect(counts(try await mirror.run(records, into: database)) == [1, 0, 0])
    #expect(try await rows("SELECT id, note FROM t WHERE note IS NOT NULL") == [#"1|"mine""#])
    // The keys of JSON have types: these are others.
    let strings = try RecordReader.records(
      in: Array(#"[{"id":"1"},{"id":"2"},{"id":"A3"}]"#.utf8), format: .json)
    #expect(counts(try await mirror.run(strings, into: database)) == [1, 0, 1])
  }

  @Test("a list and a table are compared by the form that each row has")
  func compared() async throws {
    try await execute(
      "CREATE TABLE t (id PRIMARY KEY, a)", "INSERT INTO t VALUES (1, '5'), ('2', 6)")
    let schema = try #require(try await database.read { try $0.schema(ofTable: "t") })
    for list in ["id,a\n1,5\n2,6\n", "id,a\n1,5\n2,6\nA3,x\n"] {
      let text = try ListText(Array(list.utf8), format: .csv)
      let records = RecordCollection.list(try text.storedRecords(schema.cellKinds(key: ["id"])))
      for isReversed in [false, true] {
        let table = RecordCollection.table(schema, database)
        let comparison =
          isReversed
          ? RecordComparison(from: records, to: table, key: ["id"])
          : RecordComparison(from: table, to: records, key: ["id"])
        var changes = 0
        try comparison.forEachChange { _ in changes += 1 }
        #expect(changes == (list.contains("A3") ? 1 : 0))
      }
    }
  }

  @Test("the guard says that keys have only changed their type")
  func guardMessage() async throws {
    var numbers = "id\n" + (1...30).map { "\($0)\n" }.joined()
    try await mirror(numbers)
    let strings = "[" + (1...30).map { #"{"id":"\#($0)x"}"# }.joined(separator: ",") + "]"
    try await execute("DROP TABLE t", "CREATE TABLE t (id)", "INSERT INTO t VALUES (0)")
    numbers = "[" + (0...30).map { #"{"id":\#($0)}"# }.joined(separator: ",") + "]"
    let keyed = DatabaseMirror(table: "t", key: ["id"])
    func refusal(_ json: String) async throws -> [String] {
      let path = try folder.write(json, to: "list.json")
      let records = try RecordReader.records(in: Array(json.utf8), format: .json)
      return [
        await message { try await keyed.run(from: .file(path), into: database) },
        await message { try await keyed.run(records, into: database) },
      ]
    }
    try await keyed.run(
      RecordReader.records(in: Array(numbers.utf8), format: .json), into: database)
    let texts = "[" + (1...30).map { #"{"id":"\#($0)"}"# }.joined(separator: ",") + "]"
    for text in try await refusal(texts) {
      #expect(
        text.contains(
          #"31 of 31 rows (30 of them are in the list by a key of another type: 1 is now "1")"#),
        "\(text)")
    }
    for text in try await refusal(strings) {
      #expect(text.contains("31 of 31 rows, more than"), "\(text)")
    }
  }

  @Test("a generated column may have the name of the rowid, in a table without a key")
  func generatedRowid() async throws {
    try await execute(
      "CREATE TABLE t (a INTEGER, rowid AS (a))", "INSERT INTO t (a) VALUES (3), (1), (2)")
    #expect(counts(try await mirror("a\n1\n2\n", key: [])) == [0, 0, 1])
    #expect(try await rows("SELECT a FROM t ORDER BY a") == ["1", "2"])
  }

  @Test("rows without a key are compared as those with a key are: JSON by structure, and by cells")
  func keylessForms() async throws {
    try await execute(
      "CREATE TABLE t (a)", "INSERT INTO t VALUES ('17'), (17), ('x'), ('y')")
    #expect(counts(try await mirror("a\n17\n17\nx\n", key: [])) == [0, 0, 1])
    #expect(counts(try await mirror("a\n17\n17\nx\n", key: [])) == [0, 0, 0])
    let mirror = DatabaseMirror(table: "j", key: [])
    for json in [#"[{"v":{"a":1,"b":2}}]"#, #"[{"v":{"b":2,"a":1}}]"#] {
      let path = try folder.write(json, to: "list.json")
      try await mirror.run(from: .file(path), into: database)
    }
    #expect(try await rows("SELECT v ->> 'a', rowid FROM j") == ["1|1"])
    #expect(try await rows("SELECT v = '{\"a\":1,\"b\":2}' FROM j") == ["1"])
  }

  @Test("rows without a key are deleted in the order of their rowids")
  func keylessOrder() async throws {
    try await execute("CREATE TABLE t (a)")
    let numbers: [Int64] = [7, 1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6]
    for number in numbers { try await execute("INSERT INTO t VALUES (\(number))") }
    let deleted = try await mirror("a\n1\n", key: []).difference.deleted
    let expected: [FieldValue] = numbers.filter { $0 != 1 }.map { .integer($0) }
    #expect(deleted.map { $0.values[0] } == expected)
  }
}

// MARK: - Types of columns

extension MirrorCellTests {
  @Test("a new table says the types that the cells decided on")
  func decidedTypes() async throws {
    let created = try await mirror(
      "id,lon,code,none\n1,108.83371499999998,007,\n2,-0.30000000000000004,x,\n")
    #expect(created.decidedTypes == ["id INTEGER", "lon REAL", "code TEXT", "none ANY"])
    #expect(try await rows("SELECT id FROM t WHERE lon BETWEEN -10 AND 10") == ["2"])
    let added = try await mirror("id,more\n1,\"x\"\n2,\n")
    #expect(added.decidedTypes == ["more TEXT"])
    #expect(try await mirror("id,more\n1,\"x\"\n2,\n").decidedTypes.isEmpty)
  }

  @Test("numbers of 16 and 17 digits go into a column of numbers, and odd cells beside them stay")
  func realColumns() async throws {
    try await execute("CREATE TABLE t (id INTEGER PRIMARY KEY, lon REAL, n DECIMAL(9, 2))")
    let list = "id,lon,n\n1,108.83371499999998,1.50\n2,1.50,2\n3,n/a,n/a\n4,1e5,\"7\"\n"
    try await mirror(list)
    #expect(
      try await rows("SELECT * FROM t") == [
        "1|108.83371499999998|1.5", "2|1.5|2", #"3|"n/a"|"n/a""#, "4|100000.0|7",
      ])
    #expect(counts(try await mirror(list)) == [0, 0, 0])
    let refusal = await message { try await mirror("id,lon\n1,0.12345678901234567\n2,1.5\n") }
    #expect(
      refusal.contains(#"the value "0.12345678901234567" of field lon would be changed"#),
      "\(refusal)")
  }

  @Test("a type that is given is that of the column, or a refusal if the table has another one")
  func givenTypes() async throws {
    let types: [String: ColumnType] = ["zip": .text, "LON": .real, "code": .any, "none": .integer]
    let list = "id,zip,lon,code,none\n1,12345,7,x,\n2,54321,n/a,8,\n"
    let created = try await mirror(list, types: types)
    #expect(
      created.decidedTypes
        == ["id INTEGER", "zip TEXT", "lon REAL", "code ANY", "none INTEGER"])
    #expect(
      try await rows("SELECT * FROM t") == [
        #"1|"12345"|7.0|"x"|null"#, #"2|"54321"|"n/a"|8|null"#,
      ])
    #expect(counts(try await mirror(list, types: types)) == [0, 0, 0])
    for (types, words) in [
      (["zip": .integer], "column zip of t has the type TEXT, not INTEGER"),
      (["Lon": .text], "column lon of t has the type REAL, not TEXT"),
      (["code": .text], "column code of t has no type, not TEXT"),
      (["zips": .text], "no record of the list has the field zips"),
    ] as [([String: ColumnType], String)] {
      let refusal = await message { try await mirror(list, types: types) }
      #expect(refusal.contains(words), "\(refusal)")
    }
    let changed = await message {
      try await mirror("id,more\n1,007\n2,8\n", types: ["more": .integer])
    }
    #expect(changed.contains(#"the value "007" of field more would be changed"#), "\(changed)")
  }
}
