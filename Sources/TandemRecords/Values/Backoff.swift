/// The pauses between attempts: doubled with each failure in a row, up to a bound, and shortened at
/// random, so that many whose attempts failed at the same moment do not return at the same moment
/// (Brooker, "Exponential Backoff And Jitter", 2015).
package struct Backoff: Hashable, Sendable {
  /// The maximum pause after the first failure.
  package var first: Duration
  /// The maximum pause of all, unless the other side asks for a longer one.
  package var max: Duration
  /// The part of a pause that is left to chance, from 0 to 1.
  package var jitter: Double
  /// The maximum pause that the other side may ask for.
  package var maxRequested: Duration

  /// By default, pauses of up to a second after the first failure, of up to half a minute later, and
  /// of up to five minutes if the other side asks for that.
  package init(
    first: Duration = .seconds(1), max: Duration = .seconds(30), jitter: Double = 0.5,
    maxRequested: Duration = .seconds(300)
  ) {
    self.first = first
    self.max = max
    self.jitter = jitter
    self.maxRequested = maxRequested
  }

  /// The pause after a number of failures in a row. It is never negative, nor longer than 2³² seconds.
  ///
  /// - Parameters:
  ///   - count: The number of failures.
  ///   - requested: The pause that the last failure asked for.
  ///   - chance: A random number from 0 to 1. Other numbers count as the nearer of both.
  package func delay(
    afterFailure count: Int, atLeast requested: Duration? = nil, chance: Double
  ) -> Duration {
    let bound = Swift.min(Swift.max(max, .zero), .seconds(1 << 32))
    var delay = Swift.min(Swift.max(first, .zero), bound)
    var doublingCount = Swift.max(count, 1) - 1
    while doublingCount > 0, delay > .zero, delay < bound {
      delay = Swift.min(delay * 2, bound)
      doublingCount -= 1
    }
    delay = delay * (1 - Self.unit(jitter) * (1 - Self.unit(chance)))
    return Swift.max(Swift.min(delay, bound), Swift.min(requested ?? .zero, maxRequested))
  }

  /// The nearest number from 0 to 1; 0 for NaN.
  private static func unit(_ value: Double) -> Double { value > 0 ? Swift.min(value, 1) : 0 }
}
