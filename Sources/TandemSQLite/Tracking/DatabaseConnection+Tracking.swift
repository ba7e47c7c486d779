internal import TandemRecords

extension DatabaseConnection {
  /// Begins to note the changes of a table, in the transaction that is open; noting that is out of date
  /// is replaced.
  package func track(_ tracking: TableTracking) throws(DatabaseError) {
    if try isTracking(tracking) { return }
    try untrack(tracking.table)
    try execute(tracking.logCreation)
    for trigger in tracking.triggers { try execute(trigger.sql) }
  }

  /// Removes the triggers and the log of a table; `false` if there are none.
  @discardableResult
  package func untrack(_ table: String) throws(DatabaseError) -> Bool {
    let log = "tandem_changes_\(table)"
    let objects = try prepare(
      """
      SELECT name, type FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE AND type = 'table'
        OR type = 'trigger' AND name LIKE 'tandem@_track@_%' ESCAPE '@'
          AND tbl_name COLLATE NOCASE IN (?1, ?2)
      """)
    try objects.bind([.text(log), .text(table)])
    var removals: [String] = []
    while try objects.step() {
      guard case .text(let name) = try objects.value(at: 0),
        case .text(let type) = try objects.value(at: 1)
      else { continue }
      // The log last: its own triggers go with it.
      removals.insert(
        "DROP \(type) IF EXISTS \(name.sqlQuoted)", at: type == "table" ? removals.endIndex : 0)
    }
    for sql in removals { try execute(sql) }
    return !removals.isEmpty
  }

  /// Whether the table is tracked in just this way.
  package func isTracking(_ tracking: TableTracking) throws(DatabaseError) -> Bool {
    let expected = tracking.triggers.map(\.sql) + [tracking.logCreation]
    let found = try prepare("SELECT count(*) FROM sqlite_schema WHERE sql = ?")
    for sql in expected {
      found.reset()
      try found.bind([.text(sql)])
      guard try found.step(), case .integer(1) = try found.value(at: 0) else { return false }
    }
    return true
  }
}
