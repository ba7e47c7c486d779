/// An error of a space's file.
public struct SpaceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of error.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The file is a SQLite database, but not a space.
    public static let notASpace = Code(name: "notASpace")
    /// The file is empty, as after a space could not be created.
    public static let empty = Code(name: "empty")
    /// A newer version of Tandem wrote the file.
    public static let newerFormat = Code(name: "newerFormat")
    /// A row of the file cannot be read: something else than Tandem has changed it.
    public static let damaged = Code(name: "damaged")
  }

  /// The kind of error.
  public let code: Code
  /// A sentence for people that says what to do.
  public let message: String
  /// The file.
  public let path: String

  init(_ code: Code, _ message: String, path: String) {
    self.code = code
    self.message = message
    self.path = path
  }

  /// The file and the message.
  public var description: String { "\(path): \(message)" }
}
