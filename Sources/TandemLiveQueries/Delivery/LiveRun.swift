internal import Synchronization
internal import TandemSQLite

/// What a run knows of its result, and how it moves on.
protocol LiveState: Sendable {
  associatedtype Output: Sendable

  /// What is delivered after `changes`, read in the open snapshot; `nil` if there is nothing new.
  mutating func advance(_ changes: CommittedChanges, _ reading: LiveReading) throws -> Output?
}

/// A snapshot, and where to say which changes matter from now on.
struct LiveReading {
  let connection: DatabaseConnection
  /// Takes `nil` for all changes.
  let setInterests: ([TableInterest]?) -> Void
}

/// A run whose state is of no interest.
protocol LiveRunning<Output>: AnyObject, Sendable {
  associatedtype Output: Sendable

  func next() async throws -> Output?
}

/// One iteration of a live query: subscribes at its first step, and ends its subscription when it is
/// released.
final class LiveRun<State: LiveState>: LiveRunning {
  private struct Course {
    var state: State
    var subscription: (feed: ChangeFeed, changes: ChangeSubscription)?
    var isFinished = false
  }

  private let database: Database
  private let course: Mutex<Course>

  init(_ database: Database, state: sending State) {
    self.database = database
    course = Mutex(Course(state: state))
  }

  deinit {
    if let (feed, changes) = course.withLock({ $0.subscription }) { feed.unsubscribe(changes) }
  }

  func next() async throws -> State.Output? {
    do {
      while !Task.isCancelled, !course.withLock({ $0.isFinished }) {
        let (feed, changes) = try await subscription()
        await changes.wait()
        if let output = try await advance(feed, changes), !Task.isCancelled { return output }
      }
      finish()
      return nil
    } catch {
      finish()
      // What is interrupted fails in many ways, and whoever cancelled wants none of them.
      if Task.isCancelled { return nil }
      throw error
    }
  }

  private func subscription() async throws -> (ChangeFeed, ChangeSubscription) {
    if let subscription = course.withLock({ $0.subscription }) { return subscription }
    let feed = try await LockPatience.wait { try await self.database.changeFeed() }
    let subscription = (feed: feed, changes: feed.subscribe())
    course.withLock { $0.subscription = subscription }
    return subscription
  }

  private func advance(
    _ feed: ChangeFeed, _ subscription: ChangeSubscription
  ) async throws -> State.Output? {
    try Task.checkCancellation()
    let result = try await LockPatience.wait {
      try await self.database.read { transaction in
        let connection = transaction.connection
        let changes = try feed.beginSnapshot(connection, for: subscription)
        let reading = LiveReading(connection: connection) {
          feed.setInterests($0, of: subscription)
        }
        // What changed has been taken: what goes wrong from here on must not be tried again.
        return Result { try self.course.withLock { try $0.state.advance(changes, reading) } }
      }
    }
    return try result.get()
  }

  private func finish() {
    let subscription = course.withLock { course in
      course.isFinished = true
      defer { course.subscription = nil }
      return course.subscription
    }
    if let (feed, changes) = subscription { feed.unsubscribe(changes) }
  }
}
