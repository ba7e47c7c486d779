extension SetDifference where Element: Equatable {
  /// Returns one difference for this one followed by `next`, or `nil` if `next` cannot follow.
  ///
  /// `next` can follow if it starts from the elements as this difference leaves them. So it must
  /// not insert an identity that this one inserted or updated, must not delete or update an
  /// identity that this one deleted, and must update or delete exactly the version that this one
  /// produced. Neither difference may change an identity twice, or update an element to another
  /// identity.
  ///
  /// If both change an identity:
  ///
  /// | this one | `next` | together |
  /// |---|---|---|
  /// | inserts *b* | updates *b* to *c* | insert *c* |
  /// | inserts *b* | deletes *b* | nothing |
  /// | updates *a* to *b* | updates *b* to *c* | update *a* to *c*; nothing if they are equal |
  /// | updates *a* to *b* | deletes *b* | delete *a* |
  /// | deletes *a* | inserts *c* | update *a* to *c*; nothing if they are equal |
  ///
  /// **Laws.** Applying the result equals applying both in turn. A difference composed with its
  /// ``inverted`` is empty. Composed with an empty difference, before or after, it is unchanged.
  /// Composition is associative, except for the order within the arrays.
  ///
  /// **Order.** Identities that this difference changes come first, in the order of ``deleted``,
  /// ``updated`` and ``inserted``; then those that only `next` changes, in its order.
  ///
  /// - Complexity: O(*n* + *m*) expected time and memory, for *n* and *m* changes.
  @inlinable
  public func composed<ID: Hashable>(
    with next: SetDifference, identifiedBy id: (Element) -> ID
  ) -> SetDifference? {
    guard changesByIdentity(id) != nil, var following = next.changesByIdentity(id)
    else { return nil }
    var composed = SetDifference()
    var fits = true
    forEachChange { change in
      guard let identity = change.identity(id) else { return }
      let after = following.removeValue(forKey: identity)
      fits = fits && (after == nil || after?.old == change.new)
      composed.append(old: change.old, new: after == nil ? change.new : after?.new)
    }
    next.forEachChange { change in
      guard let identity = change.identity(id), following[identity] != nil else { return }
      composed.append(old: change.old, new: change.new)
    }
    return fits ? composed : nil
  }

  /// Returns the changes by identity, or `nil` if an identity is changed twice or an update leads
  /// to another identity.
  @inlinable
  func changesByIdentity<ID: Hashable>(_ id: (Element) -> ID) -> [ID: SetChange<Element>]? {
    var changes: [ID: SetChange<Element>] = [:]
    changes.reserveCapacity(count)
    var areConsistent = true
    forEachChange { change in
      guard let identity = change.identity(id),
        changes.updateValue(change, forKey: identity) == nil
      else { return areConsistent = false }
    }
    return areConsistent ? changes : nil
  }
}

extension SetDifference where Element: Equatable & Identifiable {
  /// Returns one difference for this one followed by `next`, by `id`, or `nil` if `next` cannot
  /// follow. See ``composed(with:identifiedBy:)``.
  @inlinable
  public func composed(with next: SetDifference) -> SetDifference? {
    composed(with: next, identifiedBy: { $0.id })
  }
}

extension SetChange {
  /// The element before the change; `nil` if there was none.
  @inlinable
  var old: Element? {
    switch self {
    case .inserted: nil
    case .updated(let old, _): old
    case .deleted(let element): element
    }
  }

  /// The element after the change; `nil` if there is none.
  @inlinable
  var new: Element? {
    switch self {
    case .inserted(let element): element
    case .updated(_, let new): new
    case .deleted: nil
    }
  }

  /// The identity of the element that is changed; `nil` if an update leads to another identity.
  @inlinable
  func identity<ID: Equatable>(_ id: (Element) -> ID) -> ID? {
    switch self {
    case .inserted(let element), .deleted(let element): return id(element)
    case .updated(let old, let new):
      let identity = id(old)
      return id(new) == identity ? identity : nil
    }
  }
}
