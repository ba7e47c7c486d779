extension ListDifference where Element: Equatable {
  /// Creates the list difference that has the same effect as a difference of the standard library.
  /// Returns `nil` if an offset is greater than a quarter of `Int.max`.
  ///
  /// A removal and an insertion that are associated with each other become one kept element. It is
  /// moved only if necessary, and updated if the two are not equivalent. Call `inferringMoves()`
  /// first to associate equal elements.
  ///
  /// - Parameters:
  ///   - difference: A difference between two lists.
  ///   - areEquivalent: Returns true if a removed element and an inserted one are equal.
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public init?(
    _ difference: CollectionDifference<Element>,
    by areEquivalent: (Element, Element) -> Bool = { $0 == $1 }
  ) {
    var removed: [Int: Element] = [:]
    var deletions: [Placement] = []
    for case .remove(let offset, let element, let destination) in difference.removals {
      removed[offset] = element
      if destination == nil { deletions.append(Placement(offset: offset, element: element)) }
    }
    var insertions: [Placement] = []
    var pairs: [Move] = []
    var updates: [Update] = []
    for case .insert(let offset, let element, let origin) in difference.insertions {
      guard let origin, let old = removed[origin] else {
        insertions.append(Placement(offset: offset, element: element))
        continue
      }
      pairs.append(Move(from: origin, to: offset))
      if !areEquivalent(old, element) {
        updates.append(Update(oldOffset: origin, newOffset: offset, old: old, new: element))
      }
    }
    let layout = ListLayout(
      removed: difference.removals.map(\.offset), placed: difference.insertions.map(\.offset))
    guard layout.isValid else { return nil }
    let stays = layout.stays(count: ListLayout.maxOffset)
    self.init(
      deletions: deletions, insertions: insertions,
      moves: [Move](fewestFor: stays, and: pairs), updates: updates)
  }
}

extension CollectionDifference {
  /// Creates the difference of the standard library that has the same effect on `old` as a list
  /// difference. Returns `nil` if an offset is out of bounds.
  ///
  /// A deletion becomes a removal. A moved or updated element becomes a removal and an insertion that
  /// are associated with each other.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public init?(_ difference: ListDifference<ChangeElement>, from old: [ChangeElement]) {
    guard difference.layout.stayCount(oldCount: old.count) != nil else { return nil }
    var changes: [Change] = []
    for deletion in difference.deletions {
      changes.append(
        .remove(offset: deletion.offset, element: deletion.element, associatedWith: nil))
    }
    for insertion in difference.insertions {
      changes.append(
        .insert(offset: insertion.offset, element: insertion.element, associatedWith: nil))
    }
    let updated = Set(difference.updates.map(\.newOffset))
    for move in difference.moves where !updated.contains(move.to) {
      let element = old[move.from]
      changes.append(.remove(offset: move.from, element: element, associatedWith: move.to))
      changes.append(.insert(offset: move.to, element: element, associatedWith: move.from))
    }
    for update in difference.updates {
      guard update.oldOffset < old.count else { return nil }
      changes.append(
        .remove(offset: update.oldOffset, element: update.old, associatedWith: update.newOffset))
      changes.append(
        .insert(offset: update.newOffset, element: update.new, associatedWith: update.oldOffset))
    }
    self.init(changes)
  }
}

extension CollectionDifference.Change {
  /// The offset of the change.
  @inlinable
  var offset: Int {
    switch self {
    case .remove(let offset, _, _), .insert(let offset, _, _): offset
    }
  }
}
