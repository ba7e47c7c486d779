extension SectionedListDifference {
  /// The difference as batches that a table or collection view can perform, one after the other.
  ///
  /// In one batch, the positions of deletions and updates and the origins of moves count in the
  /// list before it; the positions of insertions and the destinations of moves count in the list
  /// after it; see ``ListDifference/batches``. Views reject or mishandle some combinations in one
  /// batch: elements that move out of a section that is deleted or into one that is inserted,
  /// element changes in a section that moves or reloads, and an element that moves and reloads. So
  /// there are up to four batches. Empty batches are left out:
  ///
  /// 1. Sections are inserted, with the elements that are new, and moved.
  /// 2. Elements are deleted, inserted and moved, and those that do not move are updated.
  /// 3. Sections are deleted, with the elements left in them, and those with another header updated.
  /// 4. Elements that moved are updated.
  ///
  /// Each is a difference that ``applying(to:)`` applies to the model.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public var batches: [SectionedListDifference] {
    let middle = IntermediateSections(sections)
    let destinations = Set(moves.map(\.to))
    let batches = [
      SectionedListDifference(
        sorting: [], insertions: [], moves: [], updates: [], sections: middle.arrivals),
      elementChanges(
        in: middle, updates: updates.filter { !destinations.contains($0.newOffset) }),
      SectionedListDifference(
        sorting: [], insertions: [], moves: [], updates: [], sections: middle.departures),
      SectionedListDifference(
        sorting: [], insertions: [], moves: [],
        updates: updates.filter { destinations.contains($0.newOffset) }.map {
          Update(oldOffset: $0.newOffset, newOffset: $0.newOffset, old: $0.old, new: $0.new)
        },
        sections: ListDifference()),
    ]
    return batches.filter { !$0.isEmpty }
  }

  /// Returns the changes of elements in a list that has the sections of both lists.
  @inlinable
  func elementChanges(
    in middle: IntermediateSections<Section>, updates: [Update]
  ) -> SectionedListDifference {
    SectionedListDifference(
      sorting: deletions.map {
        Placement(offset: middle.offset(ofOld: $0.offset), element: $0.element)
      },
      insertions: insertions.map {
        Placement(offset: middle.offset(ofNew: $0.offset), element: $0.element)
      },
      moves: moves.map {
        Move(from: middle.offset(ofOld: $0.from), to: middle.offset(ofNew: $0.to))
      },
      updates: updates.map {
        Update(
          oldOffset: middle.offset(ofOld: $0.oldOffset),
          newOffset: middle.offset(ofNew: $0.newOffset), old: $0.old, new: $0.new)
      },
      sections: ListDifference())
  }
}
