import Foundation
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import Testing

extension RecordList {
  /// The list, which is an issue if it counts as unchanged.
  func content(_ location: SourceLocation = #_sourceLocation) throws -> (
    records: [Record], validators: RecordListValidators, bases: RecordBases
  ) {
    let content: (records: [Record], validators: RecordListValidators, bases: RecordBases)? =
      if case .records(let records, let validators, let bases) = self {
        (Array(records), validators, bases)
      } else {
        nil
      }
    return try #require(content, sourceLocation: location)
  }
}

extension FileStore {
  /// Transfers a content to the name "a".
  func transfer(
    _ client: SystemHTTPClient, _ url: String, _ change: (inout FileRequest) -> Void = { _ in }
  ) async throws -> FileTransfer {
    var request = FileRequest(FileName("a"), url: url)
    change(&request)
    return try await transfer(request, client: client)
  }
}

/// A value behind a lock that the thread sanitizer knows.
final class Locked<Value: Sendable>: @unchecked Sendable {
  // Every access to `value` is made under `lock`.
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }

  var current: Value { withLock { $0 } }
}

/// Waits for ever, unless the task is cancelled.
func hang() async throws {
  let (never, continuation) = AsyncStream<Void>.makeStream()
  for await _ in never {}
  continuation.finish()
  throw CancellationError()
}

/// A clock that moves only when it is told to.
final class VirtualClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper: Sendable {
    var deadline: Instant
    var wake: AsyncStream<Void>.Continuation
  }

  private struct State: Sendable {
    var now = Instant(offset: .zero)
    var sleepers: [Int: Sleeper] = [:]
    var nextSleeper = 0
    var durations: [Duration] = []
    var watchers: [(count: Int, wake: AsyncStream<Void>.Continuation)] = []
  }

  private let state = Locked(State())

  var now: Instant { state.current.now }
  var minimumResolution: Duration { .nanoseconds(1) }
  /// What all sleepers so far asked for, in order.
  var durations: [Duration] { state.current.durations }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    let (wakes, wake) = AsyncStream<Void>.makeStream()
    let number: Int? = state.withLock { state in
      state.durations.append(state.now.duration(to: deadline))
      guard deadline > state.now else { return nil }
      state.nextSleeper += 1
      state.sleepers[state.nextSleeper] = Sleeper(deadline: deadline, wake: wake)
      state.watchers.removeAll { watcher in
        guard state.sleepers.count >= watcher.count else { return false }
        watcher.wake.finish()
        return true
      }
      return state.nextSleeper
    }
    guard let number else { return }
    for await _ in wakes {}
    state.withLock { $0.sleepers[number] = nil }
    try Task.checkCancellation()
  }

  /// Waits until so many tasks are asleep.
  func untilSleeping(_ count: Int) async {
    let (wakes, wake) = AsyncStream<Void>.makeStream()
    state.withLock { state in
      if state.sleepers.count >= count {
        wake.finish()
      } else {
        state.watchers.append((count, wake))
      }
    }
    for await _ in wakes {}
  }

  /// Moves time on and wakes those whose time has come.
  func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for number in due.keys { state.sleepers[number] = nil }
      return due.values.map(\.wake)
    }
    for wake in due { wake.finish() }
  }
}
