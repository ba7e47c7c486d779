extension SetDifference {
  /// The difference from one version to another, both strictly ascending by identity.
  ///
  /// - Parameters:
  ///   - old: The version to start from.
  ///   - new: The version to arrive at.
  ///   - id: An element's identity: a key path or a closure.
  ///   - areEquivalent: Whether two elements of one identity have the same contents.
  /// - Throws: ``IdentityViolation`` for the first element found to break the order.
  /// - Complexity: O(*n* + *m*) time in one pass; memory for the changes only.
  @inlinable
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

  /// Adds the changes of a walk; returns what ended it early.
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

  /// The walk over elements in memory: equal runs cost one comparison of elements and one of
  /// neighbouring identities a step, and nothing is copied but changes.
  ///
  /// Both identities at the cursors have been checked against their predecessors.
  @inlinable
  mutating func merge<ID: Comparable>(
    _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
    id: (Element) -> ID, areEquivalent: (Element, Element) -> Bool
  ) -> IdentityViolation? {
    var i = 0
    var j = 0
    while i < old.count, j < new.count {
      let oldID = id(old[i])
      let newID = id(new[j])
      if oldID == newID {
        if !areEquivalent(old[i], new[j]) {
          updated.append(Update(old: old[i], new: new[j]))
        }
        i += 1
        j += 1
      } else if oldID < newID {
        deleted.append(old[i])
        i += 1
        if i < old.count, let kind = IdentityViolation.kind(of: id(old[i]), after: oldID) {
          return IdentityViolation(side: .old, offset: i, kind: kind)
        }
        continue
      } else if newID < oldID {
        inserted.append(new[j])
        j += 1
        if j < new.count, let kind = IdentityViolation.kind(of: id(new[j]), after: newID) {
          return IdentityViolation(side: .new, offset: j, kind: kind)
        }
        continue
      } else {
        let isOld = !(oldID == oldID)
        return IdentityViolation(
          side: isOld ? .old : .new, offset: isOld ? i : j, kind: .incomparable)
      }
      if i < old.count, let kind = IdentityViolation.kind(of: id(old[i]), after: oldID) {
        return IdentityViolation(side: .old, offset: i, kind: kind)
      }
      if j < new.count, let kind = IdentityViolation.kind(of: id(new[j]), after: newID) {
        return IdentityViolation(side: .new, offset: j, kind: kind)
      }
    }
    return rest(of: old, from: i, side: .old, id: id) { deleted.append($0) }
      ?? rest(of: new, from: j, side: .new, id: id) { inserted.append($0) }
  }

  /// Hands out the elements from `start` on, the first of which is already checked.
  @inlinable
  func rest<ID: Comparable>(
    of elements: UnsafeBufferPointer<Element>, from start: Int, side: IdentityViolation.Side,
    id: (Element) -> ID, append: (Element) -> Void
  ) -> IdentityViolation? {
    for offset in start..<max(start, elements.count) {
      if offset > start,
        let kind = IdentityViolation.kind(of: id(elements[offset]), after: id(elements[offset - 1]))
      {
        return IdentityViolation(side: side, offset: offset, kind: kind)
      }
      append(elements[offset])
    }
    return nil
  }
}

extension SetDifference where Element: Equatable {
  /// The difference from one version to another, both strictly ascending by identity.
  ///
  /// - Throws: ``IdentityViolation`` for the first element found to break the order.
  /// - Complexity: O(*n* + *m*) time in one pass; memory for the changes only.
  @inlinable
  public init<ID: Comparable>(
    from old: some Sequence<Element>, to new: some Sequence<Element>, sortedBy id: (Element) -> ID
  ) throws(IdentityViolation) {
    try self.init(from: old, to: new, sortedBy: id, by: { $0 == $1 })
  }
}
