internal import TandemRecords

/// A list of records as a table stores them, ascending by key.
///
/// Only the list is kept, packed. Each record is converted when it is read.
final class FittedList: Sendable {
  /// The columns of the table that the records have.
  let columns: TableColumns
  /// The list, as its source has it.
  let source: PackedRecords
  /// The offset of each column's field, by the layouts of the list.
  private let offsets: [[Int?]]
  /// By the layouts of the list, true if their fields are the columns in the same order, so that a packed record
  /// may be compared with a packed row.
  private let haveColumns: [Bool]
  /// By the layouts of the list, true if the table stores their records as they are.
  private let areKept: [Bool]
  private let order: KeyOrder
  private let keyOffsets: [Int?]
  private let cellKeys: [Int: [FieldValue]]

  /// Sorts a list by the columns of these names.
  ///
  /// - Parameters:
  ///   - keepsUnfit: True to keep a value as it is that its column would change.
  ///   - cellKeys: The keys that rows of the table have in another form.
  /// - Throws: ``RecordError`` for the first value that its column would change, unless it is kept; for the
  ///   first record without a key, or with the key of an earlier one.
  init(
    _ list: PackedRecords, _ columns: TableColumns, key: [String], keepsUnfit: Bool = false,
    cellKeys: CellKeys? = nil
  ) throws(RecordError) {
    if !keepsUnfit, let misfit = columns.firstMisfit(of: list) { throw misfit }
    let offsets = list.layouts.map(columns.offsets(in:))
    let keyOffsets = key.map(columns.offset(of:))
    let cellKeys = cellKeys?.values ?? [:]
    (self.keyOffsets, self.cellKeys) = (keyOffsets, cellKeys)
    order =
      try key.isEmpty
      ? KeyOrder(ofRecordsWithoutKey: list.count)
      : KeyOrder(ofRecords: list.count, key: key) { position, field in
        if let key = cellKeys[position] { return key[field] }
        guard let column = keyOffsets[field],
          let offset = offsets[list.layoutIndex(at: position)][column]
        else { return nil }
        let value = list.value(at: offset, ofRecordAt: position)
        return columns.columns[column].stored(value) ?? value
      }
    self.columns = columns
    self.offsets = offsets
    let haveColumns = list.layouts.map(columns.areFields)
    self.haveColumns = haveColumns
    areKept = list.layouts.indices.map {
      haveColumns[$0] && columns.keepValues(ofLayout: $0, in: list)
    }
    source = list
  }

  /// The record at a position in the list.
  func record(at position: Int) -> Record {
    let row = source.row(at: position)
    let isKept = areKept[row.layoutIndex]
    var values = isKept ? row.values : columns.stored(row.values, at: offsets[row.layoutIndex])
    if let key = cellKeys[position] {
      for case let (offset?, value) in zip(keyOffsets, key) { values[offset] = value }
    }
    return Record(uncheckedLayout: columns.layout, values: values)
  }

  /// True if the record with so many keys before it certainly has the values of a packed row of the table.
  func hasValues(_ row: PackedRow, at rank: Int) -> Bool {
    let position = order[rank]
    return haveColumns[source.layoutIndex(at: position)] && source.hasValues(row, at: position)
  }
}

extension FittedList: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { order.count }
  /// The record with so many keys before it.
  subscript(rank: Int) -> Record { record(at: order[rank]) }
}
