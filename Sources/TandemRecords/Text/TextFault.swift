/// The reason why a text cannot be read, and the offset at which reading stopped.
///
/// Readers count neither lines nor columns. ``error(in:record:field:)`` finds both when an error
/// needs them.
package struct TextFault: Error, Hashable, CustomStringConvertible {
  /// The kind of fault.
  package let code: RecordError.Code
  /// A clause without a full stop.
  package let message: String
  /// The offset in bytes from the start of the text.
  package let offset: Int

  /// A fault at an offset.
  @inline(never)
  package init(_ code: RecordError.Code, _ message: String, at offset: Int) {
    self.code = code
    self.message = message
    self.offset = offset
  }

  /// The message and the offset: "expected a value, found "]", at byte 7".
  package var description: String { "\(message), at byte \(offset)" }

  /// The fault as an error that names its line and column in `bytes`.
  func error(in bytes: UnsafeRawBufferPointer, record: Int?, field: String?) -> RecordError {
    var line = 1
    var lineStart = ByteOrderMark.byteCount(in: bytes)
    for index in 0..<min(offset, bytes.count) where bytes[index] == ASCII.lineFeed {
      line += 1
      lineStart = index + 1
    }
    return RecordError(
      code, field.map { "\(message), in field \(FieldValue.text($0))" } ?? message,
      record: record, line: line, column: offset - lineStart + 1)
  }
}

/// The byte order mark, which a text may begin with and which is not part of its contents.
enum ByteOrderMark {
  /// 3 if the text begins with a byte order mark, 0 if not.
  static func byteCount(in bytes: UnsafeRawBufferPointer) -> Int {
    bytes.starts(with: ASCII.byteOrderMark) ? ASCII.byteOrderMark.count : 0
  }
}
