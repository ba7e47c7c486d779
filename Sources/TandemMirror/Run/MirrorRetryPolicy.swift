public import TandemHTTP
public import TandemRecords

/// The rule for further attempts after a failure: for pages of a list, contents, and transfers of a
/// run.
///
/// The delay doubles with each attempt, up to a bound. A random part of it is left out, so that
/// clients that failed together do not return together (Brooker, Exponential Backoff And Jitter,
/// 2015).
public struct MirrorRetryPolicy: Sendable {
  /// The number of attempts in all; 1 or less for no second one.
  public var maxAttemptCount: Int
  /// The delay after the first attempt.
  public var firstDelay: Duration
  /// The maximum delay, unless the error asks for a longer one.
  public var maxDelay: Duration
  /// The random share of each delay, from 0 to 1.
  public var jitter: Double
  /// The maximum delay that an error may ask for (``MirrorRetryError/retryDelay``). If it asks for
  /// more, no further attempt is made.
  public var maxRequestedDelay: Duration
  /// Returns true for errors that may disappear by themselves.
  public var isTransient: @Sendable (any Error) -> Bool

  /// No second attempt.
  public static let never = MirrorRetryPolicy(maxAttemptCount: 1)

  /// The policy of ``RecordListOptions/retry``: four attempts, with delays of up to 1, 2 and 4
  /// seconds, and at least half of that.
  ///
  /// It retries only errors that say that they are transient, by ``MirrorRetryError``.
  public static let lists = MirrorRetryPolicy(
    maxAttemptCount: 4, firstDelay: .seconds(1), maxDelay: .seconds(64),
    isTransient: { ($0 as? any MirrorRetryError)?.isTransient ?? false })

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

  /// Returns what an error says of itself by ``MirrorRetryError``, false for a cancellation, and
  /// true for all other errors.
  public static func isTransient(_ error: any Error) -> Bool {
    if let error = error as? any MirrorRetryError { return error.isTransient }
    return !(error is CancellationError)
  }

  /// The delay before the next attempt, or `nil` if there is none.
  ///
  /// - Parameters:
  ///   - attempt: The number of attempts made.
  ///   - error: The error of the last one.
  ///   - chance: A number from 0 to 1, drawn anew for each delay.
  public func delay(afterAttempt attempt: Int, error: any Error, chance: Double) -> Duration? {
    guard attempt < maxAttemptCount, isTransient(error) else { return nil }
    let backoff = Backoff(first: firstDelay, max: maxDelay, jitter: jitter)
      .delay(afterFailure: attempt, chance: chance)
    guard let requested = (error as? any MirrorRetryError)?.retryDelay else { return backoff }
    return requested > maxRequestedDelay ? nil : max(requested, backoff)
  }

  /// An error whose message names the delay that it asks for, if that is the reason why no further attempt is made;
  /// any other error as it is.
  func naming(_ error: any Error) -> any Error {
    guard var error = error as? TransportError, isTransient(error), let delay = error.retryDelay,
      delay > maxRequestedDelay
    else { return error }
    error.message +=
      "; it asks to wait \(delay.inWords), longer than the \(maxRequestedDelay.inWords) that Tandem waits"
    return error
  }

  /// Calls `attempt` until it returns, or until its error leads to no further attempt. That error
  /// is thrown, or `CancellationError` if the task is cancelled during a delay.
  package func run<Result>(
    clock: any Clock<Duration>, _ attempt: () async throws -> Result
  ) async throws -> Result {
    var attemptCount = 0
    while true {
      do {
        return try await attempt()
      } catch {
        attemptCount += 1
        let delay = delay(afterAttempt: attemptCount, error: error, chance: .random(in: 0...1))
        guard !(error is CancellationError), let delay else { throw naming(error) }
        try await clock.sleep(for: delay)
      }
    }
  }
}

/// An error that says whether another attempt may succeed.
public protocol MirrorRetryError: Error {
  /// True if the error may disappear by itself.
  var isTransient: Bool { get }
  /// The delay that the other side asks for before the next attempt, as by `Retry-After`. `nil` by
  /// default.
  var retryDelay: Duration? { get }
}

extension MirrorRetryError {
  /// No particular delay.
  public var retryDelay: Duration? { nil }
}

extension TransportError: MirrorRetryError {}

extension RecordError: MirrorRetryError {
  /// True if the response is not a list: it may have been cut off, or be an error page in place of
  /// one.
  public var isTransient: Bool { code == .malformed || code == .notARecord }
}

extension Duration {
  /// The duration in its largest unit of which there are two or more, rounded up, as in `47 min`.
  fileprivate var inWords: String {
    let seconds = components.seconds
    for (unit, length) in [("days", 86_400), ("h", 3_600), ("min", 60)] as [(String, Int64)]
    where seconds >= 2 * length {
      return "\(seconds / length + (seconds % length == 0 ? 0 : 1)) \(unit)"
    }
    return "\(seconds) s"
  }
}
