/// What changed between two versions of an ordered list of identifiable elements, moves included.
///
/// An element that only the old list has is *deleted*, one that only the new list has *inserted*.
/// Elements that both have are *kept*: a kept element is *updated* if its contents differ and *moved*
/// if it left its place relative to those that stay. The elements that stay are as many as possible,
/// so the number of moves is minimal: ``init(from:to:identifiedBy:by:)`` says relative to what.
///
/// Offsets of deletions and of what is moved or updated *from* count in the old list, all others in
/// the new one. Deletions ascend by their offset in the old list; insertions, moves and updates by
/// their offset in the new one. A value of this type always fits *some* pair of lists: an initialiser
/// or decoder given changes that contradict each other refuses them.
///
/// ``applying(to:)`` gives the new list, ``inverted`` leads back, ``steps`` are single changes to
/// replay one by one, and ``batches`` is what a table or collection view animates.
public struct ListDifference<Element> {
  /// An element that is deleted or inserted, and where.
  public typealias Placement = ListPlacement<Int, Element>
  /// A move from an offset in the old list to one in the new.
  public typealias Move = ListMove<Int>
  /// An update of an element, with its offset in either list.
  public typealias Update = ListUpdate<Int, Element>

  /// Elements that only the old list has, by their offsets there.
  public let deletions: [Placement]
  /// Elements that only the new list has, by their offsets there.
  public let insertions: [Placement]
  /// Elements that both lists have and that do not stay.
  public let moves: [Move]
  /// Elements that both lists have, with different contents; a moved one is among ``moves`` too.
  public let updates: [Update]

  /// The difference between equal lists.
  @inlinable
  public init() {
    self.init(sortedDeletions: [], insertions: [], moves: [], updates: [])
  }

  /// A difference made of changes in their promised order that do not contradict each other.
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

  /// Whether the two lists are equal.
  @inlinable
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty
  }

  /// How many deletions, insertions, moves and updates there are; an element that is both moved and
  /// updated counts twice.
  @inlinable
  public var count: Int { deletions.count + insertions.count + moves.count + updates.count }

  /// The difference that leads back: from the new list to the old one.
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
  /// A difference made of the given changes, in any order; `nil` if they contradict each other.
  ///
  /// Changes contradict each other if they use one offset of a list twice, an offset that is negative
  /// or greater than a quarter of `Int.max`, or if an update's two offsets are not those of one kept
  /// element, considering all the other changes.
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

  /// Whether each update names an element that is moved from and to its offsets, or stays at them.
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
