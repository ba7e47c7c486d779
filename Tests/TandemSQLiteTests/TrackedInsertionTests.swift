import TandemRecords
import Testing

@testable import TandemSQLite

@Suite("Many records into a tracked table")
struct TrackedInsertionTests {
  struct Item: Codable, DatabaseRecord {
    static var tableName: String { "item" }
    var id: Int64
    var name: String?
  }

  static let items = (1...40).map { Item(id: Int64($0), name: $0 % 4 == 0 ? nil : "\($0)") }

  /// A tracked database in memory after the given statements.
  static func database(_ statements: String...) async throws -> Database {
    let database = try await Database.open(path: ":memory:")
    try await database.write { transaction in
      for sql in statements { try transaction.connection.execute(sql) }
    }
    _ = try await database.track(table: "item")
    return database
  }

  /// Inserts the items one after another, going on after those that fail.
  static func insert(into database: Database) async throws -> String {
    try await database.write { transaction in
      let insertion = try transaction.connection.insertion(into: "ITEM", count: items.count)
      for item in items {
        // As long as it takes to be looked at, and one that may fail.
        let batch = [item] + Array(repeating: item, count: 15)
        do {
          try transaction.insert(contentsOf: batch)
          Issue.record("an item was inserted twice")
        } catch is DatabaseError {}
      }
      return insertion.name
    }
  }

  static func values(_ sql: String, in database: Database) async throws -> [[FieldValue]] {
    try await database.read { try $0.connection.valueRows(sql) }
  }

  @Test("nothing is kept for undoing, and what fails leaves nothing, not even in the log")
  func alone() async throws {
    let database = try await Self.database(
      "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    #expect(try await Self.insert(into: database) == "without undo")
    let rows = try await Self.values("SELECT id FROM item", in: database)
    #expect(rows.count == 30)
    let log = "SELECT k1 FROM tandem_changes_item WHERE k1 NOT NULL"
    #expect(try await Self.values(log, in: database) == rows)
  }

  @Test(
    "other triggers are undone with the row that fails",
    arguments: ["TRIGGER", "TEMP TRIGGER"])
  func otherTriggers(kind: String) async throws {
    let database = try await Self.database(
      "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)", "CREATE TABLE audit (id)",
      "CREATE TEMP TABLE temporary_audit (id)",
      """
      CREATE \(kind) before_item BEFORE INSERT ON item
      BEGIN INSERT INTO \(kind == "TRIGGER" ? "audit" : "temporary_audit") VALUES (new.id); END
      """)
    #expect(try await Self.insert(into: database) == "plain")
    let audit = try await database.write { transaction in
      try transaction.connection.valueRows(
        "SELECT id FROM audit UNION ALL SELECT id FROM temporary_audit")
    }
    #expect(audit == (try await Self.values("SELECT id FROM item", in: database)))
    #expect(audit.count == 30)
  }

  @Test("a table that says itself what to do about conflicts is obeyed")
  func declaredConflict() async throws {
    let database = try await Self.database(
      "CREATE TABLE item (id INTEGER PRIMARY KEY ON CONFLICT IGNORE, name TEXT)")
    try await database.write { try $0.insert(contentsOf: Self.items + Self.items) }
    #expect(try await Self.values("SELECT id FROM item", in: database).count == Self.items.count)
  }

  @Test("few records, and tables that are not tracked, are inserted as ever")
  func others() async throws {
    let database = try await Self.database(
      "CREATE TABLE item (id INTEGER PRIMARY KEY, name)", "CREATE TABLE other (id)")
    try await database.write { transaction in
      for (table, count) in [("item", 1), ("other", 100), ("missing", 100)] {
        let insertion = try transaction.connection.insertion(into: table, count: count)
        #expect(insertion.name == "plain")
      }
    }
  }
}

extension RecordInsertion {
  /// Which one it is.
  var name: String {
    switch self {
    case .plain: "plain"
    case .withoutUndo: "without undo"
    case .noted: "noted"
    }
  }
}
