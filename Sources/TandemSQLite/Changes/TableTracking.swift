internal import TandemRecords

/// The triggers and the log by which the database itself records the changes of a table: every
/// program that writes records them, in the same transaction.
///
/// The keys of rows inserted, updated (before and after) and deleted go to a log table, which keeps
/// the last ``maxEntryCount`` or a few more. The keys of ``RemovedRows`` are logged beforehand. The
/// log may have keys of rows that did not change; no change is missing, except for ``blindSpots``.
///
/// The log begins at a random number, so that no reader mistakes a new log for the one it knew. A
/// log that somebody emptied begins at 1, and is ignored until the table is tracked again.
package struct TableTracking: Sendable {
  /// The number of entries that the log keeps; a reader that is further behind reads everything
  /// again.
  package static let maxEntryCount = 100_000
  /// The number of entries after which old ones are removed.
  static let pruningInterval = 1_000
  /// The least number at which a log begins: at random, between this and its double. So it matches
  /// no other log, and takes no more space in the file than necessary. SQLite begins an emptied log
  /// at 1.
  static let minFirstEntry: Int64 = 1 << 47
  /// The prefix of the triggers' names.
  static let prefix = "tandem_track_"

  /// The table, as declared.
  package let table: String
  /// The columns that identify a row, in the order of the log's columns `k1`, `k2`, ….
  package let identity: [String]
  private let removedRows: RemovedRows
  /// The names of the rowid that no column has; none if the rows have no rowid.
  private let rowidNames: [String]
  /// True if the rowid is the key.
  private let isByRowid: Bool

  /// The changes that tracking cannot log, in words; empty for most tables.
  package var blindSpots: [String] { removedRows.blindSpots }

  /// Plans the tracking of a table.
  ///
  /// - Throws: ``DatabaseError`` if it cannot be tracked: it does not exist, is a view or virtual,
  ///   is one of Tandem's own, or its rows have neither a primary key nor a rowid.
  package init(table name: String, in connection: DatabaseConnection) throws(DatabaseError) {
    guard !TriggerSet.isOwnName(name) else {
      throw DatabaseError(
        code: .error,
        message: "\(name) is a table of Tandem's own, which cannot be tracked; name one of yours",
        path: connection.path)
    }
    guard let facts = try TableFacts(name, in: connection) else {
      throw DatabaseError(code: .error, message: "no such table: \(name)", path: connection.path)
    }
    guard facts.isOrdinary, !facts.identity.isEmpty else {
      throw DatabaseError(
        code: .error, message: "\(name) cannot be tracked: only tables whose rows have a key can",
        path: connection.path)
    }
    table = facts.schema.name
    identity = facts.identity
    isByRowid = facts.isIdentifiedByRowid
    rowidNames = facts.rowidNames
    removedRows = try RemovedRows(facts, in: connection)
  }

  /// The log table.
  package var logName: String { TableTracking.logName(table) }

  /// The log of a table of this name.
  static func logName(_ table: String) -> String { "tandem_changes_\(table)" }
}

// MARK: - Statements

extension TableTracking {
  /// The kinds of triggers, by the job of each.
  fileprivate enum Kind: String, CaseIterable {
    case insert, update, delete, prune
    case key
    case newKey = "new_key"
    case replaceInsert = "replace_insert"
    case replaceUpdate = "replace_update"
    case replaceIndirect = "replace_indirect"
    case replaceRowid = "replace_rowid"
    case defaultInsert = "default_insert"
    case defaultUpdate = "default_update"
  }

  /// The statement that creates the log.
  fileprivate var logCreation: String {
    "CREATE TABLE \(logName.sqlQuoted) (seq INTEGER PRIMARY KEY, \(logColumns))"
  }

  private var logColumns: String {
    identity.indices.map { "k\($0 + 1)" }.joined(separator: ", ")
  }

  /// The statement that adds the log's first entry, which has no key.
  fileprivate var beginning: String {
    let first = TableTracking.minFirstEntry
    return "INSERT INTO \(logName.sqlQuoted) (seq) VALUES ((random() & \(first - 1)) + \(first));"
  }

  /// The statement that logs the rows between two rowids, inclusive, as the triggers do when the
  /// rows are inserted; `nil` if rows cannot be selected by rowid.
  var rangeNote: String? {
    guard let rowidName = isByRowid ? identity[0] : rowidNames.first else { return nil }
    return """
      INSERT INTO main.\(logName.sqlQuoted) (\(logColumns)) SELECT \(identity.sqlList) \
      FROM main.\(table.sqlQuoted) WHERE \(rowidName.sqlQuoted) BETWEEN ? AND ?
      """
  }

  /// The statement that removes old entries where triggers do not.
  var pruning: String {
    let log = "main.\(logName.sqlQuoted)"
    return
      "DELETE FROM \(log) WHERE seq <= (SELECT max(seq) FROM \(log)) - \(TableTracking.maxEntryCount)"
  }

  /// The triggers.
  var triggers: TriggerSet {
    var triggers = TriggerSet(prefix: TableTracking.prefix, table: table)
    addNotes(to: &triggers)
    addReplacements(to: &triggers)
    addDefaults(to: &triggers)
    return triggers
  }

  /// Adds the triggers that log the rows that a statement changes, and those that prune the log.
  ///
  /// Rows are logged before they are changed. Afterwards, the actions of foreign keys run before
  /// any trigger, and a trigger of theirs may stop the statement by `RAISE(FAIL)`, which leaves the
  /// row changed. Only an insertion is logged afterwards, when SQLite has chosen the key.
  ///
  /// An update that does not name the key pays nothing for the new one. One that changes the key
  /// logs the new one twice. Beforehand: if the row that it replaces takes the updated one with it,
  /// by a foreign key, no trigger runs afterwards. Afterwards: only then is it known if a default
  /// replaced `NULL`.
  private func addNotes(to triggers: inout TriggerSet) {
    let newKey = note("VALUES (\(row("new")))")
    let oldKey = note("VALUES (\(row("old")))")
    let isOther = identity.map {
      "new.\($0.sqlQuoted) IS NOT old.\($0.sqlQuoted) COLLATE BINARY"
    }
    .joined(separator: " OR ")
    triggers.add(Kind.insert.rawValue, "AFTER INSERT", [newKey])
    triggers.add(Kind.delete.rawValue, "BEFORE DELETE", [oldKey])
    triggers.add(Kind.update.rawValue, "BEFORE UPDATE", [oldKey])
    for (kind, time) in [(Kind.newKey, "BEFORE"), (.key, "AFTER")] {
      let event = "\(time) UPDATE OF \(keyNames.sqlList)"
      triggers.add(kind.rawValue, event, when: isOther, [newKey])
    }
    triggers.add(
      Kind.prune.rawValue, "AFTER INSERT", on: logName,
      when: "new.seq % \(TableTracking.pruningInterval) = 0",
      ["DELETE FROM \(logName.sqlQuoted) WHERE seq <= new.seq - \(TableTracking.maxEntryCount);"])
  }

  /// The columns of the key, by all names by which an update may change them.
  private var keyNames: [String] {
    isByRowid ? Set(identity).union(rowidNames).sorted() : identity
  }

  /// Adds the triggers that log the rows that `REPLACE` is about to remove. Most insertions remove
  /// none, and most updates name no column of the index: they pay little.
  private func addReplacements(to triggers: inout TriggerSet) {
    for event in RemovedRows.Event.allCases {
      let conditions = removedRows.conditions(event)
      if conditions.isEmpty { continue }
      let isAny = conditions.map { "EXISTS (SELECT 1 FROM \(table.sqlQuoted) WHERE \($0))" }
      let notes = conditions.map { condition in
        note("SELECT \(identity.sqlList) FROM \(table.sqlQuoted) WHERE \(condition)")
      }
      triggers.add(
        "replace_\(event.rawValue)", removedRows.trigger(event),
        when: isAny.joined(separator: " OR "), notes)
    }
  }

  /// Adds the triggers that begin a new log if a default decides which row is removed, so that
  /// readers read everything again: this is rare, and a default may be any expression.
  private func addDefaults(to triggers: inout TriggerSet) {
    let columns = removedRows.defaultedColumns
    guard !columns.isEmpty else { return }
    let condition = columns.map { "new.\($0.sqlQuoted) IS NULL" }.joined(separator: " OR ")
    let restart = ["DELETE FROM \(logName.sqlQuoted);", beginning]
    triggers.add(Kind.defaultInsert.rawValue, "BEFORE INSERT", when: condition, restart)
    triggers.add(
      Kind.defaultUpdate.rawValue, "BEFORE UPDATE OF \(columns.sqlList)", when: condition, restart)
  }

  private func row(_ alias: String) -> String {
    identity.map { "\(alias).\($0.sqlQuoted)" }.joined(separator: ", ")
  }

  private func note(_ rows: String) -> String {
    "INSERT INTO \(logName.sqlQuoted) (\(logColumns)) \(rows);"
  }
}

// MARK: - In the database

extension DatabaseConnection {
  /// Begins to track a table, in the transaction that is open; tracking that is out of date is
  /// replaced.
  package func track(_ tracking: TableTracking) throws(DatabaseError) {
    if try isTracking(tracking), try hasWholeLog(tracking) { return }
    try untrack(tracking.table)
    try execute(tracking.logCreation)
    try tracking.triggers.install(in: self)
    try execute(tracking.beginning)
  }

  /// True if nobody emptied the log.
  private func hasWholeLog(_ tracking: TableTracking) throws(DatabaseError) -> Bool {
    let first = try integer("SELECT min(seq) FROM \(tracking.logName.sqlQuoted)")
    return first.map { $0 >= TableTracking.minFirstEntry } ?? false
  }

  /// True if the table is tracked in exactly this way.
  ///
  /// It is not, if the application has created an `AFTER` trigger since. SQLite fires the newest
  /// trigger first, and `RAISE(IGNORE)`, `RAISE(FAIL)` and `OR FAIL` let a trigger stop the statement
  /// after the row has been written, before the row is logged.
  package func isTracking(_ tracking: TableTracking) throws(DatabaseError) -> Bool {
    guard try hasSchemaEntry(tracking.logCreation), try tracking.triggers.isInstalled(in: self)
    else { return false }
    let names = try prepare(
      """
      SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
        AND instr(lower(sql), 'after') > 0
      ORDER BY rowid
      """)
    try names.bind([.text(tracking.table)])
    return try names.texts().drop { !$0.hasPrefix(TableTracking.prefix) }
      .allSatisfy(TriggerSet.isOwnName)
  }

  /// True if there is a log for a table of this name, even if it is out of date.
  package func hasTrackingLog(ofTable table: String) throws(DatabaseError) -> Bool {
    let count = try integer(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
      .text(TableTracking.logName(table)))
    return count != 0
  }

  /// Removes the triggers and the log of a table, including those of an earlier name of the table;
  /// `false` if there are none.
  ///
  /// A table of any name is accepted: it may have been tracked before it was renamed.
  @discardableResult
  package func untrack(_ table: String) throws(DatabaseError) -> Bool {
    let set = TriggerSet(prefix: TableTracking.prefix, table: table)
    let prune = set.prefix + TableTracking.Kind.prune.rawValue
    // The trigger on a log belongs to the log's table, even if this table is itself a log.
    let triggers = try set.installedNames(
      kinds: TableTracking.Kind.allCases.map(\.rawValue), in: self
    ).filter {
      !$0.hasPrefix(prune)
        || $0.isSameSQLName(as: set.name(TableTracking.Kind.prune.rawValue))
    }
    for name in triggers { try execute("DROP TRIGGER IF EXISTS \(name.sqlQuoted)") }
    let logs = try trackingLogs(of: table, triggers)
    // Their own triggers go with them.
    for name in logs { try execute("DROP TABLE \(name.sqlQuoted)") }
    return !triggers.isEmpty || !logs.isEmpty
  }

  /// The logs of a table: of its name, and of the names in its triggers.
  private func trackingLogs(
    of table: String, _ triggers: [String]
  ) throws(DatabaseError) -> [String] {
    let prefix = "\(TableTracking.prefix)\(TableTracking.Kind.insert.rawValue)_"
    let formerNames = triggers.filter { $0.hasPrefix(prefix) }.map {
      String($0.dropFirst(prefix.count))
    }
    var logs: Set<String> = []
    for name in [table] + formerNames {
      let found = try prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE")
      try found.bind([.text(TableTracking.logName(name))])
      logs.formUnion(try found.texts())
    }
    return logs.sorted()
  }
}

extension Database {
  /// Begins to track a table: triggers log the key of each row that changes, in the transaction
  /// that changes it, whichever program writes. Live queries, in this process or another, then read
  /// only those rows again when another process writes.
  ///
  /// The log is the table `tandem_changes_` followed by the name of the table, and keeps the last
  /// 100,000 changes, and at most 1,000 more. Tracking a tracked table brings it up to date with
  /// the schema: repeat it after adding a unique index or a trigger, or changing the key. Until
  /// then, live queries read everything again when another process writes. The triggers name the
  /// columns of the key and of unique indexes: SQLite refuses to drop such a column until the table
  /// is untracked.
  ///
  /// Writes that bypass triggers are not logged: those of a connection that has triggers disabled,
  /// incremental blob input and output, and `PRAGMA writable_schema`. Nor are rows that stay after a
  /// temporary trigger of another connection stopped the statement, by `RAISE(IGNORE)` or
  /// `RAISE(FAIL)`.
  ///
  /// - Returns: The other changes of this table that tracking cannot log, in words: rows that
  ///   `REPLACE` removes in a way that no trigger foresees. Empty unless an index is on an
  ///   expression or a generated column.
  /// - Throws: ``DatabaseError``, for a table that does not exist, a view, one without a key, or
  ///   one of Tandem's own; also `CancellationError`.
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
