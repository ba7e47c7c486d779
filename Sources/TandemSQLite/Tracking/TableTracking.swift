internal import TandemRecords

/// How the changes of a table are noted in the database itself, by triggers, so that whoever writes
/// notes them, in the same transaction.
///
/// The keys of rows inserted, updated (before and after) and deleted go to a log table, which keeps the
/// last ``maxEntryCount`` or a few more. `REPLACE` removes rows without firing their triggers, unless
/// `PRAGMA recursive_triggers` is on, so the rows that a unique index says are about to be replaced are
/// noted beforehand. More is noted than changes; nothing that changes is left out, but for
/// ``blindSpots``.
package struct TableTracking: Sendable {
  /// How many entries the log keeps; a reader that is further behind reads everything again.
  package static let maxEntryCount = 100_000
  /// How many entries come between two times that old ones are removed.
  static let pruningInterval = 1_000

  /// The table, as declared.
  package let table: String
  /// The columns that identify a row, in the order of the log's columns `k1`, `k2`, ….
  package let identity: [String]
  /// What it cannot see, in words; empty for most tables.
  package let blindSpots: [String]
  private let replacements: [UniqueIndex]

  /// Plans the tracking of a table.
  ///
  /// - Throws: ``DatabaseError`` if it cannot be tracked: it does not exist, is a view or virtual, or
  ///   its rows have neither a primary key nor a rowid.
  package init(table name: String, in connection: DatabaseConnection) throws(DatabaseError) {
    guard let facts = try TableFacts(name, in: connection) else {
      throw DatabaseError(code: .error, message: "no such table: \(name)", path: connection.path)
    }
    identity = facts.identity
    guard facts.isOrdinary, !identity.isEmpty else {
      throw DatabaseError(
        code: .error, message: "\(name) cannot be tracked: only tables whose rows have a key can",
        path: connection.path)
    }
    table = facts.schema.name
    let indexes = try UniqueIndex.all(of: facts.schema.name, in: connection)
    let identity = identity
    replacements = indexes.filter { !$0.isByExpression && !$0.isBinaryKey(identity) }
    blindSpots = indexes.filter(\.isByExpression).map {
      "rows that REPLACE removes because of the index \($0.name), which is on an expression"
    }
  }

  /// The log table.
  package var logName: String { TableTracking.logName(table) }

  /// The log of a table of this name.
  static func logName(_ table: String) -> String { "tandem_changes_\(table)" }

  /// What a trigger does.
  enum Kind: String, CaseIterable {
    case insert, update, delete, prune
    case replaceInsert = "replace_insert"
    case replaceUpdate = "replace_update"

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

  /// What creates each trigger, by its name.
  var triggers: [(name: String, sql: String)] {
    let names = identity.map(\.sqlQuoted)
    let isOther = names.map { "new.\($0) IS NOT old.\($0) COLLATE BINARY" }
      .joined(separator: " OR ")
    var triggers = [
      trigger(.insert, "AFTER INSERT", on: table, [note("VALUES (\(row("new")))")]),
      trigger(.delete, "AFTER DELETE", on: table, [note("VALUES (\(row("old")))")]),
      trigger(
        .update, "AFTER UPDATE", on: table,
        [note("VALUES (\(row("old")))"), note("SELECT \(row("new")) WHERE \(isOther)")]),
      trigger(
        .prune, "AFTER INSERT", on: logName,
        when: "WHEN new.seq % \(TableTracking.pruningInterval) = 0",
        [
          "DELETE FROM \(logName.sqlQuoted) WHERE seq <= new.seq - \(TableTracking.maxEntryCount);"
        ]),
    ]
    if !replacements.isEmpty {
      let notes = replacements.map { index in
        note(
          "SELECT \(names.joined(separator: ", ")) FROM \(table.sqlQuoted) WHERE \(index.conflict)")
      }
      triggers.append(trigger(.replaceInsert, "BEFORE INSERT", on: table, notes))
      triggers.append(trigger(.replaceUpdate, "BEFORE UPDATE", on: table, notes))
    }
    return triggers
  }

  private func row(_ alias: String) -> String {
    identity.map { "\(alias).\($0.sqlQuoted)" }.joined(separator: ", ")
  }

  private func note(_ rows: String) -> String {
    "INSERT INTO \(logName.sqlQuoted) (\(logColumns)) \(rows);"
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
