internal import Synchronization
internal import TandemRecords
internal import TandemSpace
internal import TandemSync

/// A PostgreSQL database that holds spaces, as one node uses it: a bounded number of connections, each with a thread
/// that waits for the server, and one more for hints (``SpaceHints``).
package final class PostgreSQLDatabase: Sendable {
  /// The maximum number of connections, unless specified otherwise. The one for hints comes on top.
  package static let defaultConnectionCount = 8
  /// The number of requests that may wait for a connection.
  static let maxWaitingCount = 1_000
  /// The time that a request may wait for one, so that it is refused while its client still waits for the answer.
  package static let defaultWait = Duration.seconds(10)

  private struct Waiter {
    let number: Int
    let continuation: CheckedContinuation<PostgreSQLWorker?, Never>
    /// Ends the wait.
    let timer: Task<Void, Never>

    func end(with worker: PostgreSQLWorker?) {
      timer.cancel()
      continuation.resume(returning: worker)
    }
  }

  /// The connections. Requests wait only while none is idle.
  private struct State {
    /// Those that no request uses; the one that was used last is taken first.
    var idle: [PostgreSQLWorker] = []
    /// The number of all, also of those that requests use.
    var count = 0
    /// The requests that wait, the first one first. They get `nil` if they have waited too long, or the database is closed.
    var waiting: [Waiter] = []
    /// The number of the last request that had to wait.
    var lastNumber = 0
    /// True when connections end as soon as nobody uses them.
    var isClosed = false
  }

  private let address: String
  private let maxConnectionCount: Int
  private let maxWait: Duration
  private let log: @Sendable (String) -> Void
  private let state = Mutex(State())
  let hints: SpaceHints

  private init(
    address: String, hintAddress: String?, maxConnectionCount: Int, maxWait: Duration = defaultWait,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.log = log
    self.maxWait = maxWait
    self.address = address
    self.maxConnectionCount = maxConnectionCount
    hints = SpaceHints(address: hintAddress ?? address)
  }

  /// Connects with a database.
  ///
  /// - Parameters:
  ///   - address: A connection string of libpq, or `postgresql://…`.
  ///   - hintAddress: The address of the server itself, if the other one is that of a pooler: notifications do not pass
  ///     a pooler.
  ///   - creates: True to create the schema if it is missing.
  ///   - maxWait: The time that a request may wait while others use all connections.
  ///   - patience: The time after which the log says that the server does not answer.
  ///   - log: Called with errors that clients are not told, on any thread.
  /// - Throws: ``PostgreSQLError`` if the server cannot be reached, or the schema is not one that this version can use.
  package static func open(
    address: String, hintAddress: String? = nil, creates: Bool,
    maxConnectionCount: Int = defaultConnectionCount, maxWait: Duration = defaultWait,
    patience: Duration = .seconds(5),
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> PostgreSQLDatabase {
    let database = PostgreSQLDatabase(
      address: address, hintAddress: hintAddress, maxConnectionCount: maxConnectionCount,
      maxWait: maxWait, log: log)
    let waiting = Task {
      try await Task.sleep(for: patience)
      log(
        "still waiting for PostgreSQL. Check that it can be reached, and that its standby runs if "
          + "synchronous_standby_names is set: commits wait for it")
    }
    defer { waiting.cancel() }
    do {
      try await database.run { connection in
        if connection.isPooled { try checkTransactions(connection) }
        if let hintAddress {
          try check(hintAddress, connection)
        } else if connection.isPooled {
          log(
            "there is a pooler before PostgreSQL, which notifications do not pass: commits of other servers are seen "
              + "within a second. Give the address of PostgreSQL itself as well (`hintAddress`)")
        }
        if creates { try PostgreSQLSchema.create(connection) }
        try PostgreSQLSchema.check(connection)
        let setting = PostgreSQLQuery("SELECT current_setting('fsync')")
        if try connection.exchange([setting])[0] != [["on"]] {
          log(
            "PostgreSQL runs with fsync = off: a crash of its machine loses commits that were acknowledged; turn it on"
          )
        }
      }
    } catch {
      await database.close()
      throw error
    }
    return database
  }

  /// Upgrades the tables that an earlier version has made, while no server uses them.
  ///
  /// - Returns: The version that the tables had, and the one that they have.
  /// - Throws: ``PostgreSQLError`` if it is not possible. Nothing has changed then, unless the code is `lost`.
  package static func upgrade(address: String) async throws -> (from: Int64, to: Int64) {
    let database = PostgreSQLDatabase(
      address: address, hintAddress: nil, maxConnectionCount: 1, log: { _ in })
    let former = try await closing(database.close) {
      try await database.run { try PostgreSQLSchema.upgrade($0) }
    }
    return (former, PostgreSQLSchema.format)
  }

  /// Throws if a pooler allows single statements only.
  private static func checkTransactions(
    _ connection: PostgreSQLConnection
  ) throws(PostgreSQLError) {
    do {
      try connection.exchange(connection.begin("READ COMMITTED READ ONLY"))
      try connection.exchange([PostgreSQLQuery("COMMIT")])
    } catch {
      throw PostgreSQLError(
        .connection,
        "the pooler ends transactions (\(error.message)); give it pool_mode = transaction or session"
      )
    }
  }

  /// Throws unless an address leads to the same database as a connection, past any pooler.
  private static func check(
    _ hintAddress: String, _ connection: PostgreSQLConnection
  ) throws(PostgreSQLError) {
    let direct = try PostgreSQLConnection(address: hintAddress)
    guard !direct.isPooled else {
      throw PostgreSQLError(
        .address, "`hintAddress` leads to a pooler; give the address of PostgreSQL itself")
    }
    let database = PostgreSQLQuery(
      "SELECT system_identifier, current_database()::text FROM pg_control_system()")
    guard try direct.exchange([database]) == connection.exchange([database]) else {
      throw PostgreSQLError(
        .address, "`hintAddress` leads to another database; give that of the spaces")
    }
  }

  /// Throws if an address cannot be used, or has a password that other users of the machine can see.
  ///
  /// - Parameter allowsPassword: True if the address comes from a place that other users cannot see.
  package static func check(
    address: String, allowsPassword: Bool = false
  ) throws(PostgreSQLError) {
    try PostgreSQLConnection.check(address: address, allowsPassword: allowsPassword)
  }

  /// The number of connections that requests use now, and of requests that wait for one.
  package var usage: (connectionCount: Int, waitingCount: Int) {
    state.withLock { ($0.count - $0.idle.count, $0.waiting.count) }
  }

  /// Ends the notifications: other nodes then see the commits of this one when they look, and this one theirs. For
  /// benchmarks, which measure what notifications cost.
  package func endHints() { hints.close() }

  /// Ends all connections. Requests fail from now on.
  package func close() async {
    let (workers, waiting) = state.withLock { state in
      state.isClosed = true
      defer { (state.idle, state.waiting) = ([], []) }
      return (state.idle, state.waiting)
    }
    for waiter in waiting { waiter.end(with: nil) }
    for worker in workers { await worker.close() }
    hints.close()
  }
}

// MARK: - Connections

extension PostgreSQLDatabase {
  /// Runs `body` with a connection, on the thread of the connection.
  ///
  /// A connection that was open may have been ended meanwhile, as by a server that was started again. `body` then runs
  /// once more, with a new one. It must not have an effect that could be doubled when it throws `lost`.
  func run<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
  ) async throws -> Value {
    let worker = try await checkOut()
    let result = await worker.run(body)
    await checkIn(worker)
    return try result.get()
  }

  private func checkOut() async throws -> PostgreSQLWorker {
    let worker: PostgreSQLWorker? = await withCheckedContinuation { continuation in
      let decision = state.withLock { state -> PostgreSQLWorker?? in
        guard !state.isClosed else { return .some(nil) }
        if let idle = state.idle.popLast() { return idle }
        if state.count < maxConnectionCount {
          state.count += 1
          return PostgreSQLWorker(address: address)
        }
        guard state.waiting.count < Self.maxWaitingCount else { return .some(nil) }
        state.lastNumber += 1
        state.waiting.append(waiter(state.lastNumber, continuation))
        return .none
      }
      if let decision { continuation.resume(returning: decision) }
    }
    guard let worker else {
      throw SyncRequestError(
        .unavailable, "all connections with the database are in use; try again",
        retryAfter: .seconds(1))
    }
    return worker
  }

  private func waiter(
    _ number: Int, _ continuation: CheckedContinuation<PostgreSQLWorker?, Never>
  ) -> Waiter {
    let timer = Task {
      do { try await Task.sleep(for: maxWait) } catch { return }
      let waiter = state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
      waiter?.end(with: nil)
    }
    return Waiter(number: number, continuation: continuation, timer: timer)
  }

  private func checkIn(_ worker: PostgreSQLWorker) async {
    let (next, closes) = state.withLock { state -> (Waiter?, Bool) in
      if state.isClosed { return (nil, true) }
      if !state.waiting.isEmpty { return (state.waiting.removeFirst(), false) }
      state.idle.append(worker)
      return (nil, false)
    }
    next?.end(with: worker)
    if closes { await worker.close() }
  }
}

// MARK: - Transactions

extension PostgreSQLDatabase {
  /// Runs `body` in a transaction of a space.
  ///
  /// - Throws: ``TandemSync/SyncRequestError`` with code `unavailable` if the server cannot answer now, or if nobody
  ///   knows whether the transaction was committed.
  func transaction<Value: Sendable>(
    of space: Int64, place: String, writes: Bool, limits: SyncLimits,
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    try await request { connection in
      let rows = PostgreSQLSpaceConnection(
        connection, space: space, place: place, writes: writes)
      let value: Value
      do {
        value = try body(SpaceTables(rows, limits: limits))
      } catch {
        rows.rollBack()
        throw error
      }
      do throws(PostgreSQLError) {
        try rows.commit()
      } catch {
        rows.rollBack()
        guard error.code == .lost else { throw error }
        // Not `lost`: it may have been committed, so that it must not run again here.
        throw SyncRequestError(
          .unavailable,
          "the connection with the database broke during a commit, so that its outcome is unknown; send it again",
          retryAfter: .seconds(1))
      }
      return value
    }
  }

  /// The rows of a statement.
  func rows(_ query: PostgreSQLQuery) async throws -> [[FieldValue]] {
    try await request { try $0.exchange([query])[0] }
  }

  /// Runs `body` with a connection (``run(_:)``); an error that passes becomes a refusal.
  func request<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
  ) async throws -> Value {
    do {
      return try await run(body)
    } catch let error as PostgreSQLError {
      guard let refusal = error.refusal else { throw error }
      log("\(error)")
      throw refusal
    }
  }
}
