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
  /// The numbers of the pages, ascending.
  private(set) var numbers: [UInt32] = []

  /// - Parameter root: The number of the root page.
  init(root: UInt32, in pages: DatabasePages) throws(PageFault) {
    self.pages = pages
    let depth = try TableLeaves.depth(root: root, in: pages)
    try addLeaves(below: root, levelCount: depth)
    numbers.sort()
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

  /// The rowids of the first and the last row of a leaf page; `nil` if it has none, as in an empty table.
  func rowids(ofPage number: UInt32) throws(PageFault) -> ClosedRange<Int64>? {
    let page = BTreePage(try pages.page(number))
    guard page.kind == .leaf else { throw PageFault() }
    guard page.cellCount > 0 else { return nil }
    let (first, last) = (try page.rowid(ofCell: 0), try page.rowid(ofCell: page.cellCount - 1))
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
    let page = BTreePage(try pages.page(number))
    guard page.kind == .leaf else { throw PageFault() }
    for overflow in try page.overflows() {
      var next = overflow.firstPage
      for _ in 0..<overflow.pageCount {
        guard try body(next) else { return false }
        next = try pages.page(next).bigEndian(UInt32.self, at: 0)
      }
    }
    return true
  }
}

/// The pages of a row that continue a leaf page.
private struct OverflowChain {
  var firstPage: UInt32
  var pageCount: Int
}

/// One page of a table's B-tree.
private struct BTreePage {
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

  func rowid(ofCell cell: Int) throws(PageFault) -> Int64 {
    var offset = try offset(ofCell: cell)
    _ = try variableInteger(at: &offset)
    return Int64(bitPattern: try variableInteger(at: &offset))
  }

  /// The overflow pages of the rows that have any.
  func overflows() throws(PageFault) -> [OverflowChain] {
    var overflows: [OverflowChain] = []
    let maxLocalCount = bytes.count - 35
    for cell in 0..<cellCount {
      var offset = try offset(ofCell: cell)
      let byteCount = try variableInteger(at: &offset)
      guard byteCount > maxLocalCount else { continue }
      guard byteCount <= UInt64(Int32.max) else { throw PageFault() }
      _ = try variableInteger(at: &offset)
      // The local part is so long that the last overflow page is full, if that fits.
      let minLocalCount = (bytes.count - 12) * 32 / 255 - 23
      let fullCount = minLocalCount + (Int(byteCount) - minLocalCount) % (bytes.count - 4)
      let localCount = fullCount <= maxLocalCount ? fullCount : minLocalCount
      guard offset + localCount + 4 <= bytes.count else { throw PageFault() }
      let pageByteCount = bytes.count - 4
      overflows.append(
        OverflowChain(
          firstPage: bytes.bigEndian(UInt32.self, at: offset + localCount),
          pageCount: (Int(byteCount) - localCount + pageByteCount - 1) / pageByteCount))
    }
    return overflows
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
