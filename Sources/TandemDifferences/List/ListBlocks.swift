/// The elements that two lists have in common, as runs that follow each other in the new list, and
/// which of them have to move.
@usableFromInline
struct ListBlocks {
  /// The runs, ascending in the new list.
  @usableFromInline var runs: [ListRun]
  /// How many elements would have to move at most: all that are not in `stays` of the initialiser.
  @usableFromInline let maxMoveCount: Int

  /// The blocks made of runs that ascend in both lists and of single pairs between them, which ascend
  /// in the new list.
  @inlinable
  init(stays: [ListRun], pairs: [ListMove<Int>]) {
    runs = []
    runs.reserveCapacity(stays.count + pairs.count)
    maxMoveCount = pairs.count
    var next = 0
    for pair in pairs {
      while next < stays.count, stays[next].new < pair.to {
        runs.append(stays[next])
        next += 1
      }
      runs.append(ListRun(old: pair.from, new: pair.to, count: 1))
    }
    runs.append(contentsOf: stays[next...])
  }

  /// The fewest moves after which all elements are in the order of the new list, ascending there.
  ///
  /// The elements that stay are a longest increasing subsequence of the old offsets (Schensted,
  /// "Longest increasing and decreasing subsequences", 1961; Fredman, "On computing the length of
  /// longest increasing subsequences", 1975). A run stays or moves as a whole: no other element comes
  /// between its elements in either list, so whatever can stay with one can stay with all.
  ///
  /// - Complexity: O(*b* log *b* + *n*) for *b* runs of *n* elements between the first and the last
  ///   that are out of order.
  @inlinable
  func moves() -> [ListMove<Int>] {
    let region = disorderedRegion()
    guard !region.isEmpty else { return [] }
    let stays = longestIncreasingRuns(in: region)
    var moves: [ListMove<Int>] = []
    for index in region where !stays[index - region.lowerBound] {
      let run = runs[index]
      for step in 0..<run.count {
        moves.append(ListMove(from: run.old + step, to: run.new + step))
      }
    }
    return moves
  }

  /// The shortest stretch of runs outside which all ascend, and are less or greater than all in it.
  @inlinable
  func disorderedRegion() -> Range<Int> {
    var low = Int.max
    var high = Int.min
    for index in runs.indices.dropFirst() where runs[index - 1].old > runs[index].old {
      low = min(low, runs[index].old)
      high = max(high, runs[index - 1].old)
    }
    guard low < high else { return 0..<0 }
    var start = 0
    while runs[start].old < low { start += 1 }
    var end = runs.count
    while runs[end - 1].old > high { end -= 1 }
    return start..<end
  }

  /// Whether each run of the region stays.
  @inlinable
  func longestIncreasingRuns(in region: Range<Int>) -> [Bool] {
    // Slot k has the run whose element ends the best increasing subsequence of k + 1 elements. A run
    // that weighs more than all the elements that could move instead is safe at any greater weight.
    let weights = runs[region].lazy.map { min($0.count, maxMoveCount + 1) }
    let tails = UnsafeMutableBufferPointer<Int>.allocate(capacity: weights.reduce(0, +))
    defer { tails.deallocate() }
    var tailCount = 0
    var predecessors = [Int](repeating: -1, count: region.count)
    for index in region {
      let slot = tails[..<tailCount].partitionIndexFromEnd { runs[$0].old > runs[index].old }
      if slot > 0 { predecessors[index - region.lowerBound] = tails[slot - 1] }
      let end = slot + weights[index]
      tails[slot..<end].initialize(repeating: index)
      tailCount = max(tailCount, end)
    }
    var stays = [Bool](repeating: false, count: region.count)
    var index = tailCount > 0 ? tails[tailCount - 1] : -1
    while index >= 0 {
      stays[index - region.lowerBound] = true
      index = predecessors[index - region.lowerBound]
    }
    return stays
  }
}
