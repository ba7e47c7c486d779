import SystemLibrary

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
  ///
  /// - Parameter lineEnd: The last byte of each line.
  func error(
    in bytes: UnsafeRawBufferPointer, record: Int?, field: String?,
    lineEnd: UInt8 = ASCII.lineFeed
  ) -> RecordError {
    let line = TextLine(end: lineEnd, start: ByteOrderMark.byteCount(in: bytes))
    return error(in: bytes, from: line, record: record, field: field)
  }

  /// The fault as an error that names its line and column in a part of a text, which begins in `line`.
  func error(
    in bytes: UnsafeRawBufferPointer, from line: TextLine, record: Int?, field: String?
  ) -> RecordError {
    var line = line
    line.move(behind: UnsafeRawBufferPointer(rebasing: bytes[..<min(offset, bytes.count)]))
    return RecordError(
      code, field.map { "\(message), in field \(FieldValue.text($0))" } ?? message,
      record: record, line: line.number, column: offset - line.start + 1)
  }
}

/// A line of a text that is read in parts.
struct TextLine {
  /// The number of the line, counted from 1.
  private(set) var number = 1
  /// The last byte of each line.
  var end = ASCII.lineFeed
  /// The offset of the line's first byte in the current part; negative if it was in an earlier one.
  var start: Int

  /// Moves to the line of the next part's first byte, behind the bytes that were read of this part.
  mutating func leave(_ bytes: Slice<UnsafeRawBufferPointer>) {
    move(behind: UnsafeRawBufferPointer(rebasing: bytes))
    start -= bytes.count
  }

  /// Moves from the first byte of a part to the byte behind `bytes`, which the part begins with.
  mutating func move(behind bytes: UnsafeRawBufferPointer) {
    var place = 0
    while let end = TextLine.end(in: bytes, from: place, to: bytes.count, end) {
      number += 1
      place = end + 1
      start = place
    }
  }

  /// The offset of the first byte that ends a line from `start` on and before `limit`.
  static func end(
    in bytes: UnsafeRawBufferPointer, from start: Int, to limit: Int,
    _ end: UInt8 = ASCII.lineFeed
  ) -> Int? {
    guard start < limit, let base = bytes.baseAddress,
      let found = memchr(base + start, Int32(end), limit &- start)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }
}

/// The byte order mark, which a text may begin with and which is not part of its contents.
enum ByteOrderMark {
  /// 3 if the text begins with a byte order mark, 0 if not.
  static func byteCount(in bytes: UnsafeRawBufferPointer) -> Int {
    bytes.starts(with: ASCII.byteOrderMark) ? ASCII.byteOrderMark.count : 0
  }
}
