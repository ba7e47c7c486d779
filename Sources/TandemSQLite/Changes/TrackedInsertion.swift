internal import CSQLite
internal import TandemRecords

/// How to insert records, each a statement of its own.
@usableFromInline
enum RecordInsertion {
  case plain
  /// With ``RecordOperation/insertWithoutUndo``.
  case withoutUndo
  /// While triggers are disabled, and the rows are noted by other means.
  case noted(InsertionNotes)
}

extension DatabaseConnection {
  /// How many records make it worth a look at the table's triggers.
  private static var minCountForLook: Int { 16 }
  /// How many records make it worth disabling them: to look closely, and to compile statements anew
  /// afterwards, costs as much as inserting about a thousand.
  static var minCountForNotes: Int { 10_000 }

  /// How to insert so many records.
  ///
  /// A statement that fires triggers copies each page before it writes to it, in case it fails later,
  /// which costs as much again as noting a row for ``Database/track(table:)``. On a table whose only
  /// triggers are those, nothing fails once the row is written, and `OR FAIL` says so. The triggers may
  /// note a row that then fails, which does no harm. SQLite goes on copying where a foreign key is
  /// checked, and undoes a row that violates one.
  ///
  /// To start the triggers costs more than what they do, so that ``InsertionNotes`` does it for many rows
  /// at once. Statements that are under way forbid that: they could fail when triggers are disabled.
  @usableFromInline
  func insertion(into table: String, count: Int) throws(DatabaseError) -> RecordInsertion {
    guard count >= DatabaseConnection.minCountForLook,
      try hasOnlyTrackingTriggers(table)
    else { return .plain }
    guard count >= DatabaseConnection.minCountForNotes, unfinishedStatements.isEmpty,
      let notes = try InsertionNotes(table, in: self)
    else { return .withoutUndo }
    return .noted(notes)
  }

  /// Runs `body`, which inserts rows and notes them, while triggers are disabled.
  ///
  /// However it ends, the rows that are there then are noted, or the transaction has ended with them.
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
  /// Enables or disables all triggers. Statements under way may fail then; others are compiled anew.
  fileprivate func enableTriggers(_ isEnabled: Bool) {
    _ = csqlite_enable_triggers(handle.pointer, isEnabled ? 1 : 0)
  }

  /// Whether a table is tracked, has no other trigger, and leaves it to statements what to do about
  /// conflicts, which `OR FAIL` would overrule.
  func hasOnlyTrackingTriggers(_ table: String) throws(DatabaseError) -> Bool {
    let own = "name LIKE 'tandem@_track@_%' ESCAPE '@'"
    return try withStatement(
      """
      SELECT coalesce(sum(type = 'trigger'), 0) > 0
        AND NOT coalesce(sum(CASE type WHEN 'trigger' THEN NOT \(own) ELSE instr(lower(sql), 'conflict') END), 0)
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
