internal import TandemRecords

/// The triggers and the table by which the database itself keeps the former version of each row
/// that changes: every program that writes keeps it, in the same transaction.
///
/// The shadow of a table has one row for each row that was inserted, updated or deleted since the
/// shadow was emptied: its key, its chosen columns as they were, and whether it existed. The first
/// version is kept; later changes of the row leave it as it is. A row may be in the shadow without
/// having changed; no row is missing, except for ``blindSpots`` and rows whose key is null.
///
/// The triggers run *before* the change. A trigger of the application may change the same row
/// again, and it may run before Tandem's: an `AFTER` trigger would then keep a version that is
/// already changed. `ON CONFLICT DO NOTHING` keeps the first version. (`OR IGNORE` would not:
/// inside a trigger, the conflict clause of the outer statement replaces it.)
package struct TableShadow: Sendable {
  /// The prefix of the triggers' names.
  package static let prefix = "tandem_keep_"
  /// The column of a shadow that says whether the row existed.
  package static let existed = "tandem_existed"

  /// The table, as declared.
  package let table: String
  /// The columns of the primary key, as declared.
  package let key: [String]
  /// The chosen columns that are not part of the key, as declared.
  package let columns: [String]
  /// True if the key is the rowid, which SQLite chooses if a statement does not.
  package let isByRowid: Bool
  /// The source of the key of a row that changes.
  package let changedKey: TableInterest.Key
  private let removedRows: RemovedRows
  /// True if the table has a unique index besides its key.
  package var hasOtherUniqueIndexes: Bool { removedRows.hasOtherUniqueIndexes }
  /// The names of the rowid that no column has.
  private let rowidNames: [String]
  /// The defaults that SQLite puts in place of `NULL` into columns of the key.
  private let keyDefaults: [(column: String, sql: String)]

  /// The changes that the shadow can miss, in words; empty for most tables.
  package var blindSpots: [String] {
    removedRows.blindSpots
      + removedRows.defaultedColumns.filter { column in
        !key.contains(where: column.isSameSQLName)
      }.map {
        """
        rows that REPLACE removes because the default of the column \($0) takes the place of NULL
        """
      }
  }

  /// Plans the shadow of a table.
  ///
  /// - Parameter columns: The columns to keep beside the key, as declared.
  /// - Throws: ``DatabaseError`` if the table has no primary key of its own, is no ordinary table,
  ///   or one of Tandem's own.
  package init(
    table name: String, columns: [String], in connection: DatabaseConnection
  ) throws(DatabaseError) {
    guard !TriggerSet.isOwnName(name), let facts = try TableFacts(name, in: connection),
      facts.isOrdinary, !facts.schema.primaryKey.isEmpty
    else {
      throw DatabaseError(
        code: .error, message: "\(name) is no table with a primary key", path: connection.path)
    }
    table = facts.schema.name
    let key = facts.schema.primaryKey
    self.key = key
    self.columns = columns
    isByRowid = facts.isIdentifiedByRowid
    changedKey = facts.key(ofColumns: key)
    rowidNames = facts.rowidNames
    removedRows = try RemovedRows(facts, in: connection)
    keyDefaults = try connection.defaults(of: table, among: key).filter(\.isRequired)
      .map { ($0.column, $0.sql) }
  }

  /// A name of the rowid if the rows have one that is not their key.
  package var rowidName: String? { isByRowid ? nil : rowidNames.first }

  /// The table that holds the former versions.
  package var name: String { TableShadow.name(table) }

  /// The shadow of a table of this name.
  package static func name(_ table: String) -> String { "tandem_shadow_\(table)" }

  /// The tables that there may be beside a table whose former versions are kept.
  package static func tableNames(beside table: String) -> [String] {
    [name(table), presentName(table), droppedName(table), asideName(table)]
  }

  /// The statement that creates a table for former versions: the columns have no types, so that
  /// values stay as they are.
  ///
  /// The table has a rowid, although its key is another one: rows are appended to it, and only the
  /// small entries of the index go to random places. The index descends so that its pages are not
  /// full at the same moments as those of the application's index on the same keys. A statement that
  /// changes more than 16 pages makes SQLite write its undo information to a file until the
  /// transaction ends, which slows a large import down by half.
  package func creation(of name: String) -> String {
    let values = (columns + [TableShadow.existed]).map { ", \($0.sqlQuoted)" }.joined()
    if isByRowid {
      return "CREATE TABLE \(name.sqlQuoted) (\(key[0].sqlQuoted) INTEGER PRIMARY KEY\(values))"
    }
    let parts = key.map { "\($0.sqlQuoted) DESC" }.joined(separator: ", ")
    return "CREATE TABLE \(name.sqlQuoted) (\(key.sqlList)\(values), PRIMARY KEY (\(parts)))"
  }
}

// MARK: - Triggers

extension TableShadow {
  /// The kinds of triggers, by the job of each.
  private enum Kind: String, CaseIterable {
    case insert, update, delete, key
    case inserted
    case moved
    case replaceInsert = "replace_insert"
    case replaceUpdate = "replace_update"
    case replaceIndirect = "replace_indirect"
    case replaceRowid = "replace_rowid"
  }

  /// The triggers.
  var triggers: TriggerSet {
    var triggers = TriggerSet(prefix: TableShadow.prefix, table: table)
    addInsertions(to: &triggers)
    addUpdates(to: &triggers)
    let isKnown = isByRowid ? nil : key.map { "old.\($0.sqlQuoted) NOT NULL" }
    triggers.add(
      Kind.delete.rawValue, "BEFORE DELETE", when: isKnown?.joined(separator: " AND "), [keepOld])
    addReplacements(to: &triggers)
    return triggers
  }

  /// Adds the triggers for new rows. A row of the same key may be there: the statement then
  /// replaces it, updates it (`ON CONFLICT DO UPDATE`) or leaves it.
  ///
  /// SQLite may choose a rowid, or put a default in place of `NULL` in a key. A `BEFORE` trigger
  /// does not see that key, so an `AFTER` trigger notes it. The row that has the default as its key
  /// is kept beforehand.
  private func addInsertions(to triggers: inout TriggerSet) {
    let isKnown = key.map { "new.\($0.sqlQuoted) NOT NULL" }.joined(separator: " AND ")
    if isByRowid {
      // SQLite looks this form up in the table itself, which takes less than a subquery for each row.
      let name = key[0].sqlQuoted
      triggers.add(
        Kind.insert.rawValue, "BEFORE INSERT",
        when: "new.\(name) IN (SELECT \(name) FROM \(table.sqlQuoted))", [keepRows(hasNewKey)])
      triggers.add(Kind.inserted.rawValue, "AFTER INSERT", [keepAbsent])
    } else {
      triggers.add(
        Kind.insert.rawValue, "BEFORE INSERT", when: keyDefaults.isEmpty ? isKnown : nil,
        [keepRows(hasNewKey), keepNewlyAbsent])
      if !keyDefaults.isEmpty {
        triggers.add(Kind.inserted.rawValue, "AFTER INSERT", when: isKnown, [keepAbsent])
      }
    }
  }

  /// Adds the triggers for updates of the chosen columns. One that changes the key ends the row of
  /// the old key and begins one of the new key.
  private func addUpdates(to triggers: inout TriggerSet) {
    let isKnown = key.map { "old.\($0.sqlQuoted) NOT NULL" }.joined(separator: " AND ")
    triggers.add(
      Kind.update.rawValue, "BEFORE UPDATE OF \((keyNames + columns).sqlList)",
      when: isByRowid ? nil : isKnown, [keepOld])
    let isMoved = key.map { "new.\($0.sqlQuoted) IS NOT old.\($0.sqlQuoted) COLLATE BINARY" }
      .joined(separator: " OR ")
    let hasKey = key.map { "new.\($0.sqlQuoted) NOT NULL" }.joined(separator: " AND ")
    let condition = "(\(isMoved)) AND \(hasKey)"
    triggers.add(
      Kind.key.rawValue, "BEFORE UPDATE OF \(keyNames.sqlList)",
      when: keyDefaults.isEmpty ? condition : "(\(isMoved))",
      [keepRows(hasNewKey), keepNewlyAbsent])
    if !keyDefaults.isEmpty {
      triggers.add(
        Kind.moved.rawValue, "AFTER UPDATE OF \(keyNames.sqlList)", when: condition, [keepAbsent])
    }
  }

  /// Adds the triggers that keep the rows of other keys that `REPLACE` is about to remove.
  private func addReplacements(to triggers: inout TriggerSet) {
    for event in RemovedRows.Event.allCases {
      let conditions = removedRows.conditions(event)
      if conditions.isEmpty { continue }
      let isAny = conditions.map { "EXISTS (SELECT 1 FROM \(table.sqlQuoted) WHERE \($0))" }
      triggers.add(
        "replace_\(event.rawValue)", removedRows.trigger(event),
        when: isAny.joined(separator: " OR "), conditions.map(keepRows))
    }
  }

  /// The columns of the key, by all names by which an update may change them.
  private var keyNames: [String] {
    isByRowid ? Set(key).union(rowidNames).sorted() : key
  }

  /// The condition that a row has the key of the new one. The first comparison finds the row by an
  /// index of any collation, the second one compares bytes.
  private var hasNewKey: String {
    if isByRowid { return "\(key[0].sqlQuoted) = new.\(key[0].sqlQuoted)" }
    return key.map { column in
      let name = column.sqlQuoted
      let standIn = keyDefaults.first { $0.column == column }?.sql
      let new = standIn.map { "coalesce(new.\(name), (\($0)))" } ?? "new.\(name)"
      return "\(name) = \(new) AND \(name) = \(new) COLLATE BINARY"
    }
    .joined(separator: " AND ")
  }

  private var keepOld: String {
    let row = (key + columns).sqlList(of: "old")
    return keep(key + columns, "VALUES (\(row), 1)")
  }

  private var keepAbsent: String {
    keep(key, "VALUES (\(key.sqlList(of: "new")), 0)")
  }

  /// The same, unless the key is not known yet.
  private var keepNewlyAbsent: String {
    guard !keyDefaults.isEmpty else { return keepAbsent }
    let row = key.sqlList(of: "new")
    let isKnown = key.map { "new.\($0.sqlQuoted) NOT NULL" }.joined(separator: " AND ")
    return keep(key, "SELECT \(row), 0 WHERE \(isKnown)")
  }

  /// Keeps the rows of the table under a condition, except for those whose key is null.
  private func keepRows(_ condition: String) -> String {
    let isKnown = isByRowid ? "" : key.map { " AND \($0.sqlQuoted) NOT NULL" }.joined()
    return keep(
      key + columns,
      "SELECT \((key + columns).sqlList), 1 FROM \(table.sqlQuoted) WHERE (\(condition))\(isKnown)")
  }

  private func keep(_ names: [String], _ rows: String) -> String {
    let names = (names + [TableShadow.existed]).sqlList
    return "INSERT INTO \(name.sqlQuoted) (\(names)) \(rows) ON CONFLICT DO NOTHING;"
  }
}

extension TableShadow {
  /// The statement that notes the rows between two rowids, inclusive, as the triggers do when the
  /// rows are inserted; `nil` if rows cannot be selected by rowid.
  var rangeNote: String? {
    guard let rowidName = isByRowid ? key[0] : rowidNames.first else { return nil }
    let isKnown = isByRowid ? "" : key.map { " AND \($0.sqlQuoted) NOT NULL" }.joined()
    return """
      INSERT INTO main.\(name.sqlQuoted) (\((key + [TableShadow.existed]).sqlList)) \
      SELECT \(key.sqlList), 0 FROM main.\(table.sqlQuoted) \
      WHERE \(rowidName.sqlQuoted) BETWEEN ? AND ?\(isKnown) ON CONFLICT DO NOTHING
      """
  }
}

// MARK: - In the database

extension DatabaseConnection {
  /// Begins to keep former versions, with an empty shadow, in the transaction that is open.
  package func keep(_ shadow: TableShadow) throws(DatabaseError) {
    try stopKeeping(shadow.table)
    try execute(shadow.creation(of: shadow.name))
    try shadow.triggers.install(in: self)
  }

  /// True if former versions are kept in exactly this way.
  ///
  /// A trigger of the application that was created later runs before Tandem's. It matters only
  /// where SQLite may choose the key, because only there a trigger runs after the change.
  package func isKeeping(_ shadow: TableShadow) throws(DatabaseError) -> Bool {
    guard try hasSchemaEntry(shadow.creation(of: shadow.name)) else { return false }
    return try hasTriggers(of: shadow)
  }

  /// True if the triggers are exactly as planned.
  func hasTriggers(of shadow: TableShadow) throws(DatabaseError) -> Bool {
    guard try shadow.triggers.isInstalled(in: self) else { return false }
    guard shadow.mayLearnKeysLate else { return true }
    return try isLastTrigger(of: shadow)
  }

  /// True if the table has triggers of the shadow, whatever they do.
  func hasAnyTrigger(of shadow: TableShadow) throws(DatabaseError) -> Bool {
    try !shadow.triggers.installedNames(kinds: [], in: self).isEmpty
  }

  /// Removes the triggers and the shadow of a table, including those of an earlier name.
  package func stopKeeping(_ table: String) throws(DatabaseError) {
    try dropTriggers(of: table)
    let names = TableShadow.tableNames(beside: table).filter { $0 != TableShadow.asideName(table) }
    for name in names { try execute("DROP TABLE IF EXISTS \(name.sqlQuoted)") }
  }

  func dropTriggers(of table: String) throws(DatabaseError) {
    let set = TriggerSet(prefix: TableShadow.prefix, table: table)
    let names = try set.installedNames(kinds: TableShadow.kinds, in: self)
    for name in names { try execute("DROP TRIGGER IF EXISTS \(name.sqlQuoted)") }
  }

  /// True if no trigger of the table was created after Tandem's.
  private func isLastTrigger(of shadow: TableShadow) throws(DatabaseError) -> Bool {
    try integer(
      """
      SELECT count(*) FROM sqlite_schema
      WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
        AND substr(name, 1, ?2) <> ?3
        AND rowid > (
          SELECT min(rowid) FROM sqlite_schema
          WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE AND substr(name, 1, ?2) = ?3)
      """, .text(shadow.table), .integer(Int64(TableShadow.prefix.utf8.count)),
      .text(TableShadow.prefix)) == 0
  }

  /// The defaults of columns, as SQL expressions.
  package func defaults(
    of table: String, among names: [String]
  ) throws(DatabaseError) -> [(column: String, sql: String, isRequired: Bool)] {
    let listing = try prepare(
      "SELECT name, dflt_value, \"notnull\" FROM pragma_table_info(?) WHERE dflt_value NOT NULL")
    try listing.bind([.text(table)])
    var defaults: [(column: String, sql: String, isRequired: Bool)] = []
    while try listing.step() {
      if case .text(let name) = try listing.value(at: 0),
        names.contains(where: name.isSameSQLName), case .text(let sql) = try listing.value(at: 1)
      {
        defaults.append((name, sql, try listing.value(at: 2) != 0))
      }
    }
    return defaults
  }
}

extension TableShadow {
  /// True if SQLite may choose the key of a new row.
  fileprivate var mayLearnKeysLate: Bool { isByRowid || !keyDefaults.isEmpty }

  /// Every kind of trigger that any version has had.
  fileprivate static var kinds: [String] { Kind.allCases.map(\.rawValue) }
}
