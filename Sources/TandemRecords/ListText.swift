/// A list of records beside the text that it was read from.
///
/// A text says more than its records: true is not 1 in it, an array is no text, and it has a layout
/// of its own. So a list that is made of others is best written from their texts.
package struct ListText: Sendable {
  /// The records, in the order of the text.
  package private(set) var records: [Record]
  /// The format of the text.
  package let format: RecordFormat
  let bytes: [UInt8]
  /// Where each record stands; none of CSV.
  let objects: [Range<Int>]
  /// Where the fields of each row stand, the header first; of CSV alone.
  let rows: [[Range<Int>]]

  /// Reads a text.
  package init(_ bytes: [UInt8], format: RecordFormat) throws(RecordError) {
    records = try RecordReader.records(in: bytes, format: format)
    self.bytes = bytes
    self.format = format
    let isCSV = format == .csv
    objects =
      isCSV
      ? []
      : bytes.withUnsafeBytes { bytes in
        var spans = TextSpans(bytes)
        return spans.objects()
      }
    rows =
      isCSV
      ? bytes.withUnsafeBytes { bytes in
        var spans = TextSpans(bytes)
        return spans.rows()
      } : []
  }

  /// A list without records or text.
  package init(emptyOf format: RecordFormat) {
    records = []
    bytes = []
    self.format = format
    objects = []
    rows = []
  }

  /// The fields that hold a text in some record.
  package var textFields: Set<FieldName> {
    var names: Set<FieldName> = []
    for record in records {
      for (name, value) in zip(record.layout.names, record.values) {
        if case .text = value { names.insert(FieldName(name)) }
      }
    }
    return names
  }

  /// Makes numbers of CSV texts in the given fields, just as they stand.
  ///
  /// Whether a CSV field is a number depends on the whole list; so two versions of a list are only
  /// comparable if what is a text in one of them is a text in all.
  package mutating func makeTexts(in fields: Set<FieldName>) {
    guard format == .csv, rows.count == records.count + 1, let layout = records.first?.layout
    else { return }
    for column in layout.names.indices where fields.contains(FieldName(layout.names[column])) {
      for row in records.indices {
        switch records[row].values[column] {
        case .integer, .real:
          let cell = bytes[rows[row + 1][column]]
          records[row].values[column] = .text(String(decoding: cell, as: UTF8.self))
        case .null, .text, .blob: break
        }
      }
    }
  }

  /// How the value of a field stands in the text; `nil` if the record has no such field.
  func bytes(ofField name: String, at position: Int) -> ArraySlice<UInt8>? {
    guard let offset = records[position].layout.offset(of: name) else { return nil }
    let values = values(at: position)
    return offset < values.count ? bytes[values[offset]] : nil
  }

  /// Where the values of a record stand, in the order of its fields.
  func values(at position: Int) -> [Range<Int>] {
    if format == .csv { return position + 1 < rows.count ? rows[position + 1] : [] }
    guard position < objects.count else { return [] }
    return bytes.withUnsafeBytes { bytes in
      var spans = TextSpans(bytes, from: objects[position].lowerBound)
      return spans.values()
    }
  }
}
