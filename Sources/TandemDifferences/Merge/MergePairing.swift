/// The pairs of local elements and those of another side. Most are in step; the others are in runs
/// of offsets, and are paired by their hashes.
@usableFromInline
struct MergePairing {
  /// The runs of local elements that are out of step.
  @usableFromInline let localRuns: [Range<Int>]
  /// The runs of the other side at the same places. A run may be empty on one side, but not on
  /// both.
  @usableFromInline let sideRuns: [Range<Int>]
  /// The number of local elements out of step before each run.
  @usableFromInline let outOfStepBefore: [Int]
  /// The partners of the local elements out of step, in local order, or `absent`.
  @usableFromInline var partners: [Int]

  @inlinable
  init(_ matching: StepMatching) {
    localRuns = matching.unmatchedOld
    sideRuns = matching.unmatchedNew
    var count = 0
    outOfStepBefore = localRuns.map { run in
      defer { count += run.count }
      return count
    }
    partners = Array(repeating: MergeStep.absent, count: count)
  }
}

extension MergePairing {
  /// Pairs elements out of step by `index`, which has every local element they might pair with.
  /// Returns the offsets without a local partner, or `nil` if a local identity occurs twice on the
  /// side.
  @inlinable @inline(__always)
  mutating func pairRest<Element, ID: Hashable>(
    of side: UnsafeBufferPointer<Element>, with local: UnsafeBufferPointer<Element>,
    in index: borrowing IdentityIndex, id: (Element) -> ID
  ) -> [Int]? {
    var rest: [Int] = []
    let violation = index.forEachBatch(of: side, in: sideRuns, id: id) { s, hash in
      let identity = id(side[s])
      guard let l = index.offset(hash: hash, where: { id(local[$0]) == identity }) else {
        rest.append(s)
        return nil
      }
      guard let position = positionOutOfStep(of: l), partners[position] == MergeStep.absent
      else { return IdentityViolation(side: .new, offset: s, kind: .duplicate) }
      partners[position] = s
      return nil
    }
    guard violation == nil else { return nil }
    return rest
  }

  /// Returns the index of the local element in ``partners``, or `nil` if it is paired in step.
  @inlinable
  func positionOutOfStep(of l: Int) -> Int? {
    var (low, high) = (0, localRuns.count)
    while low < high {
      let middle = (low + high) / 2
      if localRuns[middle].upperBound <= l { low = middle + 1 } else { high = middle }
    }
    guard low < localRuns.count, localRuns[low].contains(l) else { return nil }
    return outOfStepBefore[low] + l - localRuns[low].lowerBound
  }

  /// Calls `body` with each local element out of step, its partner or `absent`, and the number of
  /// elements of the side that come before it in the merge.
  @inlinable @inline(__always)
  func forEachOutOfStep(_ body: (_ local: Int, _ partner: Int, _ rank: Int) -> Void) {
    var last = MergeStep.absent
    var end = 0
    for number in localRuns.indices {
      let run = localRuns[number]
      if end < run.lowerBound { last = sideRuns[number].lowerBound - 1 }
      end = run.upperBound
      for l in run {
        let partner = partners[outOfStepBefore[number] + l - run.lowerBound]
        if partner != MergeStep.absent { last = partner }
        body(l, partner, partner == MergeStep.absent ? last + 1 : partner)
      }
    }
  }
}

extension MergePairing {
  /// True if the partners of all `localCount` local elements ascend. Costs nothing for elements in
  /// step.
  @inlinable
  func isAscending(localCount: Int) -> Bool {
    // The least partner that may come next, and the ends of the run before on both sides.
    var (least, localEnd, sideEnd) = (0, 0, 0)
    for number in localRuns.indices {
      let run = localRuns[number]
      if localEnd < run.lowerBound {
        guard least <= sideEnd else { return false }
        least = sideRuns[number].lowerBound
      }
      for l in run {
        let partner = partners[outOfStepBefore[number] + l - run.lowerBound]
        guard partner != MergeStep.absent else { continue }
        guard partner >= least else { return false }
        least = partner + 1
      }
      (localEnd, sideEnd) = (run.upperBound, sideRuns[number].upperBound)
    }
    return localEnd == localCount || least <= sideEnd
  }
}

extension MergePairing {
  /// A position among the runs, for lookups in ascending order.
  @usableFromInline
  struct Cursor {
    @usableFromInline var run = 0

    @inlinable
    init() {}
  }

  /// Returns the partner of a local element, or `absent`. Lookups must be in ascending order.
  @inlinable
  func partner(of l: Int, _ cursor: inout Cursor) -> Int {
    while cursor.run < localRuns.count, localRuns[cursor.run].upperBound <= l { cursor.run += 1 }
    if cursor.run < localRuns.count, l >= localRuns[cursor.run].lowerBound {
      return partners[outOfStepBefore[cursor.run] + l - localRuns[cursor.run].lowerBound]
    }
    guard cursor.run > 0 else { return l }
    return l - localRuns[cursor.run - 1].upperBound + sideRuns[cursor.run - 1].upperBound
  }
}
