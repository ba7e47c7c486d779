/// A flat hash table from identities to the offsets of the elements that have them.
///
/// The table does not store identities: a slot has an offset and 24 bits of the hash, so a probe
/// reads an element only for a likely match. Open addressing with linear probing, at most half full
/// (Knuth, The Art of Computer Programming, volume 3, 6.4, algorithm L).
///
/// A table of a million identities does not fit a cache, so callers work in batches. They compute
/// the hashes of ``batchCount`` elements, ``touch(_:count:)`` all their slots, whose cache lines
/// are then loaded in parallel, and only then insert or look up. This is twice as fast.
@usableFromInline
struct IdentityIndex: ~Copyable {
  /// `0` if free, otherwise the hash's upper bits above ``offsetBitCount`` bits of offset + 1.
  @usableFromInline let slots: UnsafeMutablePointer<UInt64>
  @usableFromInline let mask: Int

  @usableFromInline static var offsetBitCount: UInt64 { 40 }
  @usableFromInline static var offsetMask: UInt64 { (1 << offsetBitCount) - 1 }

  /// The number of elements in a batch.
  @usableFromInline static var batchCount: Int { 32 }

  /// Creates an empty table with room for `capacity` identities.
  @inlinable @inline(__always)
  init(capacity: Int) {
    var slotCount = 16
    while slotCount < capacity * 2 { slotCount <<= 1 }
    // One more than the mask reaches, for touch(_:) to write to.
    slots = .allocate(capacity: slotCount + 1)
    slots.initialize(repeating: 0, count: slotCount + 1)
    mask = slotCount - 1
  }

  /// Loads the slots of these hashes into the cache.
  ///
  /// The result is written to memory so that the compiler does not remove the reads.
  @inlinable @inline(__always)
  borrowing func touch(_ hashes: UnsafeMutableBufferPointer<Int>, count: Int) {
    var touched: UInt64 = 0
    for offset in 0..<count { touched |= slots[hashes[offset] & mask] }
    slots[mask + 1] = touched
  }

  /// Loads the first bytes of these elements into the cache. Hashing the elements one by one would
  /// wait for each of them, because the processor does not look ahead beyond a hash.
  @inlinable @inline(__always)
  borrowing func touch<Element>(
    _ elements: UnsafeBufferPointer<Element>, at offsets: UnsafeMutableBufferPointer<Int>,
    count: Int
  ) {
    guard let base = elements.baseAddress else { return }
    var touched: UInt8 = 0
    for place in 0..<count {
      touched |= UnsafeRawPointer(base + offsets[place]).load(as: UInt8.self)
    }
    slots[mask + 1] = UInt64(touched)
  }

  @inlinable
  deinit { slots.deallocate() }

  /// Returns the offset that has this hash and for which `isSame` is true, or `nil`.
  @inlinable @inline(__always)
  borrowing func offset(hash: Int, where isSame: (Int) -> Bool) -> Int? {
    let slot = slots[slotIndex(hash: hash, where: isSame)]
    return slot == 0 ? nil : Int(slot & IdentityIndex.offsetMask) - 1
  }

  /// Adds an offset if none is there for which `isSame` is true. Otherwise returns that one.
  ///
  /// At most as many offsets as the capacity may be added.
  @inlinable @inline(__always)
  borrowing func insert(_ offset: Int, hash: Int, unless isSame: (Int) -> Bool) -> Int? {
    let index = slotIndex(hash: hash, where: isSame)
    guard slots[index] == 0 else {
      return Int(slots[index] & IdentityIndex.offsetMask) - 1
    }
    slots[index] = tag(of: hash) | UInt64(offset + 1)
    return nil
  }

  /// Returns the slot of the identity, or the free slot where it belongs.
  @inlinable @inline(__always)
  borrowing func slotIndex(hash: Int, where isSame: (Int) -> Bool) -> Int {
    let tag = tag(of: hash)
    var index = hash & mask
    while true {
      let slot = slots[index]
      if slot == 0 { return index }
      if slot & ~IdentityIndex.offsetMask == tag, isSame(Int(slot & IdentityIndex.offsetMask) - 1) {
        return index
      }
      index = (index + 1) & mask
    }
  }

  @inlinable
  borrowing func tag(of hash: Int) -> UInt64 {
    UInt64(truncatingIfNeeded: hash) & ~IdentityIndex.offsetMask
  }

  /// Calls `body` for each position, with the hash of the element at that position's offset. The
  /// slots of a batch are loaded before the first call.
  @inlinable @inline(__always)
  borrowing func forEachBatch<Element, ID: Hashable>(
    of elements: UnsafeBufferPointer<Element>, at offsets: [Int],
    positions: some Sequence<Int>, id: (Element) -> ID,
    body: (_ position: Int, _ hash: Int) -> Void
  ) {
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 2 * IdentityIndex.batchCount) { memory in
      let batch = UnsafeMutableBufferPointer(rebasing: memory.prefix(IdentityIndex.batchCount))
      let hashes = UnsafeMutableBufferPointer(rebasing: memory.dropFirst(IdentityIndex.batchCount))
      var count = 0
      func finishBatch() {
        for place in 0..<count {
          hashes.initializeElement(at: place, to: id(elements[offsets[batch[place]]]).hashValue)
        }
        touch(hashes, count: count)
        for place in 0..<count { body(batch[place], hashes[place]) }
        count = 0
      }
      for position in positions {
        batch.initializeElement(at: count, to: position)
        count += 1
        if count == IdentityIndex.batchCount { finishBatch() }
      }
      finishBatch()
    }
  }
}
