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

/// The states of something in a replica's file: the present one, and each later one that differs.
///
/// Each iterator observes the file by itself, including changes by other programs. States in quick
/// succession may be skipped; the last one never is. While another program keeps the file locked,
/// an iterator waits. It ends with an error when the file is detached or closed, and when the task
/// is cancelled.
public struct ReplicaSequence<Element: Hashable & Sendable>: AsyncSequence, Sendable {
  private let database: Database
  private let tables: @Sendable (ReplicaTables) throws -> [String]
  private let read: @Sendable (ReplicaTables) throws -> Element

  /// - Parameters:
  ///   - tables: The tables on which the states depend.
  ///   - read: The present state.
  init(
    _ database: Database, _ tables: @escaping @Sendable (ReplicaTables) throws -> [String],
    read: @escaping @Sendable (ReplicaTables) throws -> Element
  ) {
    self.database = database
    self.tables = tables
    self.read = read
  }

  /// An iterator that begins with the present state.
  public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

  /// The iterator of a ``ReplicaSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let sequence: ReplicaSequence
    private var watch: ReplicaWatch?
    private var last: Element?

    fileprivate init(sequence: ReplicaSequence) { self.sequence = sequence }

    /// The next state; it is never `nil`.
    ///
    /// - Throws: ``ReplicaError``; `DatabaseError`; `CancellationError`.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> Element? {
      while true {
        let watch: ReplicaWatch
        if let current = self.watch {
          watch = current
          try await watch.wait()
        } else {
          watch = try await ReplicaWatch(sequence.database, sequence.tables)
          self.watch = watch
        }
        let element = try await watch.read(sequence.database, sequence.read)
        guard element != last else { continue }
        last = element
        return element
      }
    }
  }
}
