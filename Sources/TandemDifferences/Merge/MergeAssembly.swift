/// The result of a merge during its assembly, step by step.
@usableFromInline
struct MergeAssembly<Element: Equatable, ID: Equatable> {
  @usableFromInline let plan: MergePlan<Element>
  @usableFromInline var merge: ThreeWayMerge<Element, ID>
  /// The number of remote records that are done.
  @usableFromInline var remoteCount = 0
  /// Positions, in merged order.
  @usableFromInline var deletedFromLocal: [Int] = []

  @inlinable
  init(plan: MergePlan<Element>) {
    self.plan = plan
    merge = ThreeWayMerge(
      merged: [], toLocal: SetDifference(), toRemote: SetDifference(), conflicts: [])
    guard !plan.steps.isEmpty else { return }
    let additionCount = plan.steps.reduce(0) { $0 + ($1.remote == MergeStep.absent ? 1 : 0) }
    merge.merged.reserveCapacity(plan.remote.count + additionCount)
  }

  /// Adds the remote records before `step`, then the record itself as resolved.
  @inlinable
  mutating func take(_ resolution: MergeResolution<Element>, at step: MergeStep) {
    copyRemote(upTo: step.rank)
    if step.remote != MergeStep.absent { remoteCount = step.remote + 1 }
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
    merge.toRemote.append(old: remote, new: result)
  }

  @inlinable
  mutating func copyRemote(upTo end: Int) {
    guard remoteCount < end else { return }
    merge.merged.append(contentsOf: plan.remote[remoteCount..<end])
    remoteCount = end
  }

  @inlinable
  mutating func finish() -> ThreeWayMerge<Element, ID> {
    if plan.steps.isEmpty {
      merge.merged = plan.remote
    } else {
      copyRemote(upTo: plan.remote.count)
    }
    merge.toLocal.deleted = deletedFromLocal.sorted().map { plan.local[$0] }
    return merge
  }
}
