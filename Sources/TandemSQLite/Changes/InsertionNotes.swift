internal import CSQLite
internal import TandemRecords

/// Notes the rows that a batch inserts into a tracked table, in place of its triggers.
///
/// Rows are kept in mind by their rowids, a run of following ones as one, and noted together: the log
/// then says what the triggers would have said. A batch replaces no row, so that nothing else would be
/// noted.
@usableFromInline
final class InsertionNotes {
  /// How many rows are kept in mind at most.
  static let maxPendingCount = TableTracking.pruningInterval

  private let connection: DatabaseConnection
  private let note: Statement
  private let prune: Statement
  /// The rows that are not noted yet.
  private var runs: [ClosedRange<Int64>] = []
  private var pendingCount = 0
  private var lastRowid: Int64?

  /// Prepares to note rows of a table that has no triggers but for tracking; `nil` if these would note
  /// something else, or the rows cannot be asked for by rowid.
  init?(_ table: String, in connection: DatabaseConnection) throws(DatabaseError) {
    let tracking = try TableTracking(table: table, in: connection)
    guard let rangeNote = tracking.rangeNote, try connection.isJustTracked(tracking) else {
      return nil
    }
    self.connection = connection
    note = try connection.prepare(rangeNote)
    prune = try connection.prepare(tracking.pruning)
  }

  /// Keeps the row in mind that was just inserted.
  @usableFromInline
  func didInsert() throws(DatabaseError) {
    let rowid = sqlite3_last_insert_rowid(connection.handle.pointer)
    lastRowid = rowid
    pendingCount += 1
    if let last = runs.last, last.upperBound < .max, rowid == last.upperBound + 1 {
      runs[runs.count - 1] = last.lowerBound...rowid
    } else {
      runs.append(rowid...rowid)
    }
    if pendingCount == InsertionNotes.maxPendingCount { try notePending() }
  }

  /// Notes the rows that are left, unless SQLite has undone the whole transaction.
  func finish() throws(DatabaseError) {
    guard connection.isInTransaction, let lastRowid else { return }
    if pendingCount > 0 { try notePending() }
    // As it would be if triggers had noted the rows.
    sqlite3_set_last_insert_rowid(connection.handle.pointer, lastRowid)
  }

  /// Notes the rows kept in mind. If it fails, they stay there.
  private func notePending() throws(DatabaseError) {
    for run in runs { try note.run([.integer(run.lowerBound), .integer(run.upperBound)]) }
    try prune.run([])
    runs.removeAll(keepingCapacity: true)
    pendingCount = 0
  }
}

extension DatabaseConnection {
  /// Whether a table is tracked in just this way, has no trigger beside, and no temporary table stands
  /// before it.
  fileprivate func isJustTracked(_ tracking: TableTracking) throws(DatabaseError) -> Bool {
    guard try isTracking(tracking) else { return false }
    let count = try integer(
      """
      SELECT count(*) FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
      WHERE type IN ('table', 'view', 'trigger')
        AND (tbl_name = ?1 COLLATE NOCASE OR tbl_name = ?2 COLLATE NOCASE)
      """, .text(tracking.table), .text(tracking.logName))
    return count == Int64(tracking.triggers.count) + 2
  }
}
