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
