package import TandemSync

/// A space that many replicas use at the same time.
package protocol SpaceStore: Sendable {
  /// The state of the space.
  func state() async throws -> SpaceState

  /// Declares the tables of a replica that attaches; returns those of the space.
  ///
  /// - Parameter adds: False for a replica that may only read: it cannot add tables and columns.
  /// - Throws: ``TandemSync/SyncRequestError`` if they do not fit those of the space.
  func declare(_ tables: [SpaceTable], adds: Bool) async throws -> [SpaceTable]

  /// Answers a commit; its effects are durable when this returns.
  ///
  /// Commits become visible one after the other, each as a whole. Cancelling the task does not
  /// withdraw a commit, so the outcome of a cancelled one is unknown: the same commit may be sent
  /// again.
  ///
  /// - Parameters:
  ///   - account: The account that sends it; `nil` where there are no accounts.
  ///   - ruling: The decision of the application's rules; `nil` where there are none.
  /// - Throws: ``TandemSync/SyncRequestError`` for the commit as a whole; ``StaleRuling`` if the rules have to be
  ///   asked again.
  func commit(
    _ commit: SyncCommit, account: String?, ruling: SpaceRuling?
  ) async throws -> SyncOutcome

  /// The records that a commit would change (``SpaceTables/proposal(of:account:)``).
  func proposal(of commit: SyncCommit, account: String?) async throws -> [SpaceLedger.Edit]

  /// Consumes the sequence of a commit that its account may not send (``SpaceTables/refuse(_:account:)``).
  func refuse(_ commit: SyncCommitIdentity, account: String?) async throws

  /// Returns a page of the records that changed after a revision.
  ///
  /// - Parameter account: The account that asks; `nil` where there are no accounts.
  /// - Throws: ``TandemSync/SyncRequestError`` with code `unauthorized` if the replica that asks belongs to
  ///   another account.
  func page(_ pull: SyncPull, account: String?) async throws -> SyncPullAnswer

  /// Waits until the head is not this revision, whichever program makes the next commit. Returns the
  /// head.
  @discardableResult
  func waitForCommit(after revision: SpaceRevision) async throws -> SpaceRevision

  /// Forgets the deletions up to a version, and the history below it.
  func forget(before version: Int) async throws

  /// The replicas, the commits and the overruled versions, the newest ones first.
  func inspection(maxCount: Int) async throws -> SpaceInspection
}

extension SpaceStore {
  /// Declares the tables of a replica that may write.
  package func declare(_ tables: [SpaceTable]) async throws -> [SpaceTable] {
    try await declare(tables, adds: true)
  }

  /// Answers a commit where there are no rules, and perhaps no accounts.
  package func commit(_ commit: SyncCommit, account: String? = nil) async throws -> SyncOutcome {
    try await self.commit(commit, account: account, ruling: nil)
  }

  /// Returns a page for a reader that may see all replicas.
  package func page(_ pull: SyncPull) async throws -> SyncPullAnswer {
    try await page(pull, account: nil)
  }
}

/// A space whose rows are read and written in transactions.
package protocol TransactionalSpaceStore: SpaceStore {
  /// Runs `body` with the space at one moment.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value

  /// Runs `body` in a transaction of the space.
  func write<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value
}

extension TransactionalSpaceStore {
  package func state() async throws -> SpaceState { try await read { try $0.state() } }

  package func page(_ pull: SyncPull, account: String?) async throws -> SyncPullAnswer {
    try await read { try $0.page(pull, account: account) }
  }

  package func inspection(maxCount: Int) async throws -> SpaceInspection {
    try await read { try $0.inspection(maxCount: maxCount) }
  }

  package func declare(_ tables: [SpaceTable], adds: Bool) async throws -> [SpaceTable] {
    try await write { try $0.declare(tables, adds: adds) }
  }

  package func refuse(_ commit: SyncCommitIdentity, account: String?) async throws {
    try await write { try $0.refuse(commit, account: account) }
  }

  package func forget(before version: Int) async throws {
    try await write { try $0.forget(before: version) }
  }

  package func proposal(
    of commit: SyncCommit, account: String?
  ) async throws -> [SpaceLedger.Edit] {
    try await read { try $0.proposal(of: commit, account: account) }
  }
}

/// A space as replicas reach it in this process.
package struct LocalRemote: SyncRemote {
  private let store: any SpaceStore

  package init(_ store: some SpaceStore) { self.store = store }

  package func declare(_ tables: [SpaceTable]) async throws -> [SpaceTable] {
    try await store.declare(tables, adds: true)
  }

  package func push(_ commit: SyncCommit) async throws -> SyncOutcome {
    try await store.commit(commit)
  }

  package func pull(_ pull: SyncPull) async throws -> SyncPullAnswer { try await store.page(pull) }

  package func follow(after revision: SpaceRevision) async throws -> any SyncAnnouncements {
    LocalAnnouncements(store: store)
  }
}

/// The commits of a space of this process.
private struct LocalAnnouncements: SyncAnnouncements {
  let store: any SpaceStore

  func next(after known: SpaceRevision) async throws -> SyncEvent {
    .head(try await store.waitForCommit(after: known))
  }
}
