internal import Synchronization
internal import SystemLibrary
internal import TandemRecords
internal import TandemSQLite

/// The database of a run. A file that is named by its path is opened once it exists, and created once there is
/// something to write: an unfit list creates none.
final class MirrorDatabase: Sendable {
  let path: String
  private let isReadOnly: Bool
  private let isOwned: Bool
  private let opened: Mutex<Database?>

  init(_ database: Database, isReadOnly: Bool) {
    path = database.path
    self.isReadOnly = isReadOnly
    isOwned = false
    opened = Mutex(database)
  }

  init(path: String, isReadOnly: Bool) {
    self.path = path
    self.isReadOnly = isReadOnly
    isOwned = true
    opened = Mutex(nil)
  }

  /// Reads one state of the database; an empty one if there is no file yet.
  ///
  /// A run that writes later reads by the connection that writes, so that the two moments can be compared
  /// (``DatabaseMirror/Comparison/isCurrent(in:)``).
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (DatabaseConnection) throws -> Value
  ) async throws -> Value {
    if opened.withLock({ $0 == nil }), isMissing {
      return try await Database(path: ":memory:").read { try body($0.connection) }
    }
    let database = try await open(isReadOnly ? .readOnly : .readWrite)
    if isReadOnly { return try await database.read { try body($0.connection) } }
    return try await database.withWriter { connection in
      try connection.transaction(.deferred) { try body(connection) }
    }
  }

  /// True if there is no file. One that cannot be looked for is not missing: opening it gives the reason.
  private var isMissing: Bool {
    access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  /// Writes in one transaction, to a file that is created if it is missing.
  func write<Value: Sendable>(
    _ body: @escaping @Sendable (DatabaseConnection) throws -> Value
  ) async throws -> Value {
    try await open(.readWriteCreate).write { try body($0.connection) }
  }

  /// Widens columns of a table that others refer to, in a transaction of its own.
  func widen(_ columns: [String], ofTable table: String) async throws {
    try await open(.readWriteCreate).widen(columns, ofTable: table)
  }

  private func open(_ access: DatabaseConfiguration.Access) async throws -> Database {
    if let database = opened.withLock({ $0 }) { return database }
    var configuration = DatabaseConfiguration()
    configuration.access = access
    let database = try await Database.open(path: path, configuration: configuration)
    opened.withLock { $0 = database }
    return database
  }

  /// Closes a file that was opened by its path.
  func close() async {
    if isOwned { await opened.withLock { $0 }?.close() }
  }

  /// The file, and those that SQLite may put beside it.
  var filePaths: [String] {
    DatabaseFile.paths(resolvedPath(path) ?? path)
  }
}
