internal import Dispatch
internal import Synchronization

/// Connections that are lent to tasks and threads, in the order in which they ask.
final class ConnectionPool: Sendable {
  /// Called once, with a connection, or with `nil` if there will be none.
  private typealias Borrower = @Sendable (PooledConnection?) -> Void

  private struct State {
    var queue: LendingQueue<PooledConnection, Borrower>
    var whenWhole: [@Sendable () -> Void] = []
  }

  private let path: String
  private let connections: [PooledConnection]
  private let state: Mutex<State>

  init(path: String, _ connections: [PooledConnection]) {
    self.path = path
    self.connections = connections
    state = Mutex(State(queue: LendingQueue(connections)))
  }

  private func giveBack(_ connection: PooledConnection) {
    let (next, whenWhole) = state.withLock { state -> (Borrower?, [@Sendable () -> Void]) in
      let next = state.queue.giveBack(connection)
      guard state.queue.isClosed, state.queue.isWhole else { return (next, []) }
      defer { state.whenWhole = [] }
      return (next, state.whenWhole)
    }
    next?(connection)
    for action in whenWhole { action() }
  }

  private var closedError: DatabaseError {
    DatabaseError(code: .misuse, message: "the database has been closed", path: path)
  }

  func checkIsNotNested() throws(DatabaseError) {
    guard !connections.contains(where: \.isUsedByThisThread) else {
      throw DatabaseError(
        code: .misuse,
        message: "the database is used from inside one of its own transactions, which would wait "
          + "for itself; use that transaction instead", path: path)
    }
  }
}

// MARK: - Blocking

extension ConnectionPool {
  /// Runs `body` on this thread, which waits for its turn.
  func lend<Value>(_ body: (ConnectionSession) throws -> Value) throws -> Value {
    try checkIsNotNested()
    let connection = try borrow()
    defer { giveBack(connection) }
    return try connection.use(body)
  }

  private func borrow() throws(DatabaseError) -> PooledConnection {
    var turn: Turn?
    let answer = state.withLock { state in
      let ticket = state.queue.ticket()
      return state.queue.request(ticket) {
        let newTurn = Turn()
        turn = newTurn
        return { newTurn.come($0) }
      }
    }
    switch answer {
    case .lent(let connection): return connection
    case .refused: throw closedError
    case .waits:
      guard let connection = turn?.wait() else { throw closedError }
      return connection
    }
  }

  /// What a thread waits on.
  private final class Turn: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let connection = Mutex<PooledConnection?>(nil)

    func come(_ connection: PooledConnection?) {
      self.connection.withLock { $0 = connection }
      semaphore.signal()
    }

    func wait() -> PooledConnection? {
      semaphore.wait()
      return connection.withLock { $0 }
    }
  }
}

// MARK: - Suspending

extension ConnectionPool {
  /// Runs `body` on the connection's queue, when its turn has come. Cancelling the task ends the wait
  /// at once, and interrupts what runs.
  func lend<Value: Sendable>(
    _ body: @escaping @Sendable (ConnectionSession, AccessCancellation) throws -> Value
  ) async throws -> Value {
    let cancellation = AccessCancellation()
    let ticket = state.withLock { $0.queue.ticket() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        request(ticket, cancellation) { connection in
          guard let connection else {
            return continuation.resume(
              throwing: cancellation.isCancelled ? CancellationError() : self.closedError)
          }
          connection.enqueue {
            let result = Result { try connection.use { try body($0, cancellation) } }
            self.giveBack(connection)
            continuation.resume(with: result)
          }
        }
      }
    } onCancel: {
      cancellation.cancel()
      state.withLock { $0.queue.withdraw(ticket) }?(nil)
    }
  }

  private func request(
    _ ticket: UInt64, _ cancellation: AccessCancellation, _ borrower: @escaping Borrower
  ) {
    let answer = state.withLock { state in
      // The flag is set before the ticket is withdrawn, so one of the two is seen.
      cancellation.isCancelled ? .refused : state.queue.request(ticket) { borrower }
    }
    switch answer {
    case .lent(let connection): borrower(connection)
    case .refused: borrower(nil)
    case .waits: break
    }
  }
}

// MARK: - Closing

extension ConnectionPool {
  /// Refuses who waits and whoever comes; returns when all connections are back and closed.
  func close() throws {
    try checkIsNotNested()
    let semaphore = DispatchSemaphore(value: 0)
    close { semaphore.signal() }
    semaphore.wait()
  }

  /// The same, without blocking the thread.
  func close() async {
    await withCheckedContinuation { continuation in close { continuation.resume() } }
  }

  private func close(whenClosed: @escaping @Sendable () -> Void) {
    let finish: @Sendable () -> Void = {
      // Not on the caller's thread: closing may move the log into the file.
      guard let queue = self.connections.first else { return whenClosed() }
      queue.enqueue {
        for connection in self.state.withLock({ $0.queue.takeIdle() }) { connection.close() }
        whenClosed()
      }
    }
    let (refused, isWhole) = state.withLock { state in
      let refused = state.queue.close()
      if !state.queue.isWhole { state.whenWhole.append(finish) }
      return (refused, state.queue.isWhole)
    }
    for borrower in refused { borrower(nil) }
    if isWhole { finish() }
  }
}
