/// The reason why a link or one of its connections has ended.
public struct ChannelLinkError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure. More kinds may follow.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The peer sent something that is no frame of a link.
    public static let malformed = Code(name: "malformed")
    /// The peer sent a frame of more than ``ChannelLinkOptions/maxFrameByteCount``.
    public static let tooLarge = Code(name: "tooLarge")
    /// The peer uses another version of the format.
    public static let unknownVersion = Code(name: "unknownVersion")
    /// Both ends listen or both connect, or the hub is linked in another way than as a star.
    public static let role = Code(name: "role")
    /// The peer did not greet within ``ChannelLinkOptions/handshakeTimeout``, did not answer in time, or was idle
    /// when a new connection needed its place (``ChannelLinkOptions/maxIdleDuration``).
    public static let timedOut = Code(name: "timedOut")
    /// The connection could not be made, or broke.
    public static let connection = Code(name: "connection")
    /// No connection to the address is possible until somebody changes the file or the path.
    public static let address = Code(name: "address")
  }

  /// The kind of failure.
  public var code: Code
  /// A description of what happened and, where possible, what to do.
  public var message: String

  /// A failure of the given kind.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The same as ``message``.
  public var description: String { message }
}

// MARK: - Failures of the protocol

extension ChannelLinkError {
  static let secondGreeting = ChannelLinkError(.malformed, "the peer sent a second greeting")
  static let valuesBeforeGreeting = ChannelLinkError(
    .malformed, "the peer sent values before its greeting")
  static let unsentAcknowledged = ChannelLinkError(
    .malformed, "the peer acknowledged a frame that was not sent")

  static func idle(_ duration: Duration) -> ChannelLinkError {
    ChannelLinkError(
      .timedOut,
      "nothing was read from the peer for \(duration) or longer, and a new connection needed the place; raise "
        + "maxConnectionCount if all of them are needed")
  }

  static func handshakeTimeout(_ options: ChannelLinkOptions) -> ChannelLinkError {
    ChannelLinkError(.timedOut, "the peer has not greeted within \(options.handshakeTimeout)")
  }
}
