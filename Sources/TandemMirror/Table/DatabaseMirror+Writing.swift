internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

extension DatabaseMirror.Target {
  /// Creates the table, or adds the columns it lacks.
  func prepareTable(in connection: DatabaseConnection) throws(DatabaseError) {
    if schema != nil {
      for column in columns.additions { try connection.addColumn(column, toTable: name) }
    } else {
      try connection.createTable(name, columns: columns.additions, key: key)
    }
  }

  /// Writes the changes that lead to as many rows as `outcome` counts records.
  ///
  /// Deletions come first and insertions last, so that values which must be unique are free again.
  ///
  /// - Throws: ``DatabaseError``; ``MirrorError`` if the table has another number of rows afterwards.
  func write(
    _ outcome: DatabaseMirror.Outcome, to connection: DatabaseConnection,
    progress: (_ done: Int, _ total: Int) -> Void
  ) throws {
    let difference = outcome.difference
    guard !difference.isEmpty else { return }
    try connection.execute("PRAGMA defer_foreign_keys=ON")
    let writer = TableWriter(connection, table: name, columns: columns.layout, key: keyOffsets)
    var done = 0
    func advance() {
      done += 1
      if done % 1_000 == 0 || done == difference.count { progress(done, difference.count) }
    }
    for record in difference.deleted {
      try writer.delete(record)
      advance()
    }
    try update(difference.updated, with: writer, in: connection, advance)
    for record in difference.inserted {
      try writer.insert(record)
      advance()
    }
    try requireRowCount(outcome.sourceCount, in: connection)
  }

  /// Triggers and cascades of the application may delete or insert rows on their own.
  private func requireRowCount(_ count: Int, in connection: DatabaseConnection) throws {
    let rowCount = Int(try connection.integer("SELECT count(*) FROM \(name.sqlQuoted)") ?? 0)
    guard rowCount == count else {
      throw MirrorError(
        .unfitDestination,
        "table \(name) would have \(rowCount) rows for the \(count) records of the list; "
          + "do its triggers or foreign keys insert or delete rows?")
    }
  }

  /// Writes updates, those last that want a unique value which another row still has.
  private func update(
    _ updates: [SetDifference<Record>.Update], with writer: TableWriter,
    in connection: DatabaseConnection, _ advance: () -> Void
  ) throws(DatabaseError) {
    var blocked: [SetDifference<Record>.Update] = []
    var firstError: DatabaseError?
    for update in updates {
      do throws(DatabaseError) {
        try writer.update(from: update.old, to: update.new)
        advance()
      } catch {
        guard error.isAboutUniqueness else { throw error }
        firstError = firstError ?? error
        blocked.append(update)
      }
    }
    guard let firstError, let schema else { return }
    let replacement = RowReplacement(connection, table: schema, key: key)
    // Deleting a row that others refer to would do to them what their foreign keys say.
    guard try !replacement.isTableReferenced() else { throw firstError }
    try replacement.replace(blocked, advance)
  }
}

extension DatabaseError {
  /// Whether a row has the value that another one must have for itself: SQLITE_CONSTRAINT_UNIQUE,
  /// _PRIMARYKEY or _ROWID.
  fileprivate var isAboutUniqueness: Bool { [2_067, 1_555, 2_579].contains(code.rawValue) }
}
