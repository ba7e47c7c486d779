extension [ListMove<Int>] {
  /// The fewest moves after which all kept elements are in the order of the new list, in that order.
  ///
  /// The elements that stay are a longest increasing subsequence of the old offsets (Schensted,
  /// "Longest increasing and decreasing subsequences", 1961). Where most elements are in runs, whole
  /// blocks of them are compared, see ``ListBlocks``.
  ///
  /// - Parameters:
  ///   - runs: Kept elements that ascend in both lists.
  ///   - pairs: The other kept elements, ascending in the new list.
  ///   - pairsByOrigin: The indices of the pairs, ascending in the old list.
  /// - Complexity: O(*p* log *p*) for *p* pairs, and O(*r*) for *r* runs.
  @inlinable
  init(fewestFor runs: [ListRun], and pairs: [ListMove<Int>], pairsByOrigin: () -> [Int]) {
    guard !pairs.isEmpty else {
      self = []
      return
    }
    let runElementCount = runs.reduce(0) { $0 + $1.count }
    guard runElementCount <= pairs.count else {
      self = ListBlocks(runs: runs, pairs: pairs, pairsByOrigin: pairsByOrigin()).moves()
      return
    }
    var kept = pairs
    if !runs.isEmpty {
      kept = []
      kept.reserveCapacity(pairs.count + runElementCount)
      var rest = pairs[...]
      for run in runs {
        let end = rest.firstIndex { $0.to > run.new } ?? rest.endIndex
        kept += rest[..<end]
        rest = rest[end...]
        kept += (0..<run.count).map { ListMove(from: run.old + $0, to: run.new + $0) }
      }
      kept += rest
    }
    self = kept.outsideLongestIncreasingSubsequence()
  }

  /// The fewest moves for runs and pairs.
  @inlinable
  init(fewestFor runs: [ListRun], and pairs: [ListMove<Int>]) {
    self.init(fewestFor: runs, and: pairs) {
      pairs.indices.sorted { pairs[$0].from < pairs[$1].from }
    }
  }

  /// Returns the elements, ascending in the new list, that are not in a longest subsequence which
  /// ascends in the old list too.
  ///
  /// Patience sorting: pile *k* has on top the element with the least old offset of all that end an
  /// ascending subsequence of *k* + 1 elements (Fredman, "On computing the length of longest increasing
  /// subsequences", 1975). A shuffled list makes few piles.
  @inlinable
  func outsideLongestIncreasingSubsequence() -> [ListMove<Int>] {
    var tops: [Int] = []
    var topIndices: [Int] = []
    var predecessors = [Int](repeating: -1, count: count)
    var pile = -1
    for (index, element) in enumerated() {
      // Neighbours often stay neighbours: then the next pile is the right one.
      pile += 1
      if pile > tops.count || pile > 0 && tops[pile - 1] > element.from
        || pile < tops.count && tops[pile] < element.from
      {
        pile = Self.pile(for: element.from, in: tops)
      }
      if pile > 0 { predecessors[index] = topIndices[pile - 1] }
      if pile < tops.count {
        tops[pile] = element.from
        topIndices[pile] = index
      } else {
        tops.append(element.from)
        topIndices.append(index)
      }
    }
    var stays = topIndices.last ?? -1
    let moveCount = count - tops.count
    return [ListMove<Int>](unsafeUninitializedCapacity: moveCount) { moves, initializedCount in
      initializedCount = moveCount
      var place = moveCount
      for index in indices.reversed() {
        if index == stays {
          stays = predecessors[index]
        } else {
          place -= 1
          moves.initializeElement(at: place, to: self[index])
        }
      }
    }
  }

  /// Returns the first pile whose top has a greater offset. The search has no branch that depends on
  /// the comparisons, because none could be predicted.
  @inlinable
  static func pile(for offset: Int, in tops: [Int]) -> Int {
    guard !tops.isEmpty else { return 0 }
    return tops.withUnsafeBufferPointer { tops in
      var low = 0
      var count = tops.count
      while count > 1 {
        let half = count &>> 1
        low &+= tops[low &+ half &- 1] < offset ? half : 0
        count &-= half
      }
      return low &+ (tops[low] < offset ? 1 : 0)
    }
  }
}
