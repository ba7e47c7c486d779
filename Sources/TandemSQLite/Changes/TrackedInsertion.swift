internal import CSQLite
internal import TandemRecords

/// The way to insert records, one statement for each.
@usableFromInline
enum RecordInsertion {
  case plain
  /// With ``RecordOperation/insertWithoutUndo``.
  case withoutUndo
  /// While triggers are disabled; the rows are noted by other means.
  case noted(InsertionNotes)
}

extension DatabaseConnection {
  /// The number of records from which it pays to look at the table's triggers.
  private static var minCountForLook: Int { 16 }
  /// The number of records from which it pays to disable them: the closer look, and compiling
  /// statements again afterwards, cost as much as inserting about a thousand.
  static var minCountForNotes: Int { 10_000 }

  /// The way to insert so many records.
  ///
  /// A statement that fires triggers copies each page before it writes to it, in case it fails
  /// later. This costs as much again as logging a row for ``Database/track(table:)``. If the only
  /// triggers of a table are those, or those of a ``TableShadow``, nothing can fail once the row is
  /// written; `OR FAIL` makes SQLite omit the copies. The triggers may note a row that then fails,
  /// which does no harm. SQLite
  /// still copies where a foreign key is checked, and undoes a row that violates one.
  ///
  /// Starting the triggers costs more than their work, so ``InsertionNotes`` does it for many rows
  /// at once; but not while other statements are unfinished, which could fail when triggers are
  /// disabled.
  @usableFromInline
  func insertion(into table: String, count: Int) throws(DatabaseError) -> RecordInsertion {
    guard count >= DatabaseConnection.minCountForLook,
      try hasOnlyOwnTriggers(table)
    else { return .plain }
    guard count >= DatabaseConnection.minCountForNotes, unfinishedStatements.isEmpty,
      let notes = try InsertionNotes(table, in: self)
    else { return .withoutUndo }
    return .noted(notes)
  }

  /// Runs `body`, which inserts rows and collects them, while triggers are disabled.
  ///
  /// Afterwards the rows in the table are noted, or the transaction has been rolled back with
  /// them.
  @usableFromInline
  func withoutTriggers(_ notes: InsertionNotes, _ body: () throws -> Void) throws {
    enableTriggers(false)
    defer { enableTriggers(true) }
    let result = Result(catching: body)
    do {
      try notes.finish()
    } catch {
      rollBack()
      throw error
    }
    try result.get()
  }
}

extension DatabaseConnection {
  /// Runs `body` while the connection fires no triggers. No statement may be unfinished.
  package func withoutTriggers<Value>(_ body: () throws -> Value) rethrows -> Value {
    precondition(unfinishedStatements.isEmpty, "disabling triggers would end running statements")
    enableTriggers(false)
    defer { enableTriggers(true) }
    return try body()
  }

  /// Enables or disables all triggers. Unfinished statements may fail then; others are compiled
  /// again.
  fileprivate func enableTriggers(_ isEnabled: Bool) {
    _ = csqlite_enable_triggers(handle.pointer, isEnabled ? 1 : 0)
  }

  /// True if a table has triggers for tracking or shadows and no others, and declares no conflict
  /// clause, which `OR FAIL` would override.
  func hasOnlyOwnTriggers(_ table: String) throws(DatabaseError) -> Bool {
    let own = [TableTracking.prefix, TableShadow.prefix]
      .map { "substr(name, 1, \($0.utf8.count)) = '\($0)'" }.joined(separator: " OR ")
    return try withStatement(
      """
      SELECT coalesce(sum(type = 'trigger'), 0) > 0
        AND NOT coalesce(sum(CASE type WHEN 'trigger' THEN NOT (\(own)) ELSE instr(lower(sql), 'conflict') END), 0)
      FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
      WHERE type IN ('table', 'view', 'trigger')
        AND (tbl_name = ?1 COLLATE NOCASE OR tbl_name = ?2 COLLATE NOCASE)
      """
    ) { look throws(DatabaseError) in
      try look.bind([.text(table), .text(TableTracking.logName(table))])
      guard try look.step() else { return false }
      return try look.value(at: 0) == .integer(1)
    }
  }
}

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
