/// The parts of a CSV text (RFC 4180). Null is an empty field; an empty text is an empty field in
/// quotes.
enum CSVText {
  /// Returns the names of all fields, each once, after the given ones.
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

  /// Returns true if a column of texts would be read as a column of numbers.
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

  /// Returns a value as a field. A blob becomes a text of its Base64.
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

  /// Returns the text of a number. Infinities, which CSV numbers do not include, become texts.
  private static func number(_ value: FieldValue) -> String {
    if case .real(let number) = value, number.isInfinite { return number > 0 ? "inf" : "-inf" }
    return value.description
  }

  /// Returns a field's contents, in quotes if necessary.
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

  /// Appends a line. A single empty field becomes an empty line, which is read back as one.
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
