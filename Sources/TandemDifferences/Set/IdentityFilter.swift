/// Finds the few elements of a list whose identity may occur more than once.
///
/// Two versions of one list agree nearly everywhere, and walking them in step pairs nearly all of it
/// without a hash. That proves nothing, though, about an identity that occurs twice; only looking at
/// all of them does. This is a Bloom filter with one hash function and counters that stop at 2
/// (Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970). It is a quarter of
/// the size of an ``IdentityIndex``, and nothing is compared: an identity whose counter stays at 1 is
/// alone. Fewer than one in sixteen share a counter by chance. These *suspects* and those that truly
/// repeat are what is left for the index, so the answer stays exact whatever the hashes are.
@usableFromInline
struct IdentityFilter: ~Copyable {
  /// Two bits per place: whether it was met, and whether it was met again.
  @usableFromInline let words: UnsafeMutablePointer<UInt64>
  @usableFromInline let shift: UInt64

  @usableFromInline static var placesPerIdentity: Int { 16 }

  /// A filter for about `capacity` identities. More only make more suspects.
  @inlinable @inline(__always)
  init(capacity: Int) {
    var bitCount = 5
    while bitCount < UInt32.bitWidth, 1 << bitCount < capacity * Self.placesPerIdentity {
      bitCount += 1
    }
    let wordCount = 1 << (bitCount - 5)
    words = .allocate(capacity: wordCount)
    words.initialize(repeating: 0, count: wordCount)
    shift = UInt64(UInt64.bitWidth - bitCount)
  }

  @inlinable
  deinit { words.deallocate() }

  /// Where an identity is counted.
  @inlinable @inline(__always)
  borrowing func place<ID: Hashable>(of identity: ID) -> UInt32 {
    UInt32(truncatingIfNeeded: Self.scrambled(identity) &>> shift)
  }

  @inlinable @inline(__always)
  borrowing func count(_ place: UInt32) {
    let met: UInt64 = 1 &<< (UInt64(place & 31) &* 2)
    let word = words[Int(place &>> 5)]
    words[Int(place &>> 5)] = word | met | ((word & met) &<< 1)
  }

  /// Whether more than one identity was counted at this place.
  @inlinable @inline(__always)
  borrowing func isShared(_ place: UInt32) -> Bool {
    words[Int(place &>> 5)] &>> (UInt64(place & 31) &* 2 &+ 1) & 1 != 0
  }
}

extension IdentityFilter {
  /// 64 bits whose upper ones differ for most identities: the hash, or for whole numbers, as hashing
  /// would then be most of the work, the number scrambled (Appleby, MurmurHash3's finaliser). Numbers
  /// chosen to collide make suspects, no more.
  @inlinable @inline(__always)
  static func scrambled<ID: Hashable>(_ identity: ID) -> UInt64 {
    guard var number = wholeNumber(identity) else {
      return UInt64(truncatingIfNeeded: identity.hashValue)
    }
    number = (number ^ (number &>> 33)) &* 0xFF51_AFD7_ED55_8CCD
    return (number ^ (number &>> 33)) &* 0xC4CE_B9FE_1A85_EC53
  }

  /// The identity as a number if it is of one of the integer types that serve as keys. The compiler
  /// decides this wherever it knows the type.
  @inlinable @inline(__always)
  static func wholeNumber<ID: Hashable>(_ identity: ID) -> UInt64? {
    if ID.self == Int.self {
      return UInt64(truncatingIfNeeded: unsafeBitCast(identity, to: Int.self))
    }
    if ID.self == Int64.self {
      return UInt64(truncatingIfNeeded: unsafeBitCast(identity, to: Int64.self))
    }
    if ID.self == UInt64.self { return unsafeBitCast(identity, to: UInt64.self) }
    if ID.self == Int32.self {
      return UInt64(truncatingIfNeeded: unsafeBitCast(identity, to: Int32.self))
    }
    return nil
  }
}

/// Some elements of a list, in runs of offsets.
@usableFromInline
struct ElementRuns<Element> {
  @usableFromInline let elements: UnsafeBufferPointer<Element>
  @usableFromInline let runs: [Range<Int>]

  @inlinable @inline(__always)
  init(_ elements: UnsafeBufferPointer<Element>, in runs: [Range<Int>]) {
    self.elements = elements
    self.runs = runs
  }

  @inlinable
  var count: Int { runs.reduce(0) { $0 + $1.count } }
}

extension IdentityFilter {
  /// Runs of offsets, ascending, that have all elements whose identity another element has, or one
  /// in `rests`, or that does not equal itself; and a few by mistake.
  ///
  /// If the rests are more than half as many as the elements, all are suspects: a filter would not
  /// spare enough.
  ///
  /// - Complexity: O(*n*) time, with one hash per element; 8 to 12 bytes per element.
  @inlinable @inline(__always)
  static func suspects<Element, ID: Hashable>(
    in elements: UnsafeBufferPointer<Element>, or rests: [ElementRuns<Element>],
    id: (Element) -> ID
  ) -> [Range<Int>] {
    let restCount = rests.reduce(0) { $0 + $1.count }
    guard restCount <= elements.count / 2 else { return [0..<elements.count] }
    let filter = IdentityFilter(capacity: elements.count + restCount)
    for rest in rests {
      for run in rest.runs {
        for offset in run { filter.count(filter.place(of: id(rest.elements[offset]))) }
      }
    }
    return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: elements.count) { places in
      for offset in elements.indices {
        let place = filter.place(of: id(elements[offset]))
        places.initializeElement(at: offset, to: place)
        filter.count(place)
      }
      var suspects: [Range<Int>] = []
      for offset in elements.indices {
        let identity = id(elements[offset])
        if filter.isShared(places[offset]) || identity != identity {
          suspects.append(offset..<offset + 1)
        }
      }
      return suspects
    }
  }
}
