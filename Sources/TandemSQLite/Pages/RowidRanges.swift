/// Rowids that a set of ranges contains.
package struct RowidRanges: Hashable, Sendable {
  /// The ranges, ascending, without any in common.
  package private(set) var ranges: [ClosedRange<Int64>] = []

  /// The union of ranges in any order.
  init(union ranges: some Sequence<ClosedRange<Int64>>) {
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = self.ranges.last, range.lowerBound <= last.upperBound {
        self.ranges[self.ranges.count - 1] =
          last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        self.ranges.append(range)
      }
    }
  }

  /// No rowid.
  init() {}

  /// Adds a rowid that is greater than all others. Those between it and the last one are added too, if
  /// they are fewer than `maxGap`.
  mutating func append(_ rowid: Int64, maxGap: Int64) {
    if let last = ranges.last, rowid <= last.upperBound.addingSaturating(maxGap) {
      ranges[ranges.count - 1] = last.lowerBound...rowid
    } else {
      ranges.append(rowid...rowid)
    }
  }

  /// All rowids, if they are at most `maxCount`.
  package func rowids(maxCount: Int) -> [Int64]? {
    var rowids: [Int64] = []
    for range in ranges {
      let width = range.upperBound.subtractingReportingOverflow(range.lowerBound)
      guard !width.overflow, width.partialValue < Int64(maxCount - rowids.count) else { return nil }
      rowids += range
    }
    return rowids
  }
}

extension Int64 {
  fileprivate func addingSaturating(_ other: Int64) -> Int64 {
    let sum = addingReportingOverflow(other)
    return sum.overflow ? .max : sum.partialValue
  }
}
