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
  /// How programs have changed the tables, by their names.
  private(set) var alterations: [String: SimulatedSchema.Alteration] = [:]
  /// True if a program has changed the schema, so that no other simulation can use the database.
  private(set) var hasOwnSchema = false
  /// True if no pull has followed a change of the schema.
  private(set) var hasNewSchema = false
  /// The tables whose column that counts came back, and has no numbers until a pull.
  private var emptyCounters: Set<String> = []
  /// The values of columns that were dropped, until a pull has brought them to the file as those of other files.
  private var hiddenValues: [(EditLedger.Cell, Int)] = []
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
    try database.write(foreignKeys: step.writesRows ? .ignored : .unconcerned) {
      try body(database.replica($0), $0)
    }
  }

  func alteration(of table: SimulatedSchema.Table) -> SimulatedSchema.Alteration {
    alterations[table.name] ?? SimulatedSchema.Alteration()
  }

  /// The columns of a table in which every edit writes a value of its own.
  func valueColumns(_ table: SimulatedSchema.Table) -> [String] {
    let alteration = alteration(of: table)
    return table.valueColumns.filter { !alteration.dropped.contains($0) }
      + (alteration.hasAddedColumn ? [SimulatedSchema.Table.addedColumn] : [])
  }

  /// True if a table has the column that counts, with the number that the file knew.
  func counts(_ table: SimulatedSchema.Table) -> Bool {
    table.counts && !emptyCounters.contains(table.name)
      && !alteration(of: table).dropped.contains("visits")
  }

  /// Takes note of the schema after a program may have changed it.
  ///
  /// - Parameter hidden: The values of columns that it has dropped.
  func changedSchema(hiding hidden: [(EditLedger.Cell, Int)] = []) throws {
    var alterations: [String: SimulatedSchema.Alteration] = [:]
    for table in schema.tables {
      var alteration = SimulatedSchema.Alteration()
      let names = try database.read {
        try $0.rows(
          """
          SELECT name FROM pragma_table_info(?1)
          UNION SELECT name FROM sqlite_schema WHERE tbl_name = ?1 AND type = 'index'
          """, [.text(table.name)])
      }.map(\.[0])
      alteration.hasAddedColumn = names.contains(.text(SimulatedSchema.Table.addedColumn))
      alteration.hasLateIndex = names.contains(.text(table.lateIndex))
      alteration.dropped = Set(
        table.passingColumns.map(\.name).filter { !names.contains(.text($0)) })
      if alteration != SimulatedSchema.Alteration() { alterations[table.name] = alteration }
    }
    (hasOwnSchema, hasNewSchema) = (true, true)
    if alterations != self.alterations { hiddenValues += hidden }
    for (name, former) in self.alterations
    where former.dropped.contains("visits") && alterations[name]?.dropped.contains("visits") != true
    {
      emptyCounters.insert(name)
    }
    self.alterations = alterations
  }

  /// Takes note that a pull has followed all changes of the schema.
  func pulled() {
    hasNewSchema = false
    hiddenValues = []
    emptyCounters = []
  }

  /// Takes another database, whose schema is changed as that of a backup or of another file.
  func take(
    _ database: SimulatedDatabase, _ alterations: [String: SimulatedSchema.Alteration]
  ) throws {
    try database.write { connection in
      let tables = database.replica(connection)
      try tables.beginSchemaChange()
      for table in schema.tables {
        guard let alteration = alterations[table.name] else { continue }
        if alteration.hasAddedColumn { try connection.execute(table.addition) }
        if alteration.hasLateIndex { try connection.execute(table.lateIndexCreation) }
        for column in alteration.dropped.sorted() {
          try connection.execute("ALTER TABLE \(table.name) DROP COLUMN \(column)")
        }
      }
      try tables.endSchemaChange()
    }
    database.enforcesForeignKeys = self.database.enforcesForeignKeys
    self.database = database
    self.alterations = alterations
    hasOwnSchema = !alterations.isEmpty
  }

  func read<Value>(_ body: (ReplicaTables) throws -> Value) throws -> Value {
    try database.read { try body(database.replica($0)) }
  }

  /// Takes the values of a backup or of another file. The next conflicts and rejections may get numbers that were
  /// used before.
  func become(_ image: DatabaseImage) throws {
    try image.restore(database)
    pulled()
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
  ///
  /// - Parameter hasHidden: True if it contains those of dropped columns that the file has forgotten.
  func values(
    _ connection: DatabaseConnection, andHidden hasHidden: Bool = true
  ) throws -> [(EditLedger.Cell, Int)] {
    var values: [(EditLedger.Cell, Int)] = []
    var keys: Set<SyncKey> = []
    for table in schema.tables {
      let names = valueColumns(table)
      let columns = table.keyColumns + names
      let rows = try connection.rows(
        "SELECT \(columns.joined(separator: ", ")) FROM \(table.name) ORDER BY "
          + table.keyColumns.joined(separator: ", "))
      for row in rows {
        let key = SyncKey(table: table.name, id: Array(row.prefix(table.keyColumns.count)))
        keys.insert(key)
        for (column, value) in zip(names, row.dropFirst(table.keyColumns.count)) {
          guard let text = value.textValue, let edit = EditLedger.edits(in: text).first else {
            continue
          }
          values.append((EditLedger.Cell(key: key, column: column), edit))
        }
      }
    }
    guard hasOwnSchema else { return try values + parkedValues(connection) }
    // Who writes into a column that was dropped and came back replaces the file's own edit.
    let written = Set(values.map(\.0))
    values += try droppedValues(connection).filter {
      keys.contains($0.0.key) && !written.contains($0.0)
    }
    values += try parkedValues(connection)
    guard hasHidden else { return values }
    let known = Set(values.map(\.0))
    return values + hiddenValues.filter { keys.contains($0.0.key) && !known.contains($0.0) }
  }

  /// The edits of dropped columns that the file has not sent.
  private func droppedValues(
    _ connection: DatabaseConnection
  ) throws -> [(EditLedger.Cell, Int)] {
    try schema.tables.flatMap { table -> [(EditLedger.Cell, Int)] in
      let name = "tandem_dropped_\(table.name)"
      guard try connection.schema(ofTable: name) != nil else { return [] }
      let rows = try connection.rows(
        "SELECT tandem_column, tandem_value, \(table.keyColumns.joined(separator: ", ")) FROM \(name)"
      )
      return rows.compactMap { row in
        guard let column = row[0].textValue, let text = row[1].textValue,
          let edit = EditLedger.edits(in: text).first
        else { return nil }
        let key = SyncKey(table: table.name, id: Array(row.dropFirst(2)))
        return (EditLedger.Cell(key: key, column: column), edit)
      }
    }
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

  /// The columns of a table beside the key that the file synchronizes.
  func synchronizedColumns(_ table: SimulatedSchema.Table) -> [String] {
    let alteration = alteration(of: table)
    return table.synchronizedColumns.filter { !alteration.dropped.contains($0) }
      + (alteration.hasAddedColumn && !table.hasNote ? [SimulatedSchema.Table.addedColumn] : [])
  }

  /// Values of a table, by their keys, as SQL literals: 1 and 1.0 are two values.
  func rows(
    of table: SimulatedSchema.Table, _ columns: [String]
  ) throws -> [[FieldValue]: [FieldValue]] {
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
