public import TandemDifferences

// `isolation` instead of `nonisolated(nonsending)`: Swift 6.3.1 miscompiles the latter in optimized
// builds, where a caller can find itself off its actor after an error.

extension Synchronizer {
  /// Repeats a push whose reply is unknown. If it was accepted, client and shadow change as after any
  /// accepted push, and edits made since then are merged in. A push that is rejected stays in the shadow
  /// as unconfirmed: a remote without tokens may have applied it.
  @inlinable
  func repeatPush(
    _ pending: PendingPush<Element>, _ client: inout [Element],
    _ shadow: inout RemoteShadow<Element>, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    try Task.checkCancellation()
    guard let revision = try await remote.push(pending.push) else {
      shadow.pendingPush = nil
      shadow.addUnconfirmed(pending.push.difference)
      return
    }
    let rebased = try await ThreeWayMerge(
      base: .known(pending.clientBefore), local: client, remote: pending.clientAfter,
      identifiedBy: id, policy: policy, resolver: resolver)
    client = rebased.merged
    // Conflicts that are open here are met again by the merge that follows, which reports them.
    shadow = RemoteShadow(
      revision: revision, elements: pending.push.contents,
      openConflicts: pending.openConflicts + rebased.unresolved.map(\.conflict),
      unreportedConflicts: shadow.unreportedConflicts + pending.resolvedConflicts
        + rebased.conflicts.compactMap(\.resolved))
  }

  /// Takes the conflicts that earlier calls, or a repeated push, resolved without reporting them.
  @inlinable
  func takeUnreportedConflicts(
    _ shadow: inout RemoteShadow<Element>
  ) -> [ConflictReport<Element, ID>] {
    defer { shadow.unreportedConflicts = [] }
    return shadow.unreportedConflicts.map {
      ConflictReport(
        id: id($0.conflict.anyVersion), conflict: $0.conflict, resolution: $0.resolution)
    }
  }

  @inlinable
  func beginRound(
    _ report: inout SynchronizationReport<Element, ID>,
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    if report.roundCount > 0 {
      guard report.roundCount < maxRoundCount else {
        throw SynchronizationError.tooManyRounds(report.roundCount)
      }
      try await pause(report.roundCount + 1)
    }
    report.roundCount += 1
  }

  /// Pushes the client's changes: in the first round without a pull, otherwise after a pull and a
  /// merge. Returns `false` if the push was rejected.
  @inlinable
  func runRound(
    _ client: inout [Element], _ shadow: inout RemoteShadow<Element>,
    _ report: inout SynchronizationReport<Element, ID>, _ keep: Keep,
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> Bool {
    if report.roundCount == 1, let push = try pushWithoutPulling(client, shadow) {
      return try await send(push, &client, &shadow, keep)
    }
    try Task.checkCancellation()
    let pulled = try await remote.pull()
    let elements = pulled?.elements ?? []
    let base = try await mergeBase(of: client, shadow, elements, pulled?.revision, &report)
    let plan = try MergePlan(
      base: base.elements, local: client, remote: elements, identifiedBy: id)
    let resolutions = try await plan.resolutions(policy: policy, resolver: resolver)
    let merge = try plan.merge(resolutions, identifiedBy: id)
    report.conflicts = merge.conflicts
    let openConflicts = merge.unresolved.map(\.conflict)
    guard !merge.toRemote.isEmpty else {
      client = merge.merged
      shadow = RemoteShadow(
        revision: pulled?.revision, elements: elements, openConflicts: openConflicts,
        unreportedConflicts: shadow.unreportedConflicts)
      return true
    }
    // The push has the remote version where a conflict is open; the client keeps its own.
    let pushed =
      openConflicts.isEmpty
      ? merge : try plan.merge(resolutions.map(\.remoteIfUnresolved), identifiedBy: id)
    let push = PendingPush(
      push: ConditionalPush(
        condition: pulled.map { .revision($0.revision) } ?? .absent, contents: pushed.merged,
        difference: merge.toRemote, token: makeToken()),
      clientBefore: client, clientAfter: merge.merged, openConflicts: openConflicts,
      resolvedConflicts: merge.conflicts.compactMap(\.resolved))
    return try await send(push, &client, &shadow, keep)
  }

  /// Returns the client's contents as a push conditional on the shadow's revision: if no other client
  /// pushed, no merge is needed. `nil` if there is nothing to push, or if conflicts are open.
  @inlinable
  func pushWithoutPulling(
    _ client: [Element], _ shadow: RemoteShadow<Element>
  ) throws(MergeError) -> PendingPush<Element>? {
    guard let revision = shadow.revision, shadow.openConflicts.isEmpty, shadow.unconfirmed == nil
    else { return nil }
    let difference = try difference(from: shadow.elements, to: client)
    if difference.isEmpty { return nil }
    return PendingPush(
      push: ConditionalPush(
        condition: .revision(revision), contents: client, difference: difference,
        token: makeToken()),
      clientBefore: client, clientAfter: client, openConflicts: [])
  }

  /// Sends a push. If it is accepted, client and shadow become those of the push.
  @inlinable
  func send(
    _ pending: PendingPush<Element>, _ client: inout [Element],
    _ shadow: inout RemoteShadow<Element>, _ keep: Keep,
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> Bool {
    try Task.checkCancellation()
    shadow.pendingPush = pending
    try await keep(client, shadow)()
    guard let revision = try await remote.push(pending.push) else {
      shadow.pendingPush = nil
      return false
    }
    client = pending.clientAfter
    shadow = RemoteShadow(
      revision: revision, elements: pending.push.contents, openConflicts: pending.openConflicts,
      unreportedConflicts: shadow.unreportedConflicts)
    return true
  }

  /// Returns the common base of client and remote, after asking the policy if the epoch is new.
  @inlinable
  func mergeBase(
    of client: [Element], _ shadow: RemoteShadow<Element>, _ pulled: [Element],
    _ revision: RemoteRevision?, _ report: inout SynchronizationReport<Element, ID>,
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> MergeBase<Element> {
    guard let known = shadow.revision, known.epoch != revision?.epoch else {
      return shadow.mergeBase(with: pulled, identifiedBy: id)
    }
    let decision = try await epochPolicy.decide(known.epoch, revision?.epoch)
    report.epochDecision = decision
    switch decision {
    case .union: return .unknown
    case .adoptLocal: return .known(pulled)
    case .adoptRemote:
      if revision == nil { throw SynchronizationError.nothingToAdopt }
      return .known(client)
    }
  }

  @inlinable
  func difference(
    from old: [Element], to new: [Element]
  ) throws(MergeError) -> SetDifference<Element> {
    do {
      return try SetDifference(from: old, to: new, identifiedBy: id)
    } catch {
      throw .identity(
        side: error.side == .old ? .base : .local, offset: error.offset, kind: error.kind)
    }
  }
}

extension ConflictReport {
  /// The conflict and its resolution; `nil` if it is open.
  @inlinable
  var resolved: ResolvedConflict<Element>? {
    resolution.isUnresolved ? nil : ResolvedConflict(conflict: conflict, resolution: resolution)
  }
}

extension MergeResolution {
  /// This resolution, or the remote version if it is unresolved.
  @inlinable
  var remoteIfUnresolved: MergeResolution { isUnresolved ? .remote : self }
}
