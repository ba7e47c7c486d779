/// The error of reading a list of records, or of identifying its records by a key.
public struct RecordError: Error, Hashable, Sendable {
  /// The kind of error. New codes may be added; switch over them with a default.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code, as in `duplicateKey`.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The text violates its format, or ends too early.
    public static let malformed = Code(name: "malformed")
    /// An element of the list is not a record, such as a number in place of an object.
    public static let notARecord = Code(name: "notARecord")
    /// A record names a field twice, or a header names a column twice.
    public static let duplicateField = Code(name: "duplicateField")
    /// A record has no value in a field of the key.
    public static let missingKey = Code(name: "missingKey")
    /// Two records have the same key.
    public static let duplicateKey = Code(name: "duplicateKey")
    /// A value cannot be represented exactly: a number too large for its type, or half a surrogate
    /// pair.
    public static let notRepresentable = Code(name: "notRepresentable")
    /// A value is not of the type that it is to be decoded as.
    public static let typeMismatch = Code(name: "typeMismatch")
    /// A named limit is exceeded.
    public static let limitExceeded = Code(name: "limitExceeded")
  }

  /// The kind of error.
  public var code: Code
  /// A message without a full stop, with the key or field in it.
  public var message: String
  /// The record, counted from 1 in the order of the list.
  public var record: Int?
  /// The line of the text, counted from 1.
  public var line: Int?
  /// The column in that line, in UTF-8 bytes counted from 1.
  public var column: Int?

  /// Creates an error at a position of a list.
  package init(
    _ code: Code, _ message: String, record: Int? = nil, line: Int? = nil, column: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.record = record
    self.line = line
    self.column = column
  }
}

extension RecordError: CustomStringConvertible {
  /// The message after its position: "record 3 (line 4, column 17): …".
  public var description: String {
    let position = [line.map { "line \($0)" }, column.map { "column \($0)" }].compactMap { $0 }
      .joined(separator: ", ")
    switch (record, position.isEmpty) {
    case (let record?, true): return "record \(record): \(message)"
    case (let record?, false): return "record \(record) (\(position)): \(message)"
    case (nil, true): return message
    case (nil, false): return "\(position): \(message)"
    }
  }
}
