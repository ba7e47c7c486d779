extension ConnectionSession {
  /// Opens the first connection: the one that writes, unless the file is only read.
  static func first(
    path: String, _ configuration: DatabaseConfiguration
  ) throws(DatabaseError) -> ConnectionSession {
    let isWriter = configuration.access != .readOnly
    let connection = try DatabaseConnection(
      path: path, access: configuration.access, busyTimeout: configuration.busyTimeout)
    if isWriter { try setCheckpoints(of: connection, configuration) }
    return ConnectionSession(connection, isWriter: isWriter, configuration: configuration)
  }

  private static func setCheckpoints(
    of connection: DatabaseConnection, _ configuration: DatabaseConfiguration
  ) throws(DatabaseError) {
    switch configuration.checkpointPolicy {
    case .automatic(let pageCount):
      _ = try connection.integer("PRAGMA wal_autocheckpoint=\(max(1, pageCount))")
    case .manual: _ = try connection.integer("PRAGMA wal_autocheckpoint=0")
    }
  }

  /// Opens a connection that reads.
  static func reader(
    _ file: DatabaseFile, _ configuration: DatabaseConfiguration
  ) throws(DatabaseError) -> ConnectionSession {
    let connection = try file.open(access: .readOnly, busyTimeout: configuration.busyTimeout)
    return ConnectionSession(connection, isWriter: false, configuration: configuration)
  }

  /// A write of the database.
  func write<Value>(
    _ cancellation: AccessCancellation?, _ body: (borrowing WriteTransaction) throws -> Value
  ) throws -> Value {
    try transaction(.immediate, cancellation) { try lend(body) }
  }

  /// A read of the database.
  func read<Value>(
    _ cancellation: AccessCancellation?, _ body: (borrowing ReadTransaction) throws -> Value
  ) throws -> Value {
    isReading = true
    defer { isReading = false }
    guard isWriter else {
      return try transaction(.deferred, cancellation) { try lend(body) }
    }
    // In memory, the writer reads.
    try run("PRAGMA query_only=1")
    defer { try? run("PRAGMA query_only=0") }
    return try transaction(.deferred, cancellation) { try lend(body) }
  }

  /// Calls `body` with a transaction that ends with the call.
  private func lend<Access, Value>(
    _ body: (borrowing DatabaseTransaction<Access>) throws -> Value
  ) throws -> Value {
    // Passed without a name, the value makes Swift 6.3's optimizer abort.
    let transaction = DatabaseTransaction<Access>(self)
    return try body(transaction)
  }

  /// Moves the log into the file and empties it.
  func checkpoint() throws(DatabaseError) {
    let isBusy = try connection.integer("PRAGMA wal_checkpoint(TRUNCATE)")
    guard isBusy != 1 else {
      throw DatabaseError(
        code: .busy, message: "a reader still needs the write-ahead log", path: connection.path)
    }
  }
}
