internal import TandemHTTP
internal import TandemRecords

/// Whether and when a request that failed is made again.
public struct TransportRetry: Sendable {
  /// How long to wait before the next attempt; `nil` to give up.
  private let delay: @Sendable (_ error: any Error, _ attemptCount: Int) -> Duration?
  private let sleep: @Sendable (Duration) async throws -> Void

  /// How many attempts ``standard`` makes in all.
  public static let standardAttemptCount = 4
  /// The longest a server may ask to wait for ``standard`` to go on.
  public static let maxRequestedDelay: Duration = .seconds(300)

  /// Asks `delay` how long to wait after an error, and `sleep` to wait.
  public init(
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    delay: @escaping @Sendable (_ error: any Error, _ attemptCount: Int) -> Duration?
  ) {
    self.delay = delay
    self.sleep = sleep
  }

  /// No second attempt.
  public static let never = TransportRetry { _, _ in nil }

  /// What may pass is tried ``standardAttemptCount`` times, after 1, 2 and 4 seconds, some of which
  /// are left to chance, or as long as the server asks.
  public static let standard = TransportRetry { error, attemptCount in
    guard isTransient(error), attemptCount < standardAttemptCount else { return nil }
    let backoff = Duration.seconds(1 << min(attemptCount - 1, 6)) * Double.random(in: 0.5...1)
    let requested = (error as? TransportError)?.retryDelay ?? .zero
    return requested > maxRequestedDelay ? nil : max(requested, backoff)
  }

  /// Whether the same request may succeed later: if a ``TransportError`` says so, or if what came is no
  /// list, which may have been cut off or be a word of regret in place of one.
  public static func isTransient(_ error: any Error) -> Bool {
    switch error {
    case let error as TransportError: error.isTransient
    case let error as RecordError: error.code == .malformed || error.code == .notARecord
    default: false
    }
  }

  /// Calls `attempt` until it returns, or what it throws is not to be tried again.
  func run<Result>(_ attempt: () async throws -> Result) async throws -> Result {
    var attemptCount = 0
    while true {
      do {
        return try await attempt()
      } catch {
        attemptCount += 1
        guard !(error is CancellationError), let delay = delay(error, attemptCount) else {
          throw error
        }
        try await sleep(delay)
      }
    }
  }
}
