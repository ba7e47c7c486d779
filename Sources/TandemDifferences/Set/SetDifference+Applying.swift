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

extension SetDifference where Element: Equatable & Identifiable {
  /// Returns the new version, given the old one as a dictionary by `id`, or `nil` if this
  /// difference does not fit it. See ``applying(to:identifiedBy:)``.
  @inlinable
  public func applying(to elements: consuming [Element.ID: Element]) -> [Element.ID: Element]? {
    applying(to: elements, identifiedBy: { $0.id })
  }
}
