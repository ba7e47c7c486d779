internal import CSQLite
internal import TandemRecords

/// Notes the rows that a batch inserts into a table, in place of the triggers of its tracking, its
/// shadow or both.
///
/// The rows are collected by rowid, consecutive ones as one range, and noted together: log and
/// shadow then have the same keys as if the triggers had run. A batch replaces no row, so there are
/// no others.
@usableFromInline
final class InsertionNotes {
  /// The maximum number of rows that are collected.
  static let maxPendingCount = TableTracking.pruningInterval

  private let connection: DatabaseConnection
  /// Each notes the rows between two rowids.
  private let notes: [Statement]
  private let prune: Statement?
  /// The rows that are not noted yet.
  private var runs: [ClosedRange<Int64>] = []
  private var pendingCount = 0
  private var lastRowid: Int64?

  /// Prepares to note rows of a table whose only triggers are for tracking and its shadow; `nil` if
  /// these are out of date, or rows cannot be selected by rowid.
  init?(_ table: String, in connection: DatabaseConnection) throws(DatabaseError) {
    let tracking = try connection.tracking(ofTable: table)
    let shadow = try connection.keptShadow(of: table)
    guard try connection.hasJust(tracking, shadow, table) else { return nil }
    var notes: [Statement] = []
    for sql in [tracking.map(\.rangeNote), shadow.map(\.rangeNote)].compactMap({ $0 }) {
      guard let sql else { return nil }
      notes.append(try connection.prepare(sql))
    }
    self.connection = connection
    self.notes = notes
    prune = try tracking.map { tracking throws(DatabaseError) in
      try connection.prepare(tracking.pruning)
    }
  }

  /// Collects the row that was just inserted.
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

  /// Notes the remaining rows, unless SQLite has undone the whole transaction.
  func finish() throws(DatabaseError) {
    guard connection.isInTransaction, let lastRowid else { return }
    if pendingCount > 0 { try notePending() }
    // As it would be if triggers had noted the rows.
    sqlite3_set_last_insert_rowid(connection.handle.pointer, lastRowid)
  }

  /// Notes the collected rows. If this fails, they stay collected.
  private func notePending() throws(DatabaseError) {
    for run in runs {
      for note in notes {
        try note.run([.integer(run.lowerBound), .integer(run.upperBound)])
      }
    }
    try prune?.run([])
    runs.removeAll(keepingCapacity: true)
    pendingCount = 0
  }
}

extension DatabaseConnection {
  /// The tracking of a table that has a log; `nil` if it has none.
  fileprivate func tracking(ofTable table: String) throws(DatabaseError) -> TableTracking? {
    guard try hasTrackingLog(ofTable: table) else { return nil }
    return try TableTracking(table: table, in: self)
  }

  /// True if a table is tracked and has a shadow in exactly this way, has no other trigger, and no
  /// temporary table hides it.
  fileprivate func hasJust(
    _ tracking: TableTracking?, _ shadow: TableShadow?, _ table: String
  ) throws(DatabaseError) -> Bool {
    if let tracking, try !isTracking(tracking) { return false }
    if let shadow, try !isKeeping(shadow) { return false }
    let triggers =
      (tracking?.triggers.triggers.count ?? 0) + (shadow?.triggers.triggers.count ?? 0)
    let count = try integer(
      """
      SELECT count(*) FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
      WHERE type IN ('table', 'view', 'trigger') AND (tbl_name = ?1 COLLATE NOCASE
        OR tbl_name = ?2 COLLATE NOCASE OR tbl_name = ?3 COLLATE NOCASE)
      """, .text(table), .text(TableTracking.logName(table)), .text(TableShadow.name(table)))
    let tables = 1 + (tracking == nil ? 0 : 1) + (shadow == nil ? 0 : 1)
    return triggers > 0 && count == Int64(triggers + tables)
  }
}
