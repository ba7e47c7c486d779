/// A list of records and the text that it was read from.
///
/// The text has more information than its records: `true` is read as 1, an array as a text, and
/// white space not at all. So a list that is merged from others is best written from their texts.
package struct ListText: Sendable {
  /// The records, in the order of the text.
  package private(set) var records: [Record]
  /// The format of the text.
  package let format: RecordFormat
  let bytes: [UInt8]
  /// The ranges of the records (JSON), or of all fields row by row, the header first (CSV).
  private let spans: [Range<Int>]

  /// Reads a text.
  package init(_ bytes: [UInt8], format: RecordFormat) throws(RecordError) {
    (records, spans) = try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        try RecordReader.list(in: bytes, format: format, limits: RecordLimits(), keepsSpans: true)
      }
    }.get()
    self.bytes = bytes
    self.format = format
  }

  /// A list without records or text.
  package init(emptyOf format: RecordFormat) {
    records = []
    bytes = []
    spans = []
    self.format = format
  }

  /// The ranges of the records; empty for CSV.
  var objects: [Range<Int>] { format == .csv ? [] : spans }

  /// The ranges of the fields in a row of CSV, of which row 0 is the header; empty if there is no
  /// such row.
  func row(_ number: Int) -> ArraySlice<Range<Int>> {
    let count = spans.count / (records.count + 1)
    let start = number * count
    return format == .csv && start + count <= spans.count ? spans[start..<start + count] : []
  }

  /// The fields that have a text in at least one record.
  package var textFields: Set<FieldName> {
    var names: Set<FieldName> = []
    for record in records {
      for (name, value) in zip(record.layout.names, record.values) {
        if case .text = value { names.insert(FieldName(name)) }
      }
    }
    return names
  }

  /// Turns the numbers in the given fields of CSV into texts, unchanged.
  ///
  /// The type of a CSV field depends on the whole list. Versions of a list are comparable only if a
  /// field that is a text in one of them is a text in all.
  package mutating func makeTexts(in fields: Set<FieldName>) {
    guard format == .csv, let layout = records.first?.layout else { return }
    for column in layout.names.indices where fields.contains(FieldName(layout.names[column])) {
      for row in records.indices {
        switch records[row].values[column] {
        case .integer, .real:
          let cells = values(at: row)
          let cell = bytes[cells[cells.startIndex + column]]
          records[row].values[column] = .text(String(decoding: cell, as: UTF8.self))
        case .null, .text, .blob: break
        }
      }
    }
  }

  /// The text of a field's value; `nil` if the record has no such field.
  func bytes(ofField name: String, at position: Int) -> ArraySlice<UInt8>? {
    guard let offset = records[position].layout.offset(of: name) else { return nil }
    let values = values(at: position)
    return bytes[values[values.startIndex + offset]]
  }

  /// The ranges of a record's values, in the order of its fields.
  func values(at position: Int) -> ArraySlice<Range<Int>> {
    if format == .csv { return row(position + 1) }
    return bytes.withUnsafeBytes { bytes in
      var cursor = JSONCursor(bytes, maxNestingDepth: RecordLimits().maxNestingDepth)
      cursor.index = spans[position].lowerBound
      guard let values = try? cursor.valueSpans() else {
        preconditionFailure("A record that was read once cannot be read again")
      }
      return values[...]
    }
  }
}
