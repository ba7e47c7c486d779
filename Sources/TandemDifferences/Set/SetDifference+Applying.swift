extension SetDifference where Element: Equatable {
  /// Returns the new version, given the old one as a dictionary by identity. Returns `nil` if this
  /// difference does not fit it, that is, if ``misfits(in:identifiedBy:)`` is not empty.
  ///
  /// - Complexity: O(*n* + *d*) for *n* elements and *d* changes; O(*d*) when `elements` is the
  ///   only reference to its storage and is consumed.
  @inlinable
  public func applying<ID: Hashable>(
    to elements: consuming [ID: Element], identifiedBy id: (Element) -> ID
  ) -> [ID: Element]? {
    guard misfits(in: elements, identifiedBy: id).isEmpty else { return nil }
    for element in deleted { elements[id(element)] = nil }
    for update in updated { elements[id(update.new)] = update.new }
    for element in inserted { elements[id(element)] = element }
    return elements
  }

  /// Returns the changes that do not fit `elements`:
  ///
  /// - insertions of an identity that `elements` has already;
  /// - updates and deletions of an element that `elements` does not have with these contents;
  /// - updates that change the identity;
  /// - of several changes of one identity, all but the first, where deletions come before updates,
  ///   and updates before insertions.
  ///
  /// - Complexity: O(*d*) for *d* changes.
  @inlinable
  public func misfits<ID: Hashable>(
    in elements: [ID: Element], identifiedBy id: (Element) -> ID
  ) -> SetDifference {
    var seen = Set<ID>()
    var misfits = SetDifference()
    for element in deleted {
      let identity = id(element)
      if elements[identity] != element || !seen.insert(identity).inserted {
        misfits.deleted.append(element)
      }
    }
    for update in updated {
      let identity = id(update.old)
      if elements[identity] != update.old || id(update.new) != identity
        || !seen.insert(identity).inserted
      {
        misfits.updated.append(update)
      }
    }
    for element in inserted {
      let identity = id(element)
      if elements[identity] != nil || !seen.insert(identity).inserted {
        misfits.inserted.append(element)
      }
    }
    return misfits
  }
}

extension SetDifference where Element: Equatable {
  /// Returns the new version, given the old one as an array. Returns `nil` if this difference does
  /// not fit it, or if two elements of the array have the same identity.
  ///
  /// Elements that stay keep their order, updated ones stand in the place of their old versions, and
  /// inserted ones follow at the end, in the order of ``inserted``: a set difference has no places for
  /// them. Use ``applying(toSorted:sortedBy:)`` to keep a list sorted, or a
  /// ``ListDifference`` where places matter.
  ///
  /// - Complexity: O(*n* + *d*) expected time for *n* elements and *d* changes.
  @inlinable
  public func applying<ID: Hashable>(
    toArray elements: [Element], identifiedBy id: (Element) -> ID
  ) -> [Element]? {
    let old = Dictionary(elements.map { (id($0), $0) }, uniquingKeysWith: { first, _ in first })
    guard old.count == elements.count, let new = applying(to: old, identifiedBy: id) else {
      return nil
    }
    var result: [Element] = []
    result.reserveCapacity(new.count)
    for element in elements {
      let identity = id(element)
      if IdentityViolation.isIncomparable(identity) { return nil }
      if let element = new[identity] { result.append(element) }
    }
    return result + inserted
  }

  /// Returns the new version, given the old one as an array that ascends strictly by identity; so does
  /// the result. Returns `nil` if this difference does not fit the array, or the array does not ascend.
  ///
  /// - Complexity: O(*n* + *d* log *d*) for *n* elements and *d* changes.
  @inlinable
  public func applying<ID: Comparable>(
    toSorted elements: [Element], sortedBy id: (Element) -> ID
  ) -> [Element]? {
    var changes: [(id: ID, change: SetChange<Element>)] = []
    var fits = true
    forEachChange { change in
      guard let identity = change.identity(id), !IdentityViolation.isIncomparable(identity) else {
        return fits = false
      }
      changes.append((identity, change))
    }
    guard fits else { return nil }
    changes.sort { $0.id < $1.id }
    let areDistinct = zip(changes, changes.dropFirst()).allSatisfy { $0.id < $1.id }
    guard areDistinct, elements.firstNotAscending(by: id) == nil else { return nil }
    var result: [Element] = []
    var rest = elements[...]
    for (identity, change) in changes {
      while let element = rest.first, id(element) < identity {
        result.append(element)
        rest.removeFirst()
      }
      let old = rest.first.flatMap { id($0) == identity ? $0 : nil }
      guard old == change.old else { return nil }
      if old != nil { rest.removeFirst() }
      if let new = change.new { result.append(new) }
    }
    return result + rest
  }
}

extension SetDifference where Element: Equatable & Identifiable {
  /// Returns the new version, given the old one as an array, by `id`, or `nil` if this difference does
  /// not fit it. See ``applying(toArray:identifiedBy:)``.
  @inlinable
  public func applying(toArray elements: [Element]) -> [Element]? {
    applying(toArray: elements, identifiedBy: { $0.id })
  }

  /// Returns the new version, given the old one as a dictionary by `id`, or `nil` if this
  /// difference does not fit it. See ``applying(to:identifiedBy:)``.
  @inlinable
  public func applying(to elements: consuming [Element.ID: Element]) -> [Element.ID: Element]? {
    applying(to: elements, identifiedBy: { $0.id })
  }
}
