internal import Dispatch

/// One SQLite file: a writer, and readers that never wait for it.
///
///     let database = try Database(path: "places.db")
///     try await database.write { transaction in
///       try transaction.insert(Place(id: 1, name: "Büsingen"))
///     }
///     let places = try await database.read { try $0.fetchAll(Place.self) }
///
/// - **Writes** run one after the other, in the order in which they were asked for. Each is a
///   transaction: committed when its closure returns, rolled back whole when it throws, and on disk
///   when `write` returns (`synchronous=FULL`).
/// - **Reads** run beside each other and beside a write, up to
///   ``DatabaseConfiguration/maxReaderCount`` at a time, and see one state of the file, in which
///   everything is that was committed before they were asked for.
/// - **Tasks**: no thread of Swift's cooperative pool ever waits for SQLite; the asynchronous
///   functions run on a queue of their connection. Cancelling the task ends waiting and running, rolls
///   back and throws `CancellationError`; once a commit has begun, it is too late. The synchronous
///   functions block their thread, and do not look at cancellation, so they serve for cleaning up.
/// - **Other programs** may use the file at the same time. A write waits for their lock as long as
///   ``DatabaseConfiguration/busyTimeout`` says, then throws ``DatabaseError`` with code `busy`.
/// - **The file** is the one that was opened first, wherever the working directory is later. Once it was
///   deleted, moved or replaced, every write throws ``DatabaseError`` with code `cannotOpen`, and so does
///   what needs a further connection.
/// - **In memory**: the path `:memory:` gives a database that is gone with this object. It has one
///   connection only, so that its reads wait for its writes.
///
/// From inside a closure, use the transaction, not the database: what would wait for itself there is an
/// error (`misuse`). A read inside a write does not wait; it sees what was there before the write.
public final class Database: Sendable {
  /// The file, as given.
  public let path: String
  /// The limits.
  public let configuration: DatabaseConfiguration
  /// Without one, the file is only read.
  private let writer: ConnectionPool?
  /// Without readers, the writer reads.
  private let readers: ConnectionPool?
  /// What all connections open.
  let file: DatabaseFile

  /// Opens a file, and creates it if it is missing and the configuration allows.
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
    // What is wrong with the file is found out here, not at the first use.
    let first = try ConnectionSession.first(path: path, configuration)
    let file = try DatabaseFile(first.connection)
    self.file = file
    var readers = (0..<max(1, configuration.maxReaderCount)).map { _ in
      PooledConnection { () throws(DatabaseError) in
        try ConnectionSession.reader(file, configuration)
      }
    }
    // The last one is the first to be lent.
    if !first.isWriter { readers[readers.count - 1] = PooledConnection(first) }
    writer = first.isWriter ? ConnectionPool(path: path, [PooledConnection(first)]) : nil
    self.readers =
      path == ":memory:" && first.isWriter ? nil : ConnectionPool(path: path, readers)
  }
}

// MARK: - Reading and writing

extension Database {
  /// Reads one state of the database.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; ``DatabaseError``; `CancellationError`.
  public func read<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing ReadTransaction) throws -> Value
  ) async throws -> Value {
    try await reading().lend { session, cancellation in
      try session.read(cancellation, body)
    }
  }

  /// Reads one state of the database; blocks this thread.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; ``DatabaseError``.
  public func read<Value>(_ body: (borrowing ReadTransaction) throws -> Value) throws -> Value {
    try reading().lend { session in try session.read(nil, body) }
  }

  /// Writes in one transaction, which is on disk when this returns.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; ``DatabaseError``; `CancellationError`. Nothing has been written
  ///   then.
  @discardableResult
  public func write<Value: Sendable>(
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Value
  ) async throws -> Value {
    try await writing().lend { session, cancellation in
      try session.write(cancellation, body)
    }
  }

  /// Writes in one transaction, which is on disk when this returns; blocks this thread.
  ///
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws; ``DatabaseError``. Nothing has been written then.
  @discardableResult
  public func write<Value>(_ body: (borrowing WriteTransaction) throws -> Value) throws -> Value {
    try writing().lend { session in try session.write(nil, body) }
  }

  private func reading() throws(DatabaseError) -> ConnectionPool {
    guard let pool = readers ?? writer else { preconditionFailure("one of them is always there") }
    return pool
  }

  private func writing() throws(DatabaseError) -> ConnectionPool {
    guard let writer else {
      throw DatabaseError(code: .readOnly, message: "it was opened for reading only", path: path)
    }
    return writer
  }
}

// MARK: - Upkeep

extension Database {
  /// Opens a file without blocking this thread. Cancelling the task ends the wait at once; what the file
  /// keeps waiting is closed when it comes.
  ///
  /// - Throws: As ``init(path:configuration:)``; `CancellationError`.
  public static func open(
    path: String, configuration: DatabaseConfiguration = DatabaseConfiguration()
  ) async throws -> Database {
    let opening = DatabaseOpening()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard opening.begin(continuation) else { return }
        DispatchQueue.global().async {
          opening.end(Result { try Database(path: path, configuration: configuration) })
        }
      }
    } onCancel: {
      opening.end(.failure(CancellationError()))
    }
  }

  /// Moves all that was committed from the write-ahead log into the file, and empties the log. Waits
  /// for reads that still need the log, as long as for a lock.
  ///
  /// - Throws: ``DatabaseError``: `busy` if a reader is too slow.
  public func checkpoint() async throws {
    try await writing().lend { session, _ in try session.checkpoint() }
  }

  /// The same; blocks this thread.
  public func checkpoint() throws {
    try writing().lend { session in try session.checkpoint() }
  }

  /// Closes the file: refuses new accesses and those that wait (`misuse`), lets those that run finish,
  /// and leaves no `-wal` or `-shm` file behind, unless another program has the file open. Closing
  /// again does nothing.
  public func close() async {
    await readers?.close()
    await stopChangeFeed()
    await writer?.close()
  }

  /// The same; blocks this thread.
  ///
  /// - Throws: ``DatabaseError`` with code `misuse` from inside a transaction of this database.
  public func close() throws {
    // Before anything is closed: what is refused changes nothing.
    try readers?.checkIsNotNested()
    try writer?.checkIsNotNested()
    try readers?.close()
    stopChangeFeed()
    try writer?.close()
  }
}

// MARK: - For our other files and targets

extension Database {
  /// Runs `body` with the writer, outside any transaction; blocks this thread.
  func withWriterSession<Value>(_ body: (ConnectionSession) throws -> Value) throws -> Value {
    try writing().lend(body)
  }

  /// The same, on the writer's queue.
  func withWriterSession<Value: Sendable>(
    _ body: @escaping @Sendable (ConnectionSession, AccessCancellation) throws -> Value
  ) async throws -> Value {
    try await writing().lend(body)
  }
}

extension Database {
  /// Makes `observer` the one that learns of every transaction written here; `nil` removes it. Waits
  /// for the writer.
  package func setCommitObserver(_ observer: (any CommitObserver)?) throws {
    try writing().lend { session in session.setObserver(observer) }
  }

  /// The same, without blocking this thread.
  package func setCommitObserver(_ observer: (any CommitObserver)?) async throws {
    try await writing().lend { session, _ in session.setObserver(observer) }
  }

  /// Runs `body` with the writer's connection, outside any transaction; blocks this thread.
  package func withWriter<Value>(_ body: (DatabaseConnection) throws -> Value) throws -> Value {
    try writing().lend { session in try body(session.connection) }
  }

  /// The same, on the writer's queue.
  package func withWriter<Value: Sendable>(
    _ body: @escaping @Sendable (DatabaseConnection) throws -> Value
  ) async throws -> Value {
    try await writing().lend { session, _ in try body(session.connection) }
  }
}
