internal import SystemLibrary

/// An error of starting a server, or of its files.
public struct ServerError: Error, Hashable, CustomStringConvertible {
  /// The kinds of error.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The address cannot be resolved, or nothing can listen there.
    public static let address = Code(name: "address")
    /// The certificate or the key cannot be used.
    public static let certificate = Code(name: "certificate")
    /// The directory of the spaces cannot be used.
    public static let directory = Code(name: "directory")
    /// The file of the access tokens cannot be read or written.
    public static let tokens = Code(name: "tokens")
    /// The keys of an identity provider cannot be read or used.
    public static let keys = Code(name: "keys")
    /// The secret of a webhook cannot be used.
    public static let webhook = Code(name: "webhook")
  }

  /// The kind of error.
  public let code: Code
  /// A sentence for people that says what to do. It contains no secret.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }
}

/// The reason of the last failed system call, for messages.
func systemReason() -> String { String(cString: strerror(errno)).asciiLowercased }
