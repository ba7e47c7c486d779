import TandemRecords
import TandemSQLite

/// All rows of a database, as a backup or a copy of its file has them.
struct DatabaseImage: Hashable {
  private struct Table: Hashable {
    let name: String
    let rows: [[FieldValue]]
  }

  private let tables: [Table]

  /// The rows of a database as they are now.
  init(_ database: SimulatedDatabase) throws {
    tables = try database.read { connection in
      // Tandem's own tables come last: writing the application's tables fires triggers on them.
      // Tables that refer to others come before these, which matters if foreign keys are enforced.
      let names = try connection.allRows(
        """
        SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
        ORDER BY name LIKE 'tandem_%', name DESC
        """)
      return try names.compactMap { row in
        guard case .text(let name) = row[0] else { return nil }
        return Table(name: name, rows: try connection.allRows("SELECT * FROM \(name)"))
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
      try connection.run("DELETE FROM \(table.name)", [])
      for row in table.rows {
        let marks = row.map { _ in "?" }.joined(separator: ", ")
        try connection.run("INSERT INTO \(table.name) VALUES (\(marks))", row)
      }
    }
  }
}

extension FieldValue {
  /// The text; `nil` for other values.
  var textValue: String? {
    if case .text(let text) = self { text } else { nil }
  }
}

extension DatabaseConnection {
  /// The rows of a query, which are few.
  func allRows(_ sql: String, _ parameters: [FieldValue] = []) throws -> [[FieldValue]] {
    try withStatement(sql) { statement throws(DatabaseError) in
      try statement.bind(parameters)
      var rows: [[FieldValue]] = []
      while try statement.step() { rows.append(try statement.values()) }
      return rows
    }
  }

  /// Runs a statement of the cache to its end.
  func run(_ sql: String, _ parameters: [FieldValue]) throws {
    try withStatement(sql) { statement throws(DatabaseError) in try statement.run(parameters) }
  }
}
