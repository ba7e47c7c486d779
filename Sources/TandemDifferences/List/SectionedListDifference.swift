/// The difference between two versions of a list of sections. Sections are inserted, deleted and
/// moved. Elements are inserted, deleted, updated, and moved within a section or to another one.
///
/// Changes of whole sections are in ``sections``. A deleted section contains those of its elements
/// that the new list lacks; an inserted section contains those that the old list lacks. All other
/// changes are in the four arrays of elements, which have the same order as those of a
/// ``ListDifference``. An element that leaves a deleted section for another one, or arrives in an
/// inserted one, is a move.
///
/// As few elements move as possible: those that change the section, and in each section the fewest
/// after which the others are in order.
public struct SectionedListDifference<Header, Element> {
  /// A section with its header and elements.
  public typealias Section = ListSection<Header, Element>
  /// A deleted or inserted element and its position.
  public typealias Placement = ListPlacement<SectionedOffset, Element>
  /// A move from a position in the old list to one in the new.
  public typealias Move = ListMove<SectionedOffset>
  /// An update of an element, with its position in either list.
  public typealias Update = ListUpdate<SectionedOffset, Element>

  /// Changes of sections: deletions with their deleted elements, insertions with their inserted
  /// elements, moves, and updates of unequal headers, without elements.
  public let sections: ListDifference<Section>
  /// Elements that only the old list has, in sections that are kept, in the order of the old list.
  public let deletions: [Placement]
  /// Elements that only the new list has, in sections that are kept, in the order of the new list.
  public let insertions: [Placement]
  /// Moves of elements that both lists have, in the order of the new list.
  public let moves: [Move]
  /// Updates of elements that both lists have, with different contents, in the order of the new
  /// list. A moved element is also in ``moves``.
  public let updates: [Update]

  /// The difference between equal lists.
  @inlinable
  public init() {
    self.init(sorting: [], insertions: [], moves: [], updates: [], sections: ListDifference())
  }

  /// Creates a difference from changes that do not contradict each other, in any order.
  @inlinable
  init(
    sorting deletions: [Placement], insertions: [Placement], moves: [Move], updates: [Update],
    sections: ListDifference<Section>
  ) {
    self.sections = sections
    self.deletions = deletions.sorted { $0.offset < $1.offset }
    self.insertions = insertions.sorted { $0.offset < $1.offset }
    self.moves = moves.sorted { $0.to < $1.to }
    self.updates = updates.sorted { $0.newOffset < $1.newOffset }
  }

  /// True if the two lists are equal.
  @inlinable
  public var isEmpty: Bool { count == 0 }

  /// The number of changes of sections and elements, without the elements of inserted or deleted
  /// sections.
  @inlinable
  public var count: Int {
    sections.count + deletions.count + insertions.count + moves.count + updates.count
  }

  /// The difference in the other direction: from the new list to the old one.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public var inverted: SectionedListDifference {
    SectionedListDifference(
      sorting: insertions,
      insertions: deletions,
      moves: moves.map { Move(from: $0.to, to: $0.from) },
      updates: updates.map(\.inverted),
      sections: sections.inverted)
  }
}

extension SectionedListDifference: Sendable where Header: Sendable, Element: Sendable {}
extension SectionedListDifference: Equatable where Header: Equatable, Element: Equatable {}
extension SectionedListDifference: Hashable where Header: Hashable, Element: Hashable {}
extension SectionedListDifference: Encodable where Header: Encodable, Element: Encodable {}

extension SectionedListDifference: Decodable where Header: Decodable, Element: Decodable {
  /// Decodes a difference.
  ///
  /// - Throws: `DecodingError.dataCorrupted` if the changes contradict each other; see
  ///   ``init(sections:deletions:insertions:moves:updates:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let difference = SectionedListDifference(
      sections: try container.decode(ListDifference<Section>.self, forKey: .sections),
      deletions: try container.decode([Placement].self, forKey: .deletions),
      insertions: try container.decode([Placement].self, forKey: .insertions),
      moves: try container.decode([Move].self, forKey: .moves),
      updates: try container.decode([Update].self, forKey: .updates))
    guard let difference else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "changes of a sectioned list difference contradict each other"))
    }
    self = difference
  }
}
