internal import CSQLite
internal import TandemRecords

/// The leaf pages of a table's B-tree in one snapshot, which hold its rows in the order of their rowids.
///
/// A row that does not fit a leaf page continues on overflow pages. The same numbers and bytes of a leaf
/// page and of its overflow pages, in two snapshots, are the same rows. The format is that of
/// https://sqlite.org/fileformat2.html, chapter 1.6.
struct TableLeaves {
  /// The most levels of a B-tree: one of more than 2^31 pages has fewer.
  private static let maxDepth = 32

  private let pages: DatabasePages
  /// The numbers of the pages, in the order of their rows.
  private(set) var numbers: [UInt32] = []

  /// - Parameter root: The number of the root page.
  init(root: UInt32, in pages: DatabasePages) throws(PageFault) {
    self.pages = pages
    let depth = try TableLeaves.depth(root: root, in: pages)
    try addLeaves(below: root, levelCount: depth)
  }

  /// The number of levels above the leaf pages, which is the same everywhere.
  private static func depth(root: UInt32, in pages: DatabasePages) throws(PageFault) -> Int {
    var number = root
    for depth in 0..<maxDepth {
      let page = BTreePage(try pages.page(number))
      guard page.kind == .interior else {
        guard page.kind == .leaf else { throw PageFault() }
        return depth
      }
      number = try page.children()[0]
    }
    throw PageFault()
  }

  private mutating func addLeaves(
    below number: UInt32, levelCount: Int
  ) throws(PageFault) {
    guard levelCount > 0 else { return numbers.append(number) }
    let page = BTreePage(try pages.page(number))
    guard page.kind == .interior else { throw PageFault() }
    for child in try page.children() {
      try addLeaves(below: child, levelCount: levelCount - 1)
      // A page that is its own descendant would never end.
      guard numbers.count <= Int(pages.count) else { throw PageFault() }
    }
  }

  /// A leaf page, until the next page is read.
  func leaf(_ number: UInt32) throws(PageFault) -> BTreePage {
    let page = BTreePage(try pages.page(number))
    guard page.kind == .leaf else { throw PageFault() }
    return page
  }

  /// The rowids of the first and the last row of a leaf page; `nil` if it has none, as in an empty table.
  func rowids(ofPage number: UInt32) throws(PageFault) -> ClosedRange<Int64>? {
    let page = try leaf(number)
    guard page.cellCount > 0 else { return nil }
    let (first, last) = (try page.row(0).rowid, try page.row(page.cellCount - 1).rowid)
    guard first <= last else { throw PageFault() }
    return first...last
  }

  /// Calls `body` with the numbers of a leaf page and of its overflow pages, until it returns `false`.
  ///
  /// - Returns: The last value of `body`.
  func forEachPage(
    ofLeaf number: UInt32, _ body: (UInt32) throws(PageFault) -> Bool
  ) throws(PageFault) -> Bool {
    guard try body(number) else { return false }
    let page = try leaf(number)
    for overflow in try page.overflows() {
      guard try forEachPage(of: overflow, body) else { return false }
    }
    return true
  }

  /// Calls `body` with the numbers of overflow pages, until it returns `false`.
  ///
  /// - Returns: The last value of `body`.
  func forEachPage(
    of overflow: OverflowChain, _ body: (UInt32) throws(PageFault) -> Bool
  ) throws(PageFault) -> Bool {
    var next = overflow.firstPage
    for _ in 0..<overflow.pageCount {
      guard try body(next) else { return false }
      next = try pages.page(next).bigEndian(UInt32.self, at: 0)
    }
    return true
  }
}

/// The pages of a row that continue a leaf page.
struct OverflowChain {
  var firstPage: UInt32
  var pageCount: Int
}

/// A row as a leaf page has it.
struct LeafRow {
  let rowid: Int64
  /// The number of bytes of all values.
  let byteCount: UInt64
  /// Those on the leaf page, and the number of the first overflow page, if there is one.
  let bytes: UnsafeRawBufferPointer
  /// The pages on which the row continues.
  let overflow: OverflowChain?
}
