extension MergeSides where Element: Equatable {
  /// Returns the steps of sides that ascend strictly by `id`, in ascending order, or `nil` if a
  /// side does not.
  ///
  /// One pass repeatedly takes the least identity of the three heads. If it always exceeds the one
  /// before, all three sides ascend. This check costs one comparison per record.
  @inlinable
  func sortedSteps<ID: Comparable>(by id: (Element) -> ID) -> [MergeStep]? {
    var steps: [MergeStep] = []
    var previous: UnsafePointer<Element>?
    var b = 0
    var l = 0
    var r = 0
    while true {
      while b < base.count, l < local.count, r < remote.count {
        let identity = id(local[l])
        guard identity == id(remote[r]), identity == id(base[b]) else { break }
        if let previous, !(id(previous.pointee) < identity) { return nil }
        if local[l] != remote[r] { note(base: b, local: l, remote: r, rank: r, in: &steps) }
        previous = local.baseAddress.unsafelyUnwrapped + l
        b += 1
        l += 1
        r += 1
      }
      guard let least = least(base.head(b), least(local.head(l), remote.head(r), by: id), by: id)
      else { return steps }
      let identity = id(least.pointee)
      if let previous, !(id(previous.pointee) < identity) { return nil }
      previous = least
      guard let isBase = base.head(b, is: identity, by: id),
        let isLocal = local.head(l, is: identity, by: id),
        let isRemote = remote.head(r, is: identity, by: id)
      else { return nil }
      note(
        base: isBase ? b : MergeStep.absent, local: isLocal ? l : MergeStep.absent,
        remote: isRemote ? r : MergeStep.absent, rank: r, in: &steps)
      b += isBase ? 1 : 0
      l += isLocal ? 1 : 0
      r += isRemote ? 1 : 0
    }
  }

  /// Returns the element with the lesser identity, or `nil` if there is none.
  @inlinable
  func least<ID: Comparable>(
    _ first: UnsafePointer<Element>?, _ second: UnsafePointer<Element>?, by id: (Element) -> ID
  ) -> UnsafePointer<Element>? {
    guard let first, let second else { return first ?? second }
    return id(second.pointee) < id(first.pointee) ? second : first
  }
}

extension UnsafeBufferPointer {
  /// Returns the element at `position`, or `nil` at the end.
  @inlinable
  func head(_ position: Int) -> UnsafePointer<Element>? {
    position < count ? baseAddress.unsafelyUnwrapped + position : nil
  }

  /// Returns true if the element at `position` has this identity, false if it has a greater one or
  /// there is none, and `nil` if its identity cannot be compared, as NaN.
  @inlinable
  func head<ID: Comparable>(_ position: Int, is identity: ID, by id: (Element) -> ID) -> Bool? {
    guard position < count else { return false }
    let other = id(self[position])
    if other == identity { return true }
    return identity < other ? false : nil
  }
}
