internal import Synchronization

/// A clock that stands still until it is moved, and knows how often it was looked at.
package final class StandingClock: Sendable {
  private struct State {
    var time = ContinuousClock.now
    var lookCount = 0
    var waiters: [(lookCount: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  /// After so many looks, who looks in each round of a loop has looked at least once and acted on it.
  private static let settlingLookCount = 6

  package init() {}

  @Sendable package func now() -> ContinuousClock.Instant {
    let (time, due) = state.withLock { state in
      state.lookCount += 1
      let due = state.waiters.filter { $0.lookCount <= state.lookCount }
      state.waiters.removeAll { $0.lookCount <= state.lookCount }
      return (state.time, due)
    }
    for waiter in due { waiter.continuation.resume() }
    return time
  }

  /// Lets time pass.
  package func move(by duration: Duration) { state.withLock { $0.time += duration } }

  /// Lets time pass, and returns once whoever goes on looking has acted on it.
  package func advance(by duration: Duration) async {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        state.time += duration
        state.waiters.append((state.lookCount + Self.settlingLookCount, continuation))
      }
    }
  }
}
