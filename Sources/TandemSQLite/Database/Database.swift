internal import Synchronization

/// One SQLite file: a writer, and readers that never wait for it.
///
/// <!-- Snippets/DatabaseCodeInComments.swift database -->
/// ```swift
/// let database = try Database(path: "places.db")
/// try await database.write { transaction in
///   try transaction.insert(Place(id: 1, name: "Büsingen"))
/// }
/// let places = try await database.read { try $0.fetchAll(Place.self) }
/// ```
///
/// - **Writes** run one after the other, in the order in which they were requested. Each is a
///   transaction: committed when its closure returns, rolled back in full when it throws, and on
///   disk when `write` returns (`synchronous=EXTRA`).
/// - **Reads** run concurrently with each other and with a write, up to
///   ``DatabaseConfiguration/maxReaderCount`` at a time. Each sees one state of the file, which
///   includes every commit made before the read was requested.
/// - **Tasks**: no thread of Swift's cooperative pool ever waits for SQLite; the asynchronous
///   functions run on a queue of their connection. Cancelling the task ends waiting and running,
///   rolls back and throws `CancellationError`; a commit that has begun is completed. The
///   synchronous functions block their thread and ignore cancellation, so they can be used for
///   cleaning up.
/// - **Other programs** may use the file at the same time. A write waits for their lock up to
///   ``DatabaseConfiguration/busyTimeout``, then throws ``DatabaseError`` with code `busy`.
/// - **The file** is the one that was opened first, even if the working directory changes. Once it
///   was deleted, moved or replaced, every write throws ``DatabaseError`` with code `cannotOpen`,
///   and so does an access that needs a further connection.
/// - **The journal** of a file changes at the first write, as ``DatabaseConfiguration/journal``
///   says. Opening writes nothing, apart from creating a file that is missing.
/// - **The end**: a database is closed when its last reference is gone, and when the process ends
///   normally, unless it is in use then. So the file is complete without its `-wal`.
/// - **In memory**: the path `:memory:` gives a database that ends with this object. It has only
///   one connection, so that its reads wait for its writes.
///
/// Inside a closure, use the transaction, not the database: an access that would wait for itself is
/// an error (`misuse`). A read inside a write does not wait; it sees the state before the write.
public final class Database: Sendable {
  /// The file, as given.
  public let path: String
  /// The limits.
  public let configuration: DatabaseConfiguration
  /// The connection that writes; `nil` if the file is only read.
  private let writerPool: ConnectionPool?
  /// The connections that read; in memory, the writer.
  private let readers: ConnectionPool
  /// The file that all connections open.
  let file: DatabaseFile
  /// The feed of this database, while it is in use.
  let currentFeed = Mutex(WeakChangeFeed())

  /// Opens a file, and creates it if it is missing and the configuration permits that.
  ///
  /// This reads the file, so it blocks its thread for a moment: see ``open(path:configuration:)``.
  ///
  /// - Throws: ``DatabaseError``: `cannotOpen` (missing, a folder, not permitted), `notADatabase`
  ///   (another kind of file, or encrypted), `busy`, `readOnly`, `corrupt`.
  public init(
    path: String, configuration: DatabaseConfiguration = DatabaseConfiguration()
  ) throws {
    self.path = path
    self.configuration = configuration
    // Opened now, so that a problem with the file is reported here, not at the first use.
    let first = try DatabaseConnection(path: path, configuration)
    let file = try DatabaseFile(first)
    self.file = file
    var readers = (0..<max(1, configuration.maxReaderCount)).map { _ in
      PooledConnection { () throws(DatabaseError) in try file.open(configuration) }
    }
    if first.isReadOnly {
      // The last one is the first to be checked out.
      readers[readers.count - 1] = PooledConnection(first)
      writerPool = nil
      self.readers = ConnectionPool(path: path, readers)
    } else {
      let writer = ConnectionPool(path: path, [PooledConnection(first)])
      writerPool = writer
      self.readers = path == ":memory:" ? writer : ConnectionPool(path: path, readers)
    }
    if file.isOnDisk { OpenDatabases.add(self) }
  }

  deinit { if file.isOnDisk { OpenDatabases.remove(self) } }
}

extension Database: CustomStringConvertible {
  /// As in `"Database(places.db)"`.
  public var description: String { "Database(\(path))" }
}

// MARK: - Reading and writing

extension Database {
  /// Reads one state of the database.
  ///
  /// - Returns: The value that `body` returns.
  /// - Throws: The error that `body` throws; ``DatabaseError``; `CancellationError`.
  public func read<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
  ) async throws -> Value {
    try await readers.withConnection { connection, cancellation in
      try connection.read(cancellation, body)
    }
  }

  /// Reads one state of the database; blocks this thread.
  ///
  /// - Returns: The value that `body` returns.
  /// - Throws: The error that `body` throws; ``DatabaseError``.
  public func read<Value>(_ body: (borrowing ReadTransaction) throws -> Value) throws -> Value {
    try readers.withConnection { connection in try connection.read(nil, body) }
  }

  /// Writes in one transaction, which is on disk when this returns.
  ///
  /// - Returns: The value that `body` returns.
  /// - Throws: The error that `body` throws; ``DatabaseError``; `CancellationError`. Nothing has
  ///   been written then.
  @discardableResult
  public func write<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Value
  ) async throws -> Value {
    try await writer().withConnection { connection, cancellation in
      try connection.write(cancellation, body)
    }
  }

  /// Writes in one transaction, which is on disk when this returns; blocks this thread.
  ///
  /// - Returns: The value that `body` returns.
  /// - Throws: The error that `body` throws; ``DatabaseError``, with code `misuse` inside a read of a
  ///   file that has no write-ahead log. Nothing has been written then.
  @discardableResult
  public func write<Value>(_ body: (borrowing WriteTransaction) throws -> Value) throws -> Value {
    try writer().withConnection { connection in
      if readers.isUsedByThisThread { try connection.checkWritesBesideReads() }
      return try connection.write(nil, body)
    }
  }

  /// Writes in one transaction with the given treatment of foreign keys.
  ///
  /// - Throws: As ``write(_:)-async``.
  package func write<Value: Sendable>(
    foreignKeys: ForeignKeyTreatment,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Value
  ) async throws -> Value {
    try await writer().withConnection { connection, cancellation in
      try connection.write(foreignKeys: foreignKeys, cancellation, body)
    }
  }

  /// Writes in one transaction with the given treatment of foreign keys; blocks this thread.
  package func write<Value>(
    foreignKeys: ForeignKeyTreatment, _ body: (borrowing WriteTransaction) throws -> Value
  ) throws -> Value {
    try writer().withConnection { connection in
      try connection.write(foreignKeys: foreignKeys, nil, body)
    }
  }

  /// The pool of the one connection that writes.
  func writer() throws(DatabaseError) -> ConnectionPool {
    guard let writerPool else {
      throw DatabaseError(code: .readOnly, message: "it was opened for reading only", path: path)
    }
    return writerPool
  }

  /// Runs `body` with the writer's connection, outside any transaction; blocks this thread.
  package func withWriter<Value>(_ body: (DatabaseConnection) throws -> Value) throws -> Value {
    try writer().withConnection(body)
  }

  /// Runs `body` with the writer's connection, outside any transaction.
  package func withWriter<Value: Sendable>(
    _ body: @escaping @Sendable (DatabaseConnection) throws -> Value
  ) async throws -> Value {
    try await writer().withConnection { connection, _ in try body(connection) }
  }
}

// MARK: - Upkeep

extension Database {
  /// Moves all commits from the write-ahead log into the file, and empties the log. Waits for reads
  /// that still need the log, up to the busy timeout.
  ///
  /// - Throws: ``DatabaseError``: `busy` if a read takes longer.
  public func checkpoint() async throws {
    try await writer().withConnection { connection, _ in try connection.checkpoint() }
  }

  /// Moves all commits from the write-ahead log into the file, as ``checkpoint()-async``; blocks
  /// this thread.
  public func checkpoint() throws {
    try writer().withConnection { connection in try connection.checkpoint() }
  }

  /// Closes the file: rejects new and waiting accesses (`misuse`), lets running ones finish, and
  /// leaves no `-wal` or `-shm` file behind, unless another program has the file open. Closing
  /// again does nothing.
  public func close() async {
    await readers.close()
    await stopChangeFeed()
    await writerPool?.close()
  }

  /// Closes the connections that nobody uses, without waiting. If some are used, moves the commits from
  /// the write-ahead log into the file as far as possible.
  func closeIfIdle() {
    stopChangeFeed()
    let isIdle = readers.closeIfIdle()
    writerPool?.closeIfIdle { connection in
      if !isIdle { try? connection.execute("PRAGMA wal_checkpoint(PASSIVE)") }
    }
  }

  /// Closes the file; blocks this thread.
  ///
  /// - Throws: ``DatabaseError`` with code `misuse` from inside a transaction of this database.
  public func close() throws {
    // Before anything is closed: a rejected call changes nothing.
    try readers.checkIsNotNested()
    try writerPool?.checkIsNotNested()
    try readers.close()
    stopChangeFeed()
    try writerPool?.close()
  }
}
