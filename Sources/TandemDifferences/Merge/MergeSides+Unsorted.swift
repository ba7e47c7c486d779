extension MergeSides where Element: Equatable {
  /// The steps of sides in any order, in merged order; `nil` if an identity occurs twice on a side
  /// or does not equal itself.
  ///
  /// Local identities are hashed, once each. The other two sides walk along local in step, and look
  /// an identity up only where the order departs; what local does not have is hashed too.
  @inlinable @inline(__always)
  func steps<ID: Hashable>(by id: (Element) -> ID) -> [MergeStep]? {
    let index = IdentityIndex(capacity: local.count)
    guard index.insert(local, runs: [0..<local.count], side: .old, id: id) == nil,
      let baseSide = index.join(base, along: local, id: id),
      let remoteSide = index.join(remote, along: local, id: id),
      let baseOfRest = match(remoteSide.rest, with: baseSide.rest, id: id)
    else { return nil }
    var steps: [MergeStep] = []
    var last = MergeStep.absent
    for l in local.indices {
      let r = remoteSide.ofLocal[l]
      let rank = r == MergeStep.absent ? last + 1 : r
      if r != MergeStep.absent { last = r }
      note(base: baseSide.ofLocal[l], local: l, remote: r, rank: rank, in: &steps)
    }
    for (r, b) in zip(remoteSide.rest, baseOfRest) {
      note(base: b, local: MergeStep.absent, remote: r, rank: r, in: &steps)
    }
    // Close to linear, as there are few runs: the standard library's sort looks for them.
    steps.sort { $0.precedes($1) }
    return steps
  }

  /// For each of the remote offsets the base offset with the same identity, or `absent`; `nil` if an
  /// identity occurs twice in either list.
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
  /// Adds one element; `false` if its identity is there already or does not equal itself.
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

  /// For each element of `local`, which is what this index holds, the offset on `side` of the same
  /// identity, or `absent`, and the offsets on `side` that local does not have; `nil` if a local
  /// identity occurs twice on `side`.
  @inlinable @inline(__always)
  borrowing func join<Element, ID: Hashable>(
    _ side: UnsafeBufferPointer<Element>, along local: UnsafeBufferPointer<Element>,
    id: (Element) -> ID
  ) -> (ofLocal: [Int], rest: [Int])? {
    var ofLocal = [Int](repeating: MergeStep.absent, count: local.count)
    var rest: [Int] = []
    var next = 0
    for s in side.indices {
      if next == local.count || id(local[next]) != id(side[s]) {
        let identity = id(side[s])
        let isSame = { id(local[$0]) == identity }
        guard let l = offset(hash: identity.hashValue, where: isSame) else {
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
