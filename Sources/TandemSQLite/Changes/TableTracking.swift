internal import TandemRecords

/// How the changes of a table are noted in the database itself, by triggers, so that whoever writes
/// notes them, in the same transaction.
///
/// The keys of rows inserted, updated (before and after) and deleted go to a log table, which keeps the
/// last ``maxEntryCount`` or a few more. `REPLACE` removes rows without firing their triggers, unless
/// `PRAGMA recursive_triggers` is on, so the rows that a unique index or a new rowid says are about to be
/// replaced are noted beforehand. More is noted than changes; nothing that changes is left out, but for
/// ``blindSpots``.
///
/// The log begins at a random number, so that no reader takes one begun anew for the one it knew. One that
/// somebody emptied begins at 1, and counts for nothing until the table is tracked again.
package struct TableTracking: Sendable {
  /// How many entries the log keeps; a reader that is further behind reads everything again.
  package static let maxEntryCount = 100_000
  /// How many entries come between two times that old ones are removed.
  static let pruningInterval = 1_000
  /// The least number at which a log begins: at random, between this and its double, so that it meets no
  /// other, and is no longer in the file than it must be. SQLite begins one that was emptied at 1.
  static let minFirstEntry: Int64 = 1 << 47

  /// The table, as declared.
  package let table: String
  /// The columns that identify a row, in the order of the log's columns `k1`, `k2`, ….
  package let identity: [String]
  /// What it cannot see, in words; empty for most tables.
  package let blindSpots: [String]
  /// The unique indexes by which a row can remove one of another key only if it gets another value in
  /// their columns.
  private let plainReplacements: [UniqueIndex]
  /// Those where any column may decide: on generated columns, which change with the columns that these
  /// are computed from, and partial ones, into which any column may move a row.
  private let indirectReplacements: [UniqueIndex]
  /// The columns where `REPLACE` puts a default in place of `NULL`, after it was asked which rows
  /// conflict.
  private let defaultedColumns: [String]
  /// The names of the rowid that no column has; none if the rows have no rowid.
  private let rowidNames: [String]
  /// Whether the rowid is the key. Otherwise a row can remove one of another key by it.
  private let isByRowid: Bool

  /// Plans the tracking of a table.
  ///
  /// - Throws: ``DatabaseError`` if it cannot be tracked: it does not exist, is a view or virtual, or
  ///   its rows have neither a primary key nor a rowid.
  package init(table name: String, in connection: DatabaseConnection) throws(DatabaseError) {
    try TableTracking.checkIsTrackable(name, path: connection.path)
    guard let facts = try TableFacts(name, in: connection) else {
      throw DatabaseError(code: .error, message: "no such table: \(name)", path: connection.path)
    }
    let identity = facts.identity
    guard facts.isOrdinary, !identity.isEmpty else {
      throw DatabaseError(
        code: .error, message: "\(name) cannot be tracked: only tables whose rows have a key can",
        path: connection.path)
    }
    table = facts.schema.name
    self.identity = identity
    isByRowid = facts.isRowid(identity[0])
    rowidNames = ["rowid", "_rowid_", "oid"].filter {
      facts.schema.column(named: $0) == nil && facts.isRowid($0)
    }
    let indexes = try UniqueIndex.all(of: facts.schema.name, in: connection)
    let replacements = indexes.filter { !$0.isByExpression && !$0.isBinaryKey(identity) }
    let generatedColumns = facts.schema.columns.filter(\.isGenerated).map(\.name)
    let computed = replacements.filter { $0.holds(anyOf: generatedColumns) }
    let isIndirect = { (index: UniqueIndex) in
      index.isPartial || index.holds(anyOf: generatedColumns)
    }
    indirectReplacements = replacements.filter(isIndirect)
    plainReplacements = replacements.filter { !isIndirect($0) }
    defaultedColumns = try connection.requiredColumnsWithDefault(of: facts.schema.name).filter {
      column in !computed.isEmpty || replacements.contains { $0.holds(anyOf: [column]) }
    }
    blindSpots = TableTracking.blindSpots(
      indexes.filter(\.isByExpression), isByRowid ? computed : [])
  }

  /// What cannot be seen because of indexes on expressions, and of indexes on what may be computed from
  /// a rowid that is not known beforehand.
  private static func blindSpots(
    _ byExpression: [UniqueIndex], _ computed: [UniqueIndex]
  ) -> [String] {
    var spots = byExpression.map {
      "rows that REPLACE removes because of the index \($0.name), which is on an expression"
    }
    spots += computed.map {
      """
      rows that REPLACE removes because of the index \($0.name), which is on a generated column, \
      where that is computed from a key that SQLite chose
      """
    }
    return spots
  }

  /// Whether a table is one of Tandem's own: a log, or what migrations and mirrors keep.
  package static func isOwn(_ table: String) -> Bool {
    let name = table.lowercased()
    return name.hasPrefix(logName(""))
      || ["tandem_migrations", "tandem_mirror", "tandem_mirror_directory"].contains(name)
  }

  /// - Throws: ``DatabaseError`` for a table of Tandem's own.
  static func checkIsTrackable(_ table: String, path: String) throws(DatabaseError) {
    guard isOwn(table) else { return }
    throw DatabaseError(
      code: .error,
      message: "\(table) is a table of Tandem's own, which cannot be tracked; name one of yours",
      path: path)
  }

  /// The log table.
  package var logName: String { TableTracking.logName(table) }

  /// The log of a table of this name.
  static func logName(_ table: String) -> String { "tandem_changes_\(table)" }

  /// What a trigger does.
  enum Kind: String, CaseIterable {
    case insert, update, delete, prune
    case key
    case newKey = "new_key"
    case replaceInsert = "replace_insert"
    case replaceUpdate = "replace_update"
    case replaceIndirect = "replace_indirect"
    case replaceRowid = "replace_rowid"
    case defaultInsert = "default_insert"
    case defaultUpdate = "default_update"

    /// Its name, which tells the kind and the table: no two share one.
    func triggerName(_ table: String) -> String { "tandem_track_\(rawValue)_\(table)" }
  }
}

// MARK: - Statements

extension TableTracking {
  /// What creates the log.
  var logCreation: String {
    "CREATE TABLE \(logName.sqlQuoted) (seq INTEGER PRIMARY KEY, \(logColumns))"
  }

  private var logColumns: String {
    identity.indices.map { "k\($0 + 1)" }.joined(separator: ", ")
  }

  /// The log's first entry, which says nothing but where it begins.
  var beginning: String {
    let first = TableTracking.minFirstEntry
    return "INSERT INTO \(logName.sqlQuoted) (seq) VALUES ((random() & \(first - 1)) + \(first));"
  }

  /// What notes the rows between two rowids, inclusive, as the triggers do when they are inserted; `nil`
  /// if there is no asking for a rowid.
  var rangeNote: String? {
    guard let rowidName = isByRowid ? identity[0] : rowidNames.first else { return nil }
    return """
      INSERT INTO main.\(logName.sqlQuoted) (\(logColumns)) SELECT \(list(identity)) \
      FROM main.\(table.sqlQuoted) WHERE \(rowidName.sqlQuoted) BETWEEN ? AND ?
      """
  }

  /// What keeps the log short where triggers do not.
  var pruning: String {
    let log = "main.\(logName.sqlQuoted)"
    return
      "DELETE FROM \(log) WHERE seq <= (SELECT max(seq) FROM \(log)) - \(TableTracking.maxEntryCount)"
  }

  /// What creates each trigger, by its name.
  var triggers: [(name: String, sql: String)] {
    noteTriggers + replacementTriggers + defaultTriggers
  }

  /// What notes the rows that a statement changes, and keeps the log short. An update that does not
  /// name the key pays nothing for the new one. One that changes the key notes the new one beforehand
  /// too: if the row that it replaces takes the updated one with it, by a foreign key, nothing comes
  /// after; and only afterwards is it known if a default stands in place of `NULL`.
  private var noteTriggers: [(name: String, sql: String)] {
    [
      trigger(.insert, "AFTER INSERT", on: table, [note("VALUES (\(row("new")))")]),
      trigger(.delete, "AFTER DELETE", on: table, [note("VALUES (\(row("old")))")]),
      trigger(.update, "AFTER UPDATE", on: table, [note("VALUES (\(row("old")))")]),
      newKeyTrigger(.newKey, "BEFORE"), newKeyTrigger(.key, "AFTER"),
      trigger(
        .prune, "AFTER INSERT", on: logName,
        when: "WHEN new.seq % \(TableTracking.pruningInterval) = 0",
        [
          "DELETE FROM \(logName.sqlQuoted) WHERE seq <= new.seq - \(TableTracking.maxEntryCount);"
        ]),
    ]
  }

  private func newKeyTrigger(_ kind: Kind, _ time: String) -> (name: String, sql: String) {
    let isOther = identity.map {
      "new.\($0.sqlQuoted) IS NOT old.\($0.sqlQuoted) COLLATE BINARY"
    }
    .joined(separator: " OR ")
    return trigger(
      kind, "\(time) UPDATE OF \(list(keyNames))", on: table, when: "WHEN \(isOther)",
      [note("VALUES (\(row("new")))")])
  }

  /// The columns of the key, by all names by which an update may change them.
  private var keyNames: [String] {
    isByRowid ? Set(identity).union(rowidNames).sorted() : identity
  }

  /// What notes the rows that `REPLACE` is about to remove. Most insertions replace none, and most
  /// updates name no column of the index: they pay little.
  private var replacementTriggers: [(name: String, sql: String)] {
    let plain = plainReplacements.map(\.conflict)
    let indirect = indirectReplacements.map(\.conflict)
    let columns = Set(plainReplacements.flatMap(\.columnNames)).sorted()
    return [
      replacement(.replaceInsert, "BEFORE INSERT", of: rowidConflicts + plain + indirect),
      replacement(.replaceUpdate, "BEFORE UPDATE OF \(list(columns))", of: plain),
      replacement(.replaceIndirect, "BEFORE UPDATE", of: indirect),
      replacement(
        .replaceRowid, "BEFORE UPDATE OF \(list(rowidNames))", of: rowidConflicts),
    ].compactMap { $0 }
  }

  /// How a new row takes the rowid of one of another key. Before an insertion, SQLite tells the new rowid
  /// if the statement names it; otherwise whatever row it tells is noted for nothing.
  private var rowidConflicts: [String] {
    isByRowid ? [] : rowidNames.prefix(1).map { "\($0) = new.\($0)" }
  }

  /// What notes the rows for which one of the conditions holds, if there is one.
  private func replacement(
    _ kind: Kind, _ event: String, of conditions: [String]
  ) -> (name: String, sql: String)? {
    guard !conditions.isEmpty else { return nil }
    let isAny = conditions.map { "EXISTS (SELECT 1 FROM \(table.sqlQuoted) WHERE \($0))" }
    return trigger(
      kind, event, on: table, when: "WHEN " + isAny.joined(separator: " OR "),
      conditions.map(noteRows))
  }

  /// What makes the log begin anew if a default decides which row is removed, so that readers read
  /// everything again: nobody needs that often, and a default may be any expression.
  private var defaultTriggers: [(name: String, sql: String)] {
    guard !defaultedColumns.isEmpty else { return [] }
    let condition = defaultedColumns.map { "new.\($0.sqlQuoted) IS NULL" }
      .joined(separator: " OR ")
    let restart = ["DELETE FROM \(logName.sqlQuoted);", beginning]
    let update = "BEFORE UPDATE OF \(list(defaultedColumns))"
    return [
      trigger(.defaultInsert, "BEFORE INSERT", on: table, when: "WHEN \(condition)", restart),
      trigger(.defaultUpdate, update, on: table, when: "WHEN \(condition)", restart),
    ]
  }

  private func list(_ names: [String]) -> String {
    names.map(\.sqlQuoted).joined(separator: ", ")
  }

  private func row(_ alias: String) -> String {
    identity.map { "\(alias).\($0.sqlQuoted)" }.joined(separator: ", ")
  }

  private func note(_ rows: String) -> String {
    "INSERT INTO \(logName.sqlQuoted) (\(logColumns)) \(rows);"
  }

  private func noteRows(where condition: String) -> String {
    note("SELECT \(list(identity)) FROM \(table.sqlQuoted) WHERE \(condition)")
  }

  private func trigger(
    _ kind: Kind, _ event: String, on table: String, when condition: String = "",
    _ statements: [String]
  ) -> (name: String, sql: String) {
    let name = kind.triggerName(self.table)
    let body = statements.joined(separator: " ")
    return (
      name,
      "CREATE TRIGGER \(name.sqlQuoted) \(event) ON \(table.sqlQuoted) \(condition)"
        + " BEGIN \(body) END"
    )
  }
}
