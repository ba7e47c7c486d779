/// Runs of tokens that occur once in each of two sequences, as fixed points for aligning them:
/// Bram Cohen's patience difference, over runs instead of lines.
struct UniqueRuns<Token: FixedWidthInteger> {
  private let old: UnsafeBufferPointer<Token>
  private let new: UnsafeBufferPointer<Token>

  init(_ old: UnsafeBufferPointer<Token>, _ new: UnsafeBufferPointer<Token>) {
    self.old = old
    self.new = new
  }

  /// Returns the longest chain of runs of `length` tokens, each found once in either side of `box`,
  /// in the same order in both; as pairs of their starts.
  ///
  /// In long boxes, one run in eight is sampled, selected by its content. A run whose place in the
  /// table is crowded is skipped. So the work is linear for every input, except for the logarithm
  /// of the chain.
  func chain(in box: RangePair, length: Int) -> [(old: Int, new: Int)] {
    guard box.old.count >= length, box.new.count >= length else { return [] }
    guard max(box.old.upperBound, box.new.upperBound) <= Int32.max else { return [] }
    let isSampled = length >= 16 && box.old.count + box.new.count > 8_192
    let sampleMask: UInt64 = isSampled ? 7 : 0
    var table = RunTable(expectedCount: box.old.count / (isSampled ? 4 : 1))
    var sample: [(hash: UInt64, offset: Int)] = []
    forEachRun(of: length, in: old, box.old, sampleMask) { hash, offset in
      table.recordOld(hash, at: offset)
      sample.append((hash, offset))
    }
    forEachRun(of: length, in: new, box.new, sampleMask) { table.recordNew($0, at: $1) }
    var pairs: [(old: Int, new: Int)] = []
    for run in sample {
      guard let counterpart = table.counterpart(of: run.hash) else { continue }
      let matched = commonPrefixLength(
        old.baseAddress! + run.offset, new.baseAddress! + counterpart, limit: length)
      if matched == length { pairs.append((run.offset, counterpart)) }
    }
    return longestIncreasing(pairs)
  }

  /// Calls `body` with a rolling hash and the start of each run that belongs to the sample.
  @inline(__always)
  private func forEachRun(
    of length: Int, in tokens: UnsafeBufferPointer<Token>, _ range: Range<Int>,
    _ sampleMask: UInt64, _ body: (UInt64, Int) -> Void
  ) {
    let base: UInt64 = 0x9E37_79B9_7F4A_7C15
    var leadingFactor: UInt64 = 1
    for _ in 0..<length { leadingFactor = leadingFactor &* base }
    var hash: UInt64 = 0
    for offset in range.lowerBound..<range.lowerBound + length {
      hash = hash &* base &+ UInt64(truncatingIfNeeded: tokens[offset]) &+ 1
    }
    var end = range.lowerBound + length
    while true {
      let mixed = (hash ^ (hash &>> 29)) &* 0xBF58_476D_1CE4_E5B9
      if (mixed &>> 20) & sampleMask == 0 { body(mixed, end - length) }
      guard end < range.upperBound else { return }
      let leaving = UInt64(truncatingIfNeeded: tokens[end - length]) &+ 1
      let entering = UInt64(truncatingIfNeeded: tokens[end]) &+ 1
      hash = hash &* base &+ entering &- leaving &* leadingFactor
      end += 1
    }
  }
}

/// Returns the longest part of `pairs`, which ascend by `old`, that ascends by `new` too (Fredman
/// 1975).
///
/// - Complexity: O(*n* log *n*); O(*n*) if nearly all of them ascend.
private func longestIncreasing(_ pairs: [(old: Int, new: Int)]) -> [(old: Int, new: Int)] {
  var tails: [Int] = []
  var predecessors = [Int](repeating: -1, count: pairs.count)
  for (index, pair) in pairs.enumerated() {
    var low = tails.count
    if let last = tails.last, pairs[last].new > pair.new {
      var high = low
      low = 0
      while low < high {
        let middle = (low + high) / 2
        if pairs[tails[middle]].new < pair.new { low = middle + 1 } else { high = middle }
      }
    }
    if low > 0 { predecessors[index] = tails[low - 1] }
    if low == tails.count { tails.append(index) } else { tails[low] = index }
  }
  var chain: [(old: Int, new: Int)] = []
  var next = tails.last ?? -1
  while next >= 0 {
    chain.append(pairs[next])
    next = predecessors[next]
  }
  return chain.reversed()
}
