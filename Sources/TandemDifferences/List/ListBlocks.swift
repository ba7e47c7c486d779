/// The elements that two lists have in common, in blocks ordered as in the new list, and the search
/// for the blocks that must move.
///
/// A block is either a single pair, or consecutive runs with no pair between them in either list.
@usableFromInline
struct ListBlocks {
  @usableFromInline
  struct Block {
    /// Its runs; empty if it is a pair.
    @usableFromInline var runs: Range<Int>
    /// The index of its pair, if it is one.
    @usableFromInline var pair: Int
    /// The number of blocks before it in the old list.
    @usableFromInline var rank: Int
    /// The number of its elements.
    @usableFromInline var count: Int

    @inlinable
    init(runs: Range<Int>, pair: Int, rank: Int, count: Int) {
      self.runs = runs
      self.pair = pair
      self.rank = rank
      self.count = count
    }
  }

  @usableFromInline let runs: [ListRun]
  @usableFromInline let pairs: [ListMove<Int>]
  /// The blocks, ascending in the new list.
  @usableFromInline var blocks: [Block] = []

  /// Creates the blocks from runs that ascend in both lists, and from pairs that ascend in the new
  /// list and, in the order of `pairsByOrigin`, in the old one.
  ///
  /// - Complexity: O(*r* + *p*) for *r* runs and *p* pairs.
  @inlinable
  init(runs: [ListRun], pairs: [ListMove<Int>], pairsByOrigin: [Int]) {
    self.runs = runs
    self.pairs = pairs
    var rank = 0
    var ranks = [Int](repeating: 0, count: pairs.count)
    var pair = 0
    var origin = 0
    for (index, run) in runs.enumerated() {
      var isNew = index == 0
      while pair < pairs.count, pairs[pair].to < run.new {
        blocks.append(Block(runs: 0..<0, pair: pair, rank: 0, count: 1))
        pair += 1
        isNew = true
      }
      while origin < pairs.count, pairs[pairsByOrigin[origin]].from < run.old {
        ranks[pairsByOrigin[origin]] = rank
        rank += 1
        origin += 1
        isNew = true
      }
      if isNew {
        blocks.append(Block(runs: index..<index + 1, pair: 0, rank: rank, count: run.count))
        rank += 1
      } else {
        blocks[blocks.count - 1].runs = blocks[blocks.count - 1].runs.lowerBound..<index + 1
        blocks[blocks.count - 1].count += run.count
      }
    }
    for pair in pair..<pairs.count {
      blocks.append(Block(runs: 0..<0, pair: pair, rank: 0, count: 1))
    }
    for (step, pair) in pairsByOrigin[origin...].enumerated() { ranks[pair] = rank + step }
    for index in blocks.indices where blocks[index].runs.isEmpty {
      blocks[index].rank = ranks[blocks[index].pair]
    }
  }

  /// Returns the fewest moves after which all elements are in the order of the new list, in that
  /// order.
  ///
  /// The elements that stay are a longest increasing subsequence of the old offsets (Schensted,
  /// "Longest increasing and decreasing subsequences", 1961). A block stays or moves as a whole: no
  /// other kept element is between its elements in either list, so any element that can stay
  /// together with one of them can stay together with all.
  ///
  /// - Complexity: O(*b* log *b*) for *b* blocks, and O(*m*) for *m* moves.
  @inlinable
  func moves() -> [ListMove<Int>] {
    var moves: [ListMove<Int>] = []
    for (block, stays) in zip(blocks, heaviestIncreasingSubsequence()) where !stays {
      if block.runs.isEmpty { moves.append(pairs[block.pair]) }
      for run in runs[block.runs] {
        for step in 0..<run.count {
          moves.append(ListMove(from: run.old + step, to: run.new + step))
        }
      }
    }
    return moves
  }

  /// Returns true for each block of the heaviest sequence that ascends in the old list too. Of several
  /// such sequences, it is the one whose blocks come first in the old list, determined from its end, as
  /// in patience sorting.
  @inlinable
  func heaviestIncreasingSubsequence() -> [Bool] {
    // Node k of the tree has the heaviest subsequence that ends at one of the `k & -k` ranks below k
    // (Fenwick, "A new data structure for cumulative frequency tables", 1994), by its last block.
    var tree = [Int](repeating: -1, count: blocks.count + 1)
    var weights = [Int](repeating: 0, count: blocks.count)
    var predecessors = [Int](repeating: -1, count: blocks.count)
    var heaviest = -1
    func isHeavier(_ index: Int, than other: Int) -> Bool {
      other < 0 || weights[other] < weights[index]
        || weights[other] == weights[index] && blocks[index].rank < blocks[other].rank
    }
    for (index, block) in blocks.enumerated() {
      var node = block.rank
      while node > 0 {
        let last = tree[node]
        // The ranks of the nodes descend, so the last of equal weights has the lowest rank.
        if last >= 0, weights[last] >= weights[index] {
          weights[index] = weights[last]
          predecessors[index] = last
        }
        node &= node - 1
      }
      weights[index] += block.count
      node = block.rank + 1
      while node < tree.count {
        if isHeavier(index, than: tree[node]) { tree[node] = index }
        node += node & -node
      }
      if isHeavier(index, than: heaviest) { heaviest = index }
    }
    var stays = [Bool](repeating: false, count: blocks.count)
    while heaviest >= 0 {
      stays[heaviest] = true
      heaviest = predecessors[heaviest]
    }
    return stays
  }
}
