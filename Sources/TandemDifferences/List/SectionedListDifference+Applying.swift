extension SectionedListDifference {
  /// Returns the new list, given the old one, or `nil` if this difference does not fit it: a
  /// position is out of bounds, or a section or element to be deleted or updated has other
  /// contents.
  ///
  /// - Complexity: O(*n* + *d* log *d*) for *n* sections and elements and *d* changes.
  @inlinable
  public func applying(
    to old: [Section], headersBy areHeadersEquivalent: (Header, Header) -> Bool,
    elementsBy areEquivalent: (Element, Element) -> Bool
  ) -> [Section]? {
    let layouts = SectionLayouts(self)
    guard
      let stayCount = sections.layout.stayCount(oldCount: old.count),
      fits(old, layouts: layouts, areHeadersEquivalent, areEquivalent),
      var result = assemble(
        old, newCount: stayCount + sections.layout.placed.count, layouts: layouts)
    else { return nil }
    for update in sections.updates {
      guard result.indices.contains(update.newOffset),
        areHeadersEquivalent(result[update.newOffset].header, update.old.header)
      else { return nil }
      result[update.newOffset].header = update.new.header
    }
    for update in updates {
      let (section, element) = (update.newOffset.section, update.newOffset.element)
      guard result.indices.contains(section), result[section].elements.indices.contains(element),
        areEquivalent(result[section].elements[element], update.old)
      else { return nil }
      result[section].elements[element] = update.new
    }
    return result
  }

  /// Returns true if `old` has everything that is deleted or moved, with the contents in this
  /// difference.
  @inlinable
  func fits(
    _ old: [Section], layouts: SectionLayouts,
    _ areHeadersEquivalent: (Header, Header) -> Bool, _ areEquivalent: (Element, Element) -> Bool
  ) -> Bool {
    let isInside = layouts.removed.allSatisfy { section, elements in
      old.indices.contains(section) && elements.allSatisfy(old[section].elements.indices.contains)
    }
    guard isInside else { return false }
    let deletionsFit = deletions.allSatisfy {
      areEquivalent(old[$0.offset.section].elements[$0.offset.element], $0.element)
    }
    return deletionsFit
      && sections.deletions.allSatisfy { deletion in
        let section = old[deletion.offset]
        let layout = layouts.layout(old: deletion.offset, new: nil)
        let stays = layout.stays(count: section.elements.count - layout.removed.count)
        let left = stays.flatMap { section.elements[$0.old..<$0.old + $0.count] }
        return areHeadersEquivalent(section.header, deletion.element.header)
          && left.elementsEqual(deletion.element.elements, by: areEquivalent)
      }
  }

  /// Returns the new list before updates, or `nil` if an element is placed beyond the end of a
  /// section or of the list.
  @inlinable
  func assemble(
    _ old: [Section], newCount: Int, layouts: SectionLayouts
  ) -> [Section]? {
    let inserted = Dictionary(
      uniqueKeysWithValues: sections.insertions.map { ($0.offset, $0.element) })
    let origins = ListOrigins(layout: sections.layout, moves: sections.moves)
    let placements = Dictionary(grouping: placements(from: old), by: \.offset.section)
    guard placements.keys.allSatisfy({ $0 < newCount }) else { return nil }
    var result: [Section] = []
    result.reserveCapacity(newCount)
    for offset in 0..<newCount {
      let origin = origins[offset]
      guard var section = inserted[offset] ?? origin.map({ old[$0] }) else { return nil }
      let layout = layouts.layout(old: origin, new: offset)
      guard let stayCount = layout.stayCount(oldCount: section.elements.count) else { return nil }
      section.elements = layout.assemble(
        stays: layout.stays(count: stayCount), of: section.elements,
        placing: (placements[offset] ?? []).map {
          ListPlacement(offset: $0.offset.element, element: $0.element)
        })
      result.append(section)
    }
    return result
  }

  /// Returns inserted and moved elements, ascending in the new list.
  @inlinable
  func placements(from old: [Section]) -> [Placement] {
    let moved = moves.map {
      Placement(offset: $0.to, element: old[$0.from.section].elements[$0.from.element])
    }
    return (insertions + moved).sorted { $0.offset < $1.offset }
  }
}

extension SectionedListDifference where Header: Equatable, Element: Equatable {
  /// Returns the new list, given the old one, or `nil` if this difference does not fit it: a
  /// position is out of bounds, or a section or element to be deleted or updated has other
  /// contents.
  ///
  /// - Complexity: O(*n* + *d* log *d*) for *n* sections and elements and *d* changes.
  @inlinable
  public func applying(to old: [Section]) -> [Section]? {
    applying(to: old, headersBy: { $0 == $1 }, elementsBy: { $0 == $1 })
  }
}
