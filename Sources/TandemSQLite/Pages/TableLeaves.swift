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

/// One page of a table's B-tree.
struct BTreePage {
  enum Kind: UInt8 {
    case interior = 5
    case leaf = 13
  }

  let kind: Kind?
  let cellCount: Int
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    kind = Kind(rawValue: bytes[0])
    cellCount = Int(bytes.bigEndian(UInt16.self, at: 3))
  }

  /// The pages below, at least one.
  func children() throws(PageFault) -> [UInt32] {
    var children: [UInt32] = []
    children.reserveCapacity(cellCount + 1)
    for cell in 0..<cellCount {
      let offset = try offset(ofCell: cell)
      guard offset + 4 <= bytes.count else { throw PageFault() }
      children.append(bytes.bigEndian(UInt32.self, at: offset))
    }
    children.append(bytes.bigEndian(UInt32.self, at: 8))
    return children
  }

  /// The row of a cell of a leaf page.
  func row(_ cell: Int) throws(PageFault) -> LeafRow {
    var offset = try offset(ofCell: cell)
    let byteCount = try variableInteger(at: &offset)
    let rowid = Int64(bitPattern: try variableInteger(at: &offset))
    var end = offset + Int(min(byteCount, UInt64(bytes.count)))
    var overflow: OverflowChain?
    if byteCount > maxLocalCount {
      let chain = try self.overflow(ofByteCount: byteCount, at: offset)
      end = chain.end
      overflow = chain.overflow
    }
    guard end <= bytes.count else { throw PageFault() }
    return LeafRow(
      rowid: rowid, byteCount: byteCount,
      bytes: UnsafeRawBufferPointer(rebasing: bytes[offset..<end]), overflow: overflow)
  }

  /// The overflow pages of the rows that have any.
  func overflows() throws(PageFault) -> [OverflowChain] {
    var overflows: [OverflowChain] = []
    for cell in 0..<cellCount {
      var offset = try offset(ofCell: cell)
      // Most rows are so short that one byte has their length. They fit a page of any size.
      if offset < bytes.count, bytes[offset] < 0x80 { continue }
      let byteCount = try variableInteger(at: &offset)
      guard byteCount > maxLocalCount else { continue }
      _ = try variableInteger(at: &offset)
      overflows.append(try overflow(ofByteCount: byteCount, at: offset).overflow)
    }
    return overflows
  }

  /// The most bytes of a row that are on the leaf page alone.
  private var maxLocalCount: Int { bytes.count - 35 }

  /// The overflow pages of a row of so many bytes, more than ``maxLocalCount``, which begin at an offset,
  /// and the end of its part of this page.
  private func overflow(
    ofByteCount byteCount: UInt64, at offset: Int
  ) throws(PageFault) -> (overflow: OverflowChain, end: Int) {
    guard let byteCount = Int32(exactly: byteCount).map({ Int($0) }) else { throw PageFault() }
    // The local part is so long that the last overflow page is full, if that fits.
    let pageByteCount = bytes.count - 4
    let minLocalCount = (bytes.count - 12) * 32 / 255 - 23
    let fullCount = minLocalCount + (byteCount - minLocalCount) % pageByteCount
    let localCount = fullCount <= maxLocalCount ? fullCount : minLocalCount
    let end = offset + localCount + 4
    guard end <= bytes.count else { throw PageFault() }
    let overflow = OverflowChain(
      firstPage: bytes.bigEndian(UInt32.self, at: end - 4),
      pageCount: (byteCount - localCount + pageByteCount - 1) / pageByteCount)
    return (overflow, end)
  }

  private func offset(ofCell cell: Int) throws(PageFault) -> Int {
    let headerByteCount = kind == .interior ? 12 : 8
    let place = headerByteCount + 2 * cell
    guard place + 2 <= bytes.count else { throw PageFault() }
    return Int(bytes.bigEndian(UInt16.self, at: place))
  }

  /// Reads an integer of 1 to 9 bytes, and moves behind it.
  private func variableInteger(at offset: inout Int) throws(PageFault) -> UInt64 {
    var value: UInt64 = 0
    for position in 0..<9 {
      guard offset < bytes.count else { throw PageFault() }
      let byte = UInt64(bytes[offset])
      offset += 1
      if position == 8 { return value << 8 | byte }
      value = value << 7 | byte & 0x7F
      if byte < 0x80 { return value }
    }
    return value
  }
}
