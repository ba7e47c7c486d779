internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension PageApplication {
  /// Notes that the space has a record; `false` if it came before.
  func see(_ key: SyncKey) throws -> Bool {
    guard isComplete else { return true }
    try tables.run(
      "INSERT OR IGNORE INTO temp.tandem_seen (\"table\", \"key\") VALUES (?, ?)",
      [.text(key.table), .blob(key.canonicalBytes)])
    return tables.connection.changeCount == 1
  }

  private func isSeen(_ key: SyncKey) throws -> Bool {
    try !tables.rows(
      "SELECT 1 FROM temp.tandem_seen WHERE \"table\" = ? AND \"key\" = ?",
      [.text(key.table), .blob(key.canonicalBytes)]
    ).isEmpty
  }

  /// Deletes the records of the base that the space no longer has.
  mutating func deleteMissing() throws {
    for table in schema.tables {
      try deleteMissing(table, listedIn: table.name)
      try deleteMissing(table, listedIn: table.shadow.name)
    }
    for key in try tables.parkedKeys() { try deleteIfMissing(key) }
  }

  private mutating func deleteMissing(_ table: ReplicaTable, listedIn list: String) throws {
    let names = table.keyNames.sqlList
    var missing: [SyncKey] = []
    try tables.connection.forEachRow(
      "SELECT \(names) FROM main.\(list.sqlQuoted) WHERE \(table.shadow.hasKey) ORDER BY \(names)"
    ) { statement in
      // A text that is not UTF-8 is in no message.
      if let key = try? table.syncKey(statement.values()), try !isSeen(key) { missing.append(key) }
      return true
    }
    for key in missing { try deleteIfMissing(key) }
  }

  private mutating func deleteIfMissing(_ key: SyncKey) throws {
    guard try !isSeen(key) else { return }
    if let table = schema.table(named: key.table) {
      let row = try tables.row(table, key.id)
      // A row that no message can hold is an edit, which is noted.
      if row.isUnreadable, row.shadow == nil { try tables.setShadow(.absent, table, key.id) }
      if row.base == nil { return }
    }
    try apply(SyncRecordState(key: key, version: 0, fields: nil))
  }
}
