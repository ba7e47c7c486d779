/// The deleted, inserted, kept and updated elements of two lists, by their offsets.
@usableFromInline
struct ListMatching {
  /// Offsets of the old list whose elements the new one lacks, ascending.
  @usableFromInline var deletions: [Int]
  /// Offsets of the new list whose elements the old one lacks, ascending.
  @usableFromInline var insertions: [Int] = []
  /// Kept elements that were not in step, ascending in the new list.
  @usableFromInline var pairs: [ListMove<Int>] = []
  /// The indices of the pairs, in the order of the old list.
  @usableFromInline var pairsByOrigin: [Int] = []
  /// Kept elements whose contents differ, ascending in the new list.
  @usableFromInline var updates: [ListMove<Int>] = []

  /// Pairs the elements that `steps` leaves over. The first of an identity in one list is paired
  /// with its first in the other, the second with the second, and so on.
  ///
  /// - Complexity: O(*r* + *u*) expected time for *r* runs, and *u* elements left over or updated.
  @inlinable @inline(__always)
  init<Element, ID: Hashable>(
    _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>, steps: StepWalk,
    id: (Element) -> ID, areEquivalent: (Element, Element) -> Bool
  ) {
    let oldRest = steps.runsByOldOffset.offsetsBetween(\.old, upTo: old.count)
    let newRest = steps.runs.offsetsBetween(\.new, upTo: new.count)
    guard !oldRest.isEmpty, !newRest.isEmpty else {
      deletions = oldRest
      insertions = newRest
      updates = steps.updates
      return
    }
    let unpaired = UnpairedOccurrences(of: oldRest) { id(old[$0]) }
    var nextUpdate = 0
    for offset in newRest {
      while nextUpdate < steps.updates.count, steps.updates[nextUpdate].to < offset {
        updates.append(steps.updates[nextUpdate])
        nextUpdate += 1
      }
      guard
        let origin = unpaired.popFirst(
          of: id(new[offset]), forPair: pairs.count, identifiedBy: { id(old[$0]) })
      else {
        insertions.append(offset)
        continue
      }
      pairs.append(ListMove(from: origin, to: offset))
      if !areEquivalent(old[origin], new[offset]) {
        updates.append(ListMove(from: origin, to: offset))
      }
    }
    updates.append(contentsOf: steps.updates[nextUpdate...])
    deletions = unpaired.remaining
    pairsByOrigin = unpaired.pairs
  }
}

extension [ListRun] {
  /// The offsets that no run covers.
  @inlinable
  func offsetsBetween(_ start: (ListRun) -> Int, upTo end: Int) -> [Int] {
    let count = reduce(end) { $0 - $1.count }
    let stride = 4
    return [Int](unsafeUninitializedCapacity: count + stride) { offsets, initializedCount in
      var next = 0
      for index in 0...self.count {
        let limit = index < self.count ? start(self[index]) : end
        // Most gaps are short. Writing a few offsets too many, and overwriting them, is faster than
        // a branch that cannot be predicted.
        repeat {
          for step in 0..<stride { offsets[initializedCount &+ step] = next &+ step }
          initializedCount &+= Swift.min(stride, limit &- next)
          next &+= stride
        } while next < limit
        if index < self.count { next = limit &+ self[index].count }
      }
    }
  }
}

/// The elements of a list without a partner so far, found by identity in the order of their
/// offsets.
@usableFromInline
struct UnpairedOccurrences: ~Copyable {
  /// The offsets, ascending.
  @usableFromInline let offsets: [Int]
  /// Finds, by identity, the position in `offsets` of the last with that identity.
  @usableFromInline let index: IdentityIndex
  /// For such a last one, the position of the first unpaired one; -1 if there is none.
  @usableFromInline let first: UnsafeMutablePointer<Int>
  /// For each position, the next position with the same identity, or -1. After it is paired: -2
  /// minus the number of the pair.
  @usableFromInline let next: UnsafeMutablePointer<Int>

  @usableFromInline static var none: Int { -1 }

  /// - Complexity: O(*n*) expected time for *n* offsets, however often an identity occurs.
  @inlinable @inline(__always)
  init<ID: Hashable>(of offsets: [Int], identifiedBy id: (Int) -> ID) {
    self.offsets = offsets
    index = IdentityIndex(capacity: offsets.count)
    first = .allocate(capacity: offsets.count)
    next = .allocate(capacity: offsets.count)
    first.initialize(repeating: Self.none, count: offsets.count)
    next.initialize(repeating: Self.none, count: offsets.count)
    for position in offsets.indices.reversed() {
      let identity = id(offsets[position])
      // An identity that does not equal itself, as NaN, can have no partner, and many of them would
      // fill the table.
      guard identity == identity else { continue }
      let last = index.insert(
        position, hash: identity.hashValue, unless: { id(offsets[$0]) == identity })
      if let last { next[position] = first[last] }
      first[last ?? position] = position
    }
  }

  @inlinable
  deinit {
    first.deallocate()
    next.deallocate()
  }

  /// Removes and returns the first offset of `identity`, if one is left, for the pair of the given
  /// number.
  @inlinable @inline(__always)
  borrowing func popFirst<ID: Hashable>(
    of identity: ID, forPair pair: Int, identifiedBy id: (Int) -> ID
  ) -> Int? {
    let last = index.offset(hash: identity.hashValue, where: { id(offsets[$0]) == identity })
    guard let last, first[last] != Self.none else { return nil }
    let position = first[last]
    first[last] = next[position]
    next[position] = -2 - pair
    return offsets[position]
  }

  /// The offsets that were not removed, ascending.
  @inlinable
  var remaining: [Int] {
    offsets.indices.filter { next[$0] >= Self.none }.map { offsets[$0] }
  }

  /// The numbers of the pairs, ascending by their offsets.
  @inlinable
  var pairs: [Int] {
    offsets.indices.filter { next[$0] < Self.none }.map { -2 - next[$0] }
  }
}
