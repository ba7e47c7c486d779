public import TandemDifferences

/// Makes a client's contents and a remote's equal, in both directions, by comparing values.
///
/// This is differential synchronization after Neil Fraser ("Differential Synchronization", 2009)
/// with four rules added. Every push is conditional on the whole ``RemoteRevision``, even if it
/// creates the contents. A rejected push is followed by a pull and a three-way merge over the shadow.
/// A push whose reply was lost is repeated with its token, so that the remote recognises it. A policy
/// decides when the remote has a new epoch.
///
/// ```swift
/// let synchronizer = Synchronizer(
///   remote: remote, identifiedBy: \.id, policy: .editBeatsDelete.then(.keepRemote),
///   epochPolicy: .union)
/// let report = try await synchronizer.synchronize(client: &notes, shadow: &shadow)
/// ```
///
/// **Safety.** Client and shadow always change together, to states that fit each other. After an
/// error or cancellation at any point, the next call continues from there, and no edit of either side
/// is lost. To survive the end of the process too, save both in one transaction: after each call, and
/// whenever `save` is called.
///
/// **Convergence.** If clients are synchronized in turn until none has edits left, they and the remote
/// hold the same records, except open conflicts.
///
/// **Deletions.** The shadow is the list of what existed, so a record that one side lacks was deleted
/// there. No tombstones are needed, neither at the client nor at the remote, and nothing has to be
/// collected later. The exception is a remote with a new epoch: the shadow is no common base any more,
/// and the ``EpochPolicy`` decides.
///
/// **Order.** The client ends up in the order that ``/TandemDifferences/ThreeWayMerge`` defines. A
/// change of order alone is not a change, and is not pushed.
public struct Synchronizer<Remote: ConditionalRemote, ID: Hashable & SendableMetatype>: Sendable
where Remote.Element: Equatable & SendableMetatype {
  /// The type of the elements.
  public typealias Element = Remote.Element
  /// Resolves conflicts that the policy leaves unresolved.
  public typealias Resolver =
    @Sendable (MergeConflict<Element>) async throws -> MergeResolution<Element>
  /// Saves a client's contents and shadow so that they survive the process.
  public typealias Save =
    @Sendable (_ client: [Element], _ shadow: RemoteShadow<Element>) async throws -> Void

  @usableFromInline let remote: Remote
  @usableFromInline let id: @Sendable (Element) -> ID
  @usableFromInline let policy: MergePolicy<Element>
  @usableFromInline let epochPolicy: EpochPolicy
  @usableFromInline let options: SynchronizationOptions
  @usableFromInline let resolver: Resolver
  @usableFromInline let save: Save

  /// Creates a synchronizer with one remote.
  ///
  /// - Parameters:
  ///   - remote: The shared contents.
  ///   - id: A record's identity: a key path or a closure.
  ///   - policy: Resolves conflicts.
  ///   - epochPolicy: Decides when the remote's history is a new one.
  ///   - options: Bounds and services.
  ///   - resolver: Called for each conflict that `policy` leaves unresolved, again in each round.
  ///     Conflicts that it leaves unresolved too stay open.
  ///   - save: Called before each push is sent. Does nothing by default.
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

  /// Makes `client` and the remote equal, and updates `shadow`.
  ///
  /// Edits made to the client's contents elsewhere during the call are not included. Merge them with
  /// ``/TandemDifferences/ThreeWayMerge``, with the contents that were passed in as the base.
  ///
  /// - Parameters:
  ///   - client: The client's contents.
  ///   - shadow: The state of the last exchange.
  ///   - isolation: The caller's actor, on which the call runs and returns, even if it throws.
  /// - Throws: `CancellationError` if the task is cancelled before something is sent or a resolver
  ///   is called, or during a pause; ``SynchronizationError``; ``/TandemDifferences/MergeError`` if an identity occurs
  ///   twice in any of the contents; errors of the remote, a policy, the resolver or `save`.
  @inlinable @discardableResult
  public func synchronize(
    client: inout [Element], shadow: inout RemoteShadow<Element>,
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> SynchronizationReport<Element, ID> {
    let before = client
    if let pending = shadow.pendingPush { try await repeatPush(pending, &client, &shadow) }
    var report = SynchronizationReport<Element, ID>()
    repeat {
      try await beginRound(&report)
    } while try await !runRound(&client, &shadow, &report)
    report.conflicts.insert(contentsOf: takeUnreportedConflicts(&shadow), at: 0)
    report.revision = shadow.revision
    report.toClient = try difference(from: before, to: client)
    return report
  }
}
