extension SetDifference {
  /// The difference from one version to another, in any order, of elements that need not be `Equatable`.
  @inlinable @inline(__always)
  package init<ID: Hashable>(
    from old: [Element], to new: [Element], identifiedBy id: (Element) -> ID,
    comparedBy areEquivalent: (Element, Element) -> Bool
  ) throws(IdentityViolation) {
    self.init()
    let violation = old.withUnsafeBufferPointer { old in
      new.withUnsafeBufferPointer { new in
        join(old, new, id: id, areEquivalent: areEquivalent)
      }
    }
    if let violation { throw violation }
  }

  /// Pairs the elements of both versions and keeps the changes.
  @inlinable @inline(__always)
  mutating func join<ID: Hashable>(
    _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
    id: (Element) -> ID, areEquivalent: (Element, Element) -> Bool
  ) -> IdentityViolation? {
    let steps = StepMatching(
      oldCount: old.count, newCount: new.count,
      isSame: { id(old[$0]) == id(new[$1]) },
      isEquivalent: { areEquivalent(old[$0], new[$1]) })
    let suspects = IdentityFilter.suspects(
      in: old, or: [ElementRuns(new, in: steps.unmatchedNew)], id: id)
    let index = IdentityIndex(capacity: suspects.reduce(0) { $0 + $1.count })
    if let violation = index.insert(old, runs: suspects, side: .old, id: id) {
      return violation
    }
    var isOpen = [Bool](repeating: false, count: old.count)
    for run in steps.unmatchedOld {
      for offset in run { isOpen[offset] = true }
    }
    var insertions: [Range<Int>] = []
    var updates = steps.updates[...]
    for run in steps.unmatchedNew {
      while let update = updates.first, update.new < run.lowerBound {
        updated.append(Update(old: old[update.old], new: new[update.new]))
        updates.removeFirst()
      }
      let violation = index.forEachMatch(of: new, in: run, among: old, id: id) { match, offset in
        guard let match else {
          inserted.append(new[offset])
          insertions.append(offset..<offset + 1)
          return true
        }
        guard isOpen[match] else { return false }
        isOpen[match] = false
        if !areEquivalent(old[match], new[offset]) {
          updated.append(Update(old: old[match], new: new[offset]))
        }
        return true
      }
      if let violation { return violation }
    }
    for update in updates {
      updated.append(Update(old: old[update.old], new: new[update.new]))
    }
    for run in steps.unmatchedOld {
      for offset in run where isOpen[offset] { deleted.append(old[offset]) }
    }
    return IdentityIndex(capacity: insertions.count)
      .insert(new, runs: insertions, side: .new, id: id)
  }
}

extension IdentityIndex {
  /// Adds the elements in the given runs of offsets. Returns the first violation.
  @inlinable @inline(__always)
  borrowing func insert<Element, ID: Hashable>(
    _ elements: UnsafeBufferPointer<Element>, runs: [Range<Int>], side: IdentityViolation.Side,
    id: (Element) -> ID
  ) -> IdentityViolation? {
    forEachBatch(of: elements, in: runs, id: id) { offset, hash in
      let identity = id(elements[offset])
      if IdentityViolation.isIncomparable(identity) {
        return IdentityViolation(side: side, offset: offset, kind: .incomparable)
      }
      let earlier = insert(offset, hash: hash, unless: { id(elements[$0]) == identity })
      guard earlier == nil else {
        return IdentityViolation(side: side, offset: offset, kind: .duplicate)
      }
      return nil
    }
  }

  /// Calls `body` for each element of a run, with the offset of the element of the same identity
  /// among `indexed`, if any. `body` returns true if that element was not paired yet.
  @inlinable @inline(__always)
  borrowing func forEachMatch<Element, ID: Hashable>(
    of elements: UnsafeBufferPointer<Element>, in run: Range<Int>,
    among indexed: UnsafeBufferPointer<Element>,
    id: (Element) -> ID, body: (_ match: Int?, _ offset: Int) -> Bool
  ) -> IdentityViolation? {
    forEachBatch(of: elements, in: CollectionOfOne(run), id: id) { offset, hash in
      let identity = id(elements[offset])
      if IdentityViolation.isIncomparable(identity) {
        return IdentityViolation(side: .new, offset: offset, kind: .incomparable)
      }
      let match = self.offset(hash: hash, where: { id(indexed[$0]) == identity })
      guard body(match, offset) else {
        return IdentityViolation(side: .new, offset: offset, kind: .duplicate)
      }
      return nil
    }
  }

  /// Calls `body` with each offset of the runs and its element's hash, after the elements and slots
  /// of a whole batch were brought into the cache. Stops at the first violation.
  @inlinable @inline(__always)
  borrowing func forEachBatch<Element, ID: Hashable>(
    of elements: UnsafeBufferPointer<Element>, in runs: some Sequence<Range<Int>>,
    id: (Element) -> ID, body: (_ offset: Int, _ hash: Int) -> IdentityViolation?
  ) -> IdentityViolation? {
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 2 * IdentityIndex.batchCount) { memory in
      let offsets = UnsafeMutableBufferPointer(rebasing: memory.prefix(IdentityIndex.batchCount))
      let hashes = UnsafeMutableBufferPointer(rebasing: memory.dropFirst(IdentityIndex.batchCount))
      var count = 0
      func finishBatch() -> IdentityViolation? {
        touch(elements, at: offsets, count: count)
        for place in 0..<count {
          hashes.initializeElement(at: place, to: id(elements[offsets[place]]).hashValue)
        }
        touch(hashes, count: count)
        for place in 0..<count {
          if let violation = body(offsets[place], hashes[place]) { return violation }
        }
        count = 0
        return nil
      }
      for run in runs {
        for offset in run {
          offsets.initializeElement(at: count, to: offset)
          count += 1
          if count == IdentityIndex.batchCount, let violation = finishBatch() { return violation }
        }
      }
      return finishBatch()
    }
  }
}

extension SetDifference where Element: Equatable {
  /// The difference from one version to another, in any order.
  ///
  /// Elements that kept their order are paired by walking both versions in step. A hash table pairs
  /// the others. If both versions are sorted, use ``init(from:to:sortedBy:by:)``, which needs no hash
  /// at all. Plain values are their own identities: `\.self`.
  ///
  /// - Parameters:
  ///   - old: The version to start from.
  ///   - new: The version to arrive at.
  ///   - id: An element's identity: a key path or a closure.
  ///   - areEquivalent: Returns true if two elements of one identity have the same contents.
  ///   - duplicates: The elements to compare of those with the same identity. By default, there must be
  ///     none.
  /// - Throws: ``IdentityViolation`` if `duplicates` is ``DuplicatePolicy/error`` and two elements of one
  ///   version share an identity, or if an identity does not equal itself, as NaN.
  /// - Complexity: O(*n* + *m*) expected time. Memory for the changes and, per element of `old`, a
  ///   filter of 9 to 13 bytes if the order is mostly kept, or otherwise a table of 17 to 33 bytes
  ///   (and as much again per inserted element).
  @inlinable @inline(__always)
  public init<ID: Hashable>(
    from old: [Element], to new: [Element], identifiedBy id: (Element) -> ID,
    by areEquivalent: (Element, Element) -> Bool = { $0 == $1 },
    duplicates: DuplicatePolicy = .error
  ) throws(IdentityViolation) {
    var (old, new) = (old, new)
    if duplicates != .error {
      old = try duplicates.unique(old, as: .old, identifiedBy: id)
      new = try duplicates.unique(new, as: .new, identifiedBy: id)
    }
    try self.init(from: old, to: new, identifiedBy: id, comparedBy: areEquivalent)
  }
}

extension SetDifference where Element: Equatable & Identifiable {
  /// The difference from one version to another by `id`, in any order. See
  /// ``init(from:to:identifiedBy:by:duplicates:)``.
  @inlinable
  public init(from old: [Element], to new: [Element]) throws(IdentityViolation) {
    try self.init(from: old, to: new, identifiedBy: { $0.id })
  }
}
