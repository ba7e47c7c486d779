/// Parameters of a comparison besides the shortest edit path.
struct ComparisonEffort {
  /// The lengths in tokens of the common runs to align by, if the changes exceed the bound on
  /// minimality.
  var runLengths: [Int]
  /// The minimum number of kept tokens between two changes. Fewer are changed as well.
  var minimumKeptCount: Int

  init(_ granularity: TextGranularity) {
    switch granularity {
    case .lines: (runLengths, minimumKeptCount) = ([1, 1], 1)
    case .words: (runLengths, minimumKeptCount) = ([8, 2, 1], 1)
    case .characters:
      runLengths = [32, 12, 6]
      minimumKeptCount = TextDifference.minimumKeptCharacterCount
    }
  }
}

/// The changes between two sequences of tokens: minimal if they are few, otherwise close to
/// minimal.
///
/// A box of the edit graph is divided at a point of a shortest path (``MiddleSplit``) if that path
/// has at most ``TextDifference/maxMinimalEditCount`` edits. Otherwise it is cut at unique common
/// runs, long ones before short ones (``UniqueRuns``), and the gaps between them are compared in
/// the same way. Without such runs, it is divided at the furthest point that a small number of
/// edits reaches. Every step is linear in its box, and every box passes through few steps, so the
/// work is bounded by a constant times the length of the texts.
struct TokenComparison<Token: FixedWidthInteger>: ~Copyable {
  private struct Box {
    var pair: RangePair
    /// The number of run lengths already used.
    var stage = 0
    /// True if there are no runs to align by.
    var isLastResort = false
  }

  private static var lastResortRounds: Int { 64 }

  private let old: UnsafeBufferPointer<Token>
  private let new: UnsafeBufferPointer<Token>
  private let effort: ComparisonEffort
  private let split: MiddleSplit<Token>
  private var boxes: [Box] = []
  private var changes: [RangePair] = []

  private init(
    _ old: UnsafeBufferPointer<Token>, _ new: UnsafeBufferPointer<Token>, _ effort: ComparisonEffort
  ) {
    self.old = old
    self.new = new
    self.effort = effort
    split = MiddleSplit(old, new, maxRounds: TextDifference.maxMinimalEditCount / 2)
  }

  /// Returns the changes from `old` to `new`, in order, none adjacent to the next.
  static func changes(
    from old: UnsafeBufferPointer<Token>, to new: UnsafeBufferPointer<Token>,
    effort: ComparisonEffort
  ) -> [RangePair] {
    let whole = RangePair(old: 0..<old.count, new: 0..<new.count)
    if old.isEmpty || new.isEmpty { return whole.isEmpty ? [] : [whole] }
    var comparison = TokenComparison(old, new, effort)
    comparison.boxes.append(Box(pair: whole))
    while let box = comparison.boxes.popLast() { comparison.resolve(box) }
    return comparison.finished()
  }

  private func finished() -> [RangePair] {
    let compaction = ChangeCompaction(old: old, new: new)
    return compaction.joined(
      compaction.joinedBySliding(changes), acrossFewerThan: effort.minimumKeptCount)
  }

  private mutating func resolve(_ box: Box) {
    var box = box
    trim(&box.pair)
    if box.pair.old.isEmpty || box.pair.new.isEmpty {
      if !box.pair.isEmpty { changes.appendChange(box.pair) }
      return
    }
    let rounds = box.isLastResort ? Self.lastResortRounds : split.maxRounds
    if box.isLastResort || abs(box.pair.old.count - box.pair.new.count) <= 2 * rounds {
      let point = split.point(in: box.pair, rounds: rounds)
      if point.isOptimal || box.isLastResort { return divide(box, at: point) }
    }
    divideAtUniqueRuns(box)
  }

  private func trim(_ pair: inout RangePair) {
    let oldStart = old.baseAddress! + pair.old.lowerBound
    let newStart = new.baseAddress! + pair.new.lowerBound
    var limit = min(pair.old.count, pair.new.count)
    let prefix = commonPrefixLength(oldStart, newStart, limit: limit)
    limit -= prefix
    let suffix = commonSuffixLength(
      endingAt: oldStart + pair.old.count, newStart + pair.new.count, limit: limit)
    pair.old = pair.old.lowerBound + prefix..<pair.old.upperBound - suffix
    pair.new = pair.new.lowerBound + prefix..<pair.new.upperBound - suffix
  }

  private mutating func divide(_ box: Box, at point: MiddleSplit<Token>.Point) {
    var (left, right) = (box, box)
    left.pair.old = box.pair.old.lowerBound..<point.old
    left.pair.new = box.pair.new.lowerBound..<point.new
    right.pair.old = point.old..<box.pair.old.upperBound
    right.pair.new = point.new..<box.pair.new.upperBound
    boxes.append(right)
    boxes.append(left)
  }

  private mutating func divideAtUniqueRuns(_ box: Box) {
    for stage in box.stage..<effort.runLengths.count {
      let length = effort.runLengths[stage]
      let runs = UniqueRuns(old, new).chain(in: box.pair, length: length)
      if runs.isEmpty { continue }
      let gaps = gaps(in: box.pair, between: runs, length: length)
      return boxes.append(contentsOf: gaps.reversed().map { Box(pair: $0, stage: stage + 1) })
    }
    boxes.append(Box(pair: box.pair, isLastResort: true))
  }

  /// Returns the gaps between common runs in a box. If runs overlap, the earlier one keeps its
  /// tokens.
  private func gaps(
    in box: RangePair, between runs: [(old: Int, new: Int)], length: Int
  ) -> [RangePair] {
    var gaps: [RangePair] = []
    var (oldEnd, newEnd) = (box.old.lowerBound, box.new.lowerBound)
    for run in runs {
      let covered = max(0, oldEnd - run.old, newEnd - run.new)
      guard covered < length else { continue }
      let gap = RangePair(old: oldEnd..<run.old + covered, new: newEnd..<run.new + covered)
      if !gap.isEmpty { gaps.append(gap) }
      (oldEnd, newEnd) = (run.old + length, run.new + length)
    }
    gaps.append(RangePair(old: oldEnd..<box.old.upperBound, new: newEnd..<box.new.upperBound))
    return gaps
  }
}
