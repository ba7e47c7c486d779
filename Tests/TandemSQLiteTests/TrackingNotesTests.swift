import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("What the triggers of a tracked table note")
struct TrackingNotesTests {
  /// A table, what another program does to it, and the rows that this removes.
  struct Removal: CustomTestStringConvertible, Sendable {
    var statements: [String]
    var change: String
    var removedKeys: Set<FieldValue>

    var testDescription: String { "\(statements[0]): \(change)" }
  }

  private static func byPartialIndex(_ change: String, _ removedKeys: Set<FieldValue>) -> Removal {
    Removal(
      statements: [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)",
        "CREATE UNIQUE INDEX i ON t(a) WHERE b > 5",
        "INSERT INTO t VALUES (1, 'x', 1), (2, 'x', 9), (3, 'y', 9)",
      ], change: change, removedKeys: removedKeys)
  }

  private static func byCascade(_ key: String, _ change: String) -> Removal {
    Removal(
      statements: [
        "CREATE TABLE t (id \(key), p REFERENCES t(id) ON DELETE CASCADE)",
        "INSERT INTO t VALUES (1, NULL), (0, 1), (5, NULL)",
      ], change: change, removedKeys: [0, 1])
  }

  static let removals = [
    byPartialIndex("UPDATE OR REPLACE t SET b = 10 WHERE id = 1", [2]),
    byPartialIndex("UPDATE OR REPLACE t SET a = 'y' WHERE id = 2", [3]),
    byPartialIndex("INSERT OR REPLACE INTO t VALUES (4, 'x', 7)", [2]),
    // Before an update, SQLite computes a column from ones that it has not read.
    Removal(
      statements: [
        "CREATE TABLE t (id TEXT PRIMARY KEY, a, b, g AS (a || b) STORED UNIQUE)",
        "INSERT INTO t (id, a, b) VALUES ('x', 'p', 1), ('y', 'q', 1)",
      ], change: "UPDATE OR REPLACE t SET a = 'q' WHERE id = 'x'", removedKeys: ["y"]),
    byCascade("INTEGER PRIMARY KEY", "UPDATE OR REPLACE t SET id = 1 WHERE id = 0"),
    byCascade("INTEGER PRIMARY KEY", "UPDATE OR REPLACE t SET rowid = '1' WHERE id = 0"),
    byCascade("INT PRIMARY KEY", "UPDATE OR REPLACE t SET id = '1' WHERE id = 0"),
    byCascade("INT PRIMARY KEY", "UPDATE OR REPLACE t SET id = 1.0 WHERE id = 0"),
  ]

  @Test("the keys of all rows that go, also by a partial index or a cascade", arguments: removals)
  func removedKeys(removal: Removal) async throws {
    let folder = try TemporaryFolder()
    let other = try folder.open()
    for statement in removal.statements { try other.execute(statement) }
    let database = try Database(path: folder.file())
    #expect(try await database.track(table: "t") == [])
    await database.close()
    let keys = { (query: String) in Set(try other.valueRows(query).map { exact($0[0]) }) }
    let before = try keys("SELECT id FROM t")
    try other.execute(removal.change)
    let removed = before.subtracting(try keys("SELECT id FROM t"))
    #expect(removed == Set(removal.removedKeys.map(exact)))
    #expect(removed.isSubset(of: try keys("SELECT k1 FROM tandem_changes_t")))
  }

  /// Renames a tracked table, and untracks it after a test.
  private func renameTable(
    to name: String, test: (Database) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    let database = try Database(path: folder.file())
    try await database.write { try $0.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)") }
    _ = try await database.track(table: "t")
    let rename = SQL(text: "ALTER TABLE t RENAME TO \(name)")
    try await database.write { try $0.execute(rename) }
    try await test(database)
    #expect(try await database.untrack(table: name))
    let names = try folder.open().valueRows("SELECT name FROM sqlite_schema")
    #expect(names == [[.text(name)]])
    await database.close()
  }

  @Test(
    "a tracked table is tracked and untracked under a new name", arguments: ["tandemx", "mirrored"])
  func renamed(name: String) async throws {
    try await renameTable(to: name) { database in
      let columns = try await database.track(table: name)
      #expect(columns == [])
    }
  }

  @Test(
    "a tracked table is only untracked under a new name that is Tandem's own",
    arguments: ["Tandem_x", "tandem_changes_x"])
  func reserved(name: String) async throws {
    try await renameTable(to: name) { database in
      await #expect(throws: DatabaseError.self) { try await database.track(table: name) }
    }
  }
}
