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

  /// Adds the bytes of a row, of which there is at least one.
  package mutating func append(_ bytes: [UInt8]) -> Place {
    byteCount += bytes.count
    let last = blocks.count - 1
    if last >= 0, blocks[last].count + bytes.count <= Self.blockByteCount {
      let offset = blocks[last].count
      blocks[last].append(contentsOf: bytes)
      return Place(block: UInt32(last), offset: UInt32(offset))
    }
    var block: [UInt8] = []
    block.reserveCapacity(blocks.isEmpty ? bytes.count : Self.blockByteCount)
    block.append(contentsOf: bytes)
    blocks.append(block)
    return Place(block: UInt32(blocks.count - 1), offset: 0)
  }

  /// Writes bytes over as many others.
  package mutating func write(_ bytes: [UInt8], at place: Place) {
    blocks[Int(place.block)].withUnsafeMutableBytes { block in
      bytes.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: block[Int(place.offset)...]).copyMemory(from: $0)
      }
    }
  }

  /// Notes that bytes are no longer needed.
  package mutating func discard(_ count: Int) { discardedByteCount += count }

  /// True if a row has these bytes at its start, or behind as many others as `skipped` returns for its first
  /// byte.
  package func hasBytes(
    _ bytes: [UInt8], at place: Place, behind skipped: (UnsafeRawPointer) -> Int = { _ in 0 }
  ) -> Bool {
    let offset = Int(place.offset) + withBytes(at: place, skipped)
    return blocks[Int(place.block)].withUnsafeBytes { block in
      let rest = UnsafeRawBufferPointer(rebasing: block[offset...])
      return bytes.withUnsafeBytes { bytes in
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
