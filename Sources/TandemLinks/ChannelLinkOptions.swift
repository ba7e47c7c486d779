package import TandemRecords

/// The limits and delays of a link.
public struct ChannelLinkOptions: Hashable, Sendable {
  /// The maximum number of bytes of a frame. A batch is one frame if it fits into it.
  public var maxFrameByteCount: Int
  /// The maximum number of channels whose values wait for a slow or absent peer; the channels of a single
  /// batch may be more. See ``ChannelLink`` for what happens beyond.
  public var maxWaitingChannelCount: Int
  /// The maximum number of bytes that these values take in memory, approximately. The frames that are being
  /// sent come on top.
  public var maxWaitingByteCount: Int
  /// The maximum number of connections that ``ChannelLink/run(accepting:onBreak:)`` serves at a time.
  public var maxConnectionCount: Int
  /// The time after which an idle connection may lose its place: if ``maxConnectionCount`` connections are served, a
  /// new one gets the place of the one from which nothing was read for the longest time, if that is this long or
  /// longer. So peers that only wait cannot keep others out. An idle connection is never closed while there is room.
  /// A hub that connects and loses its place connects again, and gets what the listening hub remembers.
  public var maxIdleDuration: Duration
  /// The maximum wait for a peer's greeting. Then the connection is closed, so that it does not count for
  /// ``maxConnectionCount``.
  public var handshakeTimeout: Duration
  /// The delay before the first attempt to connect again. Each further delay is twice as long, until a
  /// connection has lasted as long as the longest delay.
  public var firstRetryDelay: Duration
  /// The maximum delay between attempts.
  public var maxRetryDelay: Duration

  /// The delays between attempts.
  package var backoff: Backoff { Backoff(first: firstRetryDelay, max: maxRetryDelay, jitter: 0) }

  /// Limits that suit an application.
  public init(
    maxFrameByteCount: Int = 1 << 20, maxWaitingChannelCount: Int = 65_536,
    maxWaitingByteCount: Int = 16 << 20, maxConnectionCount: Int = 64,
    maxIdleDuration: Duration = .seconds(60),
    handshakeTimeout: Duration = .seconds(10), firstRetryDelay: Duration = .milliseconds(50),
    maxRetryDelay: Duration = .seconds(5)
  ) {
    self.maxFrameByteCount = maxFrameByteCount
    self.maxWaitingChannelCount = maxWaitingChannelCount
    self.maxWaitingByteCount = maxWaitingByteCount
    self.maxConnectionCount = maxConnectionCount
    self.maxIdleDuration = maxIdleDuration
    self.handshakeTimeout = handshakeTimeout
    self.firstRetryDelay = firstRetryDelay
    self.maxRetryDelay = maxRetryDelay
  }
}
