extension SetDiffer {
  /// Returns the difference from the last snapshot to `snapshot`, in presented elements. Without a
  /// last snapshot, all of them are inserted.
  ///
  /// - Parameters:
  ///   - snapshot: The current sources, in any order.
  ///   - onInsert: Makes the presented element of a new source.
  ///   - onUpdate: Makes the presented element of a changed source, given the present one: the same
  ///     object with new contents, or another object.
  /// - Returns: Deletions in the order of the last snapshot; updates and insertions in the order of
  ///   the new one. The closures are called in that order, first for all updates.
  /// - Throws: ``SetDifferError`` if two sources have the same identity, if an identity does not
  ///   equal itself, as NaN, or if a closure returns an element of another identity.
  /// - Complexity: O(*n* + *m*) expected time for *n* and *m* sources in both snapshots.
  @inlinable
  public mutating func difference(
    to snapshot: [Source], onInsert: (Source) -> Presented,
    onUpdate: (_ presented: Presented, _ source: Source) -> Presented
  ) throws(SetDifferError) -> SetDifference<Presented> {
    let changes: SetDifference<Source>
    do {
      changes = try SetDifference(from: sources ?? [], to: snapshot, identifiedBy: sourceID)
    } catch {
      throw .identity(error)
    }
    return try advance(by: changes, to: snapshot, onInsert: onInsert, onUpdate: onUpdate)
  }

  /// Returns the difference from the last snapshot to `snapshot`, both strictly ascending by
  /// identity. No snapshot is hashed. See ``difference(to:onInsert:onUpdate:)``.
  ///
  /// - Throws: ``SetDifferError`` if the new or the last snapshot is out of order, or if a closure
  ///   returns an element of another identity.
  /// - Complexity: O(*n* + *m*) time in one pass, with one hash for each change.
  @inlinable
  public mutating func difference(
    toSorted snapshot: [Source], onInsert: (Source) -> Presented,
    onUpdate: (_ presented: Presented, _ source: Source) -> Presented
  ) throws(SetDifferError) -> SetDifference<Presented> where ID: Comparable {
    let changes: SetDifference<Source>
    do {
      changes = try SetDifference(from: sources ?? [], to: snapshot, sortedBy: sourceID)
    } catch {
      throw .identity(error)
    }
    return try advance(by: changes, to: snapshot, onInsert: onInsert, onUpdate: onUpdate)
  }
}

extension SetDiffer where Source == Presented {
  /// Returns the difference from the last snapshot to `snapshot`, in any order. Without a last
  /// snapshot, all elements are inserted. See ``difference(to:onInsert:onUpdate:)``.
  @inlinable
  public mutating func difference(
    to snapshot: [Source],
    onUpdate: (_ presented: Presented, _ source: Source) -> Presented = { $1 }
  ) throws(SetDifferError) -> SetDifference<Presented> {
    try difference(to: snapshot, onInsert: { $0 }, onUpdate: onUpdate)
  }

  /// Returns the difference from the last snapshot to `snapshot`, both strictly ascending by
  /// identity. See ``difference(toSorted:onInsert:onUpdate:)``.
  @inlinable
  public mutating func difference(
    toSorted snapshot: [Source],
    onUpdate: (_ presented: Presented, _ source: Source) -> Presented = { $1 }
  ) throws(SetDifferError) -> SetDifference<Presented> where ID: Comparable {
    try difference(toSorted: snapshot, onInsert: { $0 }, onUpdate: onUpdate)
  }
}

extension SetDiffer {
  /// Turns the changes into presented elements, and stores the new state unless an identity
  /// changes.
  @inlinable
  mutating func advance(
    by changes: SetDifference<Source>, to snapshot: [Source],
    onInsert: (Source) -> Presented, onUpdate: (Presented, Source) -> Presented
  ) throws(SetDifferError) -> SetDifference<Presented> {
    var difference = SetDifference<Presented>()
    difference.deleted = changes.deleted.map { presentedElement(for: $0) }
    for update in changes.updated {
      let old = presentedElement(for: update.new)
      let new = onUpdate(old, update.new)
      try check(new, standsFor: update.new, in: snapshot)
      difference.updated.append(.init(old: old, new: new))
    }
    for source in changes.inserted {
      let element = onInsert(source)
      try check(element, standsFor: source, in: snapshot)
      difference.inserted.append(element)
    }
    for source in changes.deleted { elements[sourceID(source)] = nil }
    for update in difference.updated { elements[presentedID(update.new)] = update.new }
    for element in difference.inserted { elements[presentedID(element)] = element }
    sources = snapshot
    return difference
  }

  @inlinable
  func presentedElement(for source: Source) -> Presented {
    guard let element = elements[sourceID(source)] else {
      preconditionFailure("a source has changed its identity since its snapshot was taken")
    }
    return element
  }

  @inlinable
  func check(
    _ element: Presented, standsFor source: Source, in snapshot: [Source]
  ) throws(SetDifferError) {
    let identity = sourceID(source)
    guard presentedID(element) != identity else { return }
    let offset = snapshot.firstIndex { sourceID($0) == identity } ?? 0
    throw .changedIdentity(offset: offset)
  }
}
