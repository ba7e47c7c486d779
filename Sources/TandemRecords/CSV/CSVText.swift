/// The parts of a CSV text (RFC 4180): null is an empty field, an empty text one in quotes.
enum CSVText {
  /// The names of all fields, each once, after those given.
  static func names(of records: [Record], after first: [String]) -> [String] {
    var names: [String] = []
    var seen: Set<FieldName> = []
    var lastLayout: RecordLayout?
    func add(_ more: [String]) {
      for name in more where seen.insert(FieldName(name)).inserted { names.append(name) }
    }
    add(first)
    for record in records where record.layout !== lastLayout {
      lastLayout = record.layout
      add(record.layout.names)
    }
    return names
  }

  /// Whether a column is one of texts that would be read as one of numbers.
  static func needsQuotes(_ values: some Sequence<FieldValue>) -> Bool {
    var column = CSVColumn()
    var hasText = false
    for value in values {
      guard case .text(let text) = value else { continue }
      hasText = true
      Array(text.utf8).withUnsafeBytes {
        column.note(CSVCell(start: 0, end: $0.count, kind: .plain), in: $0)
      }
    }
    return hasText && column.type != .text
  }

  /// A value as a field; a blob is a text of its Base64.
  static func cell(of value: FieldValue, isQuoted: Bool) -> [UInt8] {
    switch value {
    case .null: return []
    case .text(let text):
      return isQuoted ? quoted(Array(text.utf8)) : quotedIfNeeded(Array(text.utf8))
    case .blob(let blob):
      var bytes: [UInt8] = []
      bytes.append(base64: blob)
      return quotedIfNeeded(bytes)
    case .integer, .real: return value.isNull ? [] : quotedIfNeeded(Array(number(value).utf8))
    }
  }

  /// A number as CSV has it; infinities, which it has no word for, are texts.
  private static func number(_ value: FieldValue) -> String {
    if case .real(let number) = value, number.isInfinite { return number > 0 ? "inf" : "-inf" }
    return value.description
  }

  /// A field's contents, in quotes if they cannot stand without.
  static func quotedIfNeeded(_ bytes: [UInt8]) -> [UInt8] {
    let special = [ASCII.comma, ASCII.quote, ASCII.lineFeed, ASCII.carriageReturn]
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

  /// Appends a line. One empty field alone is an empty line, which is read as that.
  static func appendRow(
    _ cells: [[UInt8]], lineEnd: [UInt8], to bytes: inout [UInt8]
  ) {
    for offset in cells.indices {
      if offset > 0 { bytes.append(ASCII.comma) }
      bytes += cells[offset]
    }
    bytes += lineEnd
  }
}
