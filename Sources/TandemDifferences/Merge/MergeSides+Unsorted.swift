extension MergeSides where Element: Equatable {
  /// Returns the steps of sides in any order, in the order of remote, and the order that the merge is
  /// to have. Returns `nil` if an identity occurs twice on a side or does not equal itself.
  ///
  /// The other two sides are paired with local by walking in step. Elements left over are looked up
  /// by their hashes, in an index of the few local elements that may have the same identity.
  /// Elements without a local partner are hashed too.
  @inlinable @inline(__always)
  func steps<ID: Hashable>(
    by id: (Element) -> ID
  ) -> (steps: [MergeStep], order: MergeOrder)? {
    let inStepWithRemote = stepMatching(of: remote, id: id) { $0 == $1 }
    var ofBase = MergePairing(stepMatching(of: base, id: id) { _, _ in true })
    var ofRemote = MergePairing(inStepWithRemote)
    let suspects = IdentityFilter.suspects(
      in: local,
      or: [ElementRuns(base, in: ofBase.sideRuns), ElementRuns(remote, in: ofRemote.sideRuns)],
      id: id)
    let index = IdentityIndex(capacity: suspects.reduce(0) { $0 + $1.count })
    guard index.insert(local, runs: suspects, side: .old, id: id) == nil,
      let baseRest = ofBase.pairRest(of: base, with: local, in: index, id: id),
      let remoteRest = ofRemote.pairRest(of: remote, with: local, in: index, id: id),
      let baseOfRest = match(remoteRest, with: baseRest, id: id)
    else { return nil }
    var steps: [MergeStep] = []
    var cursor = MergePairing.Cursor()
    for (l, r) in inStepWithRemote.updates {
      note(base: ofBase.partner(of: l, &cursor), local: l, remote: r, rank: r, in: &steps)
    }
    cursor = MergePairing.Cursor()
    ofRemote.forEachOutOfStep { l, r, rank in
      note(base: ofBase.partner(of: l, &cursor), local: l, remote: r, rank: rank, in: &steps)
    }
    for (r, b) in zip(remoteRest, baseOfRest) {
      note(base: b, local: MergeStep.absent, remote: r, rank: r, in: &steps)
    }
    // Close to linear: there are few runs, and the standard library's sort detects them.
    steps.sort { $0.precedes($1) }
    return (steps, order(ofBase, ofRemote))
  }

  /// Returns the order of the merge, by the records that all three versions have.
  ///
  /// If local has all its records in the base's order, which is the usual case, this costs nothing for
  /// records in step.
  @inlinable
  func order(_ ofBase: MergePairing, _ ofRemote: MergePairing) -> MergeOrder {
    guard !ofBase.isAscending(localCount: local.count) else { return .remote }
    var last: (base: Int, remote: Int)?
    var (isLocalChanged, isRemoteChanged, areUnlike) = (false, false, false)
    forEachShared(ofBase, ofRemote) { b, r in
      if let last {
        isLocalChanged = isLocalChanged || b < last.base
        areUnlike = areUnlike || r < last.remote
        isRemoteChanged = isRemoteChanged || (b < last.base) != (r < last.remote)
      }
      last = (b, r)
      return !(isLocalChanged && isRemoteChanged && areUnlike)
    }
    guard isLocalChanged, areUnlike else { return .remote }
    // Neighbours in local that remote has in another order than the base prove a change by remote. If
    // there are none, remote may still have changed the order of records that are no neighbours.
    guard !isRemoteChanged else { return .remoteDisputed }
    var remoteOffsets = Array(repeating: MergeStep.absent, count: base.count)
    forEachShared(ofBase, ofRemote) { b, r in
      remoteOffsets[b] = r
      return true
    }
    var greatest = MergeStep.absent
    for r in remoteOffsets where r != MergeStep.absent {
      guard r > greatest else { return .remoteDisputed }
      greatest = r
    }
    return .local
  }

  /// Calls `body` with the base and remote offsets of each record that all three versions have, in
  /// local order, until it returns false.
  @inlinable
  func forEachShared(
    _ ofBase: MergePairing, _ ofRemote: MergePairing, _ body: (_ base: Int, _ remote: Int) -> Bool
  ) {
    var (baseCursor, remoteCursor) = (MergePairing.Cursor(), MergePairing.Cursor())
    for l in local.indices {
      let b = ofBase.partner(of: l, &baseCursor)
      let r = ofRemote.partner(of: l, &remoteCursor)
      guard b != MergeStep.absent, r != MergeStep.absent else { continue }
      guard body(b, r) else { return }
    }
  }

  /// Pairs local elements with those of another side as long as both are in step.
  @inlinable @inline(__always)
  func stepMatching<ID: Hashable>(
    of side: UnsafeBufferPointer<Element>, id: (Element) -> ID,
    isEquivalent: (_ local: Element, _ other: Element) -> Bool
  ) -> StepMatching {
    StepMatching(
      oldCount: local.count, newCount: side.count,
      isSame: { id(local[$0]) == id(side[$1]) },
      isEquivalent: { isEquivalent(local[$0], side[$1]) })
  }

  /// Returns, for each remote offset, the base offset with the same identity, or `absent`. Returns
  /// `nil` if an identity occurs twice in either list.
  @inlinable @inline(__always)
  func match<ID: Hashable>(
    _ remoteRest: [Int], with baseRest: [Int], id: (Element) -> ID
  ) -> [Int]? {
    let baseIndex = IdentityIndex(capacity: baseRest.count)
    for b in baseRest {
      guard baseIndex.insert(b, in: base, id: id) else { return nil }
    }
    let remoteIndex = IdentityIndex(capacity: remoteRest.count)
    var matches: [Int] = []
    matches.reserveCapacity(remoteRest.count)
    for r in remoteRest {
      guard remoteIndex.insert(r, in: remote, id: id) else { return nil }
      let identity = id(remote[r])
      let b = baseIndex.offset(hash: identity.hashValue, where: { id(base[$0]) == identity })
      matches.append(b ?? MergeStep.absent)
    }
    return matches
  }
}

extension IdentityIndex {
  /// Adds one element. Returns `false` if its identity is there already or does not equal itself.
  @inlinable @inline(__always)
  borrowing func insert<Element, ID: Hashable>(
    _ offset: Int, in elements: UnsafeBufferPointer<Element>, id: (Element) -> ID
  ) -> Bool {
    let identity = id(elements[offset])
    guard identity == identity else { return false }
    let earlier = insert(
      offset, hash: identity.hashValue, unless: { id(elements[$0]) == identity })
    return earlier == nil
  }
}
