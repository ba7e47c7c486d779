/// A range of the old sequence and the one that stands in its place in the new sequence.
struct RangePair: Equatable {
  var old: Range<Int>
  var new: Range<Int>

  var isEmpty: Bool { old.isEmpty && new.isEmpty }

  /// Both ranges, so much further on.
  func moved(by distance: Int) -> RangePair {
    RangePair(
      old: old.lowerBound + distance..<old.upperBound + distance,
      new: new.lowerBound + distance..<new.upperBound + distance)
  }
}

extension [RangePair] {
  /// Appends a change that comes after all others; it becomes one with the last if they touch, or
  /// are less than `minimumGap` apart.
  mutating func appendChange(_ change: RangePair, minimumGap: Int = 1) {
    if let last, change.old.lowerBound - last.old.upperBound < minimumGap {
      self[count - 1].old = last.old.lowerBound..<change.old.upperBound
      self[count - 1].new = last.new.lowerBound..<change.new.upperBound
    } else {
      append(change)
    }
  }
}
