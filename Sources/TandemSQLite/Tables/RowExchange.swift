internal import TandemDifferences
internal import TandemRecords

/// Updates rows that exchange unique values, which SQLite does not allow one after the other.
///
/// The rows get values for the time being that no row has: null, or a random value where null is not allowed.
/// If that is not possible, or a trigger would see these values, all of the rows are deleted and inserted again
/// with their new values, unless others refer to the table. Columns that are not updated keep their values.
struct RowExchange {
  private let connection: DatabaseConnection
  private let table: TableSchema
  private let key: [String]
  private let writer: TableWriter
  /// The columns that can be written.
  private let columns: [String]

  init(
    _ connection: DatabaseConnection, table: TableSchema, key: [String], writer: TableWriter
  ) {
    self.connection = connection
    self.table = table
    self.key = key
    self.writer = writer
    columns = table.columns.filter { !$0.isGenerated }.map(\.name)
  }

  /// Gives the rows their new values.
  ///
  /// - Parameter first: The error of the first update, to be thrown if there is no way.
  func write(
    _ updates: [SetDifference<Record>.Update], after first: DatabaseError
  ) throws(DatabaseError) {
    do {
      try connection.savepoint {
        try vacate(updates)
        for update in updates { try writer.update(from: update.old, to: update.new) }
      }
    } catch let failure as DatabaseError where failure.code.primary != .constraint {
      throw failure
    } catch {
      // Deleting a row that others refer to would do to them what their foreign keys say.
      guard try !connection.isTableReferenced(table.name) else {
        var error = first
        error.message +=
          "; rows cannot exchange unique values where others refer to \(table.name): first give one of these rows a value "
          + "that no row has"
        throw error
      }
      try replace(updates)
    }
  }
}

// MARK: - Values for the time being

extension RowExchange {
  /// The rows cannot get other values.
  private struct Unvacatable: Error {}

  /// Gives the rows other values in the unique columns that they are to change.
  private func vacate(_ updates: [SetDifference<Record>.Update]) throws {
    let unique = try uniqueColumns()
    guard try !connection.hasTriggers(on: table.name), try !isReferenced(by: unique) else {
      throw Unvacatable()
    }
    for update in updates {
      let names = unique.filter { update.old[$0] != update.new[$0] }
      guard !names.isEmpty else { throw Unvacatable() }
      do throws(DatabaseError) {
        try set(names, to: names.map { _ in .null }, in: update.old)
      } catch {
        guard error.code.primary == .constraint else { throw error }
        let values = names.map { RowExchange.randomValue(like: update.old[$0]) }
        try set(names, to: values, in: update.old)
      }
      guard connection.changeCount == 1 else { throw Unvacatable() }
    }
  }

  /// The columns of unique indexes that can be written, without the key.
  private func uniqueColumns() throws(DatabaseError) -> [String] {
    let listing = try connection.prepare(
      """
      SELECT DISTINCT c.name FROM pragma_index_list(?) AS i, pragma_index_info(i.name) AS c
      WHERE i."unique" AND c.name NOT NULL
      """)
    try listing.bind([.text(table.name)])
    return try listing.texts().filter { name in
      columns.contains(where: name.isSameSQLName) && !key.contains(where: name.isSameSQLName)
    }
  }

  private func isReferenced(by names: [String]) throws(DatabaseError) -> Bool {
    let listing = try connection.prepare(
      """
      SELECT f."to" FROM sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f
      WHERE s.type = 'table' AND f."table" = ? COLLATE NOCASE AND f."to" NOT NULL
      """)
    try listing.bind([.text(table.name)])
    return try listing.texts().contains { name in names.contains(where: name.isSameSQLName) }
  }

  private func set(
    _ names: [String], to values: [FieldValue], in row: Record
  ) throws(DatabaseError) {
    guard !names.isEmpty else { return }
    let condition = KeyCondition(columns: key)
    let list = names.map { "\($0.sqlQuoted) = ?" }.joined(separator: ", ")
    try connection.withStatement(
      "UPDATE \(table.name.sqlQuoted) SET \(list) WHERE \(condition.sql)"
    ) { statement throws(DatabaseError) in
      try statement.run(values + condition.parameters(key.map { row[$0] }))
    }
  }

  /// A value of the same type that no row has.
  private static func randomValue(like value: FieldValue) -> FieldValue {
    let number = Int64.random(in: 1 << 62 ... .max)
    return switch value {
    case .null, .integer: .integer(number)
    case .real: .real(Double(number))
    case .text: .text("tandem \(number)")
    case .blob: .blob(Array("tandem \(number)".utf8))
    }
  }
}

// MARK: - Deleted and inserted again

extension RowExchange {
  private func replace(_ updates: [SetDifference<Record>.Update]) throws(DatabaseError) {
    guard let layout = RecordLayout(columns) else { return }
    let offsets = key.compactMap { name in columns.firstIndex(where: name.isSameSQLName) }
    let writer = TableWriter(connection, table: table.name, columns: layout, key: offsets)
    var rows: [Record] = []
    for update in updates {
      let row = Record(uncheckedLayout: layout, values: try values(forRowOf: update))
      rows.append(row)
      try writer.delete(row)
    }
    for row in rows { try writer.insert(row) }
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
