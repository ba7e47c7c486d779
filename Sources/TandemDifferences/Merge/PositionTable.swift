/// A flat hash table of positions in some array, which keeps the identities.
///
/// Linear probing over one array of words. A word holds a position and, in the bits that positions
/// do not need, a part of the hash, so that hardly any probe looks at an identity in vain.
@usableFromInline
struct PositionTable {
  /// 0 where there is nothing, else the position plus one and the tag above it.
  @usableFromInline var words: [UInt]
  @usableFromInline let mask: Int
  @usableFromInline let positionMask: UInt

  /// An empty table with room for `capacity` positions less than `limit`.
  @inlinable
  init(capacity: Int, limit: Int) {
    let bitCount = Int.bitWidth - max(capacity, 2).leadingZeroBitCount + 1
    words = [UInt](repeating: 0, count: 1 << bitCount)
    mask = 1 << bitCount - 1
    positionMask = UInt.max >> UInt(limit + 1).leadingZeroBitCount
  }

  /// The position of the equal identity that is there already; else `nil`, and `position` is now
  /// in the table.
  @inlinable
  mutating func insert(_ position: Int, hash: Int, isEqual: (Int) -> Bool) -> Int? {
    let slot = slot(hash: hash, isEqual: isEqual)
    if words[slot] != 0 { return Int(words[slot] & positionMask) - 1 }
    words[slot] = tag(hash) | UInt(position + 1)
    return nil
  }

  /// The position of the identity with that hash for which `isEqual` holds.
  @inlinable
  func position(hash: Int, isEqual: (Int) -> Bool) -> Int? {
    let word = words[slot(hash: hash, isEqual: isEqual)]
    return word == 0 ? nil : Int(word & positionMask) - 1
  }

  @inlinable
  func slot(hash: Int, isEqual: (Int) -> Bool) -> Int {
    let tag = tag(hash)
    var slot = hash & mask
    while words[slot] != 0 {
      if words[slot] & ~positionMask == tag, isEqual(Int(words[slot] & positionMask) - 1) { break }
      slot = (slot + 1) & mask
    }
    return slot
  }

  @inlinable
  func tag(_ hash: Int) -> UInt { UInt(bitPattern: hash) & ~positionMask }
}
