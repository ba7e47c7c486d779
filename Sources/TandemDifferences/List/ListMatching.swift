/// The deleted, inserted, kept and updated elements of two lists, by their offsets.
@usableFromInline
struct ListMatching {
  /// Offsets of the old list whose elements the new one lacks, ascending.
  @usableFromInline var deletions: [Int] = []
  /// Offsets of the new list whose elements the old one lacks, ascending.
  @usableFromInline var insertions: [Int] = []
  /// Kept elements that were not in step, ascending in the new list.
  @usableFromInline var pairs: [ListMove<Int>] = []
  /// For each element of the old list that was not in step, the index of its pair, or -1.
  @usableFromInline var pairNumbers: [Int] = []
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
    var unpaired = UnpairedOccurrences(of: old, at: oldRest, id: id)
    pairs.reserveCapacity(min(oldRest.count, newRest.count))
    var nextUpdate = 0
    unpaired.forEachPartner(of: new, at: newRest, among: old, id: id) { origin, offset in
      while nextUpdate < steps.updates.count, steps.updates[nextUpdate].to < offset {
        updates.append(steps.updates[nextUpdate])
        nextUpdate += 1
      }
      guard let origin else {
        insertions.append(offset)
        return
      }
      pairs.append(ListMove(from: origin, to: offset))
      if !areEquivalent(old[origin], new[offset]) {
        updates.append(ListMove(from: origin, to: offset))
      }
    }
    updates.append(contentsOf: steps.updates[nextUpdate...])
    deletions = unpaired.remaining
    pairNumbers = unpaired.pairNumbers
  }

  /// The indices of the pairs, in the order of the old list.
  @inlinable
  var pairsByOrigin: [Int] { pairNumbers.filter { $0 >= 0 } }
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
