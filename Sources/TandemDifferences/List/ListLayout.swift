/// Consecutive elements that are consecutive in both lists.
@usableFromInline
struct ListRun: Hashable {
  /// The offset of the first element in the old list.
  @usableFromInline var old: Int
  /// The offset of the first element in the new list.
  @usableFromInline var new: Int
  /// The number of elements.
  @usableFromInline var count: Int

  @inlinable
  init(old: Int, new: Int, count: Int) {
    self.old = old
    self.new = new
    self.count = count
  }
}

/// The offsets that are removed from the old list and filled in the new one. All others *stay*: the
/// *k*-th remaining offset of one list is the *k*-th remaining offset of the other.
@usableFromInline
struct ListLayout {
  /// The offsets of the old list whose elements are deleted or moved, ascending.
  @usableFromInline let removed: [Int]
  /// The offsets of the new list whose elements are inserted or moved, ascending.
  @usableFromInline let placed: [Int]

  /// The maximum offset. Sums of two offsets cannot overflow.
  @usableFromInline static var maxOffset: Int { Int.max / 4 }

  /// Creates a layout from offsets in any order.
  @inlinable
  init(removed: [Int], placed: [Int]) {
    self.removed = removed.sorted()
    self.placed = placed.sorted()
  }

  /// Creates a layout from ascending offsets.
  @inlinable
  init(ascendingRemoved removed: [Int], placed: [Int]) {
    self.removed = removed
    self.placed = placed
  }

  /// True if no offset is negative, too great or repeated.
  @inlinable
  var isValid: Bool {
    for offsets in [removed, placed] {
      guard (offsets.first ?? 0) >= 0, (offsets.last ?? 0) <= ListLayout.maxOffset else {
        return false
      }
      guard zip(offsets, offsets.dropFirst()).allSatisfy({ $0 < $1 }) else { return false }
    }
    return true
  }

  /// Returns the number of elements of an old list with `oldCount` elements that stay, or `nil` if
  /// the list is too short for the offsets of a valid layout.
  @inlinable
  func stayCount(oldCount: Int) -> Int? {
    let stayCount = oldCount - removed.count
    let isCovered =
      (removed.last ?? -1) < oldCount && (placed.last ?? -1) < stayCount + placed.count
    return isCovered ? stayCount : nil
  }

  /// Returns the elements that stay, in runs of maximum length, ascending in both lists.
  ///
  /// - Complexity: O(*d*) for *d* offsets.
  @inlinable
  func stays(count: Int) -> [ListRun] {
    var runs: [ListRun] = []
    var stay = 0
    var removedCount = 0
    var placedCount = 0
    while stay < count {
      while removedCount < removed.count, removed[removedCount] == stay + removedCount {
        removedCount += 1
      }
      while placedCount < placed.count, placed[placedCount] == stay + placedCount {
        placedCount += 1
      }
      var end = count
      if removedCount < removed.count { end = min(end, removed[removedCount] - removedCount) }
      if placedCount < placed.count { end = min(end, placed[placedCount] - placedCount) }
      runs.append(ListRun(old: stay + removedCount, new: stay + placedCount, count: end - stay))
      stay = end
    }
    return runs
  }

  /// Returns the old offset of the element that stays at `newOffset`, or `nil` if that offset is
  /// filled.
  ///
  /// - Complexity: O(log *d*) for *d* offsets.
  @inlinable
  func oldOffset(ofStayAt newOffset: Int) -> Int? {
    let placedCount = placed.partitionIndex { $0 >= newOffset }
    guard placedCount == placed.count || placed[placedCount] > newOffset else { return nil }
    let stay = newOffset - placedCount
    return stay + removed.indices.partitionIndex { removed[$0] - $0 > stay }
  }
}

/// The old offsets of the elements of a new list.
@usableFromInline
struct ListOrigins {
  @usableFromInline let layout: ListLayout
  @usableFromInline let moves: [Int: Int]

  @inlinable
  init(layout: ListLayout, moves: [ListMove<Int>]) {
    self.layout = layout
    self.moves = Dictionary(uniqueKeysWithValues: moves.map { ($0.to, $0.from) })
  }

  /// Returns the old offset of the element at a new offset, or `nil` if the element is inserted.
  @inlinable
  subscript(newOffset: Int) -> Int? { moves[newOffset] ?? layout.oldOffset(ofStayAt: newOffset) }
}

extension RandomAccessCollection where Index == Int {
  /// Returns the first index whose element satisfies `predicate`, or `endIndex`. All elements after
  /// such an element must satisfy it too.
  @inlinable
  func partitionIndex(where predicate: (Element) -> Bool) -> Int {
    var low = startIndex
    var high = endIndex
    while low < high {
      let middle = low + (high - low) / 2
      if predicate(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
