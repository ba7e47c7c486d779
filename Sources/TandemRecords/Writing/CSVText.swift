extension RecordWriter {
  /// Appends records as CSV (RFC 4180), with a line of field names first and a line feed after each
  /// line. The fields are those of all records, in the order in which they first occur.
  ///
  /// Null is an empty field, an empty text one in quotes. Texts are in quotes where they hold a
  /// comma, a quote or a line end, and in a column of nothing but texts that would read as numbers.
  /// So ``RecordReader`` reads equal records, as long as no column mixes texts and numbers: CSV has
  /// one type for a column. Blobs are texts of their Base64. Records without any field cannot be
  /// written; there is nothing to write if all are so.
  ///
  /// - Complexity: O(*n*) in the bytes of the text, if all records have the same layout.
  public static func appendCSV(
    _ records: [Record], fieldNames: [String] = [], to bytes: inout [UInt8]
  ) {
    let names = CSVText.names(of: records, after: fieldNames)
    guard !names.isEmpty else { return }
    CSVText.appendRow(names.map { CSVText.quotedIfNeeded(Array($0.utf8)) }, to: &bytes)
    let quoted = names.map { name in CSVText.needsQuotes(records.lazy.map { $0[name] }) }
    for record in records {
      let cells = names.indices.map { CSVText.cell(of: record[names[$0]], isQuoted: quoted[$0]) }
      CSVText.appendRow(cells, to: &bytes)
    }
  }
}

/// The parts of a CSV text.
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

  /// Appends a line. One empty field alone is an empty line, which reads as that.
  static func appendRow(
    _ cells: [[UInt8]], lineEnd: [UInt8] = [ASCII.lineFeed], to bytes: inout [UInt8]
  ) {
    for offset in cells.indices {
      if offset > 0 { bytes.append(ASCII.comma) }
      bytes += cells[offset]
    }
    bytes += lineEnd
  }
}
