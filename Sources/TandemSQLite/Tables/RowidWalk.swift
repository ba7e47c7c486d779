internal import TandemDifferences
internal import TandemRecords

/// One run through two tables in the order of their rowids, where an index of its own holds the key.
///
/// Reading in the order of such an index jumps through the file, at several times the cost. Copies of
/// one table have most keys at the same rowids, and such rows are compared where they stand. Others
/// are put aside, and paired by key in the end.
struct RowidWalk {
  /// The maximum number of bytes of rows, about, that are put aside.
  static let maxUnmatchedByteCount = 64 << 20
  /// The number of rows put aside after which they must be fewer than half of those read.
  static let maxUnrelatedCount = 10_000

  private let old: RowidScan
  private let new: RowidScan
  private let columns: ComparedColumns

  /// - Parameter ranges: The rowids outside of which no row differs; `nil` for all.
  /// - Returns: `nil` if a table has no rowid, or if the key need not be unique; without ranges, also if
  ///   the key is the rowid, so that the order of the key is that of the rows.
  init?(
    _ old: ComparedTable, _ new: ComparedTable, _ columns: ComparedColumns,
    in ranges: RowidRanges? = nil
  ) throws(DatabaseError) {
    guard let oldScan = try RowidScan(old, in: ranges), let newScan = try RowidScan(new, in: ranges)
    else { return nil }
    self.old = oldScan
    self.new = newScan
    self.columns = columns
  }

  /// Calls `body` with each change, in the order of the keys.
  ///
  /// - Returns: `false`, before any call, if the rows have to be read in that order, because too many are
  ///   not at the same rowids, or because a key has a null.
  func forEachChange(_ body: (SetChange<Record>) throws -> Void) throws -> Bool {
    let isInKeyOrder = old.isInKeyOrder && new.isInKeyOrder
    var changes = UnmatchedRows()
    var hasOld = try old.advance()
    var hasNew = try new.advance()
    var rowCount = 0
    while hasOld || hasNew {
      rowCount += 1
      let order = !hasNew ? -1 : !hasOld ? 1 : old.compareRowid(to: new)
      if isInKeyOrder {
        if order < 0 {
          try body(.deleted(old.record()))
        } else if order > 0 {
          try body(.inserted(new.record()))
        } else if !columns.areEqual(old.statement, new.statement) {
          try body(.updated(old: old.record(), new: new.record()))
        }
      } else {
        guard changes.isWorthwhile(afterRows: rowCount) else { return false }
        if hasOld, order <= 0, old.hasNullInKey { return false }
        if hasNew, order >= 0, new.hasNullInKey { return false }
        if order == 0, old.hasSameKey(as: new) {
          if !columns.areEqual(old.statement, new.statement) {
            changes.update(try old.keyedRecord(), try new.keyedRecord())
          }
        } else {
          if order <= 0 { changes.add(old: try old.keyedRecord()) }
          if order >= 0 { changes.add(new: try new.keyedRecord()) }
        }
      }
      if order <= 0 { hasOld = try old.advance() }
      if order >= 0 { hasNew = try new.advance() }
    }
    for change in changes.sorted(columns) { try body(change) }
    return true
  }
}

/// A table read once, or ranges of it, ascending by rowid.
private final class RowidScan {
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

private struct KeyedRecord {
  var key: RecordKey
  var record: Record

  /// The bytes that it occupies, about.
  var byteCount: Int {
    record.values.reduce(64) { sum, value in
      switch value {
      case .text(let text): sum + 32 + text.utf8.count
      case .blob(let bytes): sum + 32 + bytes.count
      case .null, .integer, .real: sum + 24
      }
    }
  }
}

/// Rows that are not the same at the same rowid.
private struct UnmatchedRows {
  private var updated: [(key: RecordKey, change: SetChange<Record>)] = []
  private var old: [KeyedRecord] = []
  private var new: [KeyedRecord] = []
  private var byteCount = 0

  func isWorthwhile(afterRows rowCount: Int) -> Bool {
    let count = old.count + new.count
    return byteCount <= RowidWalk.maxUnmatchedByteCount
      && (count <= RowidWalk.maxUnrelatedCount || count <= rowCount / 2)
  }

  mutating func update(_ old: KeyedRecord, _ new: KeyedRecord) {
    byteCount += old.byteCount + new.byteCount
    updated.append((new.key, .updated(old: old.record, new: new.record)))
  }

  mutating func add(old row: KeyedRecord) {
    byteCount += row.byteCount
    old.append(row)
  }

  mutating func add(new row: KeyedRecord) {
    byteCount += row.byteCount
    new.append(row)
  }

  /// The changes, in the order of the keys.
  consuming func sorted(_ columns: ComparedColumns) -> [SetChange<Record>] {
    old.sort { $0.key < $1.key }
    new.sort { $0.key < $1.key }
    var changes = updated
    var rest = old[...]
    for row in new {
      while let former = rest.first, former.key < row.key {
        changes.append((former.key, .deleted(former.record)))
        rest.removeFirst()
      }
      if let former = rest.first, former.key == row.key {
        if !columns.areEqual(former.record, row.record) {
          changes.append((row.key, .updated(old: former.record, new: row.record)))
        }
        rest.removeFirst()
      } else {
        changes.append((row.key, .inserted(row.record)))
      }
    }
    for former in rest { changes.append((former.key, .deleted(former.record))) }
    return changes.sorted { $0.key < $1.key }.map(\.change)
  }
}
