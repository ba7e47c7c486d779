extension SetDifference {
  /// The difference from one version to another, both strictly ascending by identity, of elements that
  /// need not be `Equatable`.
  @inlinable @inline(__always)
  package init<ID: Comparable, Old: Sequence<Element>, New: Sequence<Element>>(
    from old: Old, to new: New, sortedBy id: (Element) -> ID,
    comparedBy areEquivalent: (Element, Element) -> Bool
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
      var walk = SortedDifference<Old, New, ID>.Iterator(
        old: old.makeIterator(), new: new.makeIterator(), oldID: id, newID: id)
      return collect(&walk, areEquivalent: areEquivalent)
    }
    if let violation { throw violation }
  }

  /// Adds the changes of a walk. Returns the violation that ended it early, if any.
  @inlinable
  mutating func collect(
    _ walk: inout some IteratorProtocol<SortedChange<Element, Element>>,
    areEquivalent: (Element, Element) -> Bool
  ) -> IdentityViolation? {
    while let change = walk.next() {
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

  /// The walk over elements in memory, which copies nothing but changes.
  @inlinable @inline(__always)
  mutating func merge<ID: Comparable>(
    _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
    id: (Element) -> ID, areEquivalent: (Element, Element) -> Bool
  ) -> IdentityViolation? {
    SortedRuns.walk(
      old, identifiedBy: id, new, identifiedBy: id,
      deleted: { deleted.append(old[$0]) }, inserted: { inserted.append(new[$0]) },
      common: { old, new in
        if !areEquivalent(old.pointee, new.pointee) {
          updated.append(Update(old: old.pointee, new: new.pointee))
        }
      })
  }
}

extension SetDifference where Element: Equatable {
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
    by areEquivalent: (Element, Element) -> Bool = { $0 == $1 }
  ) throws(IdentityViolation) {
    try self.init(from: old, to: new, sortedBy: id, comparedBy: areEquivalent)
  }
}
