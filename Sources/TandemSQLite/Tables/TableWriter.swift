package import TandemRecords

/// Writes changed records into a table: every insertion and update must change exactly one row.
package struct TableWriter {
  private let connection: DatabaseConnection
  private let table: String
  private let layout: RecordLayout
  private let keyOffsets: [Int]
  private let insertion: String
  private let condition: String

  /// A writer for records of the given layout, whose fields are columns of the table.
  package init(
    _ connection: DatabaseConnection, table: String, columns: RecordLayout, key keyOffsets: [Int]
  ) {
    self.connection = connection
    self.table = table.sqlQuoted
    self.keyOffsets = keyOffsets
    layout = columns
    let names = columns.names.map(\.sqlQuoted).joined(separator: ", ")
    let marks = columns.names.map { _ in "?" }.joined(separator: ", ")
    insertion = "INSERT INTO \(self.table) (\(names)) VALUES (\(marks))"
    condition = keyOffsets.map { "\(columns.names[$0].sqlQuoted) = ? COLLATE BINARY" }
      .joined(separator: " AND ")
  }

  /// Inserts a row.
  package func insert(_ record: Record) throws(DatabaseError) {
    try run(insertion, record.values, record)
  }

  /// Writes those values of `new` that differ from `old`, whose key is the same.
  package func update(from old: Record, to new: Record) throws(DatabaseError) {
    let changed = layout.names.indices.filter { offset in
      old.values[offset] != new.values[offset] && !keyOffsets.contains(offset)
    }
    guard !changed.isEmpty else { return }
    let list = changed.map { "\(layout.names[$0].sqlQuoted) = ?" }.joined(separator: ", ")
    try run(
      "UPDATE \(table) SET \(list) WHERE \(condition)",
      changed.map { new.values[$0] } + keyOffsets.map { old.values[$0] }, old)
  }

  /// Deletes a row, unless a foreign key that cascades has deleted it along with another one.
  package func delete(_ record: Record) throws(DatabaseError) {
    try run(
      "DELETE FROM \(table) WHERE \(condition)", keyOffsets.map { record.values[$0] }, record,
      changing: 0...1)
  }

  private func run(
    _ sql: String, _ values: [FieldValue], _ record: Record,
    changing counts: ClosedRange<Int> = 1...1
  ) throws(DatabaseError) {
    do throws(DatabaseError) {
      let statement = try connection.cachedStatement(sql)
      try statement.run(values)
      guard counts.contains(connection.changeCount) else {
        throw DatabaseError(
          code: .constraint,
          message: "\(connection.changeCount) rows of \(table) changed where one should, "
            + "perhaps because of a trigger", sql: sql, path: connection.path)
      }
    } catch {
      var error = error
      error.message += ", for the row with key \(keyDescription(record))"
      throw error
    }
  }

  private func keyDescription(_ record: Record) -> String {
    keyOffsets.map { "\(layout.names[$0]) = \(record.values[$0])" }.joined(separator: ", ")
  }
}
