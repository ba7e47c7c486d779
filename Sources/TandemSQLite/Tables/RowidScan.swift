internal import TandemRecords

/// A table read once, or ranges of it, ascending by rowid.
final class RowidScan {
  let statement: Statement
  /// The ranges that have not begun; `nil` if the whole table is read.
  private var ranges: ArraySlice<ClosedRange<Int64>>?
  /// False before the first range.
  private var isInRange: Bool
  /// True if the order of the rowids is that of the key.
  let isInKeyOrder: Bool
  private let layout: RecordLayout
  private let keyOffsets: [Int]

  init?(_ table: ComparedTable, in ranges: RowidRanges?) throws(DatabaseError) {
    let primaryKey = table.schema.primaryKey
    let keyNames = table.keyOffsets.map { table.layout.names[$0] }
    guard !table.allowsAnyKey, !primaryKey.isEmpty,
      primaryKey.allSatisfy({ keyNames.contains(where: $0.isSameSQLName) }),
      let facts = try TableFacts(table.schema.name, in: table.connection), facts.isOrdinary,
      let rowid = facts.rowidName, ranges != nil || !facts.isIdentifiedByRowid
    else { return nil }
    if ranges != nil, try table.hasNullInKey() { return nil }
    isInKeyOrder = facts.isIdentifiedByRowid && table.keyOffsets.count == 1
    layout = table.layout
    keyOffsets = table.keyOffsets
    // The rowid comes last.
    let list = (layout.names + [rowid]).sqlList
    let condition = ranges == nil ? "" : "WHERE \(rowid) BETWEEN ? AND ?"
    statement = try table.connection.prepare(
      "SELECT \(list) FROM \(table.schema.name.sqlQuoted) \(condition) ORDER BY \(rowid)")
    self.ranges = ranges?.ranges[...]
    isInRange = ranges == nil
  }

  func advance() throws(DatabaseError) -> Bool {
    while true {
      if isInRange, try statement.step() { return true }
      guard let range = ranges?.popFirst() else { return false }
      try statement.bind([.integer(range.lowerBound), .integer(range.upperBound)])
      isInRange = true
    }
  }

  private var rowid: Int64 { statement.column(layout.names.count).integer }

  /// Negative, zero or positive as the current row's rowid is less than, equal to or greater than
  /// that of another scan.
  func compareRowid(to other: RowidScan) -> Int {
    let (first, second) = (rowid, other.rowid)
    return first < second ? -1 : first == second ? 0 : 1
  }

  func hasSameKey(as other: RowidScan) -> Bool {
    zip(keyOffsets, other.keyOffsets).allSatisfy { offset, otherOffset in
      statement.column(offset).compare(to: other.statement.column(otherOffset)) == 0
    }
  }

  var hasNullInKey: Bool { keyOffsets.contains { statement.column($0).isNull } }

  func record() throws(DatabaseError) -> Record {
    Record(
      uncheckedLayout: layout, values: try statement.values(in: 0..<layout.names.count))
  }

  func keyedRecord() throws(DatabaseError) -> KeyedRecord {
    let record = try record()
    return KeyedRecord(key: RecordKey(keyOffsets.map { record.values[$0] }), record: record)
  }
}

extension ComparedTable {
  /// True if a row has a null in its key, which only a comparison of all rows reports.
  fileprivate func hasNullInKey() throws(DatabaseError) -> Bool {
    for offset in keyOffsets {
      let name = layout.names[offset].sqlQuoted
      let rows = try connection.prepare(
        "SELECT 1 FROM \(schema.name.sqlQuoted) WHERE \(name) IS NULL LIMIT 1")
      if try rows.step() { return true }
    }
    return false
  }
}
