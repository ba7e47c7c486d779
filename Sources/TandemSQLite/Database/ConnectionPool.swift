internal import Dispatch
internal import Synchronization

/// Connections that tasks and threads check out, in the order in which they request them.
final class ConnectionPool: Sendable {
  /// Called once, with a connection, or with `nil` if there will be none.
  private typealias Waiter = @Sendable (PooledConnection?) -> Void
  private typealias Queue = CheckoutQueue<PooledConnection, Waiter>

  private struct State {
    var queue: Queue
    /// Called when a closed pool has all of its connections back.
    var whenIdle: [@Sendable () -> Void] = []
  }

  private let path: String
  private let connections: [PooledConnection]
  private let state: Mutex<State>

  init(path: String, _ connections: [PooledConnection]) {
    self.path = path
    self.connections = connections
    state = Mutex(State(queue: CheckoutQueue(connections)))
  }

  private func checkIn(_ connection: PooledConnection) {
    let (next, whenIdle) = state.withLock { state -> (Waiter?, [@Sendable () -> Void]) in
      let next = state.queue.checkIn(connection)
      guard state.queue.isClosed, state.queue.isIdle else { return (next, []) }
      defer { state.whenIdle = [] }
      return (next, state.whenIdle)
    }
    next?(connection)
    for action in whenIdle { action() }
  }

  private var closedError: DatabaseError {
    DatabaseError(code: .misuse, message: "the database has been closed", path: path)
  }

  /// True if this thread is using one of the connections.
  var isUsedByThisThread: Bool { connections.contains(where: \.isUsedByThisThread) }

  /// Throws ``DatabaseError`` with code `misuse` if this thread is using one of the connections.
  func checkIsNotNested() throws(DatabaseError) {
    guard !isUsedByThisThread else {
      throw DatabaseError(
        code: .misuse,
        message: "the database is used from inside one of its own transactions, which would wait "
          + "for itself; use that transaction instead", path: path)
    }
  }
}

// MARK: - Blocking

extension ConnectionPool {
  /// Runs `body` with a connection on this thread, which blocks until one is idle.
  func withConnection<Value>(_ body: (DatabaseConnection) throws -> Value) throws -> Value {
    try checkIsNotNested()
    let connection = try checkOut()
    defer { checkIn(connection) }
    return try connection.use(body)
  }

  private func checkOut() throws(DatabaseError) -> PooledConnection {
    var wait: BlockingWait?
    let answer = state.withLock { state in
      state.queue.checkOut(state.queue.makeRequestID()) {
        let newWait = BlockingWait()
        wait = newWait
        return { newWait.end($0) }
      }
    }
    switch answer {
    case .checkedOut(let connection): return connection
    case .rejected: throw closedError
    case .waits:
      guard let connection = wait?.untilEnd() else { throw closedError }
      return connection
    }
  }

  /// A thread's wait for a connection.
  private final class BlockingWait: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let connection = Mutex<PooledConnection?>(nil)

    func end(_ connection: PooledConnection?) {
      self.connection.withLock { $0 = connection }
      semaphore.signal()
    }

    func untilEnd() -> PooledConnection? {
      semaphore.wait()
      return connection.withLock { $0 }
    }
  }
}

// MARK: - Suspending

extension ConnectionPool {
  /// Runs `body` with a connection, on its queue, once one is idle. Cancelling the task ends the
  /// wait at once, and interrupts a statement that runs.
  func withConnection<Value: Sendable>(
    _ body: @escaping @Sendable (DatabaseConnection, AccessCancellation) throws -> Value
  ) async throws -> Value {
    let cancellation = AccessCancellation()
    let id = state.withLock { $0.queue.makeRequestID() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        checkOut(id, cancellation) { connection in
          guard let connection else {
            return continuation.resume(
              throwing: cancellation.isCancelled ? CancellationError() : self.closedError)
          }
          connection.enqueue {
            let result = Result { try connection.use { try body($0, cancellation) } }
            self.checkIn(connection)
            continuation.resume(with: result)
          }
        }
      }
    } onCancel: {
      cancellation.cancel()
      state.withLock { $0.queue.withdraw(id) }?(nil)
    }
  }

  private func checkOut(
    _ id: Queue.RequestID, _ cancellation: AccessCancellation, _ waiter: @escaping Waiter
  ) {
    let answer = state.withLock { state in
      // The flag is set before the request is withdrawn, so one of the two takes effect.
      cancellation.isCancelled ? .rejected : state.queue.checkOut(id) { waiter }
    }
    switch answer {
    case .checkedOut(let connection): waiter(connection)
    case .rejected: waiter(nil)
    case .waits: break
    }
  }
}

// MARK: - Closing

extension ConnectionPool {
  /// Rejects waiting and further requests; returns when all connections are back and closed.
  func close() throws {
    try checkIsNotNested()
    let semaphore = DispatchSemaphore(value: 0)
    close { semaphore.signal() }
    semaphore.wait()
  }

  /// Rejects waiting and further requests; returns when all connections are back and closed.
  func close() async {
    await withCheckedContinuation { continuation in close { continuation.resume() } }
  }

  /// Closes the connections, on this thread, and rejects further requests; false if one is in use.
  ///
  /// - Parameter body: Called with each connection that is open.
  @discardableResult
  func closeIfIdle(_ body: (DatabaseConnection) -> Void = { _ in }) -> Bool {
    let idle = state.withLock { state -> [PooledConnection]? in
      guard state.queue.isIdle else { return nil }
      _ = state.queue.close()
      return state.queue.takeIdle()
    }
    for connection in idle ?? [] { connection.close(after: body) }
    return idle != nil
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
    let (rejected, isIdle) = state.withLock { state in
      let rejected = state.queue.close()
      if !state.queue.isIdle { state.whenIdle.append(finish) }
      return (rejected, state.queue.isIdle)
    }
    for waiter in rejected { waiter(nil) }
    if isIdle { finish() }
  }
}
