extension MergeSides where Element: Equatable {
  /// The steps of sides in any order, in merged order; `nil` if an identity occurs twice on a side.
  ///
  /// Local identities are hashed, once each. The other two sides walk along it in step, and look an
  /// identity up only where the order departs; what local does not have is hashed too.
  @inlinable
  func steps<ID: Hashable>(by id: (Element) -> ID) -> [MergeStep]? {
    guard let index = LocalIndex(local, by: id),
      let (baseOfLocal, baseRest) = index.join(base, with: local, by: id),
      let (remoteOfLocal, remoteRest) = index.join(remote, with: local, by: id),
      let baseOfRest = match(remoteRest, with: baseRest, by: id)
    else { return nil }
    var steps: [MergeStep] = []
    var last = MergeStep.absent
    for l in local.indices {
      let r = remoteOfLocal[l]
      if r != MergeStep.absent { last = r }
      note(
        base: baseOfLocal[l], local: l, remote: r, rank: r == MergeStep.absent ? last + 1 : r,
        in: &steps)
    }
    for (r, b) in zip(remoteRest, baseOfRest) {
      note(base: b, local: MergeStep.absent, remote: r, rank: r, in: &steps)
    }
    // A merge of ascending runs, so close to linear: sorting in the standard library finds runs.
    steps.sort { $0.precedes($1) }
    return steps
  }

  /// For each of the remote positions the base position with the same identity, or `absent`; `nil`
  /// if an identity occurs twice in either list.
  @inlinable
  func match<ID: Hashable>(
    _ remoteRest: [Int], with baseRest: [Int], by id: (Element) -> ID
  ) -> [Int]? {
    var baseTable = PositionTable(capacity: baseRest.count, limit: base.count)
    for b in baseRest {
      let identity = id(base[b])
      let isEqual = { id(base[$0]) == identity }
      if baseTable.insert(b, hash: identity.hashValue, isEqual: isEqual) != nil { return nil }
    }
    var remoteTable = PositionTable(capacity: remoteRest.count, limit: remote.count)
    var matches: [Int] = []
    matches.reserveCapacity(remoteRest.count)
    for r in remoteRest {
      let identity = id(remote[r])
      let hash = identity.hashValue
      if remoteTable.insert(r, hash: hash, isEqual: { id(remote[$0]) == identity }) != nil {
        return nil
      }
      let b = baseTable.position(hash: hash, isEqual: { id(base[$0]) == identity })
      matches.append(b ?? MergeStep.absent)
    }
    return matches
  }
}

/// The positions of the local side by identity.
@usableFromInline
struct LocalIndex {
  @usableFromInline var table: PositionTable

  /// `nil` if an identity occurs twice.
  @inlinable
  init?<Element, ID: Hashable>(_ local: UnsafeBufferPointer<Element>, by id: (Element) -> ID) {
    table = PositionTable(capacity: local.count, limit: local.count)
    for l in local.indices {
      let identity = id(local[l])
      let isEqual = { id(local[$0]) == identity }
      if table.insert(l, hash: identity.hashValue, isEqual: isEqual) != nil { return nil }
    }
  }

  /// For each local position the one on `side` with the same identity, or `absent`, and the
  /// positions on `side` without a local one; `nil` if a local identity occurs twice on `side`.
  @inlinable
  func join<Element, ID: Hashable>(
    _ side: UnsafeBufferPointer<Element>, with local: UnsafeBufferPointer<Element>,
    by id: (Element) -> ID
  ) -> (ofLocal: [Int], rest: [Int])? {
    var ofLocal = [Int](repeating: MergeStep.absent, count: local.count)
    var rest: [Int] = []
    var next = 0
    for s in side.indices {
      let identity = id(side[s])
      if next == local.count || id(local[next]) != identity {
        let isEqual = { id(local[$0]) == identity }
        guard let l = table.position(hash: identity.hashValue, isEqual: isEqual) else {
          rest.append(s)
          continue
        }
        next = l
      }
      guard ofLocal[next] == MergeStep.absent else { return nil }
      ofLocal[next] = s
      next += 1
    }
    return (ofLocal, rest)
  }
}
