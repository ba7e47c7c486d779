internal import CSQLite
internal import TandemRecords

/// The statement that inserts, updates or deletes the records of one type, kept by its connection.
///
/// It is reset between two records, so that it may be used again while a sequence of records is
/// being written.
@usableFromInline
final class RecordStatement {
  /// Not the connection, which holds this.
  private let database: DatabaseHandle
  private let type: Any.Type
  private let table: String
  private let key: [String]
  private let operation: RecordOperation
  let codings: ColumnCodings
  private var columns: [String]
  private var statement: Statement?
  /// The number of columns that are parameters: deleting takes the key only.
  private var parameterCount = 0
  private var encoder: KeyedRowEncoder?

  init<Record: DatabaseRecord>(
    _ database: DatabaseHandle, _ type: Record.Type, _ operation: RecordOperation
  ) throws(DatabaseError) {
    self.database = database
    self.type = type
    self.operation = operation
    table = Record.tableName
    key = Record.keyColumnNames
    codings = ColumnCodings(
      Record.recordCoding, table: operation == .show ? nil : Record.tableName, database)
    columns = []
    if !Record.columnNames.isEmpty { try prepare(Record.columnNames) }
  }

  private func prepare(_ columns: [String]) throws(DatabaseError) {
    if let name = key.first(where: { !columns.contains(where: $0.isSameSQLName) }) {
      throw DatabaseError(
        code: .mismatch, message: "\(type) has no column \(name), which is part of its key",
        path: database.path)
    }
    let statement = try Statement(
      operation.sql(table: table, columns: columns, key: key), database: database)
    self.statement = statement
    self.columns = columns
    parameterCount = Int(sqlite3_bind_parameter_count(statement.handle))
  }

  var columnCount: Int { columns.count }

  /// The field's value of a value for the column at an offset; in the form of the type if there is no such column.
  func fieldValue(of value: some Encodable, atOffset offset: Int) throws -> FieldValue {
    try columns.indices.contains(offset)
      ? codings.fieldValue(of: value, column: columns[offset])
      : FieldEncoder.fieldValue(of: value, codings.coding)
  }

  /// The parameter of a column, counted from 1.
  func parameter(_ position: Int) throws(DatabaseError) -> ParameterBinder {
    guard let statement, position <= columns.count else {
      throw DatabaseError(
        code: .range, message: "\(type) encodes more than its \(columns.count) columns",
        sql: statement?.sql, path: database.path)
    }
    return ParameterBinder(statement.handle, Int32(truncatingIfNeeded: position))
  }

  func unstorable(_ value: Any, column: Int, _ reason: String = "") -> DatabaseError {
    DatabaseError(
      code: .mismatch,
      message: "SQLite cannot hold the value \(value) for column \(columns[column])\(reason)",
      sql: statement?.sql, path: database.path)
  }

  /// Runs the statement for the record whose first `count` columns have been bound; returns the
  /// number of rows that it changed.
  @usableFromInline
  func run(boundCount count: Int) throws(DatabaseError) -> Int {
    let statement = try complete(boundCount: count)
    while try statement.step() {}
    return Int(sqlite3_changes64(database.pointer))
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
      sql: statement?.sql, path: database.path)
  }
}

// MARK: - Encodable records

extension RecordStatement {
  /// Binds a value's keys to the parameters of the columns of their names.
  ///
  /// The columns are those of the first record. A record that encodes other columns, as few types
  /// do, gets a new statement.
  func encode(_ value: some Encodable) throws {
    if let encoder, try encoder.bind(value) { return }
    let collector = KeyedRowEncoder(path: database.path, codings)
    try collector.take(value)
    try prepare(collector.names)
    guard let statement else { return }
    encoder = KeyedRowEncoder(statement, columns: collector.names, codings)
    for (offset, value) in collector.values.enumerated() where offset < parameterCount {
      try statement.bind(value, at: offset + 1)
    }
  }
}

/// The statements and queries of a connection for types of records.
struct RecordCache {
  struct Operation: Hashable {
    var type: ObjectIdentifier
    var operation: RecordOperation
  }

  var statements: [Operation: RecordStatement] = [:]
  var selections: [ObjectIdentifier: String] = [:]
  var last: (operation: Operation, statement: RecordStatement)?
}

extension DatabaseConnection {
  /// The statement for an operation on the records of a type.
  @usableFromInline
  func statement<Record: DatabaseRecord>(
    for type: Record.Type, _ operation: RecordOperation
  ) throws(DatabaseError) -> RecordStatement {
    let wanted = RecordCache.Operation(type: ObjectIdentifier(type), operation: operation)
    if let last = records.last, last.operation == wanted { return last.statement }
    let statement: RecordStatement
    if let known = records.statements[wanted] {
      statement = known
    } else {
      statement = try RecordStatement(handle, type, operation)
      records.statements[wanted] = statement
    }
    records.last = (wanted, statement)
    return statement
  }

  /// The query for all records of a type, to which clauses may be added.
  @usableFromInline
  func selection<Record: DatabaseRecord>(of type: Record.Type) -> String {
    if let known = records.selections[ObjectIdentifier(type)] { return known }
    let names = type.columnNames
    let list = names.isEmpty ? "*" : names.map(\.sqlQuoted).joined(separator: ", ")
    let selection = "SELECT \(list) FROM \(type.tableName.sqlQuoted) "
    records.selections[ObjectIdentifier(type)] = selection
    return selection
  }
}
