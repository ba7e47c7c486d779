/// The difference between two versions of an ordered list of identifiable elements, with moves.
///
/// An element that only the old list has is *deleted*, one that only the new list has is
/// *inserted*. Elements that both have are *kept*. A kept element is *updated* if its contents
/// differ, and *moved* if its place changed relative to the elements that stay. As many elements as
/// possible stay, so the number of moves is minimal; see ``init(from:to:identifiedBy:by:)``.
///
/// Offsets of deletions and the old offsets of moves and updates count in the old list, all others
/// in the new one. Deletions ascend by their offset in the old list; insertions, moves and updates
/// by their offset in the new one. A value of this type always fits *some* pair of lists:
/// initialisers and decoders reject changes that contradict each other.
///
/// ``applying(to:)`` returns the new list, ``inverted`` is the difference in the other direction,
/// ``steps`` are single changes to apply one by one, and ``batches`` are the changes that a table
/// or collection view animates.
public struct ListDifference<Element> {
  /// A deleted or inserted element and its offset.
  public typealias Placement = ListPlacement<Int, Element>
  /// A move from an offset in the old list to one in the new.
  public typealias Move = ListMove<Int>
  /// An update of an element, with its offset in either list.
  public typealias Update = ListUpdate<Int, Element>

  /// Elements that only the old list has, by their offsets there.
  public let deletions: [Placement]
  /// Elements that only the new list has, by their offsets there.
  public let insertions: [Placement]
  /// Moves of elements that both lists have.
  public let moves: [Move]
  /// Updates of elements that both lists have, with different contents. A moved element is also in
  /// ``moves``.
  public let updates: [Update]

  /// The difference between equal lists.
  @inlinable
  public init() {
    self.init(sortedDeletions: [], insertions: [], moves: [], updates: [])
  }

  /// Creates a difference from changes that are in their promised order and do not contradict each
  /// other.
  @inlinable
  init(
    sortedDeletions deletions: [Placement], insertions: [Placement], moves: [Move],
    updates: [Update]
  ) {
    self.deletions = deletions
    self.insertions = insertions
    self.moves = moves
    self.updates = updates
  }

  /// True if the two lists are equal.
  @inlinable
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty
  }

  /// The number of deletions, insertions, moves and updates. An element that is both moved and
  /// updated counts twice.
  @inlinable
  public var count: Int { deletions.count + insertions.count + moves.count + updates.count }

  /// The difference in the other direction: from the new list to the old one.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public var inverted: ListDifference {
    ListDifference(
      sortedDeletions: insertions,
      insertions: deletions,
      moves: moves.map { Move(from: $0.to, to: $0.from) }.sorted { $0.to < $1.to },
      updates: updates.map(\.inverted).sorted { $0.newOffset < $1.newOffset })
  }
}

extension ListDifference {
  /// Creates a difference from the given changes, in any order. Returns `nil` if they contradict
  /// each other.
  ///
  /// Changes contradict each other if they use an offset of a list twice, if an offset is negative
  /// or greater than a quarter of `Int.max`, or if the two offsets of an update do not belong to
  /// one kept element after all the other changes.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public init?(
    deletions: [Placement] = [], insertions: [Placement] = [], moves: [Move] = [],
    updates: [Update] = []
  ) {
    self.init(
      sortedDeletions: deletions.sorted { $0.offset < $1.offset },
      insertions: insertions.sorted { $0.offset < $1.offset },
      moves: moves.sorted { $0.to < $1.to },
      updates: updates.sorted { $0.newOffset < $1.newOffset })
    guard layout.isValid, updatesMatchKeptElements else { return nil }
  }

  /// The offsets that do not stay.
  @inlinable
  var layout: ListLayout {
    ListLayout(
      removed: deletions.map(\.offset) + moves.map(\.from),
      placed: insertions.map(\.offset) + moves.map(\.to))
  }

  /// True if each update is of an element that is moved between its offsets, or stays at them.
  @inlinable
  var updatesMatchKeptElements: Bool {
    let origins = ListOrigins(layout: layout, moves: moves)
    var previous = -1
    return updates.allSatisfy { update in
      defer { previous = update.newOffset }
      guard previous < update.newOffset, update.newOffset <= ListLayout.maxOffset else {
        return false
      }
      return origins[update.newOffset] == update.oldOffset
    }
  }
}

extension ListDifference: Sendable where Element: Sendable {}
extension ListDifference: Equatable where Element: Equatable {}
extension ListDifference: Hashable where Element: Hashable {}
extension ListDifference: Encodable where Element: Encodable {}

extension ListDifference: Decodable where Element: Decodable {
  /// Decodes a difference.
  ///
  /// - Throws: `DecodingError.dataCorrupted` if the changes contradict each other; see
  ///   ``init(deletions:insertions:moves:updates:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let difference = ListDifference(
      deletions: try container.decode([Placement].self, forKey: .deletions),
      insertions: try container.decode([Placement].self, forKey: .insertions),
      moves: try container.decode([Move].self, forKey: .moves),
      updates: try container.decode([Update].self, forKey: .updates))
    guard let difference else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "changes of a list difference contradict each other"))
    }
    self = difference
  }
}
