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
