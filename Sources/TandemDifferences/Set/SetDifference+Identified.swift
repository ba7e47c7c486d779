extension SetDifference {
  /// The difference from one version to another, in whatever order their elements are.
  ///
  /// Elements that kept their order, most of them, usually, are paired by walking both versions in
  /// step; a hash table pairs the rest. Use ``init(from:to:sortedBy:)`` where both versions are
  /// sorted: it needs no hash at all.
  ///
  /// - Parameters:
  ///   - old: The version to start from.
  ///   - new: The version to arrive at.
  ///   - id: An element's identity: a key path or a closure.
  ///   - areEquivalent: Whether two elements of one identity have the same contents.
  /// - Throws: ``IdentityViolation`` if two elements of one version have the same identity, or one
  ///   has an identity that does not equal itself, as NaN.
  /// - Complexity: O(*n* + *m*) expected time; memory for one table of 16 bytes per element of `old`.
  @inlinable
  public init<ID: Hashable>(
    from old: [Element], to new: [Element], identifiedBy id: (Element) -> ID,
    by areEquivalent: (Element, Element) -> Bool
  ) throws(IdentityViolation) {
    self.init()
    let violation = old.withUnsafeBufferPointer { old in
      new.withUnsafeBufferPointer { new in
        join(old, new, id: id, areEquivalent: areEquivalent)
      }
    }
    if let violation { throw violation }
  }

  /// Pairs the elements of both versions and keeps the changes.
  @inlinable
  mutating func join<ID: Hashable>(
    _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
    id: (Element) -> ID, areEquivalent: (Element, Element) -> Bool
  ) -> IdentityViolation? {
    let steps = StepMatching(
      oldCount: old.count, newCount: new.count,
      isSame: { id(old[$0]) == id(new[$1]) },
      isEquivalent: { areEquivalent(old[$0], new[$1]) })
    let index = IdentityIndex(capacity: old.count)
    for offset in old.indices {
      let identity = id(old[offset])
      guard identity == identity else {
        return IdentityViolation(side: .old, offset: offset, kind: .incomparable)
      }
      let earlier = index.insert(
        offset, hash: identity.hashValue, unless: { id(old[$0]) == identity })
      if earlier != nil { return IdentityViolation(side: .old, offset: offset, kind: .duplicate) }
    }
    var isOpen = [Bool](repeating: false, count: old.count)
    for offset in steps.unmatchedOld { isOpen[offset] = true }
    var insertions: [Int] = []
    var updates = steps.updates[...]
    for offset in steps.unmatchedNew {
      while let update = updates.first, update.new < offset {
        updated.append(Update(old: old[update.old], new: new[update.new]))
        updates.removeFirst()
      }
      let identity = id(new[offset])
      guard identity == identity else {
        return IdentityViolation(side: .new, offset: offset, kind: .incomparable)
      }
      let hash = identity.hashValue
      guard let match = index.offset(hash: hash, where: { id(old[$0]) == identity }) else {
        insertions.append(offset)
        continue
      }
      guard isOpen[match] else {
        return IdentityViolation(side: .new, offset: offset, kind: .duplicate)
      }
      isOpen[match] = false
      if !areEquivalent(old[match], new[offset]) {
        updated.append(Update(old: old[match], new: new[offset]))
      }
    }
    for update in updates {
      updated.append(Update(old: old[update.old], new: new[update.new]))
    }
    for offset in steps.unmatchedOld where isOpen[offset] { deleted.append(old[offset]) }
    return insert(new, at: insertions, id: id)
  }

  /// Adds the elements at the given offsets as insertions, unless two have one identity.
  @inlinable
  mutating func insert<ID: Hashable>(
    _ new: UnsafeBufferPointer<Element>, at offsets: [Int], id: (Element) -> ID
  ) -> IdentityViolation? {
    let index = IdentityIndex(capacity: offsets.count)
    inserted.reserveCapacity(offsets.count)
    for offset in offsets {
      let identity = id(new[offset])
      let earlier = index.insert(
        offset, hash: identity.hashValue, unless: { id(new[$0]) == identity })
      if earlier != nil { return IdentityViolation(side: .new, offset: offset, kind: .duplicate) }
      inserted.append(new[offset])
    }
    return nil
  }
}

extension SetDifference where Element: Equatable {
  /// The difference from one version to another, in whatever order their elements are.
  ///
  /// - Throws: ``IdentityViolation`` if two elements of one version have the same identity, or one
  ///   has an identity that does not equal itself, as NaN.
  /// - Complexity: O(*n* + *m*) expected time.
  @inlinable
  public init<ID: Hashable>(
    from old: [Element], to new: [Element], identifiedBy id: (Element) -> ID
  ) throws(IdentityViolation) {
    try self.init(from: old, to: new, identifiedBy: id, by: { $0 == $1 })
  }
}

extension SetDifference where Element: Equatable & Identifiable {
  /// The difference from one version to another, in whatever order their elements are, by `id`.
  ///
  /// - Throws: ``IdentityViolation`` if two elements of one version have the same identity, or one
  ///   has an identity that does not equal itself, as NaN.
  /// - Complexity: O(*n* + *m*) expected time.
  @inlinable
  public init(from old: [Element], to new: [Element]) throws(IdentityViolation) {
    try self.init(from: old, to: new, identifiedBy: { $0.id }, by: { $0 == $1 })
  }
}
