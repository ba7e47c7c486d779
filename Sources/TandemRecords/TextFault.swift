/// What is wrong at one place of a text, while the place is no more than an offset.
///
/// Readers count neither lines nor columns; both are found when an error needs them.
struct TextFault: Error {
  let code: RecordError.Code
  let message: String
  let offset: Int

  @inline(never)
  init(_ code: RecordError.Code, _ message: String, at offset: Int) {
    self.code = code
    self.message = message
    self.offset = offset
  }

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

/// The mark that a text may begin with, and that is no part of its contents.
enum ByteOrderMark {
  /// 3 if the text begins with a byte order mark, 0 if not.
  static func byteCount(in bytes: UnsafeRawBufferPointer) -> Int {
    bytes.starts(with: ASCII.byteOrderMark) ? ASCII.byteOrderMark.count : 0
  }
}
