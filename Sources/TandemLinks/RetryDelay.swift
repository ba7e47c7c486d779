/// How long to wait before each attempt to connect again: twice as long each time, and as at first once a
/// connection has lasted.
package struct RetryDelay: Sendable {
  private let first: Duration
  private let longest: Duration
  private var next: Duration

  package init(_ options: ChannelLinkOptions) {
    first = options.firstRetryDelay
    longest = options.maxRetryDelay
    next = first
  }

  /// The wait after an attempt has ended. Merely to have been connected, or to have heard something, does
  /// not count: a peer may hang up each time at what it is sent.
  package mutating func delay(after attempt: Duration) -> Duration {
    if attempt >= longest { next = first }
    let delay = next
    next = min(next * 2, longest)
    return delay
  }
}
