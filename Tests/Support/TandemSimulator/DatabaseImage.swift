import TandemRecords
import TandemSQLite

/// All rows of a database, and the triggers of Tandem that it has, as a backup or a copy of its file has them.
struct DatabaseImage: Hashable {
  private struct Table: Hashable {
    let name: String
    /// The columns that are stored, without those that are computed.
    let columns: String
    let rows: [[FieldValue]]
    /// The statement that creates the table; `nil` if all databases with the same schema have it.
    let creation: String?
  }

  /// The triggers, by their names.
  private struct Triggers: Hashable {
    let statements: [String: String]

    /// Nearly all images have the same triggers.
    func hash(into hasher: inout Hasher) {}
  }

  private let tables: [Table]
  private let triggers: Triggers

  /// The rows and the triggers of a database as they are now.
  init(_ database: SimulatedDatabase) throws {
    (tables, triggers) = try database.read { connection in
      let listing = try database.listing(connection)
      let tables = try listing.tables.map { name, columns in
        Table(
          name: name, columns: columns, rows: try connection.rows("SELECT \(columns) FROM \(name)"),
          creation: name.hasPrefix("tandem_dropped_")
            ? try connection.row("SELECT sql FROM sqlite_schema WHERE name = ?", [.text(name)])?[0]
              .textValue : nil)
      }
      return (tables, Triggers(statements: listing.triggers))
    }
  }

  /// Replaces all rows and the triggers of a database with the same tables.
  func restore(_ database: SimulatedDatabase) throws {
    database.nextKill = nil
    let hasRows = tables.contains { !$0.name.hasPrefix("tandem_") && !$0.rows.isEmpty }
    try database.write(foreignKeys: hasRows ? .ignored : .unconcerned) { connection in
      let listing = try database.listing(connection)
      // Tables that were created since are empty in the image, or were not there.
      for (name, _) in listing.tables where !tables.contains(where: { $0.name == name }) {
        let isPassing = name.hasPrefix("tandem_present_")
        try connection.run("\(isPassing ? "DROP TABLE" : "DELETE FROM") \(name)")
      }
      for table in tables where !listing.tables.contains(where: { $0.name == table.name }) {
        if let creation = table.creation { try connection.execute(creation) }
      }
      try replace(connection)
      try replaceTriggers(connection, listing.triggers)
    }
  }

  private func replaceTriggers(
    _ connection: DatabaseConnection, _ present: [String: String]
  ) throws {
    guard present != triggers.statements else { return }
    for (name, statement) in present where triggers.statements[name] != statement {
      try connection.execute("DROP TRIGGER \(name)")
    }
    for (name, statement) in triggers.statements where present[name] != statement {
      try connection.execute(statement)
    }
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
