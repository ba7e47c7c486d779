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

/// The sections of both lists: those of the new list in their order, and each deleted section right
/// behind the last section before it that stays.
@usableFromInline
struct IntermediateSections<Section> {
  @usableFromInline let sections: ListDifference<Section>
  @usableFromInline let layout: ListLayout
  /// The positions of the sections of the old list in the new one.
  @usableFromInline let destinations: ListOrigins
  /// For each deleted section, the number of sections before it that stay.
  @usableFromInline let stayCounts: [Int]

  @inlinable
  init(_ sections: ListDifference<Section>) {
    let layout = sections.layout
    self.sections = sections
    self.layout = layout
    destinations = ListOrigins(
      layout: ListLayout(ascendingRemoved: layout.placed, placed: layout.removed),
      moves: sections.moves.map { ListMove(from: $0.to, to: $0.from) })
    stayCounts = sections.deletions.map { deletion in
      deletion.offset - layout.removed.partitionIndex { $0 >= deletion.offset }
    }
  }

  /// Insertions and moves, before any section is deleted.
  @inlinable
  var arrivals: ListDifference<Section> {
    ListDifference(
      sortedDeletions: [],
      insertions: sections.insertions.map {
        ListPlacement(offset: section(ofNew: $0.offset), element: $0.element)
      },
      moves: sections.moves.map { ListMove(from: $0.from, to: section(ofNew: $0.to)) },
      updates: [])
  }

  /// Deletions, after all insertions and moves, and updates.
  @inlinable
  var departures: ListDifference<Section> {
    ListDifference(
      sortedDeletions: sections.deletions.indices.map {
        ListPlacement(offset: section(ofDeletion: $0), element: sections.deletions[$0].element)
      },
      insertions: [], moves: [],
      updates: sections.updates.map {
        ListUpdate(
          oldOffset: section(ofNew: $0.newOffset), newOffset: $0.newOffset, old: $0.old,
          new: $0.new)
      })
  }

  @inlinable
  func offset(ofOld offset: SectionedOffset) -> SectionedOffset {
    let section: Int
    if let destination = destinations[offset.section] {
      section = self.section(ofNew: destination)
    } else {
      section = self.section(
        ofDeletion: sections.deletions.partitionIndex { $0.offset >= offset.section })
    }
    return SectionedOffset(section: section, element: offset.element)
  }

  @inlinable
  func offset(ofNew offset: SectionedOffset) -> SectionedOffset {
    SectionedOffset(section: section(ofNew: offset.section), element: offset.element)
  }

  /// Returns the position of a section of the new list among the sections of both.
  @inlinable
  func section(ofNew offset: Int) -> Int {
    let stayCount = offset - layout.placed.partitionIndex { $0 >= offset }
    return offset + stayCounts.partitionIndex { $0 > stayCount }
  }

  /// Returns the position of a deleted section among the sections of both.
  @inlinable
  func section(ofDeletion index: Int) -> Int {
    let stayCount = stayCounts[index]
    return index + stayCount
      + layout.placed.indices.partitionIndex { layout.placed[$0] - $0 >= stayCount }
  }
}
