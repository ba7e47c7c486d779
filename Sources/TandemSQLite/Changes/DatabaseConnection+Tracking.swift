internal import TandemRecords

extension DatabaseConnection {
  /// Begins to note the changes of a table, in the transaction that is open; noting that is out of date
  /// is replaced.
  package func track(_ tracking: TableTracking) throws(DatabaseError) {
    if try isTracking(tracking), try hasWholeLog(tracking) { return }
    try untrack(tracking.table)
    try execute(tracking.logCreation)
    for trigger in tracking.triggers { try execute(trigger.sql) }
    try execute(tracking.beginning)
  }

  /// Whether nobody emptied the log.
  private func hasWholeLog(_ tracking: TableTracking) throws(DatabaseError) -> Bool {
    let first = try integer("SELECT min(seq) FROM \(tracking.logName.sqlQuoted)")
    return first.map { $0 >= TableTracking.minFirstEntry } ?? false
  }

  /// Removes the triggers and the log of a table, also those it got under an earlier name; `false` if
  /// there are none.
  ///
  /// A table of any name is taken: it may have been tracked before it was renamed.
  @discardableResult
  package func untrack(_ table: String) throws(DatabaseError) -> Bool {
    let triggers = try trackingTriggers(of: table)
    for name in triggers { try execute("DROP TRIGGER IF EXISTS \(name.sqlQuoted)") }
    let logs = try trackingLogs(of: table, triggers)
    // Their own triggers go with them.
    for name in logs { try execute("DROP TABLE \(name.sqlQuoted)") }
    return !triggers.isEmpty || !logs.isEmpty
  }

  /// The triggers that note changes of a table, or that bear its name though the table has another now.
  private func trackingTriggers(of table: String) throws(DatabaseError) -> [String] {
    let names = TableTracking.Kind.allCases.map { $0.triggerName(table) }
    let places = names.map { _ in "?" }.joined(separator: ", ")
    let found = try prepare(
      """
      SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'tandem@_track@_%' ESCAPE '@'
        AND (name COLLATE NOCASE IN (\(places))
          OR tbl_name = ? COLLATE NOCASE AND name NOT LIKE 'tandem@_track@_prune@_%' ESCAPE '@')
      """)
    try found.bind((names + [table]).map { .text($0) })
    return try found.texts()
  }

  /// The logs of a table: of its name, and of the names in its triggers.
  private func trackingLogs(
    of table: String, _ triggers: [String]
  ) throws(DatabaseError) -> [String] {
    let prefix = TableTracking.Kind.insert.triggerName("")
    let formerNames = triggers.filter { $0.hasPrefix(prefix) }.map {
      String($0.dropFirst(prefix.count))
    }
    let found = try prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE")
    var logs: Set<String> = []
    for name in [table] + formerNames {
      found.reset()
      try found.bind([.text(TableTracking.logName(name))])
      logs.formUnion(try found.texts())
    }
    found.reset()
    return logs.sorted()
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

extension Statement {
  /// The first column of all rows, which holds texts.
  func texts() throws(DatabaseError) -> [String] {
    var texts: [String] = []
    while try step() {
      if case .text(let text) = try value(at: 0) { texts.append(text) }
    }
    return texts
  }
}
