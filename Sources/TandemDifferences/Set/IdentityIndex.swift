/// A flat hash table from identities to the offsets of the elements that have them.
///
/// The identities themselves stay in the elements: a slot holds an offset and 24 bits of the hash,
/// so a probe leaves the table only for a likely match. Open addressing with linear probing, at most
/// half full (Knuth, The Art of Computer Programming, volume 3, 6.4, algorithm L).
///
/// A table of a million identities does not fit a cache, so callers work in batches: they compute the
/// hashes of ``batchCount`` elements, ``touch(_:)`` all their slots, whose cache lines then arrive
/// together, and only then insert or look up. That is worth a factor of two.
@usableFromInline
struct IdentityIndex: ~Copyable {
  /// `0` when free, otherwise the hash's upper bits above ``offsetBitCount`` bits of offset + 1.
  @usableFromInline let slots: UnsafeMutablePointer<UInt64>
  @usableFromInline let mask: Int

  @usableFromInline static var offsetBitCount: UInt64 { 40 }
  @usableFromInline static var offsetMask: UInt64 { (1 << offsetBitCount) - 1 }

  /// How many elements callers treat at a time.
  @usableFromInline static var batchCount: Int { 32 }

  /// An empty table with room for `capacity` identities.
  @inlinable @inline(__always)
  init(capacity: Int) {
    var slotCount = 16
    while slotCount < capacity * 2 { slotCount <<= 1 }
    // One more than the mask reaches, for touch(_:) to write to.
    slots = .allocate(capacity: slotCount + 1)
    slots.initialize(repeating: 0, count: slotCount + 1)
    mask = slotCount - 1
  }

  /// Brings the slots where these hashes belong into the cache.
  ///
  /// What is read is written to memory, for otherwise the compiler may leave out the reading.
  @inlinable @inline(__always)
  borrowing func touch(_ hashes: UnsafeMutableBufferPointer<Int>, count: Int) {
    var touched: UInt64 = 0
    for offset in 0..<count { touched |= slots[hashes[offset] & mask] }
    slots[mask + 1] = touched
  }

  /// Brings the first bytes of these elements into the cache. Hashing them one by one instead would
  /// wait for one after the other, as a hash is too long for the processor to look beyond it.
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

  /// The offset in the first slot where this hash belongs, or `nil` if that is free: most likely the
  /// one that has the identity.
  @inlinable @inline(__always)
  borrowing func likelyOffset(hash: Int) -> Int? {
    let slot = slots[hash & mask]
    return slot == 0 ? nil : Int(slot & IdentityIndex.offsetMask) - 1
  }

  @inlinable
  deinit { slots.deallocate() }

  /// The offset that has an identity of this hash for which `isSame` holds, or `nil`.
  @inlinable @inline(__always)
  borrowing func offset(hash: Int, where isSame: (Int) -> Bool) -> Int? {
    let slot = slots[slotIndex(hash: hash, where: isSame)]
    return slot == 0 ? nil : Int(slot & IdentityIndex.offsetMask) - 1
  }

  /// Adds an offset unless one whose identity `isSame` is there; returns that one, or `nil`.
  ///
  /// Not more than the capacity may be added.
  @inlinable @inline(__always)
  borrowing func insert(_ offset: Int, hash: Int, unless isSame: (Int) -> Bool) -> Int? {
    let index = slotIndex(hash: hash, where: isSame)
    guard slots[index] == 0 else {
      return Int(slots[index] & IdentityIndex.offsetMask) - 1
    }
    slots[index] = tag(of: hash) | UInt64(offset + 1)
    return nil
  }

  /// The slot that holds the identity, or the free one where it belongs.
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
}
