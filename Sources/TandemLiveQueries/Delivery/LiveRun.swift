internal import Synchronization
internal import TandemSQLite

/// The elements of a run, as they follow from the changes of the result.
protocol LiveState: Sendable {
  associatedtype Result: LiveResult
  associatedtype Output: Sendable

  /// False if the first change need not have all rows: it is empty then.
  var needsStart: Bool { get }

  /// Makes the element to deliver for the next change, of which the first one has all rows if they are needed.
  ///
  /// - Returns: `nil` if nothing changed.
  mutating func deliver(_ change: Result.Change) throws -> Output?
}

extension LiveState {
  var needsStart: Bool { true }
}

/// A run, without the type of its state.
protocol LiveRunning<Output>: AnyObject, Sendable {
  associatedtype Output: Sendable

  func next() async throws -> Output?
}

/// One iteration of a live query: it joins the evaluation of its query at its first step, and leaves
/// it when it ends or is released.
final class LiveRun<State: LiveState>: LiveRunning {
  private struct Progress {
    var state: State
    var place: LiveEvaluation<State.Result>.Place?
    var isFinished = false
  }

  private let definition: QueryDefinition
  private let database: Database
  private let delivery: LiveDelivery
  private let progress: Mutex<Progress>
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameter sleep: Replaced in tests.
  init(
    _ definition: QueryDefinition, in database: Database, _ delivery: LiveDelivery = .latest,
    state: sending State,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.definition = definition
    self.database = database
    self.delivery = delivery
    self.sleep = sleep
    progress = Mutex(Progress(state: state))
  }

  deinit { progress.withLock { $0.place }?.leave() }

  func next() async throws -> State.Output? {
    do {
      while !Task.isCancelled, !progress.withLock({ $0.isFinished }) {
        guard let change = try await place().next() else { break }
        if let output = try progress.withLock({ try $0.state.deliver(change) }) { return output }
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

  private func place() async throws -> LiveEvaluation<State.Result>.Place {
    if let place = progress.withLock({ $0.place }) { return place }
    let feed = try await retryingWhileBusy { try await self.database.changeFeed() }
    let needsStart = progress.withLock { $0.state.needsStart }
    let place = LiveEvaluation<State.Result>.join(
      definition, in: database, feed, delivery, needsStart: needsStart, sleep: sleep)
    progress.withLock { $0.place = place }
    return place
  }

  private func finish() {
    let place = progress.withLock { progress in
      progress.isFinished = true
      defer { progress.place = nil }
      return progress.place
    }
    place?.leave()
  }
}
