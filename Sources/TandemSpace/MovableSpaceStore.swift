internal import TandemSQLite
package import TandemSync

/// A space in a file that may be moved away, back, or replaced while it is in use: a request fails while
/// the file is not there, and the next one opens the file that is there then.
package actor MovableSpaceStore {
  /// The absolute path of the file.
  package nonisolated let path: String
  /// The open file; `nil` after it was found to be gone.
  private var store: SQLiteSpaceStore?
  private var isClosed = false

  /// The space in a file that is open.
  init(_ store: SQLiteSpaceStore, path: String) {
    self.store = store
    self.path = path
  }

  /// Closes the file. Requests fail from now on.
  package func close() async {
    isClosed = true
    await store?.close()
  }

  private func current() async throws -> SQLiteSpaceStore {
    if let store { return store }
    let opened = try await SQLiteSpaceStore.open(path: path, creates: false)
    // Another request, or the end, may have come first.
    guard store == nil, !isClosed else {
      await opened.close()
      guard let store else { throw SyncRequestError(.unavailable, "the space is closed") }
      return store
    }
    store = opened
    return opened
  }

  private func leave(_ gone: SQLiteSpaceStore) async {
    guard store === gone, !isClosed else { return }
    store = nil
    await gone.close()
  }

  private nonisolated func with<Value: Sendable>(
    _ body: (SQLiteSpaceStore) async throws -> Value
  ) async throws -> Value {
    let store = try await current()
    do {
      return try await body(store)
    } catch let error as DatabaseError where error.isFileGone {
      await leave(store)
      throw error
    }
  }
}

extension MovableSpaceStore: SpaceStore {
  package nonisolated func state() async throws -> SpaceState {
    try await with { try await $0.state() }
  }

  package nonisolated func declare(
    _ tables: [SpaceTable], adds: Bool
  ) async throws -> [SpaceTable] {
    try await with { try await $0.declare(tables, adds: adds) }
  }

  package nonisolated func commit(
    _ commit: SyncCommit, account: String?, ruling: SpaceRuling?
  ) async throws -> SyncOutcome {
    try await with { try await $0.commit(commit, account: account, ruling: ruling) }
  }

  package nonisolated func proposal(
    of commit: SyncCommit, account: String?
  ) async throws -> [SpaceLedger.Edit] {
    try await with { try await $0.proposal(of: commit, account: account) }
  }

  package nonisolated func refuse(_ commit: SyncCommitIdentity, account: String?) async throws {
    try await with { try await $0.refuse(commit, account: account) }
  }

  package nonisolated func page(
    _ pull: SyncPull, account: String?
  ) async throws -> SyncPullAnswer {
    try await with { try await $0.page(pull, account: account) }
  }

  package nonisolated func waitForCommit(
    after revision: SpaceRevision
  ) async throws -> SpaceRevision {
    try await with { try await $0.waitForCommit(after: revision) }
  }

  package nonisolated func forget(before version: Int) async throws {
    try await with { try await $0.forget(before: version) }
  }

  package nonisolated func inspection(maxCount: Int) async throws -> SpaceInspection {
    try await with { try await $0.inspection(maxCount: maxCount) }
  }
}
