/// The options of opening a ``Database``, and its limits.
public struct DatabaseConfiguration: Hashable, Sendable {
  /// The operations that are permitted on a file.
  public enum Access: Hashable, Sendable {
    /// Reading and writing; the file is created if it is missing.
    case readWriteCreate
    /// Reading and writing a file that exists.
    case readWrite
    /// Reading a file that exists. Nothing is written, and the journal mode stays. SQLite itself
    /// may still move commits of others from the write-ahead log into the file, as it always does.
    case readOnly
  }

  /// The journal that the first write establishes. Opening changes nothing.
  public enum Journal: Hashable, Sendable {
    /// A write-ahead log, where the file system allows one: readers never wait for the writer. A
    /// file stays in this mode. The first write to a file in another mode waits for all of its
    /// readers.
    case writeAhead
    /// The journal that the file has.
    case asItIs
  }

  /// The time at which commits move from the write-ahead log into the database file.
  public enum CheckpointPolicy: Hashable, Sendable {
    /// In the commit that makes the log at least this long, in pages; that commit takes longer.
    case automatic(pageCount: Int)
    /// Only when ``Database/checkpoint()`` is called, and on closing.
    case manual
  }

  /// The default wait for another connection's lock: five seconds.
  public static let defaultBusyTimeout: Duration = .seconds(5)
  /// The default number of idle compiled statements per connection.
  public static let defaultMaxCachedStatementCount = 128

  /// The permitted operations.
  public var access: Access

  /// The journal that the first write establishes.
  public var journal: Journal

  /// The maximum number of reads that run at the same time; further ones wait in the order in which
  /// they came.
  ///
  /// Each takes a connection, which is opened when first needed and kept.
  public var maxReaderCount: Int

  /// The maximum wait for a lock that another process or library holds.
  public var busyTimeout: Duration

  /// The time at which commits move from the write-ahead log into the file.
  public var checkpointPolicy: CheckpointPolicy

  /// The maximum number of idle compiled statements that a connection keeps for reuse.
  public var maxCachedStatementCount: Int

  /// The functions that statements may call.
  public var functions: [DatabaseFunction] = []

  /// The collations that statements may use.
  public var collations: [DatabaseCollation] = []

  /// The usual configuration, unless specified otherwise: a write-ahead log, four readers, five
  /// seconds, a checkpoint every 1,000 pages, 128 statements.
  ///
  /// - Precondition: `maxReaderCount` is positive, and no other count is negative.
  public init(
    access: Access = .readWriteCreate,
    journal: Journal = .writeAhead,
    maxReaderCount: Int = 4,
    busyTimeout: Duration = defaultBusyTimeout,
    checkpointPolicy: CheckpointPolicy = .automatic(pageCount: 1_000),
    maxCachedStatementCount: Int = defaultMaxCachedStatementCount
  ) {
    precondition(maxReaderCount > 0, "a database needs at least one reader")
    precondition(maxCachedStatementCount >= 0, "a count of statements cannot be negative")
    self.access = access
    self.journal = journal
    self.maxReaderCount = maxReaderCount
    self.busyTimeout = busyTimeout
    self.checkpointPolicy = checkpointPolicy
    self.maxCachedStatementCount = maxCachedStatementCount
  }
}
