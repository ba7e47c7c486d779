/// Bytes in blocks, so that adding more moves none.
package struct PackedStorage: Sendable {
  /// The place of the bytes of a row.
  package struct Place: Equatable, Sendable {
    @usableFromInline var block: UInt32
    @usableFromInline var offset: UInt32

    package static let none = Place(block: .max, offset: .max)
  }

  /// The number of bytes of a block, unless a row is longer.
  static var blockByteCount: Int { 256 << 10 }

  @usableFromInline var blocks: [[UInt8]] = []
  package private(set) var byteCount = 0
  private var discardedByteCount = 0

  package init() {}

  /// True if more bytes have been discarded than are left, and it is worth while to copy these.
  package var isMostlyDiscarded: Bool {
    discardedByteCount > max(byteCount - discardedByteCount, Self.blockByteCount)
  }

  /// Adds a row of at least one value.
  package mutating func append(_ row: PackedRow) -> Place {
    row.withBytes { append($0) }
  }

  /// Adds a row, and before it a number, which ``PackedRow/Reader/nextCount()`` reads.
  mutating func append(_ row: PackedRow, behind count: Int) -> Place {
    withUnsafeTemporaryAllocation(byteCount: PackedCount.maxByteCount, alignment: 1) { head in
      let headCount = PackedCount.write(count, to: head.baseAddress.unsafelyUnwrapped)
      return row.withBytes {
        append($0, behind: UnsafeRawBufferPointer(rebasing: head[..<headCount]))
      }
    }
  }

  /// Adds the bytes of a row, and others before them; together at least one.
  package mutating func append(
    _ bytes: UnsafeRawBufferPointer,
    behind head: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) -> Place {
    let count = head.count + bytes.count
    byteCount += count
    if blocks.isEmpty || blocks[blocks.count - 1].count + count > Self.blockByteCount {
      var block: [UInt8] = []
      block.reserveCapacity(blocks.isEmpty ? count : max(count, Self.blockByteCount))
      blocks.append(block)
    }
    let last = blocks.count - 1
    let offset = blocks[last].count
    blocks[last].append(contentsOf: head)
    blocks[last].append(contentsOf: bytes)
    return Place(block: UInt32(last), offset: UInt32(offset))
  }

  /// Writes a row over another one of as many bytes.
  package mutating func write(_ row: PackedRow, at place: Place) {
    blocks[Int(place.block)].withUnsafeMutableBytes { block in
      row.withBytes {
        UnsafeMutableRawBufferPointer(rebasing: block[Int(place.offset)...]).copyMemory(from: $0)
      }
    }
  }

  /// Notes that bytes are no longer needed.
  package mutating func discard(_ count: Int) { discardedByteCount += count }

  /// True if the bytes at a place, after as many as `skipped` returns for the first of them, begin with those
  /// of a row.
  package func hasRow(
    _ row: PackedRow, at place: Place, behind skipped: (UnsafeRawPointer) -> Int = { _ in 0 }
  ) -> Bool {
    let offset = Int(place.offset) + withBytes(at: place, skipped)
    return blocks[Int(place.block)].withUnsafeBytes { block in
      let rest = UnsafeRawBufferPointer(rebasing: block[offset...])
      return row.withBytes { bytes in
        UTF8Order.compare(bytes, UnsafeRawBufferPointer(rebasing: rest.prefix(bytes.count))) == 0
      }
    }
  }

  /// Calls `body` with the first byte of a row.
  @inlinable
  package func withBytes<Value>(at place: Place, _ body: (UnsafeRawPointer) -> Value) -> Value {
    blocks[Int(place.block)].withUnsafeBytes { block in
      guard let start = block.baseAddress else { preconditionFailure("No block is empty") }
      return body(start + Int(place.offset))
    }
  }
}

extension Array {
  /// Gives back the memory that was reserved for more elements.
  package mutating func shrink() {
    guard capacity > count + count / 4 else { return }
    var exact: [Element] = []
    exact.reserveCapacity(count)
    exact.append(contentsOf: self)
    self = exact
  }
}
