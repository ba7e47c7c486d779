/// Which failed transfers are attempted again, and after how long.
///
/// The waiting doubles with each attempt, up to a bound, and part of it is left to chance, lest many
/// clients that failed together come back together (Brooker, Exponential Backoff And Jitter, 2015).
public struct MirrorRetryPolicy: Sendable {
  /// How many attempts are made in all; 1 or less for no second one.
  public var maxAttemptCount: Int
  /// How long to wait after the first attempt.
  public var firstDelay: Duration
  /// The longest that is waited unless the error asks for more.
  public var maxDelay: Duration
  /// The share of the waiting that is left to chance, from 0 to 1.
  public var jitter: Double
  /// The longest an error may ask to wait (``MirrorRetryError/retryDelay``); if it asks for more, no
  /// further attempt is made.
  public var maxRequestedDelay: Duration
  /// Whether an error may go away by itself.
  public var isTransient: @Sendable (any Error) -> Bool

  /// Never attempts anything twice.
  public static let never = MirrorRetryPolicy(maxAttemptCount: 1)

  /// A policy with the given exceptions.
  public init(
    maxAttemptCount: Int = 3, firstDelay: Duration = .milliseconds(500),
    maxDelay: Duration = .seconds(30), jitter: Double = 0.5,
    maxRequestedDelay: Duration = .seconds(300),
    isTransient: @escaping @Sendable (any Error) -> Bool = MirrorRetryPolicy.isTransient
  ) {
    self.maxAttemptCount = maxAttemptCount
    self.firstDelay = firstDelay
    self.maxDelay = maxDelay
    self.jitter = jitter
    self.maxRequestedDelay = maxRequestedDelay
    self.isTransient = isTransient
  }

  /// What errors say of themselves by ``MirrorRetryError``; all others but cancellation are taken to
  /// be transient.
  public static func isTransient(_ error: any Error) -> Bool {
    if let error = error as? any MirrorRetryError { return error.isTransient }
    return !(error is CancellationError)
  }

  /// How long to wait before the next attempt, or `nil` if there is none.
  ///
  /// - Parameters:
  ///   - attempt: How many attempts have been made.
  ///   - error: What the last one failed with.
  ///   - chance: A number from 0 to 1: drawn anew for each waiting.
  public func delay(afterAttempt attempt: Int, error: any Error, chance: Double) -> Duration? {
    guard attempt < maxAttemptCount, isTransient(error) else { return nil }
    let backoff = backoff(afterAttempt: attempt, chance: chance)
    guard let requested = (error as? any MirrorRetryError)?.retryDelay else { return backoff }
    return requested > maxRequestedDelay ? nil : max(requested, backoff)
  }

  private func backoff(afterAttempt attempt: Int, chance: Double) -> Duration {
    let bound = min(max(maxDelay, .zero), .seconds(1 << 32))
    var delay = min(max(firstDelay, .zero), bound)
    var doublingCount = max(attempt, 1) - 1
    while doublingCount > 0, delay > .zero, delay < bound {
      delay = min(delay * 2, bound)
      doublingCount -= 1
    }
    let random = Self.unit(jitter) * (1 - Self.unit(chance))
    return delay * (1 - random)
  }

  /// The nearest number from 0 to 1; 0 for one that is none.
  private static func unit(_ value: Double) -> Double { value > 0 ? min(value, 1) : 0 }
}

/// An error that knows whether another attempt is worth it.
public protocol MirrorRetryError: Error {
  /// Whether the error may go away by itself.
  var isTransient: Bool { get }
  /// How long the other side asks to wait before the next attempt, as by `Retry-After`. `nil` by
  /// default.
  var retryDelay: Duration? { get }
}

extension MirrorRetryError {
  /// Nothing was asked.
  public var retryDelay: Duration? { nil }
}
