import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder

@testable import TandemLiveQueries

extension Database {
  /// Runs statements in one transaction.
  func run(_ statements: String...) async throws {
    try await write { transaction in
      for sql in statements { try transaction.connection.execute(sql) }
    }
  }
}

/// How to wait for a lock whose holder may have been stopped: until the test's time is up.
let patience = Duration.seconds(3_600)

extension TemporaryFolder {
  /// A database in this folder that has run the given statements, and waits for locks.
  func database(_ statements: String...) async throws -> Database {
    let database = try Database(
      path: path(of: "test.db"), configuration: DatabaseConfiguration(busyTimeout: patience))
    try await database.write { transaction in
      for sql in statements { try transaction.connection.execute(sql) }
    }
    return database
  }

  /// A connection that the database knows nothing of, as another program has one, and that waits for
  /// locks.
  func otherConnection() throws -> DatabaseConnection {
    try DatabaseConnection(path: path(of: "test.db"), busyTimeout: patience)
  }
}

/// Whether a condition comes to hold: what a reader's thread has just done with is let go of when that
/// thread goes on, which may be minutes after the one who waited for it.
func comesToHold(_ condition: () async throws -> Bool) async throws -> Bool {
  for _ in 0..<200_000 {
    if try await condition() { return true }
    try await Task.sleep(for: .milliseconds(1))
  }
  return false
}

/// The rows of a query now, by key.
func freshRows(
  _ sql: String, key: [String], in connection: DatabaseConnection
) throws -> [RecordKey: Record] {
  // Compiling alone would trust the schema as the connection last saw it.
  _ = try connection.integer("SELECT count(*) FROM sqlite_schema")
  let statement = try connection.prepare(sql)
  let names = statement.columnNames
  var rows: [RecordKey: Record] = [:]
  while try statement.step() {
    let values = try statement.values()
    guard let record = Record(zip(names, values).map { (name: $0, value: $1) }) else { continue }
    rows[RecordKey(key.map { record[$0] })] = record
  }
  return rows
}

/// Whether two results hold the same rows, no value in another form: `==` takes `1` for `1.0`.
func areIdentical<Key>(_ first: [Key: Record]?, _ second: [Key: Record]) -> Bool {
  guard let first, first.count == second.count else { return false }
  return first.allSatisfy { key, record in second[key]?.hasSameStorage(as: record) == true }
}
