internal import CSQLite
internal import TandemRecords

/// The rowids at which two tables may differ, found by comparing pages, and on pages that differ the bytes
/// of each row.
///
/// Copies of one file have most pages in common: equal pages at the same number hold the same rows. A row
/// with the same bytes in both files has the same values. So only the other rows must be read as such.
struct ChangedRowids {
  /// The most rows that may differ, whatever the size of the tables.
  static let minRowCount = 10_000
  /// The most rows that may differ, for each page. With more of them, reading all rows in their order is
  /// faster than looking them up.
  static let maxRowCountPerPage = 16
  /// Rowids between two that differ, if they are so few, are read with them.
  static let maxGap: Int64 = 4

  private var old: LeafCursor
  private var new: LeafCursor
  private let oldPages: DatabasePages
  private let newPages: DatabasePages
  private var rowCount = 0

  /// Ranges that contain them; `nil` if all rows have to be compared: too many differ, or it is not
  /// certain that equal bytes are equal rows.
  static func ranges(
    from old: ComparedTable, to new: ComparedTable
  ) throws(DatabaseError) -> RowidRanges? {
    try find(from: old, to: new)?.ranges
  }

  /// The same, and the number of rows that were read, because their pages differ.
  static func find(
    from old: ComparedTable, to new: ComparedTable
  ) throws(DatabaseError) -> (ranges: RowidRanges, rowCount: Int)? {
    guard old.connection !== new.connection, !old.allowsAnyKey, !new.allowsAnyKey,
      let oldPages = try DatabasePages(old.connection),
      let newPages = try DatabasePages(new.connection),
      oldPages.pageByteCount == newPages.pageByteCount,
      let oldTable = try old.connection.storedTable(old.schema.name),
      let newTable = try new.connection.storedTable(new.schema.name),
      oldTable.sql == newTable.sql
    else { return nil }
    do throws(PageFault) {
      guard try oldPages.recordFormat() == newPages.recordFormat() else { return nil }
      var rowids = try ChangedRowids(
        old: LeafCursor(TableLeaves(root: oldTable.root, in: oldPages)),
        new: LeafCursor(TableLeaves(root: newTable.root, in: newPages)),
        oldPages: oldPages, newPages: newPages)
      guard let ranges = try rowids.ranges() else { return nil }
      try oldPages.checkAreOfSnapshot()
      try newPages.checkAreOfSnapshot()
      return (ranges, rowids.rowCount)
    } catch {
      return nil
    }
  }

  private mutating func ranges() throws(PageFault) -> RowidRanges? {
    let pageCount = old.leaves.numbers.count + new.leaves.numbers.count
    let maxCount = max(
      ChangedRowids.minRowCount, pageCount * ChangedRowids.maxRowCountPerPage)
    var ranges = RowidRanges()
    var count = 0
    var last: Int64?
    while true {
      try skipSamePages()
      let (oldRow, newRow) = (try old.row(), try new.row())
      guard let someRowid = oldRow?.rowid ?? newRow?.rowid else { return ranges }
      let rowid = min(someRowid, newRow?.rowid ?? someRowid)
      if let last, rowid <= last { throw PageFault() }
      last = rowid
      rowCount += 1
      let (hasOld, hasNew) = (oldRow?.rowid == rowid, newRow?.rowid == rowid)
      var isSame = false
      if hasOld, hasNew, let oldRow, let newRow { isSame = try areSame(oldRow, newRow) }
      if !isSame {
        ranges.append(rowid, maxGap: ChangedRowids.maxGap)
        count += 1
        guard count <= maxCount else { return nil }
      }
      if hasOld { old.advance() }
      if hasNew { new.advance() }
    }
  }

  /// Moves behind pages that are equal.
  private mutating func skipSamePages() throws(PageFault) {
    while let page = old.pageToBegin, page == new.pageToBegin, try isSame(page) {
      old.skipPage()
      new.skipPage()
    }
  }

  /// True if a leaf page and its overflow pages have the same bytes in both files.
  private func isSame(_ leaf: UInt32) throws(PageFault) -> Bool {
    try old.leaves.forEachPage(ofLeaf: leaf) { page throws(PageFault) in try isSamePage(page) }
  }

  private func isSamePage(_ page: UInt32) throws(PageFault) -> Bool {
    try UTF8Order.compare(oldPages.page(page), newPages.page(page)) == 0
  }

  /// True if two rows of one rowid have the same bytes. Rows that continue on other pages must do so on
  /// pages of the same numbers.
  private func areSame(_ old: LeafRow, _ new: LeafRow) throws(PageFault) -> Bool {
    guard old.byteCount == new.byteCount, UTF8Order.compare(old.bytes, new.bytes) == 0 else {
      return false
    }
    guard let overflow = old.overflow else { return true }
    return try self.old.leaves.forEachPage(of: overflow) { page throws(PageFault) in
      try isSamePage(page)
    }
  }
}

/// A place in a table's B-tree: before a row, or behind the last one.
private struct LeafCursor {
  let leaves: TableLeaves
  /// The index of the leaf page.
  private var index = 0
  /// The number of the row's cell in it.
  private var cell = 0
  /// The number of cells of the page, once one of its rows has been read.
  private var cellCount = 0

  init(_ leaves: TableLeaves) { self.leaves = leaves }

  /// The number of the page, if none of its rows has been passed.
  var pageToBegin: UInt32? {
    cell == 0 && index < leaves.numbers.count ? leaves.numbers[index] : nil
  }

  mutating func skipPage() {
    index += 1
    cell = 0
  }

  /// The row, until the next page is read; `nil` behind the last one.
  mutating func row() throws(PageFault) -> LeafRow? {
    while index < leaves.numbers.count {
      let page = try leaves.leaf(leaves.numbers[index])
      cellCount = page.cellCount
      if cell < cellCount { return try page.row(cell) }
      skipPage()
    }
    return nil
  }

  /// Moves behind the row that was read: to the next page after the last one, so that equal pages can be
  /// skipped again.
  mutating func advance() {
    cell += 1
    if cell == cellCount { skipPage() }
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
