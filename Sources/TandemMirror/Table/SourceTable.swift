internal import TandemHTTP
internal import TandemRecords
internal import TandemSQLite

/// A table or view of a SQLite file, read as a list.
struct SourceTable {
  let name: String
  let path: String

  /// All rows, in the order in which SQLite reads them, as records with the columns as fields.
  ///
  /// - Parameter maxByteCount: The most bytes of texts and blobs, with 8 bytes for each other value.
  func records(maxByteCount: Int) async throws -> PackedRecords {
    try await read { schema, connection in
      guard let layout = RecordLayout(schema.columnNames) else { return [] }
      let statement = try connection.prepare(
        "SELECT \(schema.columnNames.sqlList) FROM \(schema.name.sqlQuoted)")
      var records = PackedRecords()
      var byteCount = 0
      while try statement.step() {
        let values = try statement.values()
        byteCount = values.reduce(byteCount) { $0 + $1.byteCount }
        guard byteCount <= maxByteCount else {
          var error = TransportError(
            .tooLarge, "the table is longer than the limit of \(maxByteCount) bytes", path: path)
          error.maxByteCount = maxByteCount
          throw error
        }
        records.append(Record(uncheckedLayout: layout, values: values))
      }
      return records
    }
  }

  /// The types of the columns, by name: a column of the same type keeps every value that one of the source has.
  ///
  /// - Parameter key: The key of the mirror. A new table with one integer column as its key takes integers alone.
  func columnTypes(key: [String]) async throws -> [String: ColumnType] {
    try await read { schema, connection in
      let facts = try TableFacts(schema.name, in: connection)
      var types: [String: ColumnType] = [:]
      for column in schema.columns {
        let isOnlyKey = key.count == 1 && column.name.isSameSQLName(as: key[0])
        let isRowid = facts?.isRowid(column.name) == true
        switch column.affinity {
        case .integer: types[column.name] = isOnlyKey && !isRowid ? .any : .integer
        case .real: types[column.name] = .real
        case .text: types[column.name] = .text
        case .numeric, .none: types[column.name] = .any
        }
      }
      return types
    }
  }

  private func read<Value: Sendable>(
    _ body: @escaping @Sendable (TableSchema, DatabaseConnection) throws -> Value
  ) async throws -> Value {
    let configuration = DatabaseConfiguration(access: .readOnly, maxReaderCount: 1)
    let database = try await Database.open(path: path, configuration: configuration)
    let name = name
    return try await database.read { transaction in
      guard let schema = try transaction.schema(ofTable: name) else {
        throw DatabaseError(
          code: .error, message: "there is no table \(name)", path: transaction.connection.path)
      }
      return try body(schema, transaction.connection)
    }
  }
}
