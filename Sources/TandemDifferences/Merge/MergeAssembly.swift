/// The result of a merge during its assembly, step by step.
@usableFromInline
struct MergeAssembly<Element: Equatable, ID: Equatable> {
  @usableFromInline let plan: MergePlan<Element>
  @usableFromInline var merge: ThreeWayMerge<Element, ID>
  /// The side whose order the merge has.
  @usableFromInline let leader: [Element]
  /// The number of the leader's records that are done.
  @usableFromInline var doneCount = 0
  /// Positions, in merged order.
  @usableFromInline var deletedFromLocal: [Int] = []
  /// Positions, in merged order.
  @usableFromInline var deletedFromRemote: [Int] = []

  @inlinable
  init(plan: MergePlan<Element>) {
    self.plan = plan
    merge = ThreeWayMerge(
      merged: [], toLocal: SetDifference(), toRemote: SetDifference(), conflicts: [])
    leader = plan.order == .local ? plan.local : plan.remote
    guard !plan.steps.isEmpty else { return }
    let additionCount = plan.steps.reduce(0) { $0 + (offset(of: $1) == MergeStep.absent ? 1 : 0) }
    merge.merged.reserveCapacity(leader.count + additionCount)
  }

  /// Returns the position of the leader's version, or ``MergeStep/absent``.
  @inlinable
  func offset(of step: MergeStep) -> Int { plan.order == .local ? step.local : step.remote }

  /// Adds the leader's records before `step`, then the record itself as resolved.
  @inlinable
  mutating func take(_ resolution: MergeResolution<Element>, at step: MergeStep) {
    copyLeader(upTo: step.rank)
    if offset(of: step) != MergeStep.absent { doneCount = offset(of: step) + 1 }
    let local = step.local == MergeStep.absent ? nil : plan.local[step.local]
    let remote = step.remote == MergeStep.absent ? nil : plan.remote[step.remote]
    let result: Element?
    switch resolution {
    case .local: result = local
    case .remote: result = remote
    case .merged(let value): result = value
    case .deleted: result = nil
    case .unresolved:
      if let local { merge.merged.append(local) }
      return
    }
    if let result { merge.merged.append(result) }
    if local != nil && result == nil {
      deletedFromLocal.append(step.local)
    } else {
      merge.toLocal.append(old: local, new: result)
    }
    if remote != nil && result == nil {
      deletedFromRemote.append(step.remote)
    } else {
      merge.toRemote.append(old: remote, new: result)
    }
  }

  @inlinable
  mutating func copyLeader(upTo end: Int) {
    guard doneCount < end else { return }
    merge.merged.append(contentsOf: leader[doneCount..<end])
    doneCount = end
  }

  @inlinable
  mutating func finish() -> ThreeWayMerge<Element, ID> {
    if plan.steps.isEmpty {
      merge.merged = leader
    } else {
      copyLeader(upTo: leader.count)
    }
    merge.toLocal.deleted = deletedFromLocal.sorted().map { plan.local[$0] }
    merge.toRemote.deleted = deletedFromRemote.sorted().map { plan.remote[$0] }
    return merge
  }
}
