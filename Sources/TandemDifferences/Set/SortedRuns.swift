/// The comparison of two sorted versions that are in memory.
@usableFromInline
package enum SortedRuns {
  /// Walks through two versions that ascend strictly by identity, and calls a closure for each step, in the
  /// order of the identities: with the offset of an element that one side has, or with the places of both
  /// elements of one identity.
  ///
  /// Equal runs cost one comparison of both identities and one of neighbouring identities a step.
  /// Identities are compared in place, never kept, which would cost a retain and a release. Whenever the
  /// loop begins, the elements at both offsets are known to follow their predecessors.
  ///
  /// - Returns: The first violation of the order found, which ends the walk.
  /// - Complexity: O(*n* + *m*).
  @inlinable @inline(__always)
  package static func walk<Old, New, ID: Comparable>(
    _ old: UnsafeBufferPointer<Old>, identifiedBy oldID: (Old) -> ID,
    _ new: UnsafeBufferPointer<New>, identifiedBy newID: (New) -> ID,
    deleted: (Int) -> Void, inserted: (Int) -> Void,
    common: (UnsafePointer<Old>, UnsafePointer<New>) -> Void
  ) -> IdentityViolation? {
    if let violation = violation(atStartOf: old, side: .old, id: oldID) { return violation }
    if let violation = violation(atStartOf: new, side: .new, id: newID) { return violation }
    var i = 0
    var j = 0
    while i < old.count, j < new.count {
      if oldID(old[i]) == newID(new[j]) {
        // Pointers that move over both sides keep the loop within the registers. The bound is the end
        // of the shorter side.
        let start = old.baseAddress! + i
        let end = start + min(old.count - i, new.count - j)
        var run = start
        var twin = new.baseAddress! + j
        repeat {
          common(run, twin)
          run += 1
          twin += 1
        } while run < end && oldID(run[-1]) < oldID(run[0]) && oldID(run[0]) == newID(twin[0])
        i += run - start
        j += run - start
        if let violation = violation(in: old, at: i, side: .old, id: oldID) { return violation }
        // Within the run, the new version's identities are the old one's, which are checked.
        if let violation = violation(in: new, at: j, side: .new, id: newID) { return violation }
      } else if oldID(old[i]) < newID(new[j]) {
        deleted(i)
        i += 1
        if let violation = violation(in: old, at: i, side: .old, id: oldID) { return violation }
      } else if newID(new[j]) < oldID(old[i]) {
        inserted(j)
        j += 1
        if let violation = violation(in: new, at: j, side: .new, id: newID) { return violation }
      } else {
        return IdentityViolation(side: .new, offset: j, kind: .incomparable)
      }
    }
    while i < old.count {
      deleted(i)
      i += 1
      if let violation = violation(in: old, at: i, side: .old, id: oldID) { return violation }
    }
    while j < new.count {
      inserted(j)
      j += 1
      if let violation = violation(in: new, at: j, side: .new, id: newID) { return violation }
    }
    return nil
  }

  /// The violation of the first element, which has no predecessor to be compared with.
  @inlinable @inline(__always)
  static func violation<Element, ID: Comparable>(
    atStartOf elements: UnsafeBufferPointer<Element>, side: IdentityViolation.Side,
    id: (Element) -> ID
  ) -> IdentityViolation? {
    guard let first = elements.first, IdentityViolation.isIncomparable(id(first)) else {
      return nil
    }
    return IdentityViolation(side: side, offset: 0, kind: .incomparable)
  }

  /// The violation of the order of the element at `offset`, if there is one, and the one before.
  @inlinable @inline(__always)
  static func violation<Element, ID: Comparable>(
    in elements: UnsafeBufferPointer<Element>, at offset: Int, side: IdentityViolation.Side,
    id: (Element) -> ID
  ) -> IdentityViolation? {
    guard offset < elements.count, !(id(elements[offset - 1]) < id(elements[offset])) else {
      return nil
    }
    let kind = IdentityViolation.kind(of: id(elements[offset]), after: id(elements[offset - 1]))
    return IdentityViolation(side: side, offset: offset, kind: kind ?? .descending)
  }
}
