public import TandemDifferences

/// Brings a client's contents in step with a remote's, both ways, by comparing values.
///
/// This is differential synchronization after Neil Fraser ("Differential Synchronization", 2009),
/// made safe: every push is conditional on the whole ``Revision``, a creation included; a rejected
/// push is followed by a pull and a three-way merge over the shadow; a push whose answer was lost is
/// repeated under its token and recognised; a new epoch is put to a policy.
///
/// ```swift
/// let synchronizer = Synchronizer(
///   remote: remote, identifiedBy: \.id, policy: .editBeatsDelete.then(.keepRemote),
///   epochPolicy: .union)
/// let report = try await synchronizer.synchronize(client: &notes, shadow: &shadow)
/// ```
///
/// **Safety.** Client and shadow change together, and only to states that belong together: an error
/// or cancellation at any point leaves a pair from which the next call goes on, and loses no edit of
/// either side. To survive the end of the process as well, save both after each call, in one
/// transaction, and whenever `save` is called.
///
/// **Convergence.** Clients that are synchronized in turn until none has edits left hold the same
/// records, as does the remote, but for open conflicts.
///
/// **Order.** The client ends up in the order ``ThreeWayMerge`` gives. Order alone is no change, and
/// is not pushed.
public struct Synchronizer<Remote: ConditionalRemote, ID: Hashable & SendableMetatype>: Sendable
where Remote.Element: Equatable & SendableMetatype {
  /// What is synchronized.
  public typealias Element = Remote.Element
  /// Answers conflicts that the policy leaves unresolved.
  public typealias Resolver =
    @Sendable (MergeConflict<Element>) async throws -> MergeResolution<Element>
  /// Keeps a client's contents and shadow where they survive the process.
  public typealias Save =
    @Sendable (_ client: [Element], _ shadow: Shadow<Element>) async throws -> Void

  @usableFromInline let remote: Remote
  @usableFromInline let id: @Sendable (Element) -> ID
  @usableFromInline let policy: MergePolicy<Element>
  @usableFromInline let epochPolicy: EpochPolicy
  @usableFromInline let options: SynchronizationOptions
  @usableFromInline let resolver: Resolver
  @usableFromInline let save: Save

  /// A synchronizer with one remote.
  ///
  /// - Parameters:
  ///   - remote: What the clients share.
  ///   - id: A record's identity: a key path or a closure.
  ///   - policy: Resolves conflicts.
  ///   - epochPolicy: Decides what to do when the remote's history is a new one.
  ///   - options: Bounds and services.
  ///   - resolver: Is asked about conflicts that `policy` leaves unresolved, again in each round.
  ///     What it leaves unresolved too stays open.
  ///   - save: Is called before each push is sent. Does nothing unless told otherwise.
  @inlinable
  public init(
    remote: Remote, identifiedBy id: @escaping @Sendable (Element) -> ID,
    policy: MergePolicy<Element>, epochPolicy: EpochPolicy,
    options: SynchronizationOptions = SynchronizationOptions(),
    resolver: @escaping Resolver = { _ in .unresolved }, save: @escaping Save = { _, _ in }
  ) {
    self.remote = remote
    self.id = id
    self.policy = policy
    self.epochPolicy = epochPolicy
    self.options = options
    self.resolver = resolver
    self.save = save
  }

  /// Brings `client` and the remote in step, and `shadow` up to date.
  ///
  /// Edits made to the client's contents elsewhere while this runs are not seen; merge them with
  /// ``ThreeWayMerge``, over the contents that were passed in.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before something is sent or asked;
  ///   ``SynchronizationError``; ``MergeError`` if an identity occurs twice, in whichever contents;
  ///   what the remote, a policy, the resolver or `save` throws.
  @inlinable @discardableResult
  public nonisolated(nonsending) func synchronize(
    client: inout [Element], shadow: inout Shadow<Element>
  ) async throws -> SynchronizationReport<Element, ID> {
    let before = client
    var report = SynchronizationReport<Element, ID>()
    if let pending = shadow.pendingPush {
      report.conflicts = try await settle(pending, &client, &shadow)
    }
    let settled = report.conflicts
    repeat {
      try await beginRound(&report)
      report.conflicts = settled
    } while try await !runRound(&client, &shadow, &report)
    report.revision = shadow.revision
    report.toClient = try difference(from: before, to: client)
    return report
  }
}
