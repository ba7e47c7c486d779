/// An error of a ``FileRemote`` or an ``HTTPRemote``.
public struct RemoteError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure: an open set, to which later versions may add.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The contents are no document of a synchronized remote. They are not replaced.
    public static let malformed = Code(name: "malformed")
    /// A record cannot be written as JSON.
    public static let notEncodable = Code(name: "notEncodable")
    /// The document is longer than the limit.
    public static let tooLarge = Code(name: "tooLarge")
    /// A file cannot be read, locked or written.
    public static let file = Code(name: "file")
    /// Other processes held the lock of the file for too long.
    public static let locked = Code(name: "locked")
    /// The server sends no strong entity tag, so a push cannot be conditional.
    public static let noEntityTag = Code(name: "noEntityTag")
    /// The server ignores the conditions of requests, so pushes would overwrite each other.
    public static let unconditional = Code(name: "unconditional")
    /// The server answered with a status that is no success.
    public static let status = Code(name: "status")
  }

  /// The kind of failure.
  public var code: Code
  /// The path of the file, or the address without credentials.
  public var place: String
  /// What is wrong, and what to do.
  public var message: String

  init(_ code: Code, _ place: String, _ message: String) {
    self.code = code
    self.place = place
    self.message = message
  }

  static func tooLarge(_ place: String, _ maxByteCount: Int) -> RemoteError {
    RemoteError(
      .tooLarge, place,
      "the document is longer than the limit of \(maxByteCount) bytes; raise maxByteCount, or "
        + "divide the records among several remotes")
  }

  /// The place and the message.
  public var description: String { "\(place): \(message)" }
}
