internal import Synchronization
internal import TandemSQLite

/// The result of a query as a run delivered it last.
protocol LiveState: Sendable {
  associatedtype Output: Sendable

  /// Advances to the state of the open snapshot, to which `changes` lead.
  ///
  /// - Returns: The element to deliver; `nil` if nothing changed.
  mutating func advance(_ changes: CommittedChanges, _ reading: LiveReading) throws -> Output?
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
final class LiveRun<State: LiveState>: LiveRunning {
  private struct Progress {
    var state: State
    var subscription: (feed: ChangeFeed, changes: ChangeSubscription)?
    var isFinished = false
  }

  private let database: Database
  private let progress: Mutex<Progress>

  init(_ database: Database, state: sending State) {
    self.database = database
    progress = Mutex(Progress(state: state))
  }

  deinit {
    if let (feed, changes) = progress.withLock({ $0.subscription }) { feed.unsubscribe(changes) }
  }

  func next() async throws -> State.Output? {
    do {
      while !Task.isCancelled, !progress.withLock({ $0.isFinished }) {
        let (feed, changes) = try await subscription()
        await changes.wait()
        if let output = try await advance(feed, changes), !Task.isCancelled { return output }
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

  private func subscription() async throws -> (ChangeFeed, ChangeSubscription) {
    if let subscription = progress.withLock({ $0.subscription }) { return subscription }
    let feed = try await BusyRetry.run { try await self.database.changeFeed() }
    let subscription = (feed: feed, changes: feed.subscribe())
    progress.withLock { $0.subscription = subscription }
    return subscription
  }

  private func advance(
    _ feed: ChangeFeed, _ subscription: ChangeSubscription
  ) async throws -> State.Output? {
    try Task.checkCancellation()
    let result = try await BusyRetry.run {
      try await self.database.read { transaction in
        let connection = transaction.connection
        let changes = try feed.beginSnapshot(connection, for: subscription)
        let reading = LiveReading(connection: connection) {
          feed.setInterests($0, of: subscription)
        }
        // The changes have been taken, so an error from here on must not be retried.
        return Result { try self.progress.withLock { try $0.state.advance(changes, reading) } }
      }
    }
    return try result.get()
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
