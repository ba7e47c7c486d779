/// Numbers byte sequences in the order in which they first occur. They must outlive it.
///
/// A flat hash table with linear probing (Knuth, The Art of Computer Programming, volume 3, 6.4,
/// algorithm L), whose slots have 32 bits of the hash, so that hardly any other sequences are read.
/// The hash multiplies and folds eight bytes at a time, and has the seed of this process, so that no
/// text can be made to collide. Sequences that come in the order of their numbers, as most lines of a
/// second version do, need no hash.
struct TokenNumbers {
  private var tokens: [UnsafeBufferPointer<UInt8>] = []
  /// `0` if free, otherwise the upper half of the hash, above number + 1.
  private var slots = [UInt64](repeating: 0, count: 64)
  /// The number of the sequence that is expected next.
  private var next = 0
  private let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

  /// Expects the sequences in the order of their numbers again.
  mutating func startText() { next = 0 }

  mutating func number(of bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    // One sequence may have been deleted.
    for candidate in next..<min(next + 2, tokens.count) where areEqual(tokens[candidate], bytes) {
      next = candidate + 1
      return UInt32(candidate)
    }
    let hash = hash(of: bytes)
    var place = self.place(of: hash)
    while slots[place] != 0 {
      let slot = slots[place]
      let number = Int(slot & 0xFFFF_FFFF) - 1
      if (slot ^ hash) >> 32 == 0, areEqual(tokens[number], bytes) {
        // A line that occurs often, such as an empty one, leads back to its first place.
        next = max(next, number + 1)
        return UInt32(number)
      }
      place = (place + 1) & (slots.count - 1)
    }
    return insert(bytes, hash, at: place)
  }

  private mutating func insert(
    _ bytes: UnsafeBufferPointer<UInt8>, _ hash: UInt64, at place: Int
  ) -> UInt32 {
    let number = tokens.count
    tokens.append(bytes)
    slots[place] = hash & ~0xFFFF_FFFF | UInt64(number + 1)
    if tokens.count * 2 > slots.count { grow() }
    return UInt32(number)
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt64](repeating: 0, count: old.count * 2)
    for slot in old where slot != 0 {
      var place = self.place(of: slot)
      while slots[place] != 0 { place = (place + 1) & (slots.count - 1) }
      slots[place] = slot
    }
  }

  private func place(of hash: UInt64) -> Int {
    Int(truncatingIfNeeded: hash >> 32) & (slots.count - 1)
  }

  private func areEqual(
    _ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard one.count == other.count, let first = one.baseAddress, let second = other.baseAddress
    else { return one.count == other.count }
    return commonPrefixLength(first, second, limit: one.count) == one.count
  }

  private func hash(of bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
    guard let base = bytes.baseAddress else { return seed }
    var state = seed ^ UInt64(bytes.count)
    var offset = 0
    while offset + 8 <= bytes.count {
      state = Self.mixed(state ^ littleEndianWord(at: base + offset))
      offset += 8
    }
    var tail: UInt64 = 0
    while offset < bytes.count {
      tail = tail << 8 | UInt64(base[offset])
      offset += 1
    }
    return Self.mixed(Self.mixed(state ^ tail) ^ seed)
  }

  private static func mixed(_ word: UInt64) -> UInt64 {
    let product = (word ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low
  }
}

func littleEndianWord(at bytes: UnsafePointer<UInt8>) -> UInt64 {
  UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
}
