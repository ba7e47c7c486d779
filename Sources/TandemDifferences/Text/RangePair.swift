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

/// How many tokens two sequences share from their starts, eight bytes at a time.
@inline(__always)
func commonPrefixLength<Token: FixedWidthInteger>(
  _ one: UnsafePointer<Token>, _ other: UnsafePointer<Token>, limit: Int
) -> Int {
  let step = 8 / MemoryLayout<Token>.size
  var length = 0
  while length + step <= limit {
    let difference = word(at: one + length) ^ word(at: other + length)
    if difference != 0 { return length + difference.trailingZeroBitCount / (64 / step) }
    length += step
  }
  while length < limit, one[length] == other[length] { length += 1 }
  return length
}

/// How many tokens two sequences share before their ends, eight bytes at a time.
@inline(__always)
func commonSuffixLength<Token: FixedWidthInteger>(
  endingAt one: UnsafePointer<Token>, _ other: UnsafePointer<Token>, limit: Int
) -> Int {
  let step = 8 / MemoryLayout<Token>.size
  var length = 0
  while length + step <= limit {
    let difference = word(at: one - length - step) ^ word(at: other - length - step)
    if difference != 0 { return length + difference.leadingZeroBitCount / (64 / step) }
    length += step
  }
  while length < limit, one[-length - 1] == other[-length - 1] { length += 1 }
  return length
}

/// The eight bytes at `tokens`, the first of them in the lowest place.
@inline(__always)
private func word<Token: FixedWidthInteger>(at tokens: UnsafePointer<Token>) -> UInt64 {
  UInt64(littleEndian: UnsafeRawPointer(tokens).loadUnaligned(as: UInt64.self))
}
