public import TandemDifferences

extension MirrorPlanner where Item.ID: Comparable {
  /// A planner of sides that both ascend by identity. A side that does not is a ``violation``.
  @inlinable
  static var sorted: MirrorPlanner {
    MirrorPlanner(
      isSorted: true, compare: { $0.compareSorted() }, offset: { $0.offsetBySearch(of: $1) })
  }

  /// Compares both pages as far as they are comparable: up to the lesser of their last identities,
  /// or to the end of one side's page if the other side has ended.
  @inlinable
  mutating func compareSorted() {
    while violation == nil, let ends = comparableEnds() {
      compare(localEnd: ends.local, sourceEnd: ends.source)
    }
  }

  @inlinable
  func comparableEnds() -> (local: Int, source: Int)? {
    switch (localOffset < local.count, sourceOffset < source.count) {
    case (false, false): return nil
    case (true, false): return isSourceEnded ? (local.count, source.count) : nil
    case (false, true): return isLocalEnded ? (local.count, source.count) : nil
    case (true, true):
      let (lastLocal, lastSource) = (local[local.count - 1], source[source.count - 1].id)
      if lastSource < lastLocal {
        let end = (localOffset..<local.count).partitionPointNearEnd { !(lastSource < local[$0]) }
        return (end, source.count)
      }
      let end = (sourceOffset..<source.count).partitionPointNearEnd { !(lastLocal < source[$0].id) }
      return (local.count, end)
    }
  }

  /// Compares a run of each page, or drops the duplicates of a page if it has any.
  @inlinable
  mutating func compare(localEnd: Int, sourceEnd: Int) {
    let previousLocal = localOffset > 0 ? local[localOffset - 1] : previousLocalID
    if localOffset < localEnd, let previousLocal, !(previousLocal < local[localOffset]) {
      return dropLocalDuplicates()
    }
    let previousSource = sourceOffset > 0 ? source[sourceOffset - 1].id : previousSourceID
    if sourceOffset < sourceEnd, let previousSource, !(previousSource < source[sourceOffset].id) {
      return dropSourceDuplicates()
    }
    switch walk(localEnd: localEnd, sourceEnd: sourceEnd) {
    case nil: (localOffset, sourceOffset) = (localEnd, sourceEnd)
    case let violation? where violation.kind == .duplicate:
      violation.side == .old ? dropLocalDuplicates() : dropSourceDuplicates()
    case let violation? where violation.side == .old:
      refuse("local identity", local[localOffset + violation.offset])
    case let violation?:
      refuse("item of the source", source[sourceOffset + violation.offset].id)
    }
  }

  /// Plans the changes between a run of each page, and asks about the items that both have. After a
  /// violation, the plan is as it was.
  @inlinable
  mutating func walk(localEnd: Int, sourceEnd: Int) -> IdentityViolation? {
    let (local, source) = (local, source)
    let (localOffset, sourceOffset) = (localOffset, sourceOffset)
    var (deleted, inserted): ([Int], [Int]) = ([], [])
    let violation = local.withUnsafeBufferPointer { local in
      source.withUnsafeBufferPointer { source in
        SortedRuns.walk(
          UnsafeBufferPointer(rebasing: local[localOffset..<localEnd]), identifiedBy: { $0 },
          UnsafeBufferPointer(rebasing: source[sourceOffset..<sourceEnd]), identifiedBy: \.id,
          deleted: { deleted.append(localOffset + $0) },
          inserted: { inserted.append(sourceOffset + $0) }, common: { _, _ in })
      }
    }
    guard violation == nil else { return violation }
    for offset in deleted { removals.append(local[offset]) }
    var start = sourceOffset
    for offset in inserted {
      ask(start..<offset)
      candidates.append(Candidate(position: pagePosition + offset, item: source[offset]))
      start = offset + 1
    }
    ask(start..<sourceEnd)
    return nil
  }

  /// Drops from the rest of the page the identities that equal the one before. A mirror ignores
  /// them.
  @inlinable
  mutating func dropLocalDuplicates() {
    var kept = Array(local[..<localOffset])
    for id in local[localOffset...] {
      if let last = kept.last ?? previousLocalID, !(last < id) {
        guard last == id else { return refuse("local identity", id) }
      } else {
        kept.append(id)
      }
    }
    local = kept
  }

  /// Drops from the rest of the page the items whose identity equals the one before, and records
  /// them.
  @inlinable
  mutating func dropSourceDuplicates() {
    var kept = Array(source[..<sourceOffset])
    if sourceOffset > 0 { lastPosition = pagePosition + sourceOffset - 1 }
    for offset in sourceOffset..<source.count {
      let id = source[offset].id
      if let last = kept.last?.id ?? previousSourceID, !(last < id) {
        guard last == id, !hasDroppedDuplicates else { return refuse("item of the source", id) }
        duplicates.append(
          MirrorDuplicate(id: id, position: pagePosition + offset, firstPosition: lastPosition))
      } else {
        kept.append(source[offset])
        lastPosition = pagePosition + offset
      }
    }
    source = kept
    hasDroppedDuplicates = true
  }

  @inlinable
  mutating func refuse(_ subject: String, _ id: Item.ID) {
    violation = MirrorError(
      .unsortedList,
      "\(subject) \(id) does not ascend; sort both sides in one order, or compare them unsorted")
  }

  @inlinable
  func offsetBySearch(of id: Item.ID) -> Int? {
    let offset = source.indices.partitionPoint { source[$0].id < id }
    return offset < source.count && source[offset].id == id ? offset : nil
  }
}

extension Range<Int> {
  /// The first number for which `isBelow` is false, given that it is true for all numbers before
  /// that one and false for all after it; the upper bound if there is none.
  ///
  /// - Complexity: O(log *n*) calls for *n* numbers.
  @inlinable
  func partitionPoint(where isBelow: (Int) -> Bool) -> Int {
    var (low, high) = (lowerBound, upperBound)
    while low < high {
      let middle = low + (high - low) / 2
      if isBelow(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The partition point, searched from the end: the pages of two sides mostly end near each other.
  ///
  /// - Complexity: O(log *d*) calls for a partition point that is *d* numbers before the end.
  @inlinable
  func partitionPointNearEnd(where isBelow: (Int) -> Bool) -> Int {
    var (end, step) = (upperBound, 1)
    while end - lowerBound > step {
      if isBelow(end - step) { return (end - step + 1..<end).partitionPoint(where: isBelow) }
      end -= step
      step *= 2
    }
    return (lowerBound..<end).partitionPoint(where: isBelow)
  }
}
