public import TandemDifferences

/// A list of records with the text that it was read from, and with the types of its format.
///
/// Lists that are compared or merged as files need more than the records that a table would store:
/// there, `true` is 1, and the cells of a CSV column become numbers if all of them look like
/// numbers. A ``ListRecord`` keeps JSON's types and CSV's texts, and a merge copies the text of every
/// value that it takes.
public struct ListText: Sendable {
  /// The records, in the order of the text.
  public private(set) var records: [ListRecord]
  /// The format of the text.
  public let format: RecordFormat
  /// The columns of CSV, in order; empty for JSON.
  public private(set) var columns: [String]
  /// The dialect of CSV.
  let csv: CSVOptions
  /// The text, in UTF-8.
  package let bytes: [UInt8]
  /// The ranges of the records (JSON), or of all fields row by row, the header first (CSV).
  private let spans: [Range<Int>]
  /// The ranges of the header and of the rows (CSV), each with the comments and empty lines before it.
  let lines: [Range<Int>]
  /// The names in the header (CSV).
  private let header: [String]
  /// The offset in the header of each of ``columns``; `nil` for a column that a merge added.
  private(set) var cellOffsets: [Int?]
  /// The keys of ``records`` that the text lacks: another resolution of its conflicts has them.
  private(set) var addedKeys: Set<RecordKey> = []

  /// Reads a text.
  ///
  /// - Throws: ``RecordError`` if the text cannot be read exactly; see ``RecordReader``.
  /// - Complexity: O(*n*) in the number of bytes.
  public init(
    _ bytes: [UInt8], format: RecordFormat, csv: CSVOptions = CSVOptions()
  ) throws(RecordError) {
    self.format = format
    self.csv = csv
    guard format.isCSV else {
      let (records, spans) = try bytes.withUnsafeBytes { bytes in
        Result { () throws(RecordError) in
          let (records, spans) = try RecordReader.objects(
            in: bytes, format: format, limits: RecordLimits(), keepsSpans: true)
          return (Self.records(records, spans, in: bytes), spans)
        }
      }.get()
      self.records = records
      self.spans = spans
      self.bytes = bytes
      (columns, lines, header, cellOffsets) = ([], [], [], [])
      return
    }
    var text = bytes
    var decoded = csv
    if csv.encoding != .utf8 {
      text = try bytes.withUnsafeBytes { bytes in
        Result { () throws(RecordError) in try RecordReader.utf8(bytes, csv) }
      }.get()
      decoded.encoding = .utf8
    }
    let (records, reader) = try text.withUnsafeBytes { [decoded] bytes in
      Result { () throws(RecordError) in
        try RecordReader.read(bytes, decoded) {
          CSVListReader(CSVReader($0, format: format, decoded, RecordLimits()))
        }
      }
    }.get()
    self.records = records
    self.bytes = text
    columns = reader.csv.names
    spans = reader.csv.spans
    lines = reader.csv.lines
    header = columns
    cellOffsets = Array(columns.indices)
  }

  /// A list without records or text.
  public init(emptyOf format: RecordFormat, csv: CSVOptions = CSVOptions()) {
    self.format = format
    self.csv = csv
    (records, bytes, spans, columns, lines, header, cellOffsets) = ([], [], [], [], [], [], [])
  }

  /// Reads an array of objects from one field of a JSON object, as an array of its own.
  package init(envelope bytes: [UInt8], items field: String) throws(RecordError) {
    let (objects, names) = try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        let reader = try RecordReader.read(bytes) {
          JSONEnvelopeReader($0, items: field, RecordLimits(), keepsSpans: true)
        }.reader
        return (reader.spans, reader.memberNames)
      }
    }.get()
    guard !names.isEmpty else {
      try self.init(array: objects.map { bytes[$0] })
      return
    }
    try self.init(
      array: zip(objects, names).map { range, name in
        let fields = bytes[range].dropFirst()
        let isEmpty = fields.first { !ASCII.isSpace($0) } == ASCII.closeBrace
        var object: [UInt8] = [ASCII.openBrace]
        object.append(quoted: JSONEnvelopeReader.memberField)
        object.append(ASCII.colon)
        object.append(quoted: name)
        if !isEmpty { object.append(ASCII.comma) }
        return (object + fields)[...]
      })
  }

  /// Joins the pages of a list. Pages of CSV must have the same header.
  package init(joining pages: [ListText]) throws(RecordError) {
    guard let first = pages.first, pages.count > 1 else {
      self = pages.first ?? ListText(emptyOf: .json)
      return
    }
    guard first.format.isCSV else {
      try self.init(array: pages.flatMap { page in page.objects.map { page.bytes[$0] } })
      return
    }
    var text = first.bytes
    for page in pages.dropFirst() {
      guard page.columns == first.columns else {
        throw RecordError(.malformed, "two pages of the list have different columns")
      }
      let lineEnd = page.lineEnd
      if !text.isEmpty, text.suffix(lineEnd.count) != lineEnd[...] { text += lineEnd }
      guard first.csv.hasHeader, let header = page.lines.first else {
        text += page.bytes
        continue
      }
      text += page.bytes[header.upperBound...].dropFirst(lineEnd.count)
    }
    var csv = first.csv
    csv.encoding = .utf8
    try self.init(text, format: first.format, csv: csv)
  }

  private init(array objects: [ArraySlice<UInt8>]) throws(RecordError) {
    let lines = objects.joined(separator: Array(",\n".utf8))
    try self.init(Array("[\n".utf8) + lines + Array("\n]\n".utf8), format: .json)
  }

  /// Converts objects to records with JSON's types.
  private static func records(
    _ records: some Sequence<Record>, _ spans: [Range<Int>], in bytes: UnsafeRawBufferPointer
  ) -> [ListRecord] {
    zip(records, spans).map { record, span in
      let values = zip(record.values, values(ofObjectAt: span.lowerBound, in: bytes))
      return ListRecord(
        layout: record.layout,
        values: values.map { value, span in
          guard case .text(let text) = value, bytes[span.lowerBound].isQuoteOrOpener else {
            return .json(String(decoding: bytes[span], as: UTF8.self))
          }
          return bytes[span.lowerBound] == ASCII.quote ? .text(text) : .json(text)
        })
    }
  }

  /// The ranges of the values of an object that was read once.
  private static func values(
    ofObjectAt offset: Int, in bytes: UnsafeRawBufferPointer
  ) -> [Range<Int>] {
    var cursor = JSONCursor(bytes, maxNestingDepth: RecordLimits().maxNestingDepth)
    cursor.index = offset
    guard let values = try? cursor.valueSpans() else {
      preconditionFailure("A record that was read once cannot be read again")
    }
    return values
  }
}

extension UInt8 {
  /// True for the first byte of a string, an array or an object.
  fileprivate var isQuoteOrOpener: Bool {
    self == ASCII.quote || self == ASCII.openBracket || self == ASCII.openBrace
  }
}

// MARK: - Conflicts

extension ListText {
  /// The list of a text with conflicts, of which this and `other` are resolutions. A field in which they differ
  /// has a value that equals no value of another list. A record that only `other` has follows its predecessor there.
  ///
  /// Git makes such a text as the base of two branches that were merged into each other before.
  package func merged(unresolvedWith other: ListText, key: [String]) -> ListText {
    var list = self
    let known = Set(records.map { self.key(of: $0, key) })
    let others = Dictionary(other.records.map { (self.key(of: $0, key), $0) }) { first, _ in first }
    list.records = records.union(other.records, identifiedBy: { self.key(of: $0, key) }).map {
      let id = self.key(of: $0, key)
      return $0.merged(unresolvedWith: known.contains(id) ? others[id] : nil, key)
    }
    list.addedKeys.formUnion(others.keys.filter { !known.contains($0) })
    return list
  }
}

extension ListRecord {
  /// The value of a field in conflict. No list has it.
  private static let unresolvedValue = ListValue.json(#"{"<<<<<<<":">>>>>>>"}"#)

  /// True for a record that the base of a merge has in conflict.
  var isUnresolved: Bool { values.contains(Self.unresolvedValue) }

  /// The record with its key and the fields that another version has too; `nil` for a version without it.
  fileprivate func merged(unresolvedWith other: ListRecord?, _ key: [String]) -> ListRecord {
    let names = layout.names + (other?.layout.names.filter { self[$0] == nil } ?? [])
    return ListRecord(
      layout: names.count == layout.names.count ? layout : RecordLayout(uniqueNames: names),
      values: names.map { name in
        guard let value = self[name], key.contains(name) || other?[name] == value else {
          return Self.unresolvedValue
        }
        return value
      })
  }
}

// MARK: - Records and keys

extension ListText {
  /// Reads the records again as a table would store them.
  ///
  /// - Parameter kinds: The ways to read the fields of CSV that are columns of a table, by name.
  /// - Complexity: O(*n*) in the number of bytes.
  package func storedRecords(
    _ kinds: [String: CSVColumnKind] = [:], key: [String] = []
  ) throws(RecordError) -> [Record] {
    guard !bytes.isEmpty else { return [] }
    var options = csv
    options.encoding = .utf8
    options.columnKinds = kinds
    options.keyFields = key
    return try RecordReader.records(in: bytes, format: format, csv: options)
  }

  /// The key of a record.
  func key(of record: ListRecord, _ fields: [String]) -> RecordKey {
    RecordKey(keyValues(of: record, fields))
  }

  /// The values of the key. An empty cell of CSV is a part of a key that has other parts.
  private func keyValues(of record: ListRecord, _ fields: [String]) -> [FieldValue] {
    let values = fields.map { keyValue(record[$0]) }
    guard format.isCSV, values.contains(where: { !$0.isNull }) else { return values }
    return values.map { $0.isNull ? .text("") : $0 }
  }

  private func keyValue(_ value: ListValue?) -> FieldValue {
    guard let value else { return .null }
    return format.isCSV ? value.cellKey : value.stored
  }

  /// The keys as records, for their check and their order.
  fileprivate func keyRecords(_ key: [String]) -> [Record] {
    let layout = RecordLayout(uniqueNames: key)
    return records.map { record in
      Record(uncheckedLayout: layout, values: keyValues(of: record, key))
    }
  }
}

/// A list in ascending order of a unique key.
public struct KeyedListText: Sendable {
  fileprivate let items: [Keyed<ListRecord>]
  /// The names of the key fields.
  public let key: [String]

  /// Sorts the records of a list by a key. Keys of JSON compare as a table compares them, so 1 and
  /// 1.0 are one key. Keys of CSV are equal if their texts are.
  ///
  /// - Throws: ``RecordError`` for the first record without a value in a key field, or with the key of
  ///   an earlier one.
  /// - Precondition: `key` names one or more fields, each once.
  /// - Complexity: O(*n*) if the records ascend already, else O(*n* log *n*).
  public init(_ list: ListText, by key: [String]) throws(RecordError) {
    items = try KeyOrder(of: list.keyRecords(key), key: key).map { position in
      Keyed(key: list.key(of: list.records[position], key), element: list.records[position])
    }
    self.key = key
  }
}

extension SetDifference<ListRecord> {
  /// The difference from one list to another by key, with the types of their format.
  ///
  /// - Precondition: both lists have the same key.
  /// - Complexity: O(*n* + *m*).
  public init(from old: KeyedListText, to new: KeyedListText) {
    precondition(old.key == new.key, "Lists are compared by one key")
    self.init(fromAscending: old.items, to: new.items)
  }
}

extension ListDifference<ListRecord> {
  /// The difference from one list to another by key, with the order of the records, and with the
  /// types of their format. A ``KeyedListText`` checks that each key occurs once.
  public init(from old: ListText, to new: ListText, key: [String]) {
    self.init(from: old.records, to: new.records, identifiedBy: { old.key(of: $0, key) })
  }
}

// MARK: - Places in the text

extension ListText {
  /// The ranges of the records; empty for CSV.
  var objects: [Range<Int>] { format.isCSV ? [] : spans }

  /// The ranges of the fields in a row of CSV, of which row 0 is the header; empty if there is no
  /// such row.
  func row(_ number: Int) -> ArraySlice<Range<Int>> {
    let start = number * header.count
    return format.isCSV && start + header.count <= spans.count
      ? spans[start..<start + header.count] : []
  }

  /// The text of a field's value; `nil` if the text has no such field.
  func bytes(ofField name: String, at position: Int) -> ArraySlice<UInt8>? {
    guard let offset = records[position].layout.offset(of: name) else { return nil }
    guard format.isCSV else { return bytes[values(at: position)[offset]] }
    return cellOffsets[offset].map { bytes[cell(at: $0, inRow: position + 1)] }
  }

  /// The range of a field in a row of CSV.
  func cell(at offset: Int, inRow number: Int) -> Range<Int> {
    let row = row(number)
    return row[row.startIndex + offset]
  }

  /// The ranges of the values of an object, in the order of its fields.
  func values(at position: Int) -> [Range<Int>] {
    bytes.withUnsafeBytes { Self.values(ofObjectAt: spans[position].lowerBound, in: $0) }
  }

  /// True if the columns are those of the text, perhaps under other names.
  var hasOriginalCells: Bool { cellOffsets == Array(header.indices) }

  /// True if the columns are those of the text.
  var hasOriginalColumns: Bool {
    hasOriginalCells && columns.map { FieldName($0) } == header.map { FieldName($0) }
  }

  /// Adds the columns of CSV that only another list has; they are empty. The text stays as it is.
  package mutating func addColumns(of other: ListText) {
    guard format.isCSV else { return }
    let known = Set(columns.map { FieldName($0) })
    let added = other.columns.filter { !known.contains(FieldName($0)) }
    guard !added.isEmpty else { return }
    setColumns(
      columns + added, from: columns.indices.map { $0 } + added.map { _ in nil },
      value: { _, _ in .null })
  }

  /// Gives the records other fields.
  mutating func setRecords(_ records: [ListRecord]) { self.records = records }

  /// Gives CSV other columns.
  ///
  /// - Parameters:
  ///   - names: The new names, each once.
  ///   - sources: The present column that each new one has the values of; `nil` for a new column.
  ///   - value: The value of a new column, by its offset, in a record.
  mutating func setColumns(
    _ names: [String], from sources: [Int?],
    value: (_ offset: Int, _ record: ListRecord) -> ListValue
  ) {
    let layout = RecordLayout(uniqueNames: names)
    for position in records.indices {
      let record = records[position]
      records[position] = ListRecord(
        layout: layout,
        values: sources.enumerated().map { offset, source in
          source.map { record.values[$0] } ?? value(offset, record)
        })
    }
    cellOffsets = sources.map { source in source.flatMap { cellOffsets[$0] } }
    columns = names
  }
}
