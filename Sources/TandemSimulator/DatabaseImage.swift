import TandemRecords
import TandemSQLite

/// All rows of a database, as a backup or a copy of its file has them.
struct DatabaseImage {
  private let tables: [(name: String, rows: [[FieldValue]])]

  /// The rows of a database as they are now.
  init(_ database: Database) throws {
    tables = try database.read { transaction in
      // Tandem's own tables come last: writing the application's tables fires triggers on them.
      let names = try transaction.connection.allRows(
        """
        SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
        ORDER BY name LIKE 'tandem_%', name
        """)
      return try names.compactMap { row in
        guard case .text(let name) = row[0] else { return nil }
        return (name, try transaction.connection.allRows("SELECT * FROM \(name)"))
      }
    }
  }

  /// Replaces all rows of a database with the same schema.
  func restore(_ database: Database) throws {
    try database.writeWithoutForeignKeys { transaction in
      for (name, rows) in tables {
        try transaction.connection.run("DELETE FROM \(name)", [])
        for row in rows {
          let marks = row.map { _ in "?" }.joined(separator: ", ")
          try transaction.connection.run("INSERT INTO \(name) VALUES (\(marks))", row)
        }
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
