internal import TandemRecords

extension ConnectionSession {
  /// How many records make it worth a look at the table's triggers.
  private static var minCountForLook: Int { 16 }

  /// How to insert so many records, each a statement of its own.
  ///
  /// A statement that fires triggers copies each page before it writes to it, in case it fails later,
  /// which costs as much again as noting a row for ``Database/track(table:)``. On a table whose only
  /// triggers are those, nothing fails once the row is written, and `OR FAIL` says so. The triggers may
  /// note a row that then fails, which does no harm. SQLite goes on copying where a foreign key is
  /// checked, and undoes a row that violates one.
  @usableFromInline
  func insertion(into table: String, count: Int) throws(DatabaseError) -> RecordOperation {
    guard count >= ConnectionSession.minCountForLook else { return .insert }
    return try connection.hasOnlyTrackingTriggers(table) ? .insertWithoutUndo : .insert
  }
}

extension DatabaseConnection {
  /// Whether a table is tracked, has no other trigger, and leaves it to statements what to do about
  /// conflicts, which `OR FAIL` would overrule.
  func hasOnlyTrackingTriggers(_ table: String) throws(DatabaseError) -> Bool {
    let own = "name LIKE 'tandem@_track@_%' ESCAPE '@'"
    let look = try cachedStatement(
      """
      SELECT coalesce(sum(type = 'trigger'), 0) > 0
        AND NOT coalesce(sum(CASE type WHEN 'trigger' THEN NOT \(own) ELSE instr(lower(sql), 'conflict') END), 0)
      FROM (SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
      WHERE type IN ('table', 'view', 'trigger')
        AND (tbl_name = ?1 COLLATE NOCASE OR tbl_name = ?2 COLLATE NOCASE)
      """)
    defer { look.reset() }
    try look.bind([.text(table), .text(TableTracking.logName(table))])
    guard try look.step() else { return false }
    return try look.value(at: 0) == .integer(1)
  }
}
