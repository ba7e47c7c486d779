internal import TandemSQLite

/// A subscription to changes of tables, which ends with the object.
final class ReplicaWatch: Sendable {
  private let feed: ChangeFeed
  private let subscription: ChangeSubscription

  /// Subscribes to changes of the given tables, by whichever program.
  ///
  /// - Throws: ``ReplicaError`` with code `notAttached`; `DatabaseError`.
  init(
    _ database: Database, _ tables: @escaping @Sendable (ReplicaTables) throws -> [String]
  ) async throws {
    let tables = try await database.read { transaction in
      let replica = ReplicaTables(transaction.connection)
      _ = try replica.state()
      return try tables(replica)
    }
    feed = try await database.changeFeed()
    subscription = feed.subscribe()
    feed.setInterests(
      tables.map { TableInterest(table: $0, key: .none) }, of: subscription)
  }

  deinit { feed.unsubscribe(subscription) }

  /// Waits for changes that no call of ``read(_:_:)`` has seen. A watch whose wait was cancelled
  /// waits no more.
  func wait() async throws {
    await subscription.wait()
    try Task.checkCancellation()
  }

  /// Takes note of all changes until now: only later ones end a wait. A transaction that begins after
  /// this sees them.
  ///
  /// - Throws: `DatabaseError` if the file was deleted or replaced.
  func acknowledge(_ database: Database) async throws {
    // Changes of other programs may be anything, even the end of the file.
    if !feed.takeKnownChanges(of: subscription) { try await read(database) { _ in } }
  }

  /// Reads the state that the changes until now lead to. While another program keeps the file
  /// locked, it is read again, until the task is cancelled.
  func read<Value: Sendable>(
    _ database: Database, _ body: @escaping @Sendable (ReplicaTables) throws -> Value
  ) async throws -> Value {
    try await retryingWhileBusy { [feed, subscription] in
      try await database.read { transaction in
        _ = try feed.beginSnapshot(transaction.connection, for: subscription)
        return try body(ReplicaTables(transaction.connection))
      }
    }
  }
}
