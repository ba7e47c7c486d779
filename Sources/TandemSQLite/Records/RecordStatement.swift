internal import CSQLite
internal import TandemRecords

/// The statement that inserts, updates or deletes the records of one type, kept by its connection.
///
/// Between two records it is reset, so that the same one may be used anew while a sequence of records
/// is being written.
@usableFromInline
final class RecordStatement {
  private let connection: DatabaseConnection
  private let type: Any.Type
  private let table: String
  private let key: [String]
  private let operation: RecordOperation
  private var columns: [String]
  private var statement: Statement?
  /// How many of the columns are parameters: deleting takes the key only.
  private var parameterCount = 0
  private var encoder: KeyedRowEncoder?

  init<Record: DatabaseRecord>(
    _ connection: DatabaseConnection, _ type: Record.Type, _ operation: RecordOperation
  ) throws(DatabaseError) {
    self.connection = connection
    self.type = type
    self.operation = operation
    table = Record.tableName
    key = Record.keyColumnNames
    columns = []
    if !Record.columnNames.isEmpty { try prepare(Record.columnNames) }
  }

  private func prepare(_ columns: [String]) throws(DatabaseError) {
    if let name = key.first(where: { !columns.contains(where: $0.isSameSQLName) }) {
      throw DatabaseError(
        code: .mismatch, message: "\(type) has no column \(name), which is part of its key",
        path: connection.path)
    }
    let statement = try connection.prepare(
      operation.sql(table: table, columns: columns, key: key))
    self.statement = statement
    self.columns = columns
    parameterCount = Int(sqlite3_bind_parameter_count(statement.handle))
  }

  var columnCount: Int { columns.count }

  /// The parameter of a column, counted from 1.
  func parameter(_ position: Int) throws(DatabaseError) -> ParameterBinder {
    guard let statement, position <= columns.count else {
      throw DatabaseError(
        code: .range, message: "\(type) encodes more than its \(columns.count) columns",
        sql: statement?.sql, path: connection.path)
    }
    return ParameterBinder(statement.handle, Int32(truncatingIfNeeded: position))
  }

  func unstorable(_ value: some DatabaseValue, column: Int) -> DatabaseError {
    DatabaseError(
      code: .mismatch,
      message: "SQLite cannot hold the value \(value) for column \(columns[column])",
      sql: statement?.sql, path: connection.path)
  }

  /// Runs the statement for the record whose first `count` columns have been bound; returns how many
  /// rows it changed.
  @usableFromInline
  func run(boundCount count: Int) throws(DatabaseError) -> Int {
    let statement = try complete(boundCount: count)
    while try statement.step() {}
    return connection.changeCount
  }

  /// The names and values of the columns of the record whose first `count` columns have been bound.
  func values(boundCount count: Int) throws(DatabaseError) -> (
    names: [String], values: [FieldValue]
  ) {
    let statement = try complete(boundCount: count)
    defer { statement.reset() }
    _ = try statement.step()
    return (columns, try statement.values())
  }

  private func complete(boundCount count: Int) throws(DatabaseError) -> Statement {
    if let statement, count == columns.count { return statement }
    throw DatabaseError(
      code: .range, message: "\(type) encodes \(count) of its \(columns.count) columns",
      sql: statement?.sql, path: connection.path)
  }
}

// MARK: - Encodable records

extension RecordStatement {
  /// Binds a value's keys to the parameters of the columns of their names.
  ///
  /// The columns are those of the first record. One that encodes others, which few types do, gets a
  /// statement for its own.
  func encode(_ value: some Encodable) throws {
    if let encoder, try encoder.bind(value) { return }
    let collector = KeyedRowEncoder(path: connection.path)
    try value.encode(to: collector)
    try prepare(collector.names)
    guard let statement else { return }
    encoder = KeyedRowEncoder(statement, columns: collector.names)
    for (offset, value) in collector.values.enumerated() where offset < parameterCount {
      try statement.bind(value, at: offset + 1)
    }
  }
}
