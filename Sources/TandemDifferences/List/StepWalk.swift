/// The pairs of elements that two versions have in step. They are found by walking both versions from
/// the front, without hashing, wherever the identities agree except for some insertions and deletions.
///
/// Every pair has equal identities, and pairs ascend in both versions. Where identities are unique, no
/// pair can be wrong, even if the walk overlooks others. Only the elements that it leaves over are
/// hashed. Sets and merges use ``StepMatching``: it looks less far, and is measurably faster.
@usableFromInline
struct StepWalk {
  /// The pairs, ascending in the new list, and within one walk in the old list too.
  @usableFromInline var runs: [ListRun] = []
  /// True if the runs ascend in the old list too.
  @usableFromInline var isAscending = true
  /// The pairs whose contents differ, ascending in the new list.
  @usableFromInline var updates: [ListMove<Int>] = []

  /// The distance in elements, of both lists together, within which the next pair is searched
  /// exhaustively.
  @usableFromInline static var nearby: Int { 8 }
  /// The distance in elements of one list within which the next two pairs are searched at all.
  @usableFromInline static var reach: Int { 512 }
  /// The maximum number of elements of both lists that are skipped at once when no pair is near.
  @usableFromInline static var maxLeap: Int { 64 }

  @inlinable
  init() {}

  /// The pairs in one walk over all of `old` and `new`.
  @inlinable @inline(__always)
  init<Element, ID: Equatable>(
    _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
    id: (Element) -> ID, isEquivalent: (_ old: Element, _ new: Element) -> Bool
  ) {
    walk(
      old: old.indices, new: new.indices,
      isSame: { id(old[$0]) == id(new[$1]) },
      isEquivalent: { isEquivalent(old[$0], new[$1]) })
  }

  /// The pairs, ascending in the old list.
  @inlinable
  var runsByOldOffset: [ListRun] { isAscending ? runs : runs.sorted { $0.old < $1.old } }

  /// Walks a range of each list and adds the pairs. The ranges of several walks must not overlap, and
  /// must ascend in the new list.
  ///
  /// - Complexity: O(*n* + *m*) calls of `isSame`, few more than the shorter range has elements if
  ///   the lists are versions of each other; one call of `isEquivalent` for each pair.
  @inlinable @inline(__always)
  mutating func walk(
    old: Range<Int>, new: Range<Int>, isSame: (_ old: Int, _ new: Int) -> Bool,
    isEquivalent: (_ old: Int, _ new: Int) -> Bool
  ) {
    if let last = runs.last, last.old >= old.upperBound { isAscending = false }
    var rest = Rest(old: old, new: new)
    var suffixCount = -1
    var leap = 1
    while true {
      let count = rest.commonPrefixCount(isSame: isSame)
      add(rest, count: count, isEquivalent: isEquivalent)
      rest.skip(old: count, new: count)
      if rest.old.isEmpty || rest.new.isEmpty { break }
      if rest.skipToNearbyPair(isSame: isSame) { continue }
      if suffixCount < 0 {
        suffixCount = rest.dropCommonSuffix(isSame: isSame)
        continue
      }
      if rest.skipToFarPairs(isSame: isSame) {
        leap = 1
        continue
      }
      rest.skip(old: leap, new: leap)
      leap = min(leap * 2, StepWalk.maxLeap)
    }
    let suffix = Rest(
      old: old.suffix(max(suffixCount, 0)), new: new.suffix(max(suffixCount, 0)))
    add(suffix, count: suffix.old.count, isEquivalent: isEquivalent)
  }

  /// Adds the first `count` elements of `rest` as pairs.
  @inlinable @inline(__always)
  mutating func add(_ rest: Rest, count: Int, isEquivalent: (Int, Int) -> Bool) {
    guard count > 0 else { return }
    let run = ListRun(old: rest.old.lowerBound, new: rest.new.lowerBound, count: count)
    runs.append(run)
    // Sums of offsets cannot overflow; not checking that is measurable here and below.
    for step in 0..<count where !isEquivalent(run.old &+ step, run.new &+ step) {
      updates.append(ListMove(from: run.old + step, to: run.new + step))
    }
  }

  /// The part of either list that the walk has not reached yet.
  @usableFromInline
  struct Rest {
    @usableFromInline var old: Range<Int>
    @usableFromInline var new: Range<Int>
    /// The number of comparisons that the far search may still make.
    @usableFromInline var budget: Int

    @inlinable
    init(old: Range<Int>, new: Range<Int>) {
      self.old = old
      self.new = new
      budget = old.count + new.count
    }

    @inlinable @inline(__always)
    mutating func skip(old oldCount: Int, new newCount: Int) {
      old = min(old.lowerBound + oldCount, old.upperBound)..<old.upperBound
      new = min(new.lowerBound + newCount, new.upperBound)..<new.upperBound
    }

    @inlinable @inline(__always)
    func commonPrefixCount(isSame: (Int, Int) -> Bool) -> Int {
      let limit = min(old.count, new.count)
      var count = 0
      while count < limit, isSame(old.lowerBound &+ count, new.lowerBound &+ count) { count &+= 1 }
      return count
    }

    @inlinable @inline(__always)
    mutating func dropCommonSuffix(isSame: (Int, Int) -> Bool) -> Int {
      let limit = min(old.count, new.count)
      var count = 0
      while count < limit, isSame(old.upperBound - 1 - count, new.upperBound - 1 - count) {
        count += 1
      }
      old = old.dropLast(count)
      new = new.dropLast(count)
      return count
    }

    /// Skips the fewest elements of both lists together before a pair.
    @inlinable @inline(__always)
    mutating func skipToNearbyPair(isSame: (Int, Int) -> Bool) -> Bool {
      for distance in 1...StepWalk.nearby {
        let first = max(0, distance - new.count + 1)
        let last = min(distance, old.count - 1)
        var oldCount = first
        while oldCount <= last {
          if isSame(old.lowerBound &+ oldCount, new.lowerBound &+ distance &- oldCount) {
            skip(old: oldCount, new: distance - oldCount)
            return true
          }
          oldCount += 1
        }
      }
      return false
    }

    /// Skips elements of one list before two pairs in a row. A single pair may be chance or a moved
    /// element.
    @inlinable @inline(__always)
    mutating func skipToFarPairs(isSame: (Int, Int) -> Bool) -> Bool {
      var distance = StepWalk.nearby
      while distance < StepWalk.reach, budget > 0 {
        budget -= 2
        for isDeletion in [true, false] {
          let oldOffset = old.lowerBound + (isDeletion ? distance : 0)
          let newOffset = new.lowerBound + (isDeletion ? 0 : distance)
          if oldOffset + 1 < old.upperBound, newOffset + 1 < new.upperBound,
            isSame(oldOffset, newOffset), isSame(oldOffset + 1, newOffset + 1)
          {
            skip(old: oldOffset - old.lowerBound, new: newOffset - new.lowerBound)
            return true
          }
        }
        distance += 1
      }
      return false
    }
  }
}
