/// An error of a space's file.
package struct SpaceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of error.
  package struct Code: Hashable, Sendable {
    private let name: String

    /// The file is a SQLite database, but not a space.
    package static let notASpace = Code(name: "notASpace")
    /// A newer version of Tandem wrote the file.
    package static let newerFormat = Code(name: "newerFormat")
    /// A row of the file cannot be read: something else than Tandem has changed it.
    package static let damaged = Code(name: "damaged")
  }

  /// The kind of error.
  package let code: Code
  /// A sentence for people that says what to do.
  package let message: String
  /// The file.
  package let path: String

  init(_ code: Code, _ message: String, path: String) {
    self.code = code
    self.message = message
    self.path = path
  }

  /// The file and the message.
  package var description: String { "\(path): \(message)" }
}
