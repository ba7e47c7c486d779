/// One field of a CSV text.
struct CSVCell {
  enum Kind {
    /// Not in quotes; null if it is empty.
    case plain
    /// In quotes, which are not part of the range.
    case quoted
    /// In quotes, with doubled quotes inside.
    case quotedWithQuotes
  }

  /// The start of its contents.
  let start: Int
  /// The end of its contents.
  let end: Int
  let kind: Kind

  /// True for an empty field that is not in quotes.
  @inline(__always)
  var isNull: Bool { start == end && kind == .plain }

  /// The range of the field, with its quotes.
  var span: Range<Int> { kind == .plain ? start..<end : start - 1..<end + 1 }
}

/// A position in a CSV text (RFC 4180), and the functions that read the fields there.
///
/// Lines end with a line feed, with or without a carriage return before it. A carriage return or a
/// quote inside a field without quotes is an error, because other programs read it differently.
struct CSVTokenizer {
  let bytes: UnsafeRawBufferPointer
  private(set) var index: Int
  private let delimiter: UInt8
  private let comment: UInt8?
  private var scratch: [UInt8] = []

  /// Creates a position at the start, after a byte order mark.
  init(_ bytes: UnsafeRawBufferPointer, delimiter: UInt8, comment: UInt8?) {
    self.bytes = bytes
    self.delimiter = delimiter
    self.comment = comment
    index = ByteOrderMark.byteCount(in: bytes)
  }

  /// True if no row follows.
  var isAtEnd: Bool { index == bytes.count }

  /// Reads a field and moves to its end.
  @inline(__always)
  mutating func cell() throws(TextFault) -> CSVCell {
    if index < bytes.count, bytes[index] == ASCII.quote { return try quotedCell() }
    let start = index
    while index < bytes.count {
      switch bytes[index] {
      case delimiter, ASCII.lineFeed: return CSVCell(start: start, end: index, kind: .plain)
      case ASCII.carriageReturn:
        try requireLineFeed()
        return CSVCell(start: start, end: index, kind: .plain)
      case ASCII.quote:
        throw TextFault(.malformed, "a quote stands inside a field without quotes", at: index)
      default: index &+= 1
      }
    }
    return CSVCell(start: start, end: index, kind: .plain)
  }

  private mutating func quotedCell() throws(TextFault) -> CSVCell {
    index += 1
    let start = index
    var kind = CSVCell.Kind.quoted
    while true {
      while index < bytes.count, bytes[index] != ASCII.quote { index &+= 1 }
      guard index < bytes.count else {
        throw TextFault(.malformed, "the text ends too early, inside a quoted field", at: index)
      }
      index += 1
      guard index < bytes.count, bytes[index] == ASCII.quote else { break }
      kind = .quotedWithQuotes
      index += 1
    }
    let cell = CSVCell(start: start, end: index - 1, kind: kind)
    try requireEndOfField()
    return cell
  }

  private func requireEndOfField() throws(TextFault) {
    guard index < bytes.count else { return }
    switch bytes[index] {
    case delimiter, ASCII.lineFeed: return
    case ASCII.carriageReturn: try requireLineFeed()
    default: throw TextFault(.malformed, "a field goes on behind its closing quote", at: index)
    }
  }

  /// Throws if no line feed follows the carriage return at this position.
  private func requireLineFeed() throws(TextFault) {
    guard index + 1 < bytes.count else {
      throw TextFault(.malformed, "the text ends too early, inside a line end", at: bytes.count)
    }
    guard bytes[index + 1] == ASCII.lineFeed else {
      throw TextFault(.malformed, "no line feed follows a carriage return", at: index)
    }
  }

  /// Skips a delimiter after a field. Returns false if there is none.
  @inline(__always)
  mutating func skipDelimiter() -> Bool {
    guard index < bytes.count, bytes[index] == delimiter else { return false }
    index &+= 1
    return true
  }

  /// Skips a line end after the last field of a row. Returns false if there is none.
  @inline(__always)
  mutating func skipLineEnd() -> Bool {
    guard index < bytes.count else { return false }
    index &+= bytes[index] == ASCII.carriageReturn ? 2 : 1
    return true
  }

  /// Skips lines before a row: comments, and empty lines if `skipsEmpty` is true.
  @inline(__always)
  mutating func skipIgnoredLines(skipsEmpty: Bool) {
    while index < bytes.count {
      let byte = bytes[index]
      if byte == comment {
        index = bytes[index...].firstIndex(of: ASCII.lineFeed).map { $0 + 1 } ?? bytes.count
      } else if skipsEmpty, byte == ASCII.lineFeed {
        index &+= 1
      } else if skipsEmpty, byte == ASCII.carriageReturn, index + 1 < bytes.count,
        bytes[index + 1] == ASCII.lineFeed
      {
        index &+= 2
      } else {
        return
      }
    }
  }

  /// Returns the contents of a field as a text.
  @inline(__always)
  mutating func text(of cell: CSVCell) -> String {
    let contents = UnsafeRawBufferPointer(rebasing: bytes[cell.start..<cell.end])
    guard cell.kind == .quotedWithQuotes else { return String(decoding: contents, as: UTF8.self) }
    return unquoted(contents)
  }

  /// Returns the contents of a field with its doubled quotes made single.
  private mutating func unquoted(_ contents: UnsafeRawBufferPointer) -> String {
    scratch.removeAll(keepingCapacity: true)
    var copiedEnd = 0
    while let quote = contents[copiedEnd...].firstIndex(of: ASCII.quote) {
      scratch.append(contentsOf: contents[copiedEnd...quote])
      copiedEnd = quote + 2
    }
    scratch.append(contentsOf: contents[copiedEnd...])
    return String(decoding: scratch, as: UTF8.self)
  }
}
