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
