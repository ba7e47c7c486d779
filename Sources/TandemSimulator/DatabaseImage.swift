import TandemRecords
import TandemSQLite

/// All rows of a database, as a backup or a copy of its file has them.
struct DatabaseImage: Hashable {
  private struct Table: Hashable {
    let name: String
    /// The columns that are stored, without those that are computed.
    let columns: String
    let rows: [[FieldValue]]
  }

  private let tables: [Table]

  /// The rows of a database as they are now.
  init(_ database: SimulatedDatabase) throws {
    tables = try database.read { connection in
      try database.storedTables(connection).map { name, columns in
        Table(
          name: name, columns: columns,
          rows: try connection.rows("SELECT \(columns) FROM \(name)"))
      }
    }
  }

  /// Replaces all rows of a database with the same schema.
  func restore(_ database: SimulatedDatabase) throws {
    database.nextKill = nil
    let hasRows = tables.contains { !$0.name.hasPrefix("tandem_") && !$0.rows.isEmpty }
    try database.write(foreignKeys: hasRows ? .ignored : .unconcerned, replace)
  }

  private func replace(_ connection: DatabaseConnection) throws {
    for table in tables {
      try connection.run("DELETE FROM \(table.name)")
      for row in table.rows {
        let marks = row.map { _ in "?" }.joined(separator: ", ")
        try connection.run("INSERT INTO \(table.name) (\(table.columns)) VALUES (\(marks))", row)
      }
    }
  }
}
