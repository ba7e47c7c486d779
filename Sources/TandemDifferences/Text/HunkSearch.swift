/// The search for the position in a text where a hunk fits best.
struct HunkSearch {
  typealias Landing = TextPatch.Outcome.Landing

  private let text: ContiguousText
  private let leading: [UInt8]
  private let deleted: [UInt8]
  private let trailing: [UInt8]
  private let expected: Int
  private let maxMismatchCount: Int
  /// The first and the last offset for the edit. There is none if the first is greater than the
  /// last.
  private let first: Int
  private let last: Int

  init(
    _ hunk: TextPatch.Hunk, in text: ContiguousText, from end: Int, expected: Int,
    maxDistance: Int, maxMismatch: Double
  ) {
    self.text = text
    // A patch may come from an untrusted source. Without a bound, its contexts would multiply the
    // work.
    leading = Array(hunk.leadingContext.utf8.suffix(TextPatch.maxContextByteCount))
    deleted = Array(hunk.edit.deleted.utf8)
    trailing = Array(hunk.trailingContext.utf8.prefix(TextPatch.maxContextByteCount))
    self.expected = expected
    let distance = max(0, min(maxDistance, TextDifference.maxOffset >> 2))
    first = max(end, expected - distance)
    last = min(text.count - deleted.count, expected + distance)
    let share = maxMismatch > 0 ? min(maxMismatch, 1) : 0
    maxMismatchCount = Int(share * Double(leading.count + trailing.count))
  }

  /// Returns the best position, if there is one.
  func landing() -> Landing? {
    guard first <= last else { return nil }
    if isExact(at: expected), isBoundary(expected), isBoundary(expected + deleted.count) {
      return landing(at: expected, mismatchCount: 0)
    }
    let boundaries = characterBoundaries()
    func isWhole(_ offset: Int) -> Bool {
      boundaries[offset - first] && boundaries[offset - first + deleted.count]
    }
    return nearestExactLanding(where: isWhole) ?? leastMismatchedLanding(where: isWhole)
  }

  private func landing(at offset: Int, mismatchCount: Int) -> Landing {
    Landing(offset: offset, distance: offset - expected, mismatchCount: mismatchCount)
  }

  // MARK: - Exact

  private func nearestExactLanding(where isWhole: (Int) -> Bool) -> Landing? {
    var distance = max(0, first - expected, expected - last)
    while distance <= max(expected - first, last - expected) {
      for offset in [expected - distance, expected + distance]
      where isExact(at: offset) && isWhole(offset) {
        return landing(at: offset, mismatchCount: 0)
      }
      distance += 1
    }
    return nil
  }

  private func isExact(at offset: Int) -> Bool {
    guard offset >= first, offset <= last, offset >= leading.count else { return false }
    guard trailing.count <= text.count - offset - deleted.count else { return false }
    return has(deleted, at: offset) && has(leading, at: offset - leading.count)
      && has(trailing, at: offset + deleted.count)
  }

  private func has(_ bytes: [UInt8], at offset: Int) -> Bool {
    bytes.indices.allSatisfy { text.utf8[offset + $0] == bytes[$0] }
  }

  // MARK: - Mismatched

  private func leastMismatchedLanding(where isWhole: (Int) -> Bool) -> Landing? {
    guard maxMismatchCount > 0 else { return nil }
    let before = mismatchesBefore()
    let after = mismatchesAfter()
    var best: Landing?
    for offset in first...last where has(deleted, at: offset) && isWhole(offset) {
      let count = before[offset - first] + after[offset - first]
      let limit = best?.mismatchCount ?? maxMismatchCount
      let isNearer = best.map { abs(offset - expected) < abs($0.distance) } ?? true
      if count < limit || count == limit && isNearer {
        best = landing(at: offset, mismatchCount: count)
      }
    }
    return best
  }

  /// Returns the mismatches of the leading context before each offset from `first` to `last`.
  private func mismatchesBefore() -> [Int] {
    leastDistances(from: leading, endingAt: first...last) { text.utf8[$0] }
  }

  /// Returns the mismatches of the trailing context after the deletion at each offset; both are
  /// read backwards.
  private func mismatchesAfter() -> [Int] {
    let end = text.count
    let ends = end - last - deleted.count...end - first - deleted.count
    return leastDistances(from: trailing.reversed(), endingAt: ends) { text.utf8[end - 1 - $0] }
      .reversed()
  }

  /// Returns the least Levenshtein distances from `pattern` to any part of the text that ends at
  /// each of `ends`, exact up to `maxMismatchCount` (Sellers, "The Theory and Computation of
  /// Evolutionary Distances", 1980).
  private func leastDistances(
    from pattern: [UInt8], endingAt ends: ClosedRange<Int>, _ byte: (Int) -> UInt8
  ) -> [Int] {
    let start = max(0, ends.lowerBound - pattern.count - maxMismatchCount)
    var column = Array(0...pattern.count)
    var distances: [Int] = []
    distances.reserveCapacity(ends.count)
    if start == ends.lowerBound { distances.append(pattern.count) }
    for offset in start..<ends.upperBound {
      let byte = byte(offset)
      var diagonal = 0
      for (index, expected) in pattern.enumerated() {
        let replaced = diagonal + (expected == byte ? 0 : 1)
        diagonal = column[index + 1]
        column[index + 1] = min(replaced, min(diagonal, column[index]) + 1)
      }
      if offset + 1 >= ends.lowerBound { distances.append(column[pattern.count]) }
    }
    return distances
  }

  // MARK: - Characters

  private func isBoundary(_ offset: Int) -> Bool {
    text.characterStart(atOrBefore: offset) == offset
  }

  /// Returns true for each offset between two characters, from `first` to `last` plus the length of
  /// the deletion.
  private func characterBoundaries() -> [Bool] {
    let end = last + deleted.count
    var boundaries = [Bool](repeating: false, count: end - first + 1)
    var walk = CharacterWalk(text, from: text.characterStart(atOrBefore: first))
    while walk.offset <= end {
      if walk.offset >= first { boundaries[walk.offset - first] = true }
      if walk.offset == text.count { break }
      walk.advance()
    }
    return boundaries
  }
}
