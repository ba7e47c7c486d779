internal import TandemRecords
internal import TandemSQLite

extension SQLiteSpaceConnection {
  func rowCount(of table: SpaceStoredTable) throws -> Int {
    Int(try connection.integer("SELECT count(*) FROM \(table.rawValue)") ?? 0)
  }

  func forEachRow(of table: SpaceStoredTable, _ body: ([FieldValue]) throws -> Void) throws {
    // Overruled versions have the order in which they were inserted.
    let order = table == .overruled ? " ORDER BY rowid" : ""
    let sql = "SELECT \(table.columns.sqlList) FROM \(table.rawValue)\(order)"
    try connection.forEachRow(sql) { row in
      try body(try row.values())
      return true
    }
  }

  func insert(_ rows: [[FieldValue]], into table: SpaceStoredTable) throws {
    let places = table.columns.map { _ in "?" }.joined(separator: ", ")
    let sql = "INSERT INTO \(table.rawValue) (\(table.columns.sqlList)) VALUES (\(places))"
    for row in rows { try connection.run(sql, row) }
  }

  func prepareCopy() throws {
    let row = try connection.row("PRAGMA integrity_check(1)")
    guard let text = row?.first?.textValue, text != "ok" else { return }
    throw SpaceError(
      .damaged, "SQLite finds it damaged (\(text)): restore a backup", path: connection.path)
  }
}
