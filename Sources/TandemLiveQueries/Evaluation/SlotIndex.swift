internal import TandemRecords
internal import TandemSQLite

/// A flat hash table from keys to the slots of their rows (Knuth, The Art of Computer Programming,
/// volume 3, 6.4, algorithms L and R). It stores no keys: an entry is half of the hash, and the slot.
struct SlotIndex {
  /// `0` if free, otherwise the lower half of the hash, above slot + 1.
  private var entries = [UInt64](repeating: 0, count: 16)
  private var count = 0

  private var mask: Int { entries.count - 1 }

  private static func tag(_ hash: Int) -> UInt64 { UInt64(truncatingIfNeeded: hash) << 32 }
  private static func slot(_ entry: UInt64) -> Int {
    Int(truncatingIfNeeded: entry & 0xFFFF_FFFF) - 1
  }
  private func home(_ entry: UInt64) -> Int { Int(truncatingIfNeeded: entry >> 32) & mask }

  func slot(hash: Int, where isSame: (Int) -> Bool) -> Int? {
    let tag = Self.tag(hash)
    var place = home(tag)
    while entries[place] != 0 {
      let entry = entries[place]
      if entry & ~0xFFFF_FFFF == tag, isSame(Self.slot(entry)) { return Self.slot(entry) }
      place = (place + 1) & mask
    }
    return nil
  }

  /// Adds a slot, which must not be there.
  mutating func insert(_ slot: Int, hash: Int) {
    precondition(slot < Int(UInt32.max), "Fewer rows than fit any memory have slots")
    if (count + 1) * 4 > entries.count * 3 { grow() }
    count += 1
    add(Self.tag(hash) | UInt64(slot + 1))
  }

  private mutating func add(_ entry: UInt64) {
    var place = home(entry)
    while entries[place] != 0 { place = (place + 1) & mask }
    entries[place] = entry
  }

  private mutating func grow() {
    let old = entries
    entries = [UInt64](repeating: 0, count: old.count * 2)
    for entry in old where entry != 0 { add(entry) }
  }

  /// Removes a slot, which must be there.
  mutating func remove(_ slot: Int, hash: Int) {
    let removed = Self.tag(hash) | UInt64(slot + 1)
    var free = home(removed)
    while entries[free] != removed { free = (free + 1) & mask }
    count -= 1
    // Entries that follow without a gap move up, unless that would be before their home.
    var place = free
    while true {
      entries[free] = 0
      repeat {
        place = (place + 1) & mask
        if entries[place] == 0 { return }
      } while (place - home(entries[place])) & mask < (place - free) & mask
      entries[free] = entries[place]
      free = place
    }
  }
}
