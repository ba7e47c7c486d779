internal import Synchronization
internal import TandemSQLite

/// The result of a query as a run delivered it last.
protocol LiveState: Sendable {
  associatedtype Output: Sendable

  /// Advances to the state of the open snapshot, to which `changes` lead.
  ///
  /// - Returns: The element to deliver; `nil` if nothing changed.
  mutating func advance(_ changes: CommittedChanges, _ reading: LiveReading) throws -> Output?

  /// True if the next changes are expected to need the whole result.
  ///
  /// - Parameter isUnknown: True if others may have changed anything.
  func readsEverything(ifUnknown isUnknown: Bool) -> Bool
}

/// An open snapshot, and a function that sets the changes that matter from now on.
struct LiveReading {
  let connection: DatabaseConnection
  /// Takes `nil` for all changes.
  let setInterests: ([TableInterest]?) -> Void
}

/// A run, without the type of its state.
protocol LiveRunning<Output>: AnyObject, Sendable {
  associatedtype Output: Sendable

  func next() async throws -> Output?
}

/// One iteration of a live query: it subscribes at its first step, and unsubscribes when it is
/// released.
///
/// Whoever brings the state up to date holds the lock from the beginning of the snapshot on, so
/// that the state never goes back.
final class LiveRun<State: LiveState>: LiveRunning {
  /// The most outputs that wait for a consumer that gets every commit.
  static var maxUndeliveredCount: Int { 10_000 }

  private struct Progress {
    var state: State
    var subscription: (feed: ChangeFeed, changes: ChangeSubscription)?
    /// The outputs that the consumer has not taken, and the error that follows them.
    var outputs: ArraySlice<State.Output> = []
    var failure: (any Error)?
    var isFinished = false
    var readPause = ReadPause()
  }

  private let database: Database
  private let delivery: LiveDelivery
  private let progress: Mutex<Progress>
  /// Replaced in tests.
  private let sleep: @Sendable (Duration) async throws -> Void

  init(
    _ database: Database, _ delivery: LiveDelivery = .latest, state: sending State,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.database = database
    self.delivery = delivery
    self.sleep = sleep
    progress = Mutex(Progress(state: state))
  }

  deinit {
    if let (feed, changes) = progress.withLock({ $0.subscription }) { feed.unsubscribe(changes) }
  }

  func next() async throws -> State.Output? {
    do {
      while !Task.isCancelled, !progress.withLock({ $0.isFinished }) {
        if let output = try nextOutput() { return output }
        let (feed, changes) = try await subscription()
        await changes.wait()
        try await pause(before: changes)
        try await advance(feed, changes)
      }
      finish()
      return nil
    } catch {
      finish()
      // An interrupted run fails in many ways, none of which matters to whoever cancelled it.
      if Task.isCancelled { return nil }
      throw error
    }
  }

  private func nextOutput() throws -> State.Output? {
    try progress.withLock { progress in
      if let output = progress.outputs.popFirst() {
        // A slice keeps the elements before it, such as a first difference with all rows.
        if progress.outputs.isEmpty { progress.outputs = [] }
        return output
      }
      if let failure = progress.failure { throw failure }
      return nil
    }
  }

  private func subscription() async throws -> (ChangeFeed, ChangeSubscription) {
    if let subscription = progress.withLock({ $0.subscription }) { return subscription }
    let feed = try await BusyRetry.run { try await self.database.changeFeed() }
    var action: ChangeSubscription.CommitAction?
    if delivery == .everyCommit {
      action = { [weak self] connection in self?.didCommit(connection) }
    }
    let changes = feed.subscribe(onCommit: action)
    progress.withLock { $0.subscription = (feed: feed, changes: changes) }
    return (feed, changes)
  }

  private func finish() {
    let subscription = progress.withLock { progress in
      progress.isFinished = true
      defer { progress.subscription = nil }
      return progress.subscription
    }
    if let (feed, changes) = subscription { feed.unsubscribe(changes) }
  }
}

// MARK: - Reading

extension LiveRun {
  /// Waits so that writers have most of the time, if they cannot write while the result is read.
  private func pause(before changes: ChangeSubscription) async throws {
    let pause = progress.withLock { progress in
      progress.state.readsEverything(ifUnknown: changes.hasUnknownChanges)
        ? progress.readPause.duration : .zero
    }
    if pause > .zero { try await sleep(pause) }
  }

  private func advance(_ feed: ChangeFeed, _ changes: ChangeSubscription) async throws {
    try Task.checkCancellation()
    guard changes.hasChanges else { return }
    try await BusyRetry.run {
      try await self.database.read { transaction in
        try self.advance(feed, changes, transaction.connection)
      }
    }
  }

  /// Brings the state up to date with the state that a connection reads, in an open transaction
  /// that has read nothing.
  private func advance(
    _ feed: ChangeFeed, _ subscription: ChangeSubscription, _ connection: DatabaseConnection
  ) throws {
    let start = ContinuousClock.now
    try progress.withLock { progress in
      guard progress.failure == nil else { return }
      let changes = try feed.beginSnapshot(connection, for: subscription)
      guard !changes.isEmpty else { return }
      let reading = LiveReading(connection: connection) {
        feed.setInterests($0, of: subscription)
      }
      // The changes have been taken, so an error from here on must not be retried.
      do {
        let readsEverything = progress.state.readsEverything(ifUnknown: changes.isUnknown)
        if let output = try progress.state.advance(changes, reading) {
          progress.outputs.append(output)
        }
        if readsEverything {
          let cost = ContinuousClock.now - start
          progress.readPause.didRead(for: try connection.blocksWriters() ? cost : .zero)
        }
      } catch {
        progress.failure = error
      }
    }
  }

  /// Brings the state up to date with a commit of this process, before the next one.
  private func didCommit(_ connection: DatabaseConnection) {
    guard let (feed, changes) = progress.withLock({ $0.subscription }) else { return }
    do {
      try connection.snapshot {
        try advance(feed, changes, connection)
        try checkCount()
      }
    } catch let error as DatabaseError where error.code.primary == .busy {
      // Another program has locked the file. The consumer retries.
    } catch {
      progress.withLock { $0.failure = error }
    }
    changes.wake()
  }

  private func checkCount() throws(DatabaseError) {
    guard progress.withLock({ $0.outputs.count }) > LiveRun.maxUndeliveredCount else { return }
    throw DatabaseError(
      code: .tooBig,
      message: "the loop over a live query is more than \(LiveRun.maxUndeliveredCount) commits "
        + "behind; speed it up, or use the delivery .latest", path: database.path)
  }
}

/// The pause before a read that keeps other programs from writing.
///
/// Without a write-ahead log, a commit fails or waits while anybody reads. If a result were read
/// again after each commit at once, a program that does not wait could hardly commit.
struct ReadPause {
  /// The pause, as a multiple of the duration of the read before.
  static let ratio = 4
  static let maxDuration = Duration.seconds(10)

  private(set) var duration = Duration.zero

  /// Notes a read that kept others from writing for so long.
  mutating func didRead(for cost: Duration) {
    duration = min(cost * ReadPause.ratio, ReadPause.maxDuration)
  }
}

/// Retries while another program keeps the file locked, at pauses that double, until the task is
/// cancelled.
enum BusyRetry {
  /// The pause before the second attempt.
  static let minPauseMilliseconds = 1
  /// The longest pause, and so the longest delay after the end of a lock.
  static let maxPauseMilliseconds = 40

  /// Runs `body` until it does not find the file locked, and returns its value.
  ///
  /// - Throws: Every other error that `body` throws; `CancellationError`.
  static func run<Value>(
    _ body: @Sendable () async throws -> Value
  ) async throws -> Value {
    var pause = minPauseMilliseconds
    while true {
      do {
        return try await body()
      } catch let error as DatabaseError where error.code.primary == .busy {
        try await Task.sleep(for: .milliseconds(pause))
        pause = min(pause * 2, maxPauseMilliseconds)
      }
    }
  }
}
