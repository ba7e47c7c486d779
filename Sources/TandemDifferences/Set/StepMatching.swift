/// The elements of two lists that can be paired by walking both in step, and those left over.
///
/// Lists that are versions of each other mostly agree, position by position, between small edits.
/// The walk goes from the front, and then from the back to the end of the front walk. If identities
/// differ, it looks a few elements ahead on either side. If that fails several times in a row, it
/// stops and leaves the rest over. Nothing is hashed, and a shuffled list costs almost nothing.
///
/// Lists use ``StepWalk``, which looks further and finds more pairs: there, each pair that is missed
/// can cost a move.
@usableFromInline
struct StepMatching {
  /// The number of elements that the walk looks ahead for the next pair.
  @usableFromInline static var lookahead: Int { 8 }
  /// The number of elements in a row without a pair after which the walk stops.
  @usableFromInline static var maxMissCount: Int { 32 }

  /// Pairs of offsets whose elements have the same identity but other contents, ascending.
  @usableFromInline var updates: [(old: Int, new: Int)] = []
  /// Runs of offsets left over, ascending.
  @usableFromInline var unmatchedOld: [Range<Int>] = []
  /// Runs of offsets left over, ascending.
  @usableFromInline var unmatchedNew: [Range<Int>] = []

  /// Pairs what it can of `oldCount` and `newCount` elements.
  ///
  /// - Complexity: O(*n* + *m*) calls of `isSame` and `isEquivalent`.
  @inlinable @inline(__always)
  init(
    oldCount: Int, newCount: Int,
    isSame: (_ old: Int, _ new: Int) -> Bool, isEquivalent: (_ old: Int, _ new: Int) -> Bool
  ) {
    let front = walk(
      oldCount: oldCount, newCount: newCount, isSame: isSame, isEquivalent: isEquivalent)
    let old = front.old..<oldCount
    let new = front.new..<newCount
    guard !old.isEmpty, !new.isEmpty else {
      unmatchedOld.append(old)
      unmatchedNew.append(new)
      return
    }
    var mirror = StepMatching()
    let back = mirror.walk(
      oldCount: old.count, newCount: new.count,
      isSame: { isSame(oldCount - 1 - $0, newCount - 1 - $1) },
      isEquivalent: { isEquivalent(oldCount - 1 - $0, newCount - 1 - $1) })
    unmatchedOld.append(old.dropLast(back.old))
    unmatchedNew.append(new.dropLast(back.new))
    unmatchedOld.append(
      contentsOf: mirror.unmatchedOld.reversed().map { Self.mirrored($0, oldCount) })
    unmatchedNew.append(
      contentsOf: mirror.unmatchedNew.reversed().map { Self.mirrored($0, newCount) })
    updates.append(
      contentsOf: mirror.updates.reversed().map { (oldCount - 1 - $0.old, newCount - 1 - $0.new) })
  }

  @inlinable @inline(__always)
  init() {}

  /// Returns a run in a list of `count` elements, counted from the other end.
  @inlinable
  static func mirrored(_ run: Range<Int>, _ count: Int) -> Range<Int> {
    count - run.upperBound..<count - run.lowerBound
  }

  /// Walks until one side ends or too many elements stay unpaired. Returns the number of elements it
  /// handled on each side.
  @inlinable @inline(__always)
  mutating func walk(
    oldCount: Int, newCount: Int,
    isSame: (Int, Int) -> Bool, isEquivalent: (Int, Int) -> Bool
  ) -> (old: Int, new: Int) {
    var i = 0
    var j = 0
    var misses = 0
    while i < oldCount, j < newCount, misses < StepMatching.maxMissCount {
      if isSame(i, j) {
        if !isEquivalent(i, j) { updates.append((i, j)) }
        i += 1
        j += 1
        misses = 0
        continue
      }
      let skip = StepMatching.skip(
        maxOld: min(StepMatching.lookahead, oldCount - 1 - i),
        maxNew: min(StepMatching.lookahead, newCount - 1 - j),
        isSame: { isSame(i + $0, j + $1) })
      if skip == (1, 1) { misses += 1 }
      unmatchedOld.append(i..<i + skip.old)
      unmatchedNew.append(j..<j + skip.new)
      i += skip.old
      j += skip.new
    }
    return (i, j)
  }

  /// Returns the number of elements to skip on either side to reach the next pair; one each if none
  /// is near.
  @inlinable @inline(__always)
  static func skip(
    maxOld: Int, maxNew: Int, isSame: (Int, Int) -> Bool
  ) -> (old: Int, new: Int) {
    for distance in 1...lookahead {
      if distance <= maxNew, isSame(0, distance) { return (0, distance) }
      if distance <= maxOld, isSame(distance, 0) { return (distance, 0) }
      if distance <= min(maxOld, maxNew), isSame(distance, distance) { return (distance, distance) }
    }
    return (1, 1)
  }
}
