/// The parts of a CSV text (RFC 4180) that a merge writes anew.
enum CSVText {
  /// The name of a column whose field in the header is empty, as pandas and R write that of the names
  /// of rows.
  static func name(ofColumn offset: Int) -> String { "column_\(offset + 1)" }

  /// Returns a value of a list as a cell.
  ///
  /// - Parameter special: The delimiter, and the character that begins a comment.
  static func cell(of value: ListValue, special: [UInt8]) -> [UInt8] {
    switch value {
    case .json("null"): return []
    case .text(let text), .json(let text):
      return quotedIfNeeded(Array(text.utf8), special: special)
    }
  }

  /// Returns a field's contents, in quotes if necessary.
  static func quotedIfNeeded(_ bytes: [UInt8], special: [UInt8]) -> [UInt8] {
    let special = special + [ASCII.quote, ASCII.lineFeed, ASCII.carriageReturn]
    let isMark = bytes.starts(with: ASCII.byteOrderMark)
    return bytes.isEmpty || isMark || bytes.contains(where: special.contains)
      ? quoted(bytes) : bytes
  }

  private static func quoted(_ bytes: [UInt8]) -> [UInt8] {
    var result = [ASCII.quote]
    for byte in bytes {
      if byte == ASCII.quote { result.append(ASCII.quote) }
      result.append(byte)
    }
    result.append(ASCII.quote)
    return result
  }
}
