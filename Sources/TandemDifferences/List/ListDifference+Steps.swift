extension ListDifference {
  /// A single change of a list. Its offsets count in the list after all previous steps.
  public enum Step {
    /// Remove the element at an offset.
    case remove(at: Int)
    /// Insert an element so that it is at an offset.
    case insert(Element, at: Int)
    /// Remove the element at an offset and insert it so that it is at another.
    case move(from: Int, to: Int)
    /// Replace the element at an offset.
    case update(Element, at: Int)

    /// Changes the list. If an offset is out of bounds, returns `false` and leaves the list
    /// unchanged.
    ///
    /// - Complexity: O(*n*) for *n* elements; O(1) for an update.
    @inlinable
    @discardableResult
    public func apply(to elements: inout [Element]) -> Bool {
      switch self {
      case .remove(let offset):
        guard elements.indices.contains(offset) else { return false }
        elements.remove(at: offset)
      case .insert(let element, let offset):
        guard (0...elements.count).contains(offset) else { return false }
        elements.insert(element, at: offset)
      case .move(let from, let to):
        guard elements.indices.contains(from), elements.indices.contains(to) else { return false }
        elements.insert(elements.remove(at: from), at: to)
      case .update(let element, let offset):
        guard elements.indices.contains(offset) else { return false }
        elements[offset] = element
      }
      return true
    }
  }

  /// The difference as single steps. Applied in turn, they lead from the old list to the new one.
  ///
  /// First come the removals, from the last to the first; then insertions and moves, in the order
  /// of their elements in the new list; then the updates in that order. There is one step for each
  /// deletion, insertion, move and update.
  ///
  /// - Complexity: O(*d* log *d*) for *d* changes.
  @inlinable
  public var steps: [Step] {
    var steps: [Step] = []
    steps.reserveCapacity(count)
    for deletion in deletions.reversed() { steps.append(.remove(at: deletion.offset)) }
    var waiting = WaitingMoves(deletions: deletions.map(\.offset), moves: moves, layout: layout)
    var insertion = insertions.startIndex
    for (rank, offset) in waiting.layout.placed.enumerated() {
      if insertion < insertions.endIndex, insertions[insertion].offset == offset {
        let place = offset + waiting.count(beforeStay: offset - rank)
        steps.append(.insert(insertions[insertion].element, at: place))
        insertion += 1
      } else {
        let from = waiting.popOffset(ofMoveAt: rank - insertion, placedCount: rank)
        steps.append(.move(from: from, to: offset + waiting.count(beforeStay: offset - rank)))
      }
    }
    for update in updates { steps.append(.update(update.new, at: update.newOffset)) }
    return steps
  }
}

extension ListDifference.Step: Sendable where Element: Sendable {}
extension ListDifference.Step: Equatable where Element: Equatable {}
extension ListDifference.Step: Hashable where Element: Hashable {}

/// The elements that are still to be moved while a list is changed step by step from its front.
///
/// Stays are numbered from 0. A placed element goes right behind its predecessor in the new list.
/// So between two stays, the placed elements come first, in their new order, then the waiting
/// elements, in their old order.
@usableFromInline
struct WaitingMoves {
  @usableFromInline let layout: ListLayout
  /// For each move, in the order of the new list, its rank by the offset in the old one.
  @usableFromInline var ranks: [Int]
  /// By rank: the number of the next stay in the old list.
  @usableFromInline var nextStays: [Int]
  /// By rank: the number of elements that are placed before that stay in the end.
  @usableFromInline var placedCounts: [Int]
  /// Prefix sums of the waiting elements, by rank (Fenwick, "A new data structure for cumulative
  /// frequency tables", 1994).
  @usableFromInline var tree: [Int]

  @inlinable
  init(deletions: [Int], moves: [ListMove<Int>], layout: ListLayout) {
    self.layout = layout
    let order = moves.indices.sorted { moves[$0].from < moves[$1].from }
    ranks = [Int](repeating: 0, count: moves.count)
    nextStays = []
    placedCounts = []
    tree = (0...moves.count).map { $0 & -$0 }
    var deletedCount = 0
    var placedCount = 0
    for (rank, index) in order.enumerated() {
      ranks[index] = rank
      let from = moves[index].from
      while deletedCount < deletions.count, deletions[deletedCount] < from { deletedCount += 1 }
      let stay = from - deletedCount - rank
      while placedCount < layout.placed.count, layout.placed[placedCount] - placedCount <= stay {
        placedCount += 1
      }
      nextStays.append(stay)
      placedCounts.append(placedCount)
    }
  }

  /// Returns the number of waiting elements before a stay.
  @inlinable
  func count(beforeStay stay: Int) -> Int {
    count(beforeRank: nextStays.partitionIndex { $0 >= stay })
  }

  @inlinable
  func count(beforeRank rank: Int) -> Int {
    var sum = 0
    var node = rank
    while node > 0 {
      sum += tree[node]
      node &= node - 1
    }
    return sum
  }

  /// Removes an element from those that wait and returns its offset, given the number of placed
  /// elements.
  @inlinable
  mutating func popOffset(ofMoveAt index: Int, placedCount: Int) -> Int {
    let rank = ranks[index]
    let offset =
      nextStays[rank] + min(placedCount, placedCounts[rank]) + count(beforeRank: rank)
    var node = rank + 1
    while node < tree.count {
      tree[node] -= 1
      node += node & -node
    }
    return offset
  }
}
