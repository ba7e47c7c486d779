/// Growing, random delays before the rounds of a synchronization after the first.
///
/// The bound of the delay before the second round is ``firstDelay``. It doubles with each further
/// round, up to ``maxDelay``. The delay is a random part of its bound, so that clients whose pushes
/// collided once do not collide again at the same moment (Brooker, "Exponential Backoff And Jitter",
/// 2015).
@usableFromInline
package struct RoundBackoff: Hashable, Sendable {
  /// The bound of the delay before the second round.
  package var firstDelay: Duration
  /// The maximum delay.
  package var maxDelay: Duration

  /// Creates a backoff: at most 100 milliseconds at first, and never more than 5 seconds, by default.
  @usableFromInline
  package init(firstDelay: Duration = .milliseconds(100), maxDelay: Duration = .seconds(5)) {
    self.firstDelay = firstDelay
    self.maxDelay = maxDelay
  }

  /// Returns the delay before a round, counted from 1; zero before the first.
  ///
  /// - Parameters:
  ///   - round: The number of the round.
  ///   - chance: A random number from 0 to 1. Other numbers count as the nearer of both.
  /// - Complexity: O(log(``maxDelay`` / ``firstDelay``)).
  package func delay(beforeRound round: Int, chance: Double) -> Duration {
    guard round > 1 else { return .zero }
    // The product is rounded.
    return max(
      .zero, min(bound(afterFailure: round - 1) * (chance > 0 ? min(chance, 1) : 0), maxDelay))
  }

  /// The bound of the delay after a number of failures, at least one.
  func bound(afterFailure count: Int) -> Duration {
    guard firstDelay > .zero else { return .zero }
    var bound = firstDelay
    var next = 1
    while next < count, bound < maxDelay {
      // Adding the shorter of both cannot overflow.
      bound += min(bound, maxDelay - bound)
      next += 1
    }
    return min(bound, maxDelay)
  }

  /// Returns a ``SynchronizationOptions/pause`` that waits for these delays, and throws
  /// `CancellationError` if the task is cancelled meanwhile.
  ///
  /// - Parameters:
  ///   - clock: The clock to wait by.
  ///   - chance: Returns random numbers from 0 to 1.
  @usableFromInline
  package func pause(
    on clock: some Clock<Duration> = ContinuousClock(),
    chance: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) -> @Sendable (_ round: Int) async throws -> Void {
    { round in try await clock.sleep(for: delay(beforeRound: round, chance: chance())) }
  }
}
