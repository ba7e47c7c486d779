import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import TestRandom

/// The file of a replica.
final class SimulatedFile {
  let number: Int
  private(set) var database: SimulatedDatabase
  let schema: SimulatedSchema
  /// What programs have added to the schema.
  private(set) var additions = SimulatedSchema.Additions()
  /// True if no synchronization has taken over what was added.
  private(set) var hasNewSchema = false
  /// True if a program has written without triggers since the file was last verified.
  var hasUncapturedEdits = false
  /// The last kept edit that the ledger knows.
  private var lastKeptEdit: KeptEdit.ID = 0

  init(_ number: Int, _ database: SimulatedDatabase, _ schema: SimulatedSchema) throws {
    self.number = number
    self.database = database
    self.schema = schema
    try noteLastNumbers()
  }

  /// Takes the kept edits that the file has for known.
  private func noteLastNumbers() throws {
    // The numbers go on after edits were forgotten.
    lastKeptEdit = try database.read {
      try $0.integer("SELECT last_kept FROM tandem_state") ?? 0
    }
  }

  func write<Value>(_ body: (ReplicaTables) throws -> Value) throws -> Value {
    try database.write(foreignKeys: .unconcerned) { try body(database.replica($0)) }
  }

  /// Writes as a step of synchronization does.
  func perform<Value>(
    _ step: SyncStep, _ body: (ReplicaTables, DatabaseConnection) throws -> Value
  ) throws -> Value {
    let value = try database.write(foreignKeys: step.writesRows ? .ignored : .unconcerned) {
      try body(database.replica($0), $0)
    }
    hasNewSchema = false
    return value
  }

  /// The columns of a table in which every edit writes a value of its own.
  func valueColumns(_ table: SimulatedSchema.Table) -> [String] {
    table.valueColumns
      + (additions.columns.contains(table.name) ? [SimulatedSchema.Table.addedColumn] : [])
  }

  /// Takes note of what a program has added to the schema.
  func added(_ additions: SimulatedSchema.Additions) {
    guard additions != self.additions else { return }
    self.additions = additions
    hasNewSchema = true
  }

  /// Takes another database, to which is added what a backup or another file has.
  func take(_ database: SimulatedDatabase, _ additions: SimulatedSchema.Additions) throws {
    try database.write { connection in
      for table in schema.tables {
        if additions.columns.contains(table.name) { try connection.execute(table.addition) }
        if additions.indexes.contains(table.name) {
          try connection.execute(table.lateIndexCreation)
        }
      }
      _ = try database.replica(connection).schema()
    }
    database.enforcesForeignKeys = self.database.enforcesForeignKeys
    self.database = database
    self.additions = additions
    hasNewSchema = false
  }

  func read<Value>(_ body: (ReplicaTables) throws -> Value) throws -> Value {
    try database.read { try body(database.replica($0)) }
  }

  /// Takes the values of a backup or of another file. The next conflicts and rejections may get numbers that were
  /// used before.
  func become(_ image: DatabaseImage) throws {
    try image.restore(database)
    try noteLastNumbers()
  }

  /// Gives a new file the identity that attaching would give it.
  func identify(using random: inout SplitMix64) throws {
    let replica = SyncToken.random(using: &random)
    try database.write {
      try $0.run("UPDATE tandem_state SET replica = ?", [.text(replica.description)])
      try $0.run("UPDATE clock SET now = ?", [.integer(Int64(number * 1_000))])
    }
  }

  /// The values that edits wrote, in the order of tables and keys, and then those of columns that the tables
  /// lack: who deletes a row deletes these too.
  func values(_ connection: DatabaseConnection) throws -> [(EditLedger.Cell, Int)] {
    var values: [(EditLedger.Cell, Int)] = []
    for table in schema.tables {
      let names = valueColumns(table)
      let columns = table.keyColumns + names
      let rows = try connection.rows(
        "SELECT \(columns.joined(separator: ", ")) FROM \(table.name) ORDER BY "
          + table.keyColumns.joined(separator: ", "))
      for row in rows {
        let key = SyncKey(table: table.name, id: Array(row.prefix(table.keyColumns.count)))
        for (column, value) in zip(names, row.dropFirst(table.keyColumns.count)) {
          guard let text = value.textValue, let edit = EditLedger.edits(in: text).first else {
            continue
          }
          values.append((EditLedger.Cell(key: key, column: column), edit))
        }
      }
    }
    return try values + parkedValues(connection)
  }

  private func parkedValues(
    _ connection: DatabaseConnection
  ) throws -> [(EditLedger.Cell, Int)] {
    let rows = try connection.rows(
      """
      SELECT "table", id, fields FROM tandem_parked WHERE is_whole = 0 AND reason IS NULL
      ORDER BY "table", "key"
      """)
    return try rows.flatMap { row -> [(EditLedger.Cell, Int)] in
      guard let table = schema.tables.first(where: { $0.name == row[0].textValue }),
        let id = row[1].textValue, let fields = row[2].textValue
      else { return [] }
      let reader = SyncMessageReader()
      let (key, record) = try (reader.id(Array(id.utf8)), reader.fields(Array(fields.utf8)))
      let condition = table.keyColumns.map { "\($0) = ?" }.joined(separator: " AND ")
      // The row may have been deleted since.
      let isThere = try connection.row("SELECT 1 FROM \(table.name) WHERE \(condition)", key) != nil
      guard isThere else { return [] }
      return zip(record.layout.names, record.values).compactMap { name, value in
        value.textValue.flatMap { EditLedger.edits(in: $0).first }.map { edit in
          (EditLedger.Cell(key: SyncKey(table: table.name, id: key), column: name), edit)
        }
      }
    }
  }

  /// The synchronized values of a table, by their keys, as SQL literals: 1 and 1.0 are two values.
  func rows(of table: SimulatedSchema.Table) throws -> [[FieldValue]: [FieldValue]] {
    let columns =
      table.synchronizedColumns
      + (additions.columns.contains(table.name) && !table.hasNote
        ? [SimulatedSchema.Table.addedColumn] : [])
    let list = table.keyColumns + columns.map { "quote(\($0))" }
    let rows = try database.read {
      try $0.rows("SELECT \(list.joined(separator: ", ")) FROM \(table.name)")
    }
    let keyCount = table.keyColumns.count
    return Dictionary(
      rows.map { (Array($0.prefix(keyCount)), Array($0.dropFirst(keyCount))) },
      uniquingKeysWith: { $1 })
  }

  /// The values of the columns that are not synchronized, of rows whose keys do not change.
  func notes(_ connection: DatabaseConnection) throws -> [SyncKey: FieldValue] {
    var notes: [SyncKey: FieldValue] = [:]
    for table in schema.tables where table.hasNote && !table.isNumbered {
      let rows = try connection.rows(
        "SELECT \((table.keyColumns + ["note"]).joined(separator: ", ")) FROM \(table.name)")
      for row in rows { notes[SyncKey(table: table.name, id: row.dropLast())] = row.last }
    }
    return notes
  }

  /// The start of each staged page's pull and the cursor of the page after it, by position.
  func staged(_ connection: DatabaseConnection) throws -> [[FieldValue]] {
    try connection.rows("SELECT position, since, next FROM tandem_staged ORDER BY position")
  }

  /// Gives the kept edits that are new to the ledger.
  ///
  /// - Throws: ``SimulationViolation`` if a conflict has only one side.
  func report(to ledger: inout EditLedger, at step: Int) throws -> Int {
    var count = 0
    let rows = try database.read {
      try $0.rows(
        """
        SELECT id, "table", "key",
          iif(kind = 'edit', '', ifnull(base, '')) || ifnull("local", '') || ifnull(remote, ''),
          kind, base, "local", remote
        FROM tandem_kept WHERE id > ? ORDER BY id
        """, [.integer(lastKeptEdit)])
    }
    for row in rows {
      guard case .integer(let id) = row[0], case .text(let table) = row[1],
        case .text(let keyText) = row[2], case .text(let versions) = row[3],
        let key = try? SyncMessageReader().id(Array(keyText.utf8))
      else { continue }
      lastKeptEdit = id
      if row[4] == "edit/edit" {
        try checkConflict(in: table, base: row[5], local: row[6], remote: row[7])
      }
      ledger.record(versions, of: SyncKey(table: table, id: key), at: step)
      count += 1
    }
    return count
  }

  /// Edits of two sides conflict only where both have changed the same field or unit, or the same record if
  /// records change as a whole.
  private func checkConflict(
    in table: String, base: FieldValue, local: FieldValue, remote: FieldValue
  ) throws {
    let versions = [base, local, remote].compactMap { version in
      version.textValue.flatMap { try? SyncMessageReader().fields(Array($0.utf8)) }
    }
    guard versions.count == 3, let table = schema.tables.first(where: { $0.name == table }) else {
      return
    }
    let names = Set(versions.flatMap(\.layout.names))
    let changed = versions.dropFirst().map { version in
      let names = names.filter { !versions[0][$0].hasSameStorage(as: version[$0]) }
      return table.units.reduce(names) { $0.isDisjoint(with: $1) ? $0 : $0.union($1) }
    }
    let isTwoSided =
      table.granularity == .record
      ? changed.allSatisfy { !$0.isEmpty } : !changed[0].isDisjoint(with: changed[1])
    guard isTwoSided else {
      throw SimulationViolation(
        "file \(number) has a conflict of edits that do not meet: \(versions)")
    }
  }
}
