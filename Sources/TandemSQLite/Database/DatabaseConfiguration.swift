/// How a ``Database`` is opened, with every limit it keeps.
public struct DatabaseConfiguration: Hashable, Sendable {
  /// When what was committed moves from the write-ahead log into the database file.
  public enum CheckpointPolicy: Hashable, Sendable {
    /// By the commit that makes the log at least this long, in pages; that commit takes longer.
    case automatic(pageCount: Int)
    /// Only when ``Database/checkpoint()`` is called, and on closing.
    case manual
  }

  /// What may be done with the file.
  public var access: DatabaseConnection.Access

  /// The most reads that run at the same time; more wait their turn, first come, first served.
  ///
  /// Each takes a connection, which is opened when first needed and kept.
  public var maxReaderCount: Int

  /// How long to wait for a lock that another process or library holds.
  public var busyTimeout: Duration

  /// When the write-ahead log is moved into the file.
  public var checkpointPolicy: CheckpointPolicy

  /// The most compiled statements kept for reuse, per connection.
  public var maxCachedStatementCount: Int

  /// The usual configuration, unless told otherwise: four readers, five seconds, a checkpoint every
  /// 1,000 pages, 128 statements.
  ///
  /// - Precondition: `maxReaderCount` is positive, and no other count is negative.
  public init(
    access: DatabaseConnection.Access = .readWriteCreate,
    maxReaderCount: Int = 4,
    busyTimeout: Duration = DatabaseConnection.defaultBusyTimeout,
    checkpointPolicy: CheckpointPolicy = .automatic(pageCount: 1_000),
    maxCachedStatementCount: Int = DatabaseConnection.maxCachedStatementCount
  ) {
    precondition(maxReaderCount > 0, "a database needs at least one reader")
    precondition(maxCachedStatementCount >= 0, "a count of statements cannot be negative")
    self.access = access
    self.maxReaderCount = maxReaderCount
    self.busyTimeout = busyTimeout
    self.checkpointPolicy = checkpointPolicy
    self.maxCachedStatementCount = maxCachedStatementCount
  }
}
