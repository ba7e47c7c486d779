public import TandemDifferences

/// Writes values, records and differences as JSON (RFC 8259), in UTF-8 and without white space.
///
/// JSON has no blobs and only finite numbers. These values become an object with one field:
/// `{"blob":"3q2+7w=="}` in Base64 (RFC 4648), `{"real":"inf"}`, `{"real":"-inf"}`,
/// `{"real":"nan"}`. ``RecordReader`` reads all other values back unchanged.
public enum RecordWriter {
  /// Appends a value.
  ///
  /// An integer has neither a point nor an exponent. A real has one of them, and the fewest digits
  /// that read back as the same number. In a text, quotes, backslashes and control characters are
  /// escaped, and nothing else. A text that contains JSON is written as a string.
  ///
  /// - Complexity: O(*n*) in the bytes of the value.
  public static func appendJSON(_ value: FieldValue, to bytes: inout [UInt8]) {
    bytes.appendJSON { $0.write(value) }
  }

  /// Appends a record as an object, with its fields in the order of its layout.
  public static func appendJSON(_ record: Record, to bytes: inout [UInt8]) {
    bytes.appendJSON { $0.write(record) }
  }

  /// Appends a list of records as an array of objects.
  public static func appendJSON(_ records: [Record], to bytes: inout [UInt8]) {
    bytes.appendJSON { $0.write(records) }
  }

  /// Appends a difference as `{"inserted":[…],"updated":[{"old":…,"new":…}],"deleted":[…]}`, each
  /// list in its order.
  public static func appendJSON(_ difference: SetDifference<Record>, to bytes: inout [UInt8]) {
    bytes.appendJSON { $0.write(difference) }
  }
}
