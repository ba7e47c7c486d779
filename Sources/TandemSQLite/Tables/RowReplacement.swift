internal import TandemDifferences
internal import TandemRecords

/// Updates rows that exchange unique values, which SQLite does not allow one after the other: it deletes all
/// of them and inserts them again with their new values.
///
/// Columns that are not updated keep their values.
struct RowReplacement {
  private let connection: DatabaseConnection
  private let table: TableSchema
  private let key: [String]
  /// The columns that can be written.
  private let columns: [String]

  init(_ connection: DatabaseConnection, table: TableSchema, key: [String]) {
    self.connection = connection
    self.table = table
    self.key = key
    columns = table.columns.filter { !$0.isGenerated }.map(\.name)
  }

  /// True if a foreign key of any table refers to this one.
  func isTableReferenced() throws(DatabaseError) -> Bool {
    try connection.isTableReferenced(table.name)
  }

  /// Gives the rows their new values.
  func replace(
    _ updates: [SetDifference<Record>.Update], _ advance: () -> Void
  ) throws(DatabaseError) {
    guard let layout = RecordLayout(columns) else { return }
    let offsets = key.compactMap { name in columns.firstIndex(where: name.isSameSQLName) }
    let writer = TableWriter(connection, table: table.name, columns: layout, key: offsets)
    var rows: [Record] = []
    for update in updates {
      let row = Record(uncheckedLayout: layout, values: try values(forRowOf: update))
      rows.append(row)
      try writer.delete(row)
    }
    for row in rows {
      try writer.insert(row)
      advance()
    }
  }

  /// All values of an updated row, with the old ones in columns that are not updated.
  private func values(
    forRowOf update: SetDifference<Record>.Update
  ) throws(DatabaseError) -> [FieldValue] {
    let list = columns.map(\.sqlQuoted).joined(separator: ", ")
    let condition = KeyCondition(columns: key)
    let sql = "SELECT \(list) FROM \(table.name.sqlQuoted) WHERE \(condition.sql)"
    var values = try connection.withStatement(sql) { statement throws(DatabaseError) in
      try statement.bind(condition.parameters(key.map { update.old[$0] }))
      guard try statement.step() else {
        throw DatabaseError(
          code: .constraint, message: "a row to be updated is gone; does a trigger interfere?",
          sql: sql, path: connection.path)
      }
      return try statement.values()
    }
    for (name, value) in zip(update.new.layout.names, update.new.values) {
      if let offset = columns.firstIndex(where: name.isSameSQLName) { values[offset] = value }
    }
    return values
  }
}
