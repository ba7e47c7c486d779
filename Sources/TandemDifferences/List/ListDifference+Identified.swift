extension ListDifference {
  /// The difference from one list to another, of elements that need not be `Equatable`.
  @inlinable @inline(__always)
  package init<ID: Hashable>(
    from old: [Element], to new: [Element], identifiedBy id: (Element) -> ID,
    comparedBy areEquivalent: (Element, Element) -> Bool
  ) {
    self = old.withUnsafeBufferPointer { old in
      new.withUnsafeBufferPointer { new in
        ListDifference(old, new, id: id, areEquivalent: areEquivalent)
      }
    }
  }

  @inlinable @inline(__always)
  init<ID: Hashable>(
    _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
    id: (Element) -> ID, areEquivalent: (Element, Element) -> Bool
  ) {
    let steps = StepWalk(old, new, id: id, isEquivalent: areEquivalent)
    let matching = ListMatching(old, new, steps: steps, id: id, areEquivalent: areEquivalent)
    self.init(
      sortedDeletions: Placement.placements(of: old, at: matching.deletions),
      insertions: Placement.placements(of: new, at: matching.insertions),
      moves: [Move](fewestFor: steps.runs, and: matching.pairs) { matching.pairsByOrigin },
      updates: matching.updates.map {
        Update(oldOffset: $0.from, newOffset: $0.to, old: old[$0.from], new: new[$0.to])
      })
  }
}

extension ListDifference where Element: Equatable {
  /// The difference from one list to another, with the fewest moves.
  ///
  /// Both lists are walked in step while their identities agree, skipping nearby insertions and
  /// deletions. Only elements left over are hashed and looked up by identity.
  ///
  /// **Minimal.** If no list has an identity twice, the kept elements are determined, and no
  /// shorter sequence of moves than ``moves`` puts them into the new order.
  ///
  /// **Duplicates.** An identity may occur more than once. Elements that agree in step are pairs.
  /// Of the others, the first in the old list is paired with the first in the new one, the second
  /// with the second, and so on; a surplus is deleted or inserted. So as many elements as possible
  /// are kept, and the number of moves is minimal for that pairing. An identity that does not equal
  /// itself, as NaN, is never kept.
  ///
  /// The same lists always give the same difference.
  ///
  /// - Parameters:
  ///   - old: The list to start from.
  ///   - new: The list to arrive at.
  ///   - id: An element's identity: a key path or a closure.
  ///   - areEquivalent: Returns true if two elements of one identity have the same contents.
  /// - Complexity: O(*n* + *m* log *m*) expected time for *m* elements that are kept but not in
  ///   step.
  @inlinable @inline(__always)
  public init<ID: Hashable>(
    from old: [Element], to new: [Element], identifiedBy id: (Element) -> ID,
    by areEquivalent: (Element, Element) -> Bool = { $0 == $1 }
  ) {
    self.init(from: old, to: new, identifiedBy: id, comparedBy: areEquivalent)
  }
}

extension ListDifference where Element: Equatable & Identifiable {
  /// The difference from one list to another by `id`, with the fewest moves. Unequal elements are
  /// updated. See ``init(from:to:identifiedBy:by:)``.
  @inlinable @inline(__always)
  public init(from old: [Element], to new: [Element]) {
    self.init(from: old, to: new, identifiedBy: { $0.id })
  }
}
