import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder

/// A database in memory with the given statements run.
func database(_ statements: String...) throws -> DatabaseConnection {
  let connection = try DatabaseConnection(path: ":memory:")
  for statement in statements { try connection.execute(statement) }
  return connection
}

extension DatabaseMirror {
  /// A mirror without limits in table `t`.
  static func unguarded(_ key: String..., table: String = "t") -> DatabaseMirror {
    DatabaseMirror(
      table: table, key: key,
      mirrorGuard: MirrorGuard(deletionLimit: .percentage(100), allowsEmptySource: true))
  }

  /// Runs in a transaction of a connection.
  @discardableResult
  func run(
    _ records: [Record], into connection: DatabaseConnection, origin: MirrorOrigin? = nil,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws -> Outcome {
    try connection.transaction(isDryRun ? .deferred : .immediate) {
      try run(records, origin: origin, on: connection, progress: progress)
    }
  }

  /// Runs with a list written in JSON.
  @discardableResult
  func run(json: String, into connection: DatabaseConnection) throws -> Outcome {
    try run(RecordReader.records(in: Array(json.utf8), format: .json), into: connection)
  }
}

/// Everything that is in a database: its schema and the rows of all its tables.
func dump(_ connection: DatabaseConnection) throws -> [String] {
  let tables = try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
  return try tables.reduce(into: connection.rows("SELECT sql FROM sqlite_schema")) {
    $0 += try connection.rows("SELECT \($1), * FROM \($1)")
  }
}

/// The message of the error that `body` throws, or `nil`.
func message(of body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch {
    return "\(error)"
  }
}
