internal import SystemLibrary
internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// A space in a SQLite file of its own. Several programs may use the file at the same time.
///
/// Commits that wait at the same time are written in one transaction, by a ``CommitQueue``. Each is in
/// a savepoint of its own: an error of one does not affect others.
package final class SQLiteSpaceStore: TransactionalSpaceStore {
  private let database: Database
  private let limits: SyncLimits
  private let queue = CommitQueue()

  /// The space in an open database.
  private init(_ database: Database, limits: SyncLimits) {
    self.database = database
    self.limits = limits
  }

  /// Opens the space in a file.
  ///
  /// - Parameter creates: True if a missing or empty file becomes a space with a new history.
  /// - Throws: ``SpaceError`` if the file is another database; ``TandemSQLite/DatabaseError``.
  package static func open(
    path: String, creates: Bool, limits: SyncLimits = SyncLimits()
  ) async throws -> SQLiteSpaceStore {
    let access: DatabaseConfiguration.Access = creates ? .readWriteCreate : .readWrite
    let database = try await Database.open(
      path: path, configuration: DatabaseConfiguration(access: access))
    do {
      // Before the first write, which would change the journal of another database.
      try await database.read {
        try SpaceTables($0.connection).check(allowsEmptyFile: creates)
      }
      if creates {
        try await database.write { transaction in
          var generator = SystemRandomNumberGenerator()
          try SpaceTables(transaction.connection).create(using: &generator)
        }
      }
    } catch {
      await database.close()
      throw error
    }
    return SQLiteSpaceStore(database, limits: limits)
  }

  /// Closes the file.
  package func close() async { await database.close() }

  /// See ``TandemSQLite/Database/errorOfReopening``. A log that was not there at first may as well be that of the file
  /// that is there now.
  var errorOfReopening: DatabaseError? { database.knowsLog ? database.errorOfReopening : nil }
}

// MARK: - Requests

extension SQLiteSpaceStore {
  /// Runs `body` with the space in a file at one moment. Changes nothing.
  package static func read<Value: Sendable>(
    path: String, _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    let database = try await Database.open(
      path: path, configuration: DatabaseConfiguration(access: .readOnly, maxReaderCount: 1))
    return try await closing(database.close) {
      try await database.read { transaction in
        let space = SpaceTables(transaction.connection)
        try space.check()
        return try body(space)
      }
    }
  }

  /// Runs `body` in a transaction of the space in a file.
  package static func write<Value: Sendable>(
    path: String, _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    let store = try await open(path: path, creates: false)
    return try await closing(store.close) { try await store.write(body) }
  }

  @discardableResult
  package func waitForCommit(after revision: SpaceRevision) async throws -> SpaceRevision {
    let feed = try await database.changeFeed()
    let subscription = feed.subscribe()
    defer { feed.unsubscribe(subscription) }
    let limits = limits
    while true {
      let head = try await refusingIfBusy {
        try await database.read { transaction in
          // From here on, the subscription is notified of each commit that this read does not see.
          _ = try feed.beginSnapshot(transaction.connection, for: subscription)
          try transaction.connection.checkIsFileThere()
          return try SpaceTables(transaction.connection, limits: limits).state().head
        }
      }
      guard head == revision else { return head }
      await subscription.wait()
      try Task.checkCancellation()
    }
  }

  package func read<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    let limits = limits
    return try await refusingIfBusy {
      try await database.read { transaction in
        // A connection that is open would read a file that was replaced, without end.
        try transaction.connection.checkIsFileThere()
        return try body(SpaceTables(transaction.connection, limits: limits))
      }
    }
  }

  package func write<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    let limits = limits
    return try await refusingIfBusy {
      try await database.write { try body(SpaceTables($0.connection, limits: limits)) }
    }
  }

  /// Runs `body`; a lock of another program is a reason to try again later.
  private func refusingIfBusy<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as DatabaseError where error.code.primary == .busy {
      throw SyncRequestError(.unavailable, "another program is using the space: \(error)")
    }
  }
}

// MARK: - Commits

extension SQLiteSpaceStore {
  package func commit(
    _ commit: SyncCommit, account: String?, ruling: SpaceRuling?
  ) async throws -> SyncOutcome {
    let entry = CommitQueue.Entry(commit: commit, account: account, ruling: ruling)
    return try await queue.commit(entry) { entries in
      try await write { space in
        var generator = SystemRandomNumberGenerator()
        return try space.answer(entries, at: millisecondsSince1970(), using: &generator)
      }
    }
  }
}

extension SpaceTables {
  /// Answers commits that share a transaction, each in a savepoint.
  package func answer(
    _ entries: [CommitQueue.Entry], at time: Int, using generator: inout some RandomNumberGenerator
  ) throws -> [Result<SyncOutcome, any Error>] {
    if connection.readsAhead {
      // The records of very large commits are read with each.
      let commits = entries.lazy.map(\.commit)
      let records = commits.flatMap { $0.changes.lazy.map(\.key) }.prefix(Self.maxReadAheadCount)
      try connection.expect(
        [SpaceLookup(.state, [])] + (limits.hasQuota ? [SpaceLookup(.usage, [])] : [])
          + commits.flatMap(lookups) + recordLookups(records))
    }
    return try entries.map { try answer($0, at: time, using: &generator) }
  }

  /// The number of records that are read ahead for several commits.
  private static let maxReadAheadCount = 20_000

  /// What a commit reads before it is judged.
  private func lookups(of commit: SyncCommit) -> [SpaceLookup] {
    [
      SpaceLookup(.replica, [.text(commit.replica.description)]),
      SpaceLookup(.revisionOfCommit, [.text(commit.id.description)]),
      SpaceLookup(.mark, [.integer(Int64(commit.base.version))]),
    ]
  }

  func recordLookups(_ keys: some Sequence<SyncKey>) -> [SpaceLookup] {
    keys.map { SpaceLookup(.record, [.text($0.table), .blob($0.idBytes)]) }
  }

  /// Answers a commit in a savepoint. A commit beyond a quota consumes its sequence, because a copy of it may arrive
  /// when there is room, and its replica has sent its changes in another one by then.
  ///
  /// - Returns: A failure if only this commit failed; what it wrote is undone.
  /// - Throws: An error that has ended the transaction.
  package func answer(
    _ entry: CommitQueue.Entry, at time: Int, using generator: inout some RandomNumberGenerator
  ) throws -> Result<SyncOutcome, any Error> {
    do {
      return .success(
        try connection.savepoint {
          try commit(
            entry.commit, account: entry.account, ruling: entry.ruling, at: time, using: &generator)
        })
    } catch let refused as RefusedAmendments where connection.isInTransaction {
      var entry = entry
      entry.ruling?.refuse(refused.objections)
      return try answer(entry, at: time, using: &generator)
    } catch  where connection.isInTransaction {
      if (error as? SyncRequestError)?.code == .overQuota {
        try store(.refused([]), of: entry.commit.identity, entry.account)
      }
      return .failure(error)
    }
  }
}

/// The present, in milliseconds since 1970.
package func millisecondsSince1970() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int(time.tv_sec) * 1_000 + Int(time.tv_nsec) / 1_000_000
}
