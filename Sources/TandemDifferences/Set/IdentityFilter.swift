/// Finds the few elements of a list whose identity may occur more than once.
///
/// Two versions of one list mostly agree, so walking them in step pairs nearly all elements without
/// a hash. To find an identity that occurs twice, however, all elements must be examined. This is a
/// Bloom filter with one hash function (Bloom, "Space/time trade-offs in hash coding with allowable
/// errors", 1970). It has a quarter of the size of an ``IdentityIndex``, and compares nothing: an
/// identity that finds its place unmarked is the first there. About one in sixty-four finds it marked
/// by chance. The *suspects*, which are the elements at these places, go to the index, so the result
/// is exact for all hashes.
@usableFromInline
struct IdentityFilter: ~Copyable {
  /// A bit for each place.
  @usableFromInline let words: UnsafeMutablePointer<UInt64>
  @usableFromInline let shift: UInt64

  @usableFromInline static var placesPerIdentity: Int { 32 }

  /// Creates a filter for about `capacity` identities. More identities only make more suspects.
  @inlinable @inline(__always)
  init(capacity: Int) {
    var bitCount = 6
    while bitCount < UInt32.bitWidth, 1 << bitCount < capacity * Self.placesPerIdentity {
      bitCount += 1
    }
    let wordCount = 1 << (bitCount - 6)
    words = .allocate(capacity: wordCount)
    words.initialize(repeating: 0, count: wordCount)
    shift = UInt64(UInt64.bitWidth - bitCount)
  }

  @inlinable
  deinit { words.deallocate() }

  /// The last place.
  @inlinable @inline(__always)
  var lastPlace: UInt32 { UInt32(truncatingIfNeeded: UInt64.max &>> shift) }

  /// Returns the place of an identity.
  @inlinable @inline(__always)
  borrowing func place<ID: Hashable>(of identity: ID) -> UInt32 {
    UInt32(truncatingIfNeeded: Self.scrambled(identity) &>> shift)
  }

  /// Marks a place. Returns true if it was marked before.
  @inlinable @inline(__always)
  @discardableResult
  borrowing func mark(_ place: UInt32) -> Bool {
    let bit: UInt64 = 1 &<< UInt64(place & 63)
    let word = words[Int(place &>> 6)]
    words[Int(place &>> 6)] = word | bit
    return word & bit != 0
  }

  @inlinable @inline(__always)
  borrowing func isMarked(_ place: UInt32) -> Bool {
    words[Int(place &>> 6)] &>> UInt64(place & 63) & 1 != 0
  }
}

extension IdentityFilter {
  /// Returns 64 bits whose upper ones differ for most identities: the hash, or for integers the
  /// scrambled number (Appleby, MurmurHash3's finaliser), because hashing would then be most of the
  /// work. Numbers chosen to collide only make more suspects.
  @inlinable @inline(__always)
  static func scrambled<ID: Hashable>(_ identity: ID) -> UInt64 {
    guard var number = wholeNumber(identity) else {
      return UInt64(truncatingIfNeeded: identity.hashValue)
    }
    number = (number ^ (number &>> 33)) &* 0xFF51_AFD7_ED55_8CCD
    return (number ^ (number &>> 33)) &* 0xC4CE_B9FE_1A85_EC53
  }

  /// Returns the identity as a number if it has one of the integer types that serve as keys. The
  /// compiler decides this wherever it knows the type.
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
  /// Returns runs of offsets, ascending, with all elements whose identity also occurs in another
  /// element or in `rests`, or does not equal itself; and a few others by chance.
  ///
  /// If the rests are more than half as many as the elements, all elements are suspects, because a
  /// filter would save too little.
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
        for offset in run { filter.mark(filter.place(of: id(rest.elements[offset]))) }
      }
    }
    return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: elements.count) { places in
      var sharedPlaces: [UInt32] = []
      for offset in elements.indices {
        let place = filter.place(of: id(elements[offset]))
        places.initializeElement(at: offset, to: place)
        if filter.mark(place) { sharedPlaces.append(place) }
      }
      // A smaller filter, which stays in the processor's cache, has the places that were marked
      // twice, by their lower bits.
      let shared = IdentityFilter(capacity: 2 * sharedPlaces.count)
      let mask = shared.lastPlace
      for place in sharedPlaces { shared.mark(place & mask) }
      var suspects: [Range<Int>] = []
      for offset in elements.indices {
        if shared.isMarked(places[offset] & mask)
          || IdentityViolation.isIncomparable(id(elements[offset]))
        {
          suspects.append(offset..<offset + 1)
        }
      }
      return suspects
    }
  }
}
