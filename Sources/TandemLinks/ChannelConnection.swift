import TandemChannels

/// A two-way stream of bytes to another process, or another hub of this one.
///
/// At most one `send` and one `receive` are under way at a time.
public protocol ChannelConnection: Sendable {
  /// Sends all of the bytes, in order; returns once they are on their way.
  func send(_ bytes: [UInt8]) async throws
  /// Waits for at least one byte; `nil` once the peer sends no more.
  func receive() async throws -> [UInt8]?
  /// Ends the connection from any thread; what waits on it returns or throws soon.
  func close()
  /// Ends a connection that nothing was read from and nobody waits on, so that the peer can tell that
  /// what it has sent was not read, if there is a way. Like ``close()`` unless there is.
  func refuse()
}

extension ChannelConnection {
  /// Ends the connection.
  public func refuse() { close() }
}

/// Where connections come from.
public protocol ChannelListener: Sendable {
  /// Waits for the next connection; `nil` after ``close()``.
  func accept() async throws -> (any ChannelConnection)?
  /// Accepts no more, from any thread.
  func close()
}

/// How much a link takes on, and how patient it is.
public struct ChannelLinkOptions: Hashable, Sendable {
  /// The most bytes that one message may have. A batch is one message if it fits into it.
  public var maxFrameByteCount: Int
  /// How many channels' values may wait for a slow or absent peer; those of one batch may be more. Values
  /// of one property of one channel replace one another. Beyond the limit, a hub that remembers no less
  /// lets the peer have them from its memory later; of others, the values of the channel that has
  /// waited longest are dropped, with a diagnostic of the hub.
  public var maxWaitingChannelCount: Int
  /// How many bytes these values may have together, about: their texts, and a few more for each. What
  /// is being sent comes on top. What happens beyond is the same.
  public var maxWaitingByteCount: Int
  /// How many connections a listening link serves at a time.
  public var maxPeerCount: Int
  /// Of how many values the hub knows when they were sent, with which it tells old from new: those sent
  /// last, of all subjects of its links; up to twice as many for a while, of 40 bytes each, and room to
  /// grow. As many as the hub remembers if that is more, and of a hub's links, the largest number counts.
  ///
  /// Should be no less than what a peer remembers, or has waiting, at a time: of more values than that,
  /// in another order than that in which they were sent, those sent first may be taken for old.
  public var maxStampCount: Int
  /// How long to wait for a peer's greeting. A connection on which none has come is closed, so that it
  /// takes nobody else's place.
  public var maxGreetingWait: Duration
  /// How long to wait before the first attempt to connect again; each further wait is twice as long, until
  /// a connection has lasted as long as the longest wait.
  public var firstRetryDelay: Duration
  /// The longest wait between attempts.
  public var maxRetryDelay: Duration

  /// Limits that suit an application unless told otherwise.
  public init(
    maxFrameByteCount: Int = 1 << 20, maxWaitingChannelCount: Int = 65_536,
    maxWaitingByteCount: Int = 16 << 20, maxPeerCount: Int = 64, maxStampCount: Int = 131_072,
    maxGreetingWait: Duration = .seconds(10),
    firstRetryDelay: Duration = .milliseconds(50), maxRetryDelay: Duration = .seconds(5)
  ) {
    self.maxFrameByteCount = maxFrameByteCount
    self.maxWaitingChannelCount = maxWaitingChannelCount
    self.maxWaitingByteCount = maxWaitingByteCount
    self.maxPeerCount = maxPeerCount
    self.maxStampCount = maxStampCount
    self.maxGreetingWait = maxGreetingWait
    self.firstRetryDelay = firstRetryDelay
    self.maxRetryDelay = maxRetryDelay
  }
}
