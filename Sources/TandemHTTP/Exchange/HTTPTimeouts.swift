/// The timeouts of a request. A timeout that runs out ends the transfer with
/// ``TransportError/Code/timedOut``; all are kept to about a millisecond, except where noted.
public struct HTTPTimeouts: Hashable, Sendable {
  /// The time to connect, from the look-up of the host to the end of the TLS handshake. URLSession has no
  /// such timeout: on Apple platforms `idle` covers it.
  public var connect: Duration
  /// The time without a byte sent or received while the reader is waiting. The timeout fires between one
  /// and one and a quarter times this duration.
  public var idle: Duration
  /// The time for the whole transfer, with redirects and pauses of a slow reader; `nil` for no bound, so
  /// that a stream may stay open for days.
  public var total: Duration?
  /// The time from the connection to the end of the response's header; `nil` for no bound. A server that
  /// sends its header byte by byte is never idle, so only this and `total` end the transfer. The timeout
  /// fires between one and one and a quarter times this duration.
  public var head: Duration?
  /// The lowest rate at which a body may arrive, on average over ``rateWindow``, while the reader is waiting;
  /// `nil` for any. A server that sends its body byte by byte is never idle, so only this and `total` end
  /// the transfer. Do not set it for a stream in which events are rare.
  public var minBytesPerSecond: Int?

  /// The time over which ``minBytesPerSecond`` is measured: 60 seconds.
  public static let rateWindow = Duration.seconds(60)
  /// The bound for the head in ``transfers``: 5 minutes.
  public static let defaultHead = Duration.seconds(300)
  /// The lowest rate in ``transfers``: 1 KiB per second.
  public static let defaultMinBytesPerSecond = 1 << 10

  /// The timeouts for lists and files, which no server can keep open for ever: as by default, with
  /// ``defaultHead`` and ``defaultMinBytesPerSecond``.
  public static let transfers = HTTPTimeouts(
    head: defaultHead, minBytesPerSecond: defaultMinBytesPerSecond)

  /// Timeouts of 30 seconds to connect and 60 seconds idle, without other bounds, by default.
  public init(
    connect: Duration = .seconds(30), idle: Duration = .seconds(60), total: Duration? = nil,
    head: Duration? = nil, minBytesPerSecond: Int? = nil
  ) {
    self.connect = connect
    self.idle = idle
    self.total = total
    self.head = head
    self.minBytesPerSecond = minBytesPerSecond
  }
}
