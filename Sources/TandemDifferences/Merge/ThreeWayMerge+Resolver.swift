extension ThreeWayMerge where Element: Equatable {
  /// Merges as ``init(base:local:remote:identifiedBy:policy:)`` does, and calls `resolver`, which
  /// may ask a person or a service, for each conflict that the policy leaves unresolved.
  ///
  /// The result equals that of a synchronous merge with the same resolutions. The resolver is
  /// called for one conflict at a time, in the order of ``conflicts``, on the caller's actor. The
  /// merge runs there too.
  ///
  /// - Throws: ``MergeError`` as the synchronous form does; `CancellationError` if the task is
  ///   cancelled before a conflict is passed to the resolver; errors of the resolver.
  @inlinable
  public init(
    base: MergeBase<Element>, local: [Element], remote: [Element],
    identifiedBy id: (Element) -> ID, policy: MergePolicy<Element> = .unresolved,
    isolation: isolated (any Actor)? = #isolation,
    resolver:
      nonisolated(nonsending) (MergeConflict<Element>) async throws
      -> MergeResolution<Element>
  ) async throws where ID: Hashable {
    let plan = try MergePlan(
      base: base.elements, local: local, remote: remote, identifiedBy: id)
    let resolutions = try await plan.resolutions(policy: policy, resolver: resolver)
    self = try plan.merge(resolutions, identifiedBy: id)
  }

  /// Merges as ``init(base:local:remote:sortedBy:policy:)`` does, and calls `resolver` for each
  /// conflict that the policy leaves unresolved. See
  /// ``init(base:local:remote:identifiedBy:policy:isolation:resolver:)``.
  @inlinable
  public init(
    base: MergeBase<Element>, local: [Element], remote: [Element],
    sortedBy id: (Element) -> ID, policy: MergePolicy<Element> = .unresolved,
    isolation: isolated (any Actor)? = #isolation,
    resolver:
      nonisolated(nonsending) (MergeConflict<Element>) async throws
      -> MergeResolution<Element>
  ) async throws where ID: Comparable {
    let plan = try MergePlan(base: base.elements, local: local, remote: remote, sortedBy: id)
    let resolutions = try await plan.resolutions(policy: policy, resolver: resolver)
    self = try plan.merge(resolutions, identifiedBy: id)
  }
}

extension ThreeWayMerge where Element: Equatable & Identifiable, ID == Element.ID {
  /// Merges records identified by their `id`, and calls `resolver` for each conflict that the
  /// policy leaves unresolved. See
  /// ``init(base:local:remote:identifiedBy:policy:isolation:resolver:)``.
  @inlinable
  public init(
    base: MergeBase<Element>, local: [Element], remote: [Element],
    policy: MergePolicy<Element> = .unresolved,
    isolation: isolated (any Actor)? = #isolation,
    resolver:
      nonisolated(nonsending) (MergeConflict<Element>) async throws
      -> MergeResolution<Element>
  ) async throws {
    try await self.init(
      base: base, local: local, remote: remote, identifiedBy: { $0.id }, policy: policy,
      resolver: resolver)
  }
}

extension MergePlan {
  /// Returns a resolution for each conflict: the policy's, or the resolver's if the policy has
  /// none.
  @inlinable
  package func resolutions(
    policy: MergePolicy<Element>, isolation: isolated (any Actor)? = #isolation,
    resolver:
      nonisolated(nonsending) (MergeConflict<Element>) async throws
      -> MergeResolution<Element>
  ) async throws -> [MergeResolution<Element>] {
    var resolutions: [MergeResolution<Element>] = []
    for conflict in conflicts {
      var resolution = policy.resolve(conflict)
      if resolution.isUnresolved {
        try Task.checkCancellation()
        resolution = try await resolver(conflict)
      }
      resolutions.append(resolution)
    }
    return resolutions
  }
}
