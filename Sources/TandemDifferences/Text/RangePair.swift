/// A range of the old sequence and the range of the new sequence that replaces it.
struct RangePair: Equatable {
  var old: Range<Int>
  var new: Range<Int>

  var isEmpty: Bool { old.isEmpty && new.isEmpty }

  /// Returns both ranges moved by a distance.
  func moved(by distance: Int) -> RangePair {
    RangePair(
      old: old.lowerBound + distance..<old.upperBound + distance,
      new: new.lowerBound + distance..<new.upperBound + distance)
  }
}

extension [RangePair] {
  /// Appends a change that comes after all others. It is joined with the last one if fewer than
  /// `minimumGap` tokens are between them.
  mutating func appendChange(_ change: RangePair, minimumGap: Int = 1) {
    if let last, change.old.lowerBound - last.old.upperBound < minimumGap {
      self[count - 1].old = last.old.lowerBound..<change.old.upperBound
      self[count - 1].new = last.new.lowerBound..<change.new.upperBound
    } else {
      append(change)
    }
  }
}

/// Returns the length of the common prefix of two sequences, comparing eight bytes at a time.
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

/// Returns the length of the common suffix of two sequences, comparing eight bytes at a time.
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

/// The eight bytes at `tokens`, the first one least significant.
@inline(__always)
private func word<Token: FixedWidthInteger>(at tokens: UnsafePointer<Token>) -> UInt64 {
  UInt64(littleEndian: UnsafeRawPointer(tokens).loadUnaligned(as: UInt64.self))
}
