public import TandemDifferences
internal import TandemRecords

/// Makes a client's contents and a remote's equal, in both directions, by comparing values.
///
/// This is differential synchronization after Neil Fraser ("Differential Synchronization", 2009)
/// with four rules added. Every push is conditional on the whole ``RemoteRevision``, even if it
/// creates the contents. A rejected push is followed by a pull and a three-way merge over the shadow.
/// A push whose reply was lost is repeated with its token, so that the remote recognises it. A policy
/// decides when the remote has a new epoch.
///
/// <!-- Snippets/CodeInComments.swift synchronizing -->
/// ```swift
/// /// Synchronizes, and returns the contents and the shadow to keep, after an error too.
/// func synchronize(
///   _ notes: [Note], _ shadow: RemoteShadow<Note>, with remote: any ConditionalRemote<Note>
/// ) async -> (notes: [Note], shadow: RemoteShadow<Note>) {
///   let synchronizer = Synchronizer(
///     remote: remote, identifiedBy: \.id, policy: .editBeatsDelete.then(.keepRemote),
///     epochPolicy: .union)
///   let synchronized = await synchronizer.synchronized(client: notes, shadow: shadow)
///   if case .failure(let error) = synchronized.result { print(error) }
///   return (synchronized.client, synchronized.shadow)
/// }
/// ```
///
/// An application that edits its contents while a call runs, or that shows them, lets a
/// `SynchronizedArray` of the module `Tandem` own the contents and the shadow. The two forms here are
/// for programs that own them: ``synchronized(client:shadow:isolation:)`` takes and returns values,
/// and ``synchronize(client:shadow:isolation:)`` changes local variables.
///
/// **Safety.** Client and shadow always change together, to states that fit each other. After an
/// error or cancellation at any point, the next call continues from there, and no edit of either side
/// is lost. To survive the end of the process too, save both in one transaction: after each call, and
/// whenever `save` is called.
///
/// **Lost replies.** A push whose reply was lost is repeated with its token. If the remote does not
/// recognise it, because others pushed since, a record that the remote has exactly as it was pushed
/// counts as arrived, so a newer edit of it is no conflict.
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
public struct Synchronizer<Element: Equatable & Sendable, ID: Hashable & SendableMetatype>:
  Sendable
{
  /// Resolves conflicts that the policy leaves unresolved.
  public typealias Resolver =
    @Sendable (MergeConflict<Element>) async throws -> MergeResolution<Element>
  /// Saves a client's contents and shadow so that they survive the process.
  public typealias Save =
    @Sendable (_ client: [Element], _ shadow: RemoteShadow<Element>) async throws -> Void
  /// Takes a state before a push, and returns the function that saves it.
  @usableFromInline package typealias Keep =
    (_ client: [Element], _ shadow: RemoteShadow<Element>) throws ->
    @Sendable () async throws ->
    Void

  @usableFromInline let remote: any ConditionalRemote<Element>
  /// A record's identity.
  @usableFromInline package let id: @Sendable (Element) -> ID
  /// Resolves conflicts.
  @usableFromInline package let policy: MergePolicy<Element>
  @usableFromInline let epochPolicy: EpochPolicy
  @usableFromInline let maxRoundCount: Int
  @usableFromInline let resolver: Resolver
  /// Saves contents and shadow.
  @usableFromInline package let save: Save
  /// Makes the token of a push; never the same token twice.
  @usableFromInline package var makeToken: @Sendable () -> PushToken = PushToken.random
  /// Waits before a round. Rounds count from 1; there is no pause before the first.
  @usableFromInline package var pause: @Sendable (_ round: Int) async throws -> Void = { round in
    let backoff = Backoff(first: .milliseconds(100), max: .seconds(5), jitter: 1)
    try await Task.sleep(
      for: backoff.delay(afterFailure: round - 1, chance: .random(in: 0...1)))
  }

  /// Creates a synchronizer with one remote.
  ///
  /// - Parameters:
  ///   - remote: The shared contents.
  ///   - id: A record's identity: a key path or a closure.
  ///   - policy: Resolves conflicts.
  ///   - epochPolicy: Decides when the remote's history is a new one.
  ///   - maxRoundCount: The maximum number of rounds; at least one takes place. Before each further
  ///     round, the call pauses for a random part of 100 milliseconds, of 200, and so on up to 5 seconds.
  ///   - resolver: Called for each conflict that `policy` leaves unresolved, again in each round.
  ///     Conflicts that it leaves unresolved too stay open.
  ///   - save: Called before each push is sent. Does nothing by default.
  public init(
    remote: some ConditionalRemote<Element>, identifiedBy id: @escaping @Sendable (Element) -> ID,
    policy: MergePolicy<Element>, epochPolicy: EpochPolicy, maxRoundCount: Int = 8,
    resolver: @escaping Resolver = { _ in .unresolved }, save: @escaping Save = { _, _ in }
  ) {
    self.remote = remote
    self.id = id
    self.policy = policy
    self.epochPolicy = epochPolicy
    self.maxRoundCount = maxRoundCount
    self.resolver = resolver
    self.save = save
  }

  /// Makes `client` and the remote equal, and updates `shadow`.
  ///
  /// Both must be local variables: Swift does not pass a property of an object, or a global, to an
  /// asynchronous function that changes it. Edits made elsewhere during the call are not included.
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
    try await synchronize(client: &client, shadow: &shadow) { [save] client, shadow in
      { try await save(client, shadow) }
    }
  }

  /// Makes a client's contents and the remote equal, and returns the new contents and the new shadow.
  ///
  /// Keep both, whatever the result is: after an error, the shadow may have a push whose reply was
  /// lost, which the next call repeats. Edits made during the call are not in the contents returned.
  ///
  /// - Parameters:
  ///   - client: The client's contents.
  ///   - shadow: The state of the last exchange.
  ///   - isolation: The caller's actor, on which the call runs and returns.
  /// - Returns: The new contents, the new shadow, and the report or an error as
  ///   ``synchronize(client:shadow:isolation:)`` throws it.
  @inlinable
  public func synchronized(
    client: [Element], shadow: RemoteShadow<Element>, isolation: isolated (any Actor)? = #isolation
  ) async -> (
    client: [Element], shadow: RemoteShadow<Element>,
    result: Result<SynchronizationReport<Element, ID>, any Error>
  ) {
    var (client, shadow) = (client, shadow)
    do {
      let report = try await synchronize(client: &client, shadow: &shadow)
      return (client, shadow, .success(report))
    } catch {
      return (client, shadow, .failure(error))
    }
  }

  /// Synchronizes as ``synchronize(client:shadow:isolation:)`` does, and calls `keep` before each push
  /// in place of `save`.
  @inlinable
  package func synchronize(
    client: inout [Element], shadow: inout RemoteShadow<Element>,
    isolation: isolated (any Actor)? = #isolation, keep: Keep
  ) async throws -> SynchronizationReport<Element, ID> {
    let before = client
    if let pending = shadow.pendingPush { try await repeatPush(pending, &client, &shadow) }
    var report = SynchronizationReport<Element, ID>()
    repeat {
      try await beginRound(&report)
    } while try await !runRound(&client, &shadow, &report, keep)
    report.conflicts.insert(contentsOf: takeUnreportedConflicts(&shadow), at: 0)
    report.revision = shadow.revision
    report.toClient = try difference(from: before, to: client)
    return report
  }
}
