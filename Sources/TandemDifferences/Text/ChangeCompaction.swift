/// Combines the changes from one sequence to another into fewer ones.
struct ChangeCompaction<Token: FixedWidthInteger> {
  let old: UnsafeBufferPointer<Token>
  let new: UnsafeBufferPointer<Token>

  /// Joins neighbours of which one, a pure insertion or deletion, can slide to the other because
  /// the tokens between repeat in it: "ab(ab)c" equals "(ab)abc". The number of changed tokens
  /// stays the same.
  func joinedBySliding(_ changes: [RangePair]) -> [RangePair] {
    var result: [RangePair] = []
    for var change in changes {
      if let last = result.last {
        let gap = change.old.lowerBound - last.old.upperBound
        if slides(last, by: gap) {
          result[result.count - 1] = last.moved(by: gap)
        } else if slides(change, by: -gap) {
          change = change.moved(by: -gap)
        }
      }
      result.appendChange(change)
    }
    return result
  }

  /// Joins neighbours with fewer kept tokens than `minimumKeptCount` between them.
  func joined(_ changes: [RangePair], acrossFewerThan minimumKeptCount: Int) -> [RangePair] {
    var result: [RangePair] = []
    for change in changes { result.appendChange(change, minimumGap: minimumKeptCount) }
    return result
  }

  /// Returns true if a change has the same effect after moving so many tokens forwards or
  /// backwards.
  private func slides(_ change: RangePair, by distance: Int) -> Bool {
    if change.old.isEmpty { return repeats(new, change.new, over: distance) }
    if change.new.isEmpty { return repeats(old, change.old, over: distance) }
    return false
  }

  private func repeats(
    _ tokens: UnsafeBufferPointer<Token>, _ range: Range<Int>, over distance: Int
  ) -> Bool {
    guard distance < 0 else {
      return (0..<distance).allSatisfy {
        tokens[range.lowerBound + $0] == tokens[range.upperBound + $0]
      }
    }
    return (1...(-distance)).allSatisfy {
      tokens[range.lowerBound - $0] == tokens[range.upperBound - $0]
    }
  }
}
