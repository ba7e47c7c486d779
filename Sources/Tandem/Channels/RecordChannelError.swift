/// The reason why a record could not be sent on its channel.
public struct RecordChannelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: Hashable, Sendable {
    /// The records do not have the column. The query may have to name it.
    case missingColumn
    /// The value cannot be converted to the type of the property, or of the channel's id.
    case wrongValue(FieldValue, type: String)
  }

  /// The kind of failure.
  public var code: Code
  /// The column.
  public var column: String
  /// The channel of the record, such as "User 7"; its subject alone if the id is wrong.
  public var channel: String

  init(_ code: Code, column: String, of channel: String) {
    self.code = code
    self.column = column
    self.channel = channel
  }

  /// The failure, as in: User 7: the column age holds "old", which is no Int.
  public var description: String {
    switch code {
    case .missingColumn: "\(channel): there is no column \(column)"
    case .wrongValue(let value, let type):
      "\(channel): the column \(column) holds \(value), which is no \(type)"
    }
  }
}
