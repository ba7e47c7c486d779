extension SectionedListDifference where Header: Equatable, Element: Equatable {
  /// The difference from one sectioned list to another, with the fewest moves.
  ///
  /// Sections are paired by the identity of their headers, and elements by their own, in all
  /// sections. First come the elements that agree in step within one section. The rest is paired
  /// across all sections: the first of an identity with the first, the second with the second.
  /// ``ListDifference/init(from:to:identifiedBy:by:)`` says what is minimal, and what happens to
  /// duplicates.
  ///
  /// - Parameters:
  ///   - old: The list to start from.
  ///   - new: The list to arrive at.
  ///   - sectionID: A section's identity, from its header: a key path or a closure.
  ///   - id: An element's identity: a key path or a closure.
  ///   - areHeadersEquivalent: Returns true if two headers of one identity have the same contents.
  ///   - areEquivalent: Returns true if two elements of one identity have the same contents.
  /// - Complexity: O(*n* + *m* log *m*) expected time for *m* elements that are kept but not in
  ///   step.
  @inlinable
  public init<SectionID: Hashable, ID: Hashable>(
    from old: [Section], to new: [Section],
    sectionsIdentifiedBy sectionID: (Header) -> SectionID,
    elementsIdentifiedBy id: (Element) -> ID,
    headersBy areHeadersEquivalent: (Header, Header) -> Bool = { $0 == $1 },
    elementsBy areEquivalent: (Element, Element) -> Bool = { $0 == $1 }
  ) {
    let sections = ListDifference<Section>(
      from: old, to: new, identifiedBy: { sectionID($0.header) },
      comparedBy: { areHeadersEquivalent($0.header, $1.header) })
    let origins = ListOrigins(layout: sections.layout, moves: sections.moves)
    let pairing = SectionPairing(
      old: FlattenedSections(old), new: FlattenedSections(new),
      origins: new.indices.map { origins[$0] }, id: id, areEquivalent: areEquivalent)
    self.init(pairing, sections: sections)
  }
}

extension SectionedListDifference {
  /// Separates the changes of elements in inserted or deleted sections from the others.
  @inlinable
  init(_ pairing: SectionPairing<Element>, sections: ListDifference<Section>) {
    let (old, new) = (pairing.old, pairing.new)
    var deletions = Dictionary(grouping: pairing.matching.deletions) {
      old.sectionedOffset(of: $0).section
    }
    var insertions = Dictionary(grouping: pairing.matching.insertions) {
      new.sectionedOffset(of: $0).section
    }
    let sectionDeletions = sections.deletions.map { section in
      let offsets = deletions.removeValue(forKey: section.offset) ?? []
      return section.replacingElements(by: offsets.map { old.elements[$0] })
    }
    let sectionInsertions = sections.insertions.map { section in
      let offsets = insertions.removeValue(forKey: section.offset) ?? []
      return section.replacingElements(by: offsets.map { new.elements[$0] })
    }
    self.init(
      sorting: deletions.values.joined().map {
        Placement(offset: old.sectionedOffset(of: $0), element: old.elements[$0])
      },
      insertions: insertions.values.joined().map {
        Placement(offset: new.sectionedOffset(of: $0), element: new.elements[$0])
      },
      moves: pairing.moves().map {
        Move(from: old.sectionedOffset(of: $0.from), to: new.sectionedOffset(of: $0.to))
      },
      updates: pairing.matching.updates.map {
        Update(
          oldOffset: old.sectionedOffset(of: $0.from), newOffset: new.sectionedOffset(of: $0.to),
          old: old.elements[$0.from], new: new.elements[$0.to])
      },
      sections: ListDifference(
        sortedDeletions: sectionDeletions, insertions: sectionInsertions, moves: sections.moves,
        updates: sections.updates.map {
          ListUpdate(
            oldOffset: $0.oldOffset, newOffset: $0.newOffset,
            old: Section(header: $0.old.header, elements: []),
            new: Section(header: $0.new.header, elements: []))
        }))
  }
}

extension ListPlacement where Offset == Int {
  @inlinable
  func replacingElements<Header, Item>(by elements: [Item]) -> ListPlacement
  where Element == ListSection<Header, Item> {
    ListPlacement(offset: offset, element: Element(header: element.header, elements: elements))
  }
}

extension SectionedListDifference
where Header: Equatable & Identifiable, Element: Equatable & Identifiable {
  /// The difference from one sectioned list to another by `id`, with the fewest moves. Unequal
  /// headers and elements are updated.
  @inlinable
  public init(from old: [Section], to new: [Section]) {
    self.init(
      from: old, to: new, sectionsIdentifiedBy: { $0.id }, elementsIdentifiedBy: { $0.id })
  }
}
