public import TandemDifferences

extension Synchronizer {
  /// Repeats a push whose answer is unknown; returns the conflicts between it and later edits.
  @inlinable
  nonisolated(nonsending) func settle(
    _ pending: PendingPush<Element>, _ client: inout [Element], _ shadow: inout Shadow<Element>
  ) async throws -> [ConflictReport<Element, ID>] {
    try Task.checkCancellation()
    guard case .accepted(let revision) = try await remote.push(pending.push) else {
      shadow.pendingPush = nil
      return []
    }
    let rebased = try await ThreeWayMerge(
      base: .known(pending.clientBefore), local: client, remote: pending.clientAfter,
      identifiedBy: id, policy: policy, resolver: resolver)
    client = rebased.merged
    shadow = Shadow(
      revision: revision, elements: pending.push.contents,
      openConflicts: pending.openConflicts + rebased.unresolved.map(\.conflict))
    // The others are open, so the merge that follows meets them again.
    return rebased.conflicts.filter { !$0.resolution.isUnresolved }
  }

  @inlinable
  nonisolated(nonsending) func beginRound(
    _ report: inout SynchronizationReport<Element, ID>
  ) async throws {
    if report.roundCount > 0 {
      guard report.roundCount < options.maxRoundCount else {
        throw SynchronizationError.tooManyRounds(report.roundCount)
      }
      try await options.pause(report.roundCount + 1)
    }
    report.roundCount += 1
  }

  /// Pushes what the client changed, without looking in the first round, then after a pull and a
  /// merge; `false` if the push was rejected.
  @inlinable
  nonisolated(nonsending) func runRound(
    _ client: inout [Element], _ shadow: inout Shadow<Element>,
    _ report: inout SynchronizationReport<Element, ID>
  ) async throws -> Bool {
    if report.roundCount == 1, let push = try pushWithoutPulling(client, shadow) {
      return try await send(push, &client, &shadow)
    }
    try Task.checkCancellation()
    let pulled = Pulled(try await remote.pull())
    let ancestor = try await ancestor(of: client, shadow, pulled, &report)
    let plan = try MergePlan(
      base: ancestor.elements, local: client, remote: pulled.elements, identifiedBy: id)
    let resolutions = try await plan.resolutions(policy: policy, resolver: resolver)
    let merge = try plan.merge(resolutions, identifiedBy: id)
    report.conflicts += merge.conflicts
    let openConflicts = merge.unresolved.map(\.conflict)
    guard !merge.toRemote.isEmpty else {
      client = merge.merged
      shadow = Shadow(
        revision: pulled.revision, elements: pulled.elements, openConflicts: openConflicts)
      return true
    }
    // What is pushed has the remote version where a conflict is open; the client keeps its own.
    let pushed =
      openConflicts.isEmpty
      ? merge : try plan.merge(resolutions.map(\.remoteIfUnresolved), identifiedBy: id)
    let push = PendingPush(
      push: ConditionalPush(
        condition: pulled.revision.map { .revision($0) } ?? .absent, contents: pushed.merged,
        difference: merge.toRemote, token: options.makeToken()),
      clientBefore: client, clientAfter: merge.merged, openConflicts: openConflicts)
    return try await send(push, &client, &shadow)
  }

  /// The client's contents as a push conditional on the shadow's revision: if nobody else pushed,
  /// no merge is needed. `nil` if there is nothing to push, or something to ask first.
  @inlinable
  func pushWithoutPulling(
    _ client: [Element], _ shadow: Shadow<Element>
  ) throws(MergeError) -> PendingPush<Element>? {
    guard let revision = shadow.revision, shadow.openConflicts.isEmpty else { return nil }
    let difference = try difference(from: shadow.elements, to: client)
    if difference.isEmpty { return nil }
    return PendingPush(
      push: ConditionalPush(
        condition: .revision(revision), contents: client, difference: difference,
        token: options.makeToken()),
      clientBefore: client, clientAfter: client, openConflicts: [])
  }

  /// Sends a push; if it is accepted, client and shadow become what it says.
  @inlinable
  nonisolated(nonsending) func send(
    _ pending: PendingPush<Element>, _ client: inout [Element], _ shadow: inout Shadow<Element>
  ) async throws -> Bool {
    try Task.checkCancellation()
    shadow.pendingPush = pending
    try await save(client, shadow)
    switch try await remote.push(pending.push) {
    case .rejected:
      shadow.pendingPush = nil
      return false
    case .accepted(let revision):
      client = pending.clientAfter
      shadow = Shadow(
        revision: revision, elements: pending.push.contents,
        openConflicts: pending.openConflicts)
      return true
    }
  }

  /// What client and remote have in common, after asking the policy if the epoch is a new one.
  @inlinable
  nonisolated(nonsending) func ancestor(
    of client: [Element], _ shadow: Shadow<Element>, _ pulled: Pulled<Element>,
    _ report: inout SynchronizationReport<Element, ID>
  ) async throws -> Ancestor<Element> {
    guard let known = shadow.revision, known.epoch != pulled.revision?.epoch else {
      return shadow.ancestor(identifiedBy: id)
    }
    let decision = try await epochPolicy.decide(
      EpochPolicy.Change(known: known, found: pulled.revision))
    report.epochDecision = decision
    switch decision {
    case .union: return .unknown
    case .adoptLocal: return .known(pulled.elements)
    case .adoptRemote:
      if pulled.revision == nil { throw SynchronizationError.nothingToAdopt }
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

/// What a pull found, with absent contents as none at no revision.
@usableFromInline
struct Pulled<Element> {
  @usableFromInline var elements: [Element]
  @usableFromInline var revision: Revision?

  @inlinable
  init(_ contents: RemoteContents<Element>) {
    switch contents {
    case .absent: (elements, revision) = ([], nil)
    case .present(let elements, let revision): (self.elements, self.revision) = (elements, revision)
    }
  }
}

extension MergeResolution {
  /// This resolution, or the remote version if nothing was decided.
  @inlinable
  var remoteIfUnresolved: MergeResolution { isUnresolved ? .remote : self }
}
