import TandemRecords
import Testing

@testable import TandemSQLite

@Suite("Very many records into a table with a shadow")
struct ShadowedInsertionTests {
  struct Entry: DatabaseRecord {
    static let tableName = "item"
    static let columnNames = ["id", "name"]
    var id: FieldValue
    var name: FieldValue

    init(_ id: FieldValue, _ name: FieldValue) { (self.id, self.name) = (id, name) }
    init(row: inout RowDecoder) throws { (id, name) = (try row.next(), try row.next()) }
    func encode(to row: inout RowEncoder) throws {
      try row.append(id)
      try row.append(name)
    }
  }

  private static let count = DatabaseConnection.minCountForNotes

  /// The shadow after a batch of records, and the way in which they were inserted.
  private func shadow(
    _ creation: String, isTracked: Bool, _ entries: [Entry], isBatch: Bool
  ) async throws -> (rows: [[FieldValue]], log: [[FieldValue]], insertion: String) {
    let database = try Database(path: ":memory:")
    try await database.write { transaction in
      let connection = transaction.connection
      try connection.execute(creation)
      try connection.execute("INSERT INTO item (id, name) VALUES (7, 'old'), (8, 'other')")
      if isTracked { try connection.track(TableTracking(table: "item", in: connection)) }
      try connection.keep(TableShadow(table: "item", columns: ["name"], in: connection))
      // The former version of a row that was deleted stays when its key is inserted again.
      try connection.execute("DELETE FROM item WHERE id = 7")
    }
    return try await database.write { transaction in
      let connection = transaction.connection
      let insertion = try connection.insertion(into: "item", count: entries.count).name
      if isBatch {
        try transaction.insert(contentsOf: entries)
      } else {
        for entry in entries { try transaction.insert(entry) }
      }
      return (
        try connection.valueRows(
          "SELECT id, name, tandem_existed FROM tandem_shadow_item ORDER BY id"),
        isTracked
          ? try connection.valueRows("SELECT DISTINCT k1 FROM tandem_changes_item ORDER BY k1")
          : [], insertion
      )
    }
  }

  @Test(
    "The shadow and the log are the same as by triggers", arguments: [true, false],
    [
      ("CREATE TABLE item (id INTEGER PRIMARY KEY, name)", "noted"),
      ("CREATE TABLE item (id TEXT PRIMARY KEY, name UNIQUE)", "noted"),
      ("CREATE TABLE item (id TEXT PRIMARY KEY, name) WITHOUT ROWID", "without undo"),
    ])
  func same(isTracked: Bool, table: (creation: String, insertion: String)) async throws {
    var entries = (0..<Self.count).map { number in
      Entry(.integer(Int64(number * 7_919 % Self.count + 10)), .text("Item \(number)"))
    }
    entries[Self.count / 2].id = 7
    // A key that SQLite chooses, or a row without a key.
    if table.insertion == "noted" { entries[Self.count / 3].id = .null }
    let batch = try await shadow(table.creation, isTracked: isTracked, entries, isBatch: true)
    let single = try await shadow(table.creation, isTracked: isTracked, entries, isBatch: false)
    #expect(batch.insertion == table.insertion)
    #expect(batch.rows == single.rows)
    #expect(batch.log == single.log)
    #expect(batch.rows.contains(["7", "old", 1]) || batch.rows.contains([7, "old", 1]))
  }

  @Test("A table with a trigger of the application is not noted by other means")
  func foreignTrigger() async throws {
    let database = try Database(path: ":memory:")
    try await database.write { transaction in
      let connection = transaction.connection
      try connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name)")
      try connection.keep(TableShadow(table: "item", columns: ["name"], in: connection))
      try connection.execute("CREATE TRIGGER app AFTER INSERT ON item BEGIN SELECT 1; END")
      #expect(try connection.insertion(into: "item", count: Self.count).name == "plain")
    }
  }

  @Test("A shadow whose triggers are out of date is not noted by other means")
  func outOfDate() async throws {
    let database = try Database(path: ":memory:")
    try await database.write { transaction in
      let connection = transaction.connection
      try connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name)")
      try connection.keep(TableShadow(table: "item", columns: ["name"], in: connection))
      #expect(try connection.insertion(into: "item", count: Self.count).name == "noted")
      try connection.execute("DROP TRIGGER tandem_keep_insert_item")
      #expect(try connection.insertion(into: "item", count: Self.count).name == "without undo")
    }
  }
}
