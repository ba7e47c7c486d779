internal import CSQLite
internal import TandemRecords

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
