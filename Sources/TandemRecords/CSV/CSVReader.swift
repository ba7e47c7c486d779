/// Reads a CSV text in two passes: first the ranges of its fields and the types of its columns, then
/// the values.
struct CSVReader: RecordTextReader {
  private var tokens: CSVTokenizer
  private var names: [String] = []
  private var columns: [CSVColumn] = []
  private var header: [CSVCell] = []
  /// The fields of all rows, row by row.
  private var cells: [CSVCell] = []
  private var column: Int?
  private let maxRecordByteCount: Int

  private(set) var recordNumber: Int?
  var fieldName: String? { column.map { names[$0] } }
  /// The ranges of all fields with their quotes, row by row, the header first.
  var spans: [Range<Int>] { (header + cells).map(\.span) }

  init(_ bytes: UnsafeRawBufferPointer, _ limits: RecordLimits) {
    tokens = CSVTokenizer(bytes)
    maxRecordByteCount = limits.maxRecordByteCount
  }

  mutating func readAll() throws(TextFault) -> [Record] {
    try readHeader()
    if tokens.skipLineEnd() { recordNumber = 1 }
    while !tokens.isAtEnd {
      try readRow()
      if tokens.skipLineEnd() { recordNumber = cells.count / names.count + 1 }
    }
    let layout = RecordLayout(uniqueNames: names)
    let types = columns.map(\.type)
    return (0..<cells.count / names.count).map { row in
      Record(uncheckedLayout: layout, values: values(ofRow: row, types))
    }
  }

  private mutating func readHeader() throws(TextFault) {
    guard !tokens.isAtEnd else {
      throw TextFault(
        .malformed, "the text ends too early, before a line of field names", at: tokens.index)
    }
    var seen: Set<FieldValue> = []
    repeat {
      let start = tokens.index
      let cell = try tokens.cell()
      let name = tokens.text(of: cell)
      guard !name.isEmpty else { throw TextFault(.malformed, "a field has no name", at: start) }
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
    } while tokens.skipComma()
    columns = Array(repeating: CSVColumn(), count: names.count)
  }

  private mutating func readRow() throws(TextFault) {
    let start = tokens.index
    var count = 0
    repeat {
      guard count < names.count else {
        column = nil
        throw TextFault(
          .malformed, "the row has more fields than the header, which has \(names.count)",
          at: tokens.index)
      }
      column = count
      let cell = try tokens.cell()
      columns[count].note(cell, in: tokens.bytes)
      cells.append(cell)
      count += 1
    } while tokens.skipComma()
    column = nil
    try requireWhole(count, from: start)
  }

  /// Throws if the row from `start` to here lacks a field or is too long.
  private func requireWhole(_ count: Int, from start: Int) throws(TextFault) {
    guard count == names.count else {
      throw TextFault(
        .malformed, "the row has fewer fields than the header: \(count) instead of \(names.count)",
        at: tokens.index)
    }
    guard tokens.index - start <= maxRecordByteCount else {
      throw TextFault(
        .limitExceeded, "the record has more than \(maxRecordByteCount) bytes", at: start)
    }
  }

  private mutating func values(ofRow row: Int, _ types: [CSVColumn.ValueType]) -> [FieldValue] {
    var values: [FieldValue] = []
    values.reserveCapacity(types.count)
    for column in types.indices {
      values.append(value(of: cells[row * types.count + column], types[column]))
    }
    return values
  }

  @inline(__always)
  private mutating func value(of cell: CSVCell, _ type: CSVColumn.ValueType) -> FieldValue {
    if cell.isNull { return .null }
    switch type {
    case .text: return .text(tokens.text(of: cell))
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
}
