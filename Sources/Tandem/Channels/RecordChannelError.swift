/// The reason why a record could not be sent on its channel.
public struct RecordChannelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The records do not have the column. The query may have to name it.
    public static let missingColumn = Code(name: "missingColumn")
    /// The value cannot be converted to the type of the property, or of the channel's id.
    public static let wrongValue = Code(name: "wrongValue")
  }

  /// The kind of failure.
  public var code: Code
  /// The column.
  public var column: String
  /// The channel of the record, such as "User 7"; its subject alone if the id is wrong.
  public var channel: String
  /// A sentence about the failure, without the channel.
  public var message: String

  private init(_ code: Code, column: String, of channel: String, _ message: String) {
    self.code = code
    self.column = column
    self.channel = channel
    self.message = message
  }

  static func missing(_ column: String, of channel: String) -> RecordChannelError {
    RecordChannelError(
      .missingColumn, column: column, of: channel, "there is no column \(column)")
  }

  static func wrong(
    _ value: FieldValue, in column: String, of channel: String, type: Any.Type
  ) -> RecordChannelError {
    RecordChannelError(
      .wrongValue, column: column, of: channel,
      "the column \(column) holds \(value), which is no \(type)")
  }

  /// The channel and the message, as in: User 7: the column age holds "old", which is no Int.
  public var description: String { "\(channel): \(message)" }
}
