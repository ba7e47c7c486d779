/// A two-way stream of bytes to another process, or to another hub of this one.
///
/// At most one `send` and one `receive` are under way at a time.
public protocol ChannelConnection: Sendable {
  /// Sends all of the bytes, in order; returns once they are on their way.
  func send(_ bytes: [UInt8]) async throws
  /// Waits for at least one byte; returns `nil` once the peer sends no more.
  func receive() async throws -> [UInt8]?
  /// Ends the connection from any thread; calls that wait for it return or throw soon.
  func close()
  /// Ends a connection of which nothing was read, in a way that lets the peer know, if there is one. Like
  /// ``close()`` by default.
  func refuse()
}

extension ChannelConnection {
  /// Ends the connection.
  public func refuse() { close() }
}

/// A source of connections, such as a listening socket.
public protocol ChannelListener: Sendable {
  /// Waits for the next connection; returns `nil` after ``close()``.
  func accept() async throws -> (any ChannelConnection)?
  /// Accepts no more connections, from any thread.
  func close()
}

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

/// The delays before successive attempts to connect: each is twice as long as the one before, and the first
/// one follows a connection that has lasted.
package struct RetryDelay: Sendable {
  private let first: Duration
  private let longest: Duration
  private var next: Duration

  package init(_ options: ChannelLinkOptions) {
    first = options.firstRetryDelay
    longest = options.maxRetryDelay
    next = first
  }

  /// The delay after an attempt that took the given time, with the connection if there was one. A short
  /// connection does not count: a peer may close each connection because of the values that it gets.
  package mutating func delay(after attempt: Duration) -> Duration {
    if attempt >= longest { next = first }
    let delay = next
    next = min(next * 2, longest)
    return delay
  }
}
