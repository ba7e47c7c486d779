internal import CSQLite
internal import TandemRecords

/// The rowids at which two tables may differ, if their files have most pages in common: one is a copy of
/// the other, and either was changed since.
///
/// Pages that are equal at the same numbers hold the same rows. So only the rowids of the other pages
/// remain, on either side.
struct ChangedRowids {
  /// The number of pages that may differ, whatever the size of the tables.
  static let minDifferentCount = 256

  private let old: TableLeaves
  private let new: TableLeaves
  private let oldPages: DatabasePages
  private let newPages: DatabasePages

  /// The ranges; `nil` if rows have to be compared without regard to pages: more than half of these
  /// differ, or it is not certain that equal pages are equal rows.
  static func ranges(
    from old: ComparedTable, to new: ComparedTable
  ) throws(DatabaseError) -> RowidRanges? {
    guard old.connection !== new.connection,
      let oldPages = try DatabasePages(old.connection),
      let newPages = try DatabasePages(new.connection),
      oldPages.pageByteCount == newPages.pageByteCount,
      let oldTable = try old.connection.storedTable(old.schema.name),
      let newTable = try new.connection.storedTable(new.schema.name),
      oldTable.sql == newTable.sql
    else { return nil }
    do throws(PageFault) {
      guard try oldPages.recordFormat() == newPages.recordFormat() else { return nil }
      let rowids = try ChangedRowids(
        old: TableLeaves(root: oldTable.root, in: oldPages),
        new: TableLeaves(root: newTable.root, in: newPages),
        oldPages: oldPages, newPages: newPages)
      let ranges = try rowids.ranges()
      try oldPages.checkAreOfSnapshot()
      try newPages.checkAreOfSnapshot()
      return ranges
    } catch {
      return nil
    }
  }

  private func ranges() throws(PageFault) -> RowidRanges? {
    let maxCount = max(
      ChangedRowids.minDifferentCount, (old.numbers.count + new.numbers.count) / 2)
    var ranges: [ClosedRange<Int64>] = []
    var (oldIndex, newIndex) = (0, 0)
    while oldIndex < old.numbers.count || newIndex < new.numbers.count {
      let oldNumber = oldIndex < old.numbers.count ? old.numbers[oldIndex] : .max
      let newNumber = newIndex < new.numbers.count ? new.numbers[newIndex] : .max
      let number = min(oldNumber, newNumber)
      if oldNumber == number { oldIndex += 1 }
      if newNumber == number { newIndex += 1 }
      if oldNumber == newNumber, try isSame(number) { continue }
      if oldNumber == number, let range = try old.rowids(ofPage: number) { ranges.append(range) }
      if newNumber == number, let range = try new.rowids(ofPage: number) { ranges.append(range) }
      if ranges.count > maxCount { return nil }
    }
    return RowidRanges(union: ranges)
  }

  /// True if a leaf page and its overflow pages have the same bytes in both files.
  private func isSame(_ leaf: UInt32) throws(PageFault) -> Bool {
    try old.forEachPage(ofLeaf: leaf) { page throws(PageFault) in
      try UTF8Order.compare(oldPages.page(page), newPages.page(page)) == 0
    }
  }
}

extension DatabaseConnection {
  /// The statement that created a table, and the number of its root page; `nil` if rows of that name are
  /// not stored in a B-tree of their own.
  func storedTable(_ name: String) throws(DatabaseError) -> (sql: String, root: UInt32)? {
    try withStatement(
      "SELECT sql, rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?"
    ) { statement throws(DatabaseError) in
      try statement.bind([.text(name)])
      guard try statement.step(), case .text(let sql) = try statement.value(at: 0),
        let root = UInt32(exactly: statement.column(1).integer), root > 1
      else { return nil }
      return (sql, root)
    }
  }
}
