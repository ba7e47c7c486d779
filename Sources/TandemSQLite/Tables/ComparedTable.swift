internal import TandemRecords

/// One of two tables to compare.
struct ComparedTable {
  let connection: DatabaseConnection
  let schema: TableSchema
  let layout: RecordLayout
  let keyOffsets: [Int]
  let allowsAnyKey: Bool

  init(
    _ schema: TableSchema, key: [String], of connection: DatabaseConnection, allowsAnyKey: Bool
  ) throws(DatabaseError) {
    self.allowsAnyKey = allowsAnyKey
    self.connection = connection
    self.schema = schema
    guard !key.isEmpty else {
      throw DatabaseError(
        code: .error, message: "table \(schema.name) needs a key to be compared by",
        path: connection.path)
    }
    var offsets: [Int] = []
    for name in key {
      guard let offset = schema.columns.firstIndex(where: { $0.name.isSameSQLName(as: name) })
      else {
        throw DatabaseError(
          code: .error,
          message: "table \(schema.name) has no column \(name) to be a key; it has "
            + schema.columnNames.joined(separator: ", "), path: connection.path)
      }
      offsets.append(offset)
    }
    guard let layout = RecordLayout(schema.columnNames) else {
      throw DatabaseError(
        code: .tooBig, message: "table \(schema.name) has too many columns", path: connection.path)
    }
    self.layout = layout
    keyOffsets = offsets
  }

  func scan() throws(DatabaseError) -> TableScan {
    try TableScan(
      connection, table: schema, columns: layout, key: keyOffsets, allowsAnyKey: allowsAnyKey)
  }
}
