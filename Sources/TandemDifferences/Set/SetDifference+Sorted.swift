extension SetDifference {
  /// The difference from one version to another, both strictly ascending by identity.
  ///
  /// - Parameters:
  ///   - old: The version to start from.
  ///   - new: The version to arrive at.
  ///   - id: An element's identity: a key path or a closure.
  ///   - areEquivalent: Returns true if two elements of one identity have the same contents.
  /// - Throws: ``IdentityViolation`` for the first element that is not in order. Versions in memory
  ///   and versions that arrive one element at a time give the same violation.
  /// - Complexity: O(*n* + *m*) time in one pass; memory for the changes only.
  @inlinable @inline(__always)
  public init<ID: Comparable, Old: Sequence<Element>, New: Sequence<Element>>(
    from old: Old, to new: New, sortedBy id: (Element) -> ID,
    by areEquivalent: (Element, Element) -> Bool
  ) throws(IdentityViolation) {
    self.init()
    let outcome: IdentityViolation?? = old.withContiguousStorageIfAvailable { old in
      new.withContiguousStorageIfAvailable { new in
        merge(old, new, id: id, areEquivalent: areEquivalent)
      }
    }.flatMap { $0 }
    switch outcome {
    case .some(.none): return
    case .some(.some(let violation)): throw violation
    case .none: break
    }
    let violation = withoutActuallyEscaping(id) { id in
      collect(SortedDifference(from: old, to: new, sortedBy: id), areEquivalent: areEquivalent)
    }
    if let violation { throw violation }
  }

  /// Adds the changes of a walk. Returns the violation that ended it early, if any.
  @inlinable
  mutating func collect(
    _ walk: some Sequence<SortedChange<Element, Element>>,
    areEquivalent: (Element, Element) -> Bool
  ) -> IdentityViolation? {
    for change in walk {
      switch change {
      case .deleted(let element): deleted.append(element)
      case .inserted(let element): inserted.append(element)
      case .common(let old, let new):
        if !areEquivalent(old, new) { updated.append(Update(old: old, new: new)) }
      case .violation(let violation): return violation
      }
    }
    return nil
  }

  /// Walks over elements in memory. In equal runs, a step costs one comparison of elements and one
  /// of neighbouring identities, and only changes are copied.
  ///
  /// Identities are compared in place: storing them would cost a retain and a release. At each
  /// start of the loop, the elements at both cursors are known to follow their predecessors.
  @inlinable @inline(__always)
  mutating func merge<ID: Comparable>(
    _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
    id: (Element) -> ID, areEquivalent: (Element, Element) -> Bool
  ) -> IdentityViolation? {
    if let violation = violation(atStartOf: old, side: .old, id: id) { return violation }
    if let violation = violation(atStartOf: new, side: .new, id: id) { return violation }
    var i = 0
    var j = 0
    while i < old.count, j < new.count {
      if id(old[i]) == id(new[j]) {
        repeat {
          if !areEquivalent(old[i], new[j]) {
            updated.append(Update(old: old[i], new: new[j]))
          }
          i += 1
          j += 1
          if let violation = violation(in: old, at: i, side: .old, id: id) { return violation }
        } while i < old.count && j < new.count && id(old[i]) == id(new[j])
        // Within the run, the new version's identities are the old one's, which are checked.
        if let violation = violation(in: new, at: j, side: .new, id: id) { return violation }
      } else if id(old[i]) < id(new[j]) {
        deleted.append(old[i])
        i += 1
        if let violation = violation(in: old, at: i, side: .old, id: id) { return violation }
      } else if id(new[j]) < id(old[i]) {
        inserted.append(new[j])
        j += 1
        if let violation = violation(in: new, at: j, side: .new, id: id) { return violation }
      } else {
        return IdentityViolation(side: .new, offset: j, kind: .incomparable)
      }
    }
    while i < old.count {
      deleted.append(old[i])
      i += 1
      if let violation = violation(in: old, at: i, side: .old, id: id) { return violation }
    }
    while j < new.count {
      inserted.append(new[j])
      j += 1
      if let violation = violation(in: new, at: j, side: .new, id: id) { return violation }
    }
    return nil
  }

  /// Returns the violation of the first element, which has no predecessor to be compared with.
  @inlinable @inline(__always)
  func violation<ID: Comparable>(
    atStartOf elements: UnsafeBufferPointer<Element>, side: IdentityViolation.Side,
    id: (Element) -> ID
  ) -> IdentityViolation? {
    guard let first = elements.first, IdentityViolation.isIncomparable(id(first)) else {
      return nil
    }
    return IdentityViolation(side: side, offset: 0, kind: .incomparable)
  }

  /// Returns the violation of the element at `offset`, if there is one, in comparison with the one
  /// before.
  @inlinable @inline(__always)
  func violation<ID: Comparable>(
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

extension SetDifference where Element: Equatable {
  /// The difference from one version to another, both strictly ascending by identity.
  ///
  /// - Throws: ``IdentityViolation`` for the first element that is not in order.
  /// - Complexity: O(*n* + *m*) time in one pass; memory for the changes only.
  @inlinable @inline(__always)
  public init<ID: Comparable>(
    from old: some Sequence<Element>, to new: some Sequence<Element>, sortedBy id: (Element) -> ID
  ) throws(IdentityViolation) {
    try self.init(from: old, to: new, sortedBy: id, by: { $0 == $1 })
  }
}
