/// How long to wait before each attempt to connect again: twice as long each time, and as at first once a
/// connection was of use.
package struct RetryDelay: Sendable {
  private let first: Duration
  private let longest: Duration
  private var next: Duration

  package init(_ options: ChannelLinkOptions) {
    first = options.firstRetryDelay
    longest = options.maxRetryDelay
    next = first
  }

  /// The wait after an attempt has ended. It was of use if the peer sent a message, or if it took longer
  /// than the longest wait; merely to have been connected is not: a peer may hang up at once.
  package mutating func delay(hasReceived: Bool, after attempt: Duration) -> Duration {
    if hasReceived || attempt >= longest { next = first }
    let delay = next
    next = min(next * 2, longest)
    return delay
  }
}
