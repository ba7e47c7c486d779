extension Database {
  /// Begins to track a table: triggers log the key of each row that changes, in the transaction that
  /// changes it, whichever program writes. Live queries, in this process or another, then read only those
  /// rows again when another process writes.
  ///
  /// The log is the table `tandem_changes_` followed by the name of the table, and keeps the last
  /// 100,000 changes, and at most 1,000 more. Tracking a tracked table brings it up to date with the
  /// schema: repeat it after adding a unique index or changing the key. The triggers name the columns of
  /// the key and of unique indexes: SQLite refuses to drop such a column until the table is untracked.
  ///
  /// Writes that bypass triggers are not logged: those of a connection that has triggers disabled,
  /// incremental blob input and output, and `PRAGMA writable_schema`.
  ///
  /// - Returns: The other changes of this table that tracking cannot log, in words: rows that `REPLACE`
  ///   removes in a way that no trigger foresees. Empty unless an index is on an expression or a generated
  ///   column.
  /// - Throws: ``DatabaseError``, for a table that does not exist, a view, one without a key, or one of
  ///   Tandem's own; also `CancellationError`.
  public func track(table: String) async throws -> [String] {
    try await write { transaction in
      let tracking = try TableTracking(table: table, in: transaction.connection)
      try transaction.connection.track(tracking)
      return tracking.blindSpots
    }
  }

  /// Ends the tracking of a table and removes its triggers and its log.
  ///
  /// - Returns: True if it was tracked.
  /// - Throws: ``DatabaseError``; `CancellationError`.
  public func untrack(table: String) async throws -> Bool {
    try await write { transaction in try transaction.connection.untrack(table) }
  }
}
