/// Why a link cannot go on.
public struct ChannelLinkError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: Hashable, Sendable {
    /// The peer sent what is no message of a link, or is far ahead of all clocks.
    case malformed
    /// The peer sent, or was to be sent, a message of more than ``ChannelLinkOptions/maxFrameByteCount``.
    case tooLarge
    /// The peer speaks another version.
    case unknownVersion
    /// The peer did not greet within ``ChannelLinkOptions/maxGreetingWait``.
    case silent
    /// The connection could not be made, or broke.
    case connection
    /// There can be no connection at the address, now or later, unless somebody makes it another one.
    case address
  }

  /// The kind of failure.
  public var code: Code
  /// What happened.
  public var message: String

  /// A failure of the given kind.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// What happened.
  public var description: String { message }
}
