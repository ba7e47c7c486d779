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
