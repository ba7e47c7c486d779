/// Three versions and the places where they differ: everything a merge needs except the
/// resolutions.
///
/// A merge is a plan, then a resolution for each conflict in order, then the assembly of the
/// result. Only the resolutions may be asynchronous, so sorted, unsorted, synchronous and
/// asynchronous merges share all the rest.
@usableFromInline
package struct MergePlan<Element: Equatable> {
  @usableFromInline let base: [Element]
  @usableFromInline let local: [Element]
  @usableFromInline let remote: [Element]
  /// In merged order.
  @usableFromInline let steps: [MergeStep]
  @usableFromInline package let order: MergeOrder

  /// Plans the merge of versions in any order.
  @inlinable
  package init<ID: Hashable>(
    base: [Element], local: [Element], remote: [Element], identifiedBy id: (Element) -> ID
  ) throws(MergeError) {
    guard let (inRemoteOrder, order) = Self.sides(base, local, remote, { $0.steps(by: id) }),
      let steps = order == .local
        ? Self.stepsInLocalOrder(base, local, remote, identifiedBy: id) : inRemoteOrder
    else {
      throw Self.violation(base, local, remote) { $0.firstDuplicate(by: id) }
    }
    self.init(base: base, local: local, remote: remote, steps: steps, order: order)
  }

  /// Returns the steps in local order, which are those of the merge with its sides exchanged, or `nil`
  /// if an identity occurs twice on a side, as the first search finds too if `==` is symmetric.
  @inlinable @inline(never)
  static func stepsInLocalOrder<ID: Hashable>(
    _ base: [Element], _ local: [Element], _ remote: [Element], identifiedBy id: (Element) -> ID
  ) -> [MergeStep]? {
    sides(base, remote, local) { $0.steps(by: id)?.steps.map(\.mirrored) }
  }

  /// Plans the merge of versions that ascend strictly by `id`.
  @inlinable
  init<ID: Comparable>(
    base: [Element], local: [Element], remote: [Element], sortedBy id: (Element) -> ID
  ) throws(MergeError) {
    guard let steps = Self.sides(base, local, remote, { $0.sortedSteps(by: id) }) else {
      throw Self.violation(base, local, remote) { $0.firstNotAscending(by: id) }
    }
    self.init(base: base, local: local, remote: remote, steps: steps, order: .remote)
  }

  @inlinable
  init(
    base: [Element], local: [Element], remote: [Element], steps: [MergeStep], order: MergeOrder
  ) {
    self.base = base
    self.local = local
    self.remote = remote
    self.steps = steps
    self.order = order
  }

  /// The conflicts, in merged order.
  @inlinable
  package var conflicts: [MergeConflict<Element>] {
    steps.filter { $0.kind == .conflict }.map(conflict)
  }

  @inlinable
  func conflict(at step: MergeStep) -> MergeConflict<Element> {
    if step.base == MergeStep.absent {
      return .addAdd(local: local[step.local], remote: remote[step.remote])
    }
    if step.remote == MergeStep.absent {
      return .editDelete(base: base[step.base], local: local[step.local])
    }
    if step.local == MergeStep.absent {
      return .deleteEdit(base: base[step.base], remote: remote[step.remote])
    }
    return .editEdit(
      base: base[step.base], local: local[step.local], remote: remote[step.remote])
  }
}

extension MergePlan {
  @inlinable
  static func sides<Result>(
    _ base: [Element], _ local: [Element], _ remote: [Element],
    _ body: (MergeSides<Element>) -> Result?
  ) -> Result? {
    base.withUnsafeBufferPointer { base in
      local.withUnsafeBufferPointer { local in
        remote.withUnsafeBufferPointer { remote in
          body(MergeSides(base: base, local: local, remote: remote))
        }
      }
    }
  }

  /// Returns the first violation, in the base, then in local, then in remote.
  @inlinable
  static func violation(
    _ base: [Element], _ local: [Element], _ remote: [Element],
    _ first: ([Element]) -> (offset: Int, kind: IdentityViolation.Kind)?
  ) -> MergeError {
    if let (offset, kind) = first(base) {
      return .identity(side: .base, offset: offset, kind: kind)
    }
    if let (offset, kind) = first(local) {
      return .identity(side: .local, offset: offset, kind: kind)
    }
    // Identities that can be ordered on each side but not across sides are left.
    let (offset, kind) = first(remote) ?? (0, .incomparable)
    return .identity(side: .remote, offset: offset, kind: kind)
  }
}

extension Array {
  /// Returns these elements and those of `other` that they lack. Each of the latter follows the nearest
  /// element before it there that both have; it is first if there is none.
  @inlinable
  package func union<ID: Hashable>(
    _ other: [Element], identifiedBy id: (Element) -> ID
  ) -> [Element] {
    let known = Set(map(id))
    var predecessor: ID?
    var added: [ID?: [Element]] = [:]
    for element in other {
      if known.contains(id(element)) {
        predecessor = id(element)
      } else {
        added[predecessor, default: []].append(element)
      }
    }
    return added[nil, default: []] + flatMap { [$0] + added[id($0), default: []] }
  }

  /// Returns the first element whose identity occurs earlier or does not equal itself.
  @inlinable
  func firstDuplicate<ID: Hashable>(
    by id: (Element) -> ID
  ) -> (offset: Int, kind: IdentityViolation.Kind)? {
    var seen = Set<ID>()
    for offset in indices {
      let identity = id(self[offset])
      if identity != identity { return (offset, .incomparable) }
      if !seen.insert(identity).inserted { return (offset, .duplicate) }
    }
    return nil
  }

  /// Returns the first element whose identity is not greater than the one before.
  @inlinable
  func firstNotAscending<ID: Comparable>(
    by id: (Element) -> ID
  ) -> (offset: Int, kind: IdentityViolation.Kind)? {
    for offset in indices {
      let identity = id(self[offset])
      if identity != identity { return (offset, .incomparable) }
      guard offset > 0 else { continue }
      if let kind = IdentityViolation.kind(of: identity, after: id(self[offset - 1])) {
        return (offset, kind)
      }
    }
    return nil
  }
}
