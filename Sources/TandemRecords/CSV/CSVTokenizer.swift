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
/// Lines end with a line feed, with or without a carriage return before it, or all of them with a carriage
/// return. Other carriage returns in fields without quotes are an error, because other programs read them
/// differently, and so are quotes there, unless ``CSVOptions/quotes`` says otherwise.
struct CSVTokenizer {
  let bytes: UnsafeRawBufferPointer
  private(set) var index: Int
  private let delimiter: UInt8
  private let comment: UInt8?
  private let quotes: CSVQuotes
  /// True for a text with tabs, in whose fields without quotes a quote is a character as any other.
  private let isTabSeparated: Bool
  /// The last byte of each line: a line feed, or a carriage return if no line feed follows. Known after
  /// ``skipPreamble(lineCount:)``.
  private(set) var lineEnd = ASCII.lineFeed
  private var scratch: [UInt8] = []

  /// Creates a position at the start, after a byte order mark.
  init(_ bytes: UnsafeRawBufferPointer, delimiter: UInt8, comment: UInt8?, quotes: CSVQuotes) {
    self.bytes = bytes
    self.delimiter = delimiter
    self.comment = comment
    self.quotes = quotes
    isTabSeparated = delimiter == ASCII.tab
    index = ByteOrderMark.byteCount(in: bytes)
  }

  /// Skips lines at the start, whatever is in them, and the comments and empty lines after them. The line behind
  /// them shows the line end of all further ones; quotes before it mean nothing.
  mutating func skipPreamble(lineCount: Int) throws(TextFault) {
    for _ in 0..<lineCount {
      guard skipAnyLine() else {
        throw TextFault(
          .malformed, "the text has no line behind the \(lineCount) lines to skip", at: bytes.count)
      }
    }
    while index < bytes.count, bytes[index] == comment || Self.isLineEnd(bytes[index]) {
      if !skipAnyLine() { index = bytes.count }
    }
    lineEnd = lineEndOfThisLine
  }

  /// Skips a line with any line end. Returns false if there is none.
  private mutating func skipAnyLine() -> Bool {
    guard let end = bytes[index...].firstIndex(where: Self.isLineEnd) else { return false }
    index = end + 1
    if bytes[end] == ASCII.carriageReturn, index < bytes.count, bytes[index] == ASCII.lineFeed {
      index += 1
    }
    return true
  }

  /// The last byte of the line that begins here, outside of quotes.
  private var lineEndOfThisLine: UInt8 {
    var isQuoted = false
    for offset in index..<bytes.count {
      let byte = bytes[offset]
      if byte == ASCII.quote, quotes != .none { isQuoted.toggle() }
      guard !isQuoted, Self.isLineEnd(byte) else { continue }
      let isReturn = byte == ASCII.carriageReturn
      // A text that ends there may have lost a line feed.
      let isAlone = offset + 1 < bytes.count && bytes[offset + 1] != ASCII.lineFeed
      return isReturn && isAlone ? ASCII.carriageReturn : ASCII.lineFeed
    }
    return ASCII.lineFeed
  }

  /// True if no row follows.
  var isAtEnd: Bool { index == bytes.count }

  /// Reads a field and moves to its end.
  @inline(__always)
  mutating func cell() throws(TextFault) -> CSVCell {
    if index < bytes.count, bytes[index] == ASCII.quote, quotes != .none {
      return try quotedCell()
    }
    let start = index
    while index < bytes.count {
      switch bytes[index] {
      case delimiter, lineEnd: return CSVCell(start: start, end: index, kind: .plain)
      case ASCII.carriageReturn:
        try requireLineFeed()
        return CSVCell(start: start, end: index, kind: .plain)
      case ASCII.lineFeed: throw mixedLineEnds
      case ASCII.quote where quotes == .strict && !isTabSeparated:
        throw TextFault(
          .malformed, "a quote stands inside a field without quotes (`quotes` lenient reads it)",
          at: index)
      default: index &+= 1
      }
    }
    return CSVCell(start: start, end: index, kind: .plain)
  }

  private mutating func quotedCell() throws(TextFault) -> CSVCell {
    index += 1
    let start = index
    var kind = CSVCell.Kind.quoted
    var hasOpenQuote = false
    var hasStrayQuote = false
    var searchedEnd = start
    while true {
      while index < bytes.count, bytes[index] != ASCII.quote { index &+= 1 }
      if hasStrayQuote {
        try requireNoLineEnd(from: searchedEnd, inFieldAt: start - 1)
        searchedEnd = index
      }
      guard index < bytes.count else {
        throw TextFault(.malformed, "the text ends too early, inside a quoted field", at: index)
      }
      index += 1
      if index < bytes.count, bytes[index] == ASCII.quote {
        index += 1
        kind = .quotedWithQuotes
        // The end of a field such as `"the "b""`, in which a stray quote is open.
        if hasOpenQuote, try isAtEndOfField() { break }
      } else if try isAtEndOfField() {
        break
      } else {
        kind = .quotedWithQuotes
        hasStrayQuote = true
        hasOpenQuote.toggle()
      }
    }
    return CSVCell(start: start, end: index - 1, kind: kind)
  }

  /// Throws if a field with a stray quote has a line end before this position. The field may have taken in whole
  /// rows then, because its first quote, or the stray one, is not what it seems to be.
  private func requireNoLineEnd(from start: Int, inFieldAt field: Int) throws(TextFault) {
    guard bytes[start..<index].contains(where: Self.isLineEnd) else { return }
    throw TextFault(
      .malformed,
      "the quotes of this field do not match: it has a quote inside and a line end; double the quotes inside, "
        + "or choose `quotes` none if no quotes surround fields", at: field)
  }

  private static func isLineEnd(_ byte: UInt8) -> Bool {
    byte == ASCII.lineFeed || byte == ASCII.carriageReturn
  }

  /// True if a field ends here; false behind a stray quote, if those are read.
  private func isAtEndOfField() throws(TextFault) -> Bool {
    guard index < bytes.count else { return true }
    switch bytes[index] {
    case delimiter, lineEnd: return true
    case ASCII.carriageReturn where quotes == .strict:
      try requireLineFeed()
      return true
    case ASCII.carriageReturn:
      return index + 1 < bytes.count && bytes[index + 1] == ASCII.lineFeed
    case _ where quotes == .lenient: return false
    default:
      throw TextFault(
        .malformed,
        "a field goes on behind its closing quote (`quotes` lenient reads it, or `quotes` none if no "
          + "quotes surround fields)", at: index)
    }
  }

  private var mixedLineEnds: TextFault {
    TextFault(
      .malformed, "a line feed stands in a text whose lines end with carriage returns", at: index)
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
    index &+= bytes[index] == lineEnd ? 1 : 2
    return true
  }

  /// Skips lines before a row: comments, and empty lines if `skipsEmpty` is true.
  @inline(__always)
  mutating func skipIgnoredLines(skipsEmpty: Bool) {
    while index < bytes.count {
      let byte = bytes[index]
      if byte == comment {
        index = bytes[index...].firstIndex(of: lineEnd).map { $0 + 1 } ?? bytes.count
      } else if skipsEmpty, byte == lineEnd {
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

  /// Returns the contents of a field with its doubled quotes made single. A stray quote stays.
  private mutating func unquoted(_ contents: UnsafeRawBufferPointer) -> String {
    scratch.removeAll(keepingCapacity: true)
    var copiedEnd = 0
    while let quote = contents[copiedEnd...].firstIndex(of: ASCII.quote) {
      scratch.append(contentsOf: contents[copiedEnd...quote])
      let isDoubled = quote + 1 < contents.count && contents[quote + 1] == ASCII.quote
      copiedEnd = isDoubled ? quote + 2 : quote + 1
    }
    scratch.append(contentsOf: contents[copiedEnd...])
    return String(decoding: scratch, as: UTF8.self)
  }
}
