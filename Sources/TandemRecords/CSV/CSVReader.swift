/// Reads a CSV text in two passes: first the ranges of its fields and the types of its columns, then
/// the values.
struct CSVReader: RecordTextReader {
  private var tokens: CSVTokenizer
  private(set) var names: [String] = []
  private var columns: [CSVColumn] = []
  private var header: [CSVCell] = []
  /// The fields of all rows, row by row.
  private var cells: [CSVCell] = []
  /// The ranges of the header and the rows, each from the end of the line before to its own end. If
  /// there are comments or empty lines before it, they are in the range too.
  private(set) var lines: [Range<Int>] = []
  private var column: Int?
  private let maxRecordByteCount: Int
  private let allowsRaggedRows: Bool
  private let requiredFields: [String]
  private let keyFields: [String]
  /// The offsets of ``keyFields``, if there are several.
  private var keyOffsets: [Int] = []
  private let hasHeader: Bool
  private let skippedLineCount: Int
  /// The ways to read fields, by their folded names.
  private var columnKinds: [FieldName: CSVColumnKind] = [:]
  /// True if there is a cell without quotes that is not empty.
  private var hasPlainCell = false
  /// True if a comma is the delimiter because no other one was named.
  private let assumesComma: Bool

  private(set) var recordNumber: Int?
  var fieldName: String? { column.map { names[$0] } }
  var lineEnd: UInt8 { tokens.lineEnd }
  /// The ranges of all fields with their quotes, row by row, the header first.
  var spans: [Range<Int>] { (header + cells).map(\.span) }

  init(
    _ bytes: UnsafeRawBufferPointer, format: RecordFormat, _ options: CSVOptions,
    _ limits: RecordLimits
  ) {
    tokens = CSVTokenizer(
      bytes, delimiter: options.delimiter(of: format), comment: options.comment,
      quotes: options.quotes)
    hasHeader = options.hasHeader
    skippedLineCount = options.skippedLineCount
    maxRecordByteCount = limits.maxRecordByteCount
    allowsRaggedRows = options.allowsRaggedRows
    requiredFields = options.requiredFields
    keyFields = options.keyFields
    assumesComma = options.delimiter == nil && format == .csv
    // Sorted, so that every run of the program chooses the same one of two names that are folded to one.
    for (name, kind) in options.columnKinds.sorted(by: { $0.key < $1.key }) {
      columnKinds[Self.folded(name)] = kind
    }
    for name in options.textFields { columnKinds[Self.folded(name)] = .texts }
  }

  /// Reads the records as a table would store them.
  mutating func readAll() throws(TextFault) -> [Record] {
    var records: [Record] = []
    try readAll { records.append($0) }
    return records
  }

  /// Calls `body` with each record as a table would store it.
  fileprivate mutating func readAll(_ body: (Record) -> Void) throws(TextFault) {
    try scan()
    let layout = RecordLayout(uniqueNames: names, areCells: true)
    let types = columns.map { $0.type(quotesMeanText: hasPlainCell) }
    for row in 0..<rowCount {
      body(Record(uncheckedLayout: layout, values: values(ofRow: row, types)))
    }
  }

  /// The records with the texts of their cells. Call it after ``scan()``.
  mutating func listRecords() -> [ListRecord] {
    let layout = RecordLayout(uniqueNames: names)
    return (0..<rowCount).map { row in
      ListRecord(
        layout: layout,
        values: names.indices.map { column in
          let cell = cells[row * names.count + column]
          return cell.start == cell.end ? .null : .text(tokens.text(of: cell))
        })
    }
  }

  private var rowCount: Int { cells.count / names.count }

  /// Reads the ranges of all fields.
  mutating func scan() throws(TextFault) {
    var lineStart = tokens.index
    try tokens.skipPreamble(lineCount: skippedLineCount)
    let firstRow = tokens
    try readHeader()
    if hasHeader {
      lines.append(lineStart..<tokens.index)
      if tokens.skipLineEnd() { recordNumber = 1 }
    } else {
      tokens = firstRow
      recordNumber = 1
    }
    while true {
      lineStart = tokens.index
      // With one field, an empty line is a row.
      tokens.skipIgnoredLines(skipsEmpty: names.count > 1)
      if tokens.isAtEnd { return }
      try readRow()
      lines.append(lineStart..<tokens.index)
      if tokens.skipLineEnd() { recordNumber = rowCount + 1 }
    }
  }

  private mutating func readHeader() throws(TextFault) {
    let start = tokens.index
    guard !tokens.isAtEnd else {
      throw TextFault(
        .malformed, "the text ends too early, before a line of field names", at: start)
    }
    var seen: Set<FieldValue> = []
    repeat {
      let start = tokens.index
      let cell = try tokens.cell()
      let name =
        cell.start == cell.end || !hasHeader
        ? CSVText.name(ofColumn: names.count) : tokens.text(of: cell)
      guard seen.insert(.text(name)).inserted else {
        throw TextFault(
          .duplicateField, "the header names the field \(FieldValue.text(name)) twice", at: start)
      }
      guard names.count < RecordLayout.maxFieldCount else {
        throw TextFault(
          .limitExceeded, "the header has more than \(RecordLayout.maxFieldCount) fields",
          at: start)
      }
      names.append(name)
      header.append(cell)
    } while tokens.skipDelimiter()
    guard !hasHeader || header.contains(where: { $0.start < $0.end }) else {
      throw TextFault(.malformed, "no field of the header has a name", at: start)
    }
    try checkDelimiter(at: start)
    let present = names.map(Self.folded)
    let missing = requiredFields.first { !present.contains(Self.folded($0)) }
    if let missing {
      let known = names.prefix(Self.maxNamedFieldCount).joined(separator: ", ")
      let others = names.count > Self.maxNamedFieldCount ? ", …" : ""
      throw TextFault(
        .missingKey,
        "the \(hasHeader ? "header" : "first row") has no field \(FieldValue.text(missing)); its fields are "
          + known + others, at: start)
    }
    let keys = keyFields.count > 1 ? Set(keyFields.map(Self.folded)) : []
    keyOffsets = present.indices.filter { keys.contains(present[$0]) }
    columns = present.map { CSVColumn(columnKinds[$0]) }
  }

  /// The maximum number of fields that an error names.
  private static let maxNamedFieldCount = 20

  /// The same for names that differ in the case of their letters.
  private static func folded(_ name: String) -> FieldName { FieldName(name.lowercased()) }

  /// Throws if the text seems to have another delimiter than the assumed comma.
  private mutating func checkDelimiter(at start: Int) throws(TextFault) {
    guard assumesComma, names.count == 1, header[0].kind == .plain else { return }
    let text = tokens.text(of: header[0])
    let candidates: [(byte: UInt8, name: String)] = [
      (UInt8(ascii: ";"), "';'"), (ASCII.tab, "tab"), (UInt8(ascii: "|"), "'|'"),
    ]
    for candidate in candidates where text.utf8.contains(candidate.byte) {
      throw TextFault(
        .malformed,
        "the header has only one field, \(FieldValue.text(text)); if another character than "
          + "a comma separates the fields, name it, as in `delimiter` \(candidate.name); if not, "
          + "`delimiter` ','", at: start)
    }
  }

  private mutating func readRow() throws(TextFault) {
    let start = tokens.index
    var count = 0
    repeat {
      column = count < names.count ? count : nil
      let fieldStart = tokens.index
      guard count < names.count || allowsRaggedRows else { throw tooManyFields(at: fieldStart) }
      let cell = try tokens.cell()
      if cell.kind == .plain, cell.start < cell.end { hasPlainCell = true }
      if count < names.count {
        columns[count].note(cell, in: tokens.bytes)
        cells.append(cell)
      } else if cell.start < cell.end {
        throw tooManyFields(at: fieldStart)
      }
      count += 1
    } while tokens.skipDelimiter()
    column = nil
    try requireWhole(count, from: start)
  }

  private func tooManyFields(at offset: Int) -> TextFault {
    TextFault(
      .malformed,
      "the row has more fields than the header, which has \(names.count)"
        + (allowsRaggedRows ? ", and they are not empty" : ""), at: offset)
  }

  /// Throws if the row from `start` to here lacks a field or is too long.
  private mutating func requireWhole(_ count: Int, from start: Int) throws(TextFault) {
    guard tokens.index - start <= maxRecordByteCount else {
      throw TextFault(
        .limitExceeded, "the record has more than \(maxRecordByteCount) bytes", at: start)
    }
    guard count < names.count else { return }
    guard allowsRaggedRows else {
      throw TextFault(
        .malformed,
        "the row has fewer fields than the header: \(count) instead of \(names.count)",
        at: tokens.index)
    }
    for _ in count..<names.count {
      cells.append(CSVCell(start: tokens.index, end: tokens.index, kind: .plain))
    }
  }

  private mutating func values(ofRow row: Int, _ types: [CSVColumn.ValueType]) -> [FieldValue] {
    var values: [FieldValue] = []
    values.reserveCapacity(types.count)
    for column in types.indices {
      values.append(value(of: cells[row * types.count + column], types[column]))
    }
    if keyOffsets.contains(where: { !values[$0].isNull }) {
      for offset in keyOffsets where values[offset].isNull { values[offset] = .text("") }
    }
    return values
  }

  @inline(__always)
  private mutating func value(of cell: CSVCell, _ type: CSVColumn.ValueType) -> FieldValue {
    if cell.isNull { return .null }
    switch type {
    case .text: return .text(tokens.text(of: cell))
    case .number, .printedNumber: return ownValue(of: cell, type)
    // In a list with quotes around all cells, an empty one beside numbers is a missing number.
    case .real where cell.start == cell.end, .integer where cell.start == cell.end: return .null
    case .real:
      let literal = DecimalLiteral(tokens.bytes, from: cell.start, to: cell.end)
      return .real(literal.real(in: tokens.bytes))
    case .integer:
      let literal = DecimalLiteral(tokens.bytes, from: cell.start, to: cell.end)
      guard let integer = literal.integer(in: tokens.bytes) else {
        preconditionFailure("A column became one of integers though a value is none")
      }
      return .integer(integer)
    }
  }

  /// The value of a cell that has a type of its own.
  private mutating func ownValue(of cell: CSVCell, _ type: CSVColumn.ValueType) -> FieldValue {
    if type == .number {
      if cell.start == cell.end, !hasPlainCell { return .null }
      return FieldValue(numberIn: tokens.bytes, from: cell.start, to: cell.end)
        ?? .text(tokens.text(of: cell))
    }
    let text = tokens.text(of: cell)
    if cell.kind != .plain, hasPlainCell { return .text(text) }
    return FieldValue(numberPrintedAs: text) ?? .text(text)
  }
}

/// Reads a CSV text as packed records.
struct PackedCSVReader: RecordTextReader {
  private(set) var csv: CSVReader

  init(csv: CSVReader) { self.csv = csv }

  var recordNumber: Int? { csv.recordNumber }
  var fieldName: String? { csv.fieldName }
  var lineEnd: UInt8 { csv.lineEnd }

  mutating func readAll() throws(TextFault) -> PackedRecords {
    var records = PackedRecords()
    try csv.readAll { records.append($0) }
    return records
  }
}

/// Reads a CSV text as a list of texts.
struct CSVListReader: RecordTextReader {
  private(set) var csv: CSVReader

  init(_ csv: CSVReader) { self.csv = csv }

  var recordNumber: Int? { csv.recordNumber }
  var fieldName: String? { csv.fieldName }
  var lineEnd: UInt8 { csv.lineEnd }

  mutating func readAll() throws(TextFault) -> [ListRecord] {
    try csv.scan()
    return csv.listRecords()
  }
}
