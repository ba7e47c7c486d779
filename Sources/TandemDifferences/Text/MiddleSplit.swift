/// The search from both ends for a point on a shortest edit path (Myers, "An O(ND) Difference
/// Algorithm and Its Variations", 1986, section 4b), in space linear in the number of rounds.
struct MiddleSplit<Token: FixedWidthInteger>: ~Copyable {
  /// A point that divides the comparison of two sequences into two.
  struct Point: Equatable {
    var old: Int
    var new: Int
    /// True if a shortest edit path leads through it.
    var isOptimal: Bool
  }

  private let old: UnsafeBufferPointer<Token>
  private let new: UnsafeBufferPointer<Token>
  /// The maximum number of edits that the search follows from either end.
  let maxRounds: Int
  /// For each diagonal (old minus new), the length of the old sequence that its paths cover from
  /// the start and, in the other array, from the end.
  private let ahead: UnsafeMutablePointer<Int>
  private let back: UnsafeMutablePointer<Int>
  private let allocation: UnsafeMutablePointer<Int>

  init(
    _ old: UnsafeBufferPointer<Token>, _ new: UnsafeBufferPointer<Token>, maxRounds: Int
  ) {
    self.old = old
    self.new = new
    self.maxRounds = maxRounds
    let width = 2 * maxRounds + 3
    allocation = .allocate(capacity: 2 * width)
    allocation.initialize(repeating: 0, count: 2 * width)
    ahead = allocation + maxRounds + 1
    back = ahead + width
  }

  deinit {
    allocation.deallocate()
  }

  /// Returns a point to divide `box` at. It is optimal if the distance is at most twice `rounds`;
  /// otherwise it is the furthest point that this many edits reach from either end.
  ///
  /// The sides of the box must not be empty, and must differ in their first and in their last
  /// token. So both parts are smaller than the box.
  func point(in box: RangePair, rounds: Int) -> Point {
    ahead[0] = 0
    back[0] = 0
    for round in 1...rounds {
      if let point = stepAhead(in: box, round) { return point }
      if let point = stepBack(in: box, round) { return point }
    }
    return furthestPoint(in: box, round: rounds)
  }

  @inline(__always)
  private func stepAhead(in box: RangePair, _ round: Int) -> Point? {
    let start = old.baseAddress! + box.old.lowerBound
    let counterpart = new.baseAddress! + box.new.lowerBound
    let (width, height) = (box.old.count, box.new.count)
    let delta = width - height
    ahead[-round - 1] = -1
    ahead[round + 1] = -1
    for diagonal in diagonals(round, width, height) {
      var x = max(ahead[diagonal - 1] + 1, ahead[diagonal + 1])
      x = min(x, width, height + diagonal)
      let limit = min(width - x, height - x + diagonal)
      if limit > 0, start[x] == counterpart[x - diagonal] {
        x += commonPrefixLength(start + x, counterpart + x - diagonal, limit: limit)
      }
      ahead[diagonal] = x
      let opposite = delta - diagonal
      if delta & 1 != 0, abs(opposite) < round, x + back[opposite] >= width {
        return point(in: box, x, x - diagonal)
      }
    }
    return nil
  }

  @inline(__always)
  private func stepBack(in box: RangePair, _ round: Int) -> Point? {
    let end = old.baseAddress! + box.old.upperBound
    let counterpart = new.baseAddress! + box.new.upperBound
    let (width, height) = (box.old.count, box.new.count)
    let delta = width - height
    back[-round - 1] = -1
    back[round + 1] = -1
    for diagonal in diagonals(round, width, height) {
      var x = max(back[diagonal - 1] + 1, back[diagonal + 1])
      x = min(x, width, height + diagonal)
      let limit = min(width - x, height - x + diagonal)
      if limit > 0, end[-x - 1] == counterpart[diagonal - x - 1] {
        x += commonSuffixLength(endingAt: end - x, counterpart - x + diagonal, limit: limit)
      }
      back[diagonal] = x
      let opposite = delta - diagonal
      if delta & 1 == 0, abs(opposite) <= round, x + ahead[opposite] >= width {
        return point(in: box, width - x, height - x + diagonal)
      }
    }
    return nil
  }

  /// Returns the diagonals on which paths of this many edits end, in a box of that size.
  @inline(__always)
  private func diagonals(_ round: Int, _ width: Int, _ height: Int) -> StrideThrough<Int> {
    let first = round <= height ? -round : -height + (round - height) & 1
    let last = round <= width ? round : width - (round - width) & 1
    return stride(from: first, through: last, by: 2)
  }

  @inline(__always)
  private func point(in box: RangePair, _ x: Int, _ y: Int, isOptimal: Bool = true) -> Point {
    Point(old: box.old.lowerBound + x, new: box.new.lowerBound + y, isOptimal: isOptimal)
  }

  private func furthestPoint(in box: RangePair, round: Int) -> Point {
    let (width, height) = (box.old.count, box.new.count)
    let reached = diagonals(round, width, height)
    let best = reached.max { 2 * ahead[$0] - $0 < 2 * ahead[$1] - $1 } ?? 0
    let bestBack = reached.max { 2 * back[$0] - $0 < 2 * back[$1] - $1 } ?? 0
    if 2 * ahead[best] - best >= 2 * back[bestBack] - bestBack {
      return point(in: box, ahead[best], ahead[best] - best, isOptimal: false)
    }
    return point(
      in: box, width - back[bestBack], height - back[bestBack] + bestBack, isOptimal: false)
  }
}
