import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync

/// Programs change the schema of one file.
extension Simulation {
  /// A program adds a column to a table.
  func addColumn(_ number: Int) throws {
    let file = files[number]
    let table = pick(schema.tables)
    guard !table.hasNote, !file.alteration(of: table).hasAddedColumn else { return }
    note("file \(number): \(table.addition)")
    try transact(file) { try $0.execute(table.addition) }
    try file.changedSchema()
  }

  /// A program creates a unique index on a table, if the rows of its file permit it, or drops it again.
  func createIndex(_ number: Int) throws {
    let file = files[number]
    let table = pick(schema.tables)
    if file.alteration(of: table).hasLateIndex {
      note("file \(number): the index \(table.lateIndex) is dropped")
      try transact(file) { try $0.execute("DROP INDEX \(table.lateIndex)") }
      return try file.changedSchema()
    }
    do {
      try transact(file) { try $0.execute(table.lateIndexCreation) }
    } catch let error as DatabaseError where error.code.primary == .constraint {
      return
    }
    note("file \(number): \(table.lateIndexCreation)")
    try file.changedSchema()
  }

  /// A migration drops a column, with the edits that were not sent, or a program creates one again that it has dropped.
  func dropColumn(_ number: Int) throws {
    let file = files[number]
    let table = pick(schema.tables)
    // Without the column, edits that no trigger noted cannot be told from those of other files.
    guard !table.passingColumns.isEmpty, !file.hasUncapturedEdits else { return }
    let (name, declaration) = pick(table.passingColumns)
    if file.alteration(of: table).dropped.contains(name) {
      note("file \(number): the column \(name) of \(table.name) comes back")
      try transact(file) {
        try $0.execute("ALTER TABLE \(table.name) ADD COLUMN \(name) \(declaration)")
      }
      return try file.changedSchema()
    }
    // Edits that are made after the first call, of columns that are dropped before the last one, are not kept.
    if try file.read({ try $0.isPaused() }) { return try endPause(of: file) }
    let added = SimulatedSchema.Table.addedColumn
    let isRenamed = name != "visits" && !file.alteration(of: table).hasAddedColumn && chance(30)
    note(
      "file \(number): a migration \(isRenamed ? "renames" : "drops") the column \(name) of \(table.name)"
    )
    var hidden: [(EditLedger.Cell, Int)] = []
    try migrate(file, pick([.migration, .calls])) { connection in
      hidden = try file.values(connection).filter {
        $0.0.key.table == table.name && $0.0.column == name
      }
      try connection.execute(
        "ALTER TABLE \(table.name) "
          + (isRenamed ? "RENAME COLUMN \(name) TO \(added)" : "DROP COLUMN \(name)"))
    }
    try file.changedSchema(hiding: hidden)
  }

  /// A program builds a table anew, as frameworks do, and edits rows while Tandem's triggers are gone.
  func rebuildTable(_ number: Int) throws {
    let file = files[number]
    if try file.read({ try $0.isPaused() }) { return try endPause(of: file) }
    let table = pick(schema.tables)
    let announcement = pick([Announcement.none, .none, .migration, .calls, .firstCall])
    note("file \(number): \(table.name) is built anew, announced by \(announcement)")
    // As without triggers, the counts of edits get lost.
    if announcement == .none { ledger.copied() }
    try migrate(file, announcement) { connection in
      try rebuild(table, connection)
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let former = ledger
        do {
          try connection.savepoint {
            _ = try runStatement(file, connection, file.values(connection))
            // Frameworks check the references in the end.
            guard
              try !scenario.enforcesForeignKeys
                || connection.row("PRAGMA foreign_key_check") == nil
            else { throw Undone() }
          }
        } catch is Undone {
          ledger = former
        }
      }
    }
    try file.changedSchema()
  }

  private struct Undone: Error {}

  /// Builds a table anew with the same columns, indexes, triggers and rows.
  private func rebuild(
    _ table: SimulatedSchema.Table, _ connection: DatabaseConnection
  ) throws {
    let name = table.name
    let statements = try connection.rows(
      """
      SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql NOT NULL AND name NOT LIKE 'tandem_%'
      ORDER BY type = 'table' DESC, name
      """, [.text(name)]
    ).compactMap(\.first?.textValue)
    let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", [.text(name)])
      .compactMap(\.first?.textValue).joined(separator: ", ")
    let body = statements[0].drop { $0 != "(" }
    try connection.execute("CREATE TABLE new_\(name) \(body)")
    try connection.execute("INSERT INTO new_\(name) (\(columns)) SELECT \(columns) FROM \(name)")
    let last =
      table.isNumbered
      ? try connection.row("SELECT seq FROM sqlite_sequence WHERE name = ?", [.text(name)]) : nil
    try connection.execute("DROP TABLE \(name)")
    try connection.execute("ALTER TABLE new_\(name) RENAME TO \(name)")
    for statement in statements.dropFirst() { try connection.execute(statement) }
    // Not all frameworks keep the highest number.
    if let last, chance(50) {
      try connection.run("DELETE FROM sqlite_sequence WHERE name = ?", [.text(name)])
      try connection.run(
        "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [.text(name), last[0]])
    }
  }

  /// Ends a change of the schema that Tandem waits for.
  func endPause(of file: SimulatedFile) throws {
    note("file \(file.number): the change of the schema ends")
    try transact(file, isMigration: true) { try file.database.replica($0).endSchemaChange() }
    try file.changedSchema()
  }

  /// How Tandem knows of a change of the schema.
  private enum Announcement {
    case none
    /// As `Database.migrate` does.
    case migration
    /// By calls before and after it.
    case calls
    /// By the call before it: nothing is synchronized until ``endPause(of:)``.
    case firstCall
  }

  private func migrate(
    _ file: SimulatedFile, _ announcement: Announcement,
    _ body: (DatabaseConnection) throws -> Void
  ) throws {
    try transact(file, isMigration: true) { connection in
      let tables = file.database.replica(connection)
      switch announcement {
      case .none: try body(connection)
      case .migration: try connection.pausingShadows { try body(connection) }
      case .calls, .firstCall:
        try tables.beginSchemaChange()
        try body(connection)
        if announcement == .calls { try tables.endSchemaChange() }
      }
    }
  }
}
