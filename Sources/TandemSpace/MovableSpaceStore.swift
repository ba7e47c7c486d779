internal import TandemSQLite
package import TandemSync

/// A space in a file that may be moved away, back, or replaced while it is in use: a request fails while
/// the file is not there, and the next one opens the file that is there then.
package actor MovableSpaceStore {
  /// The absolute path of the file.
  package nonisolated let path: String
  /// The open file; `nil` after it was found to be gone.
  private var store: SQLiteSpaceStore?
  /// The file that was found to be gone, whose log must not be applied to another one. It stays open until another one is
  /// open, so that no other log gets the number of its log in the file system.
  private var former: SQLiteSpaceStore?
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
    await former?.close()
  }

  private func current() async throws -> SQLiteSpaceStore {
    if let store { return store }
    if let error = former?.errorOfReopening { throw error }
    let opened = try await SQLiteSpaceStore.open(path: path, creates: false)
    // Another request, or the end, may have come first.
    guard store == nil, !isClosed else {
      await opened.close()
      guard let store else { throw SyncRequestError(.unavailable, "the space is closed") }
      return store
    }
    store = opened
    let gone = former
    former = nil
    await gone?.close()
    return opened
  }

  private func leave(_ gone: SQLiteSpaceStore) async {
    guard store === gone, !isClosed else { return }
    (store, former) = (nil, gone)
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

extension MovableSpaceStore: TransactionalSpaceStore {
  package nonisolated func read<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    try await with { try await $0.read(body) }
  }

  package nonisolated func write<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    try await with { try await $0.write(body) }
  }

  package nonisolated func commit(
    _ commit: SyncCommit, account: String?, ruling: SpaceRuling?
  ) async throws -> SyncOutcome {
    try await with { try await $0.commit(commit, account: account, ruling: ruling) }
  }

  package nonisolated func waitForCommit(
    after revision: SpaceRevision
  ) async throws -> SpaceRevision {
    try await with { try await $0.waitForCommit(after: revision) }
  }
}
