import TandemDifferences
import TandemRecords
import TandemSQLite
import TestRandom
import Testing

struct TableWriterTests {
  private let connection: DatabaseConnection

  init() throws {
    connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("CREATE TABLE t (id, v, w)")
    try connection.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), ('1', 'c', 3)")
  }

  private func writer(_ columns: [String] = ["id", "v", "w"], key: [Int] = [0]) throws
    -> TableWriter
  {
    TableWriter(
      connection, table: "t", columns: try #require(RecordLayout(columns)), key: key)
  }

  private func rows() throws -> [[FieldValue]] {
    try connection.valueRows("SELECT * FROM t ORDER BY w, id")
  }

  @Test("an insertion, an update and a deletion change the row of that key, by type and bytes")
  func changes() throws {
    let writer = try writer()
    try writer.insert(["id": "A", "v": "d", "w": 4])
    try writer.insert(["id": "a", "v": "e", "w": 5])
    try writer.update(from: ["id": "1", "v": "c", "w": 3], to: ["id": "1", "v": "C", "w": 3])
    try writer.update(from: ["id": 2, "v": "b", "w": 2], to: ["id": 2, "v": .null, "w": 2])
    try writer.delete(["id": 1, "v": "a", "w": 1])
    try writer.delete(["id": "A", "v": "d", "w": 4])
    #expect(try rows() == [[2, .null, 2], ["1", "C", 3], ["a", "e", 5]])
  }

  @Test("the key is told apart by bytes even where the column's collation does not")
  func collation() throws {
    try connection.execute("DROP TABLE t")
    try connection.execute("CREATE TABLE t (id TEXT COLLATE NOCASE, v, w)")
    try connection.execute("INSERT INTO t VALUES ('a', 1, 1), ('A', 2, 2)")
    try writer().update(from: ["id": "A", "v": 2, "w": 2], to: ["id": "A", "v": 3, "w": 2])
    try writer().delete(["id": "a", "v": 1, "w": 1])
    #expect(try rows() == [["A", 3, 2]])
  }

  @Test("an update writes the values that differ and no others, and not the key")
  func writesWhatDiffers() throws {
    try connection.execute("CREATE TABLE log (entry)")
    for column in ["id", "v", "w"] {
      try connection.execute(
        "CREATE TRIGGER \(column) UPDATE OF \(column) ON t BEGIN INSERT INTO log VALUES ('\(column)'); END"
      )
    }
    let old: Record = ["id": 1, "v": "a", "w": 1]
    try writer().update(from: old, to: ["id": 1.0, "v": "x", "w": 1.0])
    #expect(try connection.valueRows("SELECT entry FROM log") == [["v"]])
    try writer().update(from: old, to: old)
    #expect(try connection.integer("SELECT count(*) FROM log") == 1)
    #expect(try rows().first.map { $0.map(exact) } == ["integer 1", exact("x"), "integer 1"])
  }

  @Test("an update of a row that is not there is an error that names its key")
  func missingRow() throws {
    let error = try databaseError {
      try writer(key: [0, 2]).update(
        from: ["id": 7, "v": "b", "w": 2], to: ["id": 7, "v": "x", "w": 2])
    }
    #expect(error.code == .constraint)
    #expect(
      error.message
        == "0 rows of \"t\" changed where one should, perhaps because of a trigger or of ON CONFLICT IGNORE, "
        + "for the row with key id = 7, w = 2")
    #expect(error.sql?.hasPrefix("UPDATE") == true)
  }

  @Test("a deletion finds a row gone that went along with another, by a foreign key that cascades")
  func cascade() throws {
    try connection.execute(
      "CREATE TABLE tree (id PRIMARY KEY, up REFERENCES tree ON DELETE CASCADE)")
    try connection.execute("INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, NULL)")
    let writer = TableWriter(
      connection, table: "tree", columns: try #require(RecordLayout(["id", "up"])), key: [0])
    for row in try connection.valueRows("SELECT id, up FROM tree WHERE id < 4 ORDER BY id") {
      try writer.delete(["id": row[0], "up": row[1]])
    }
    #expect(try connection.valueRows("SELECT id FROM tree") == [[4]])
  }

  @Test("two rows of one key are an error")
  func twoRows() throws {
    try connection.execute("INSERT INTO t VALUES (1.0, 'again', 9)")
    let error = try databaseError { try writer().delete(["id": 1, "v": "a", "w": 1]) }
    #expect(error.message.hasPrefix("2 rows of \"t\" changed"))
  }

  @Test(
    "a trigger that ignores a change makes it an error", arguments: ["INSERT", "UPDATE", "DELETE"])
  func ignoringTrigger(event: String) throws {
    try connection.execute(
      "CREATE TRIGGER ignoring BEFORE \(event) ON t BEGIN SELECT RAISE(IGNORE); END")
    let before = try rows()
    let record: Record = ["id": 1, "v": "a", "w": 1]
    let error = try databaseError {
      switch event {
      case "INSERT": try writer().insert(["id": 9, "v": "a", "w": 1])
      case "UPDATE": try writer().update(from: record, to: ["id": 1, "v": "x", "w": 1])
      default: try writer().delete(record)
      }
    }
    #expect(error.code == .constraint)
    #expect(error.message.contains("0 rows of \"t\" changed"))
    #expect(try rows() == before)
  }

  @Test("what a trigger changes besides is not counted")
  func busyTrigger() throws {
    try connection.execute("CREATE TABLE log (entry)")
    try connection.execute(
      "CREATE TRIGGER logging AFTER INSERT ON t BEGIN INSERT INTO log VALUES (1), (2); END")
    try writer().insert(["id": 9, "v": "a", "w": 9])
    #expect(try connection.integer("SELECT count(*) FROM log") == 2)
  }

  @Test("a constraint that forbids a change is SQLite's error with the key added")
  func constraint() throws {
    try connection.execute("CREATE UNIQUE INDEX i ON t (v)")
    let error = try databaseError { try writer().insert(["id": 9, "v": "a", "w": 9]) }
    #expect(error.code.rawValue == 2067)
    #expect(error.message == "UNIQUE constraint failed: t.v, for the row with key id = 9")
    #expect(error.description.hasPrefix(":memory:: UNIQUE"))
  }

  @Test(
    "writing what a walk found makes the table the list, so that a second walk finds nothing",
    arguments: 0..<20)
  func convergence(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let table = try DatabaseConnection(path: ":memory:")
    let other = try DatabaseConnection(path: ":memory:")
    try TestTable.untyped.fill(table, rowCount: 50, using: &random)
    try TestTable.withoutRowid.fill(other, rowCount: 50, using: &random)
    let list = try KeyedRecords(try TestTable.records(in: other), key: ["a", "b"])
    let layout = try #require(list.records.first?.layout)
    let key = try ["a", "b"].map { try #require(layout.offset(of: $0)) }
    func changes() throws -> SetDifference<Record> {
      var difference = SetDifference<Record>()
      let scan = try TableScan(table, table: try table.table(), columns: layout, key: key)
      _ = try scan.forEachChange(toRecords: list.records.count, { list.records[$0] }) {
        difference.append($0.change(in: list.records))
      }
      return difference
    }
    let difference = try changes()
    #expect(!difference.isEmpty)
    let writer = TableWriter(table, table: "t", columns: layout, key: key)
    for record in difference.deleted { try writer.delete(record) }
    for update in difference.updated { try writer.update(from: update.old, to: update.new) }
    for record in difference.inserted { try writer.insert(record) }
    #expect(try changes().isEmpty, "seed \(seed)")
    #expect(Set(try TestTable.records(in: table)) == Set(list.records), "seed \(seed)")
  }
}
