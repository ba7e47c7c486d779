extension SectionedListDifference {
  /// Creates a difference from the given changes, in any order. Returns `nil` if they contradict
  /// each other.
  ///
  /// Changes contradict each other if they use a position twice or one that cannot exist, if an
  /// element is deleted from a deleted section or inserted into an inserted one, or if the two
  /// positions of an update do not belong to one kept element.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public init?(
    sections: ListDifference<Section>, deletions: [Placement] = [], insertions: [Placement] = [],
    moves: [Move] = [], updates: [Update] = []
  ) {
    self.init(
      sorting: deletions, insertions: insertions, moves: moves, updates: updates,
      sections: sections)
    let removed = deletions.map(\.offset) + moves.map(\.from)
    let placed = insertions.map(\.offset) + moves.map(\.to)
    guard
      Self.isPossible(removed, sections: sections.deletions, banned: deletions.map(\.offset)),
      Self.isPossible(placed, sections: sections.insertions, banned: insertions.map(\.offset)),
      updatesMatchKeptElements
    else { return nil }
  }

  /// Returns true if offsets occur at most once and leave no gap behind the elements of `sections`,
  /// and if none of those sections is in `banned`.
  @inlinable
  static func isPossible(
    _ offsets: [SectionedOffset], sections: [ListPlacement<Int, Section>],
    banned: [SectionedOffset]
  ) -> Bool {
    let bySection = Dictionary(grouping: offsets, by: \.section).mapValues { $0.map(\.element) }
    let isValid = bySection.allSatisfy { section, elements in
      (0...ListLayout.maxOffset).contains(section)
        && ListLayout(removed: elements, placed: []).isValid
    }
    guard isValid else { return false }
    let bannedSections = Set(banned.map(\.section))
    return sections.allSatisfy { section in
      let elements = bySection[section.offset] ?? []
      return !bannedSections.contains(section.offset)
        && (elements.max() ?? -1) < section.element.elements.count + elements.count
    }
  }

  /// True if each update is of an element that is moved between its positions, or stays at them.
  @inlinable
  var updatesMatchKeptElements: Bool {
    let sectionOrigins = ListOrigins(layout: sections.layout, moves: sections.moves)
    let origins = Dictionary(uniqueKeysWithValues: moves.map { ($0.to, $0.from) })
    let layouts = SectionLayouts(self)
    var previous = SectionedOffset(section: 0, element: -1)
    return updates.allSatisfy { update in
      defer { previous = update.newOffset }
      let (section, element) = (update.newOffset.section, update.newOffset.element)
      guard previous < update.newOffset, section <= ListLayout.maxOffset,
        (0...ListLayout.maxOffset).contains(element)
      else { return false }
      if let origin = origins[update.newOffset] { return origin == update.oldOffset }
      guard let oldSection = sectionOrigins[section] else { return false }
      let oldElement = layouts.layout(old: oldSection, new: section).oldOffset(ofStayAt: element)
      return update.oldOffset.section == oldSection && update.oldOffset.element == oldElement
    }
  }
}

/// The offsets that do not stay, by section.
@usableFromInline
struct SectionLayouts {
  /// By section of the old list, the offsets whose elements are deleted or moved.
  @usableFromInline let removed: [Int: [Int]]
  /// By section of the new list, the offsets whose elements are inserted or moved.
  @usableFromInline let placed: [Int: [Int]]

  @inlinable
  init<Header, Element>(_ difference: SectionedListDifference<Header, Element>) {
    let removed = difference.deletions.map(\.offset) + difference.moves.map(\.from)
    let placed = difference.insertions.map(\.offset) + difference.moves.map(\.to)
    self.removed = Dictionary(grouping: removed, by: \.section).mapValues { $0.map(\.element) }
    self.placed = Dictionary(grouping: placed, by: \.section).mapValues { $0.map(\.element) }
  }

  /// Returns the layout of a section from its number in either list, of which one may be `nil`.
  @inlinable
  func layout(old: Int?, new: Int?) -> ListLayout {
    ListLayout(removed: old.flatMap { removed[$0] } ?? [], placed: new.flatMap { placed[$0] } ?? [])
  }
}
