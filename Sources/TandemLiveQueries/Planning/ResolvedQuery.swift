internal import TandemRecords
internal import TandemSQLite

/// A definition resolved by the schema: one statement, its parameters, and its key.
struct ResolvedQuery {
  let sql: String
  let parameters: [FieldValue]
  let key: [String]

  init(_ definition: QueryDefinition, in connection: DatabaseConnection) throws(DatabaseError) {
    switch definition {
    case .query(let sql, let key):
      try ResolvedQuery.checkIsStorable(sql, path: connection.path)
      self.init(sql: sql.text, parameters: sql.parameters, key: key)
    case .table(let name):
      self = try ResolvedQuery(ResolvedQuery.facts(name, connection), path: connection.path)
    case .records(let table, let clauses):
      try ResolvedQuery.checkIsStorable(clauses, path: connection.path)
      let facts = try ResolvedQuery.facts(table.name, connection)
      self = try ResolvedQuery(table, facts, clauses, path: connection.path)
    }
  }

  private static func checkIsStorable(_ sql: SQL, path: String) throws(DatabaseError) {
    guard let value = sql.unstorable else { return }
    throw DatabaseError(
      code: .mismatch, message: "SQLite cannot hold the value \(value)", sql: sql.text, path: path)
  }

  private static func facts(
    _ table: String, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> TableFacts {
    if let facts = try TableFacts(table, in: connection) { return facts }
    throw DatabaseError(code: .error, message: "no such table: \(table)", path: connection.path)
  }

  private init(sql: String, parameters: [FieldValue], key: [String]) {
    self.sql = sql
    self.parameters = parameters
    self.key = key
  }

  private init(_ facts: TableFacts, path: String) throws(DatabaseError) {
    let table = facts.schema.name.sqlQuoted
    let identity = facts.identity
    guard !identity.isEmpty else {
      throw DatabaseError(
        code: .error,
        message: "\(facts.schema.name) has no primary key and no rowid; "
          + "watch a query and name its key", path: path)
    }
    let rowid =
      facts.schema.primaryKey.isEmpty ? "\(identity[0]) AS \(identity[0].sqlQuoted), " : ""
    self.init(sql: "SELECT \(rowid)* FROM \(table)", parameters: [], key: identity)
  }

  /// A query of the columns that a type takes, and of its other key columns.
  private init(
    _ table: RecordTable, _ facts: TableFacts, _ clauses: SQL, path: String
  ) throws(DatabaseError) {
    let name = facts.schema.name.sqlQuoted
    let known = table.columns.isEmpty ? facts.schema.columnNames : table.columns
    var list = table.columns.isEmpty ? ["*"] : table.columns.map { "\(name).\($0.sqlQuoted)" }
    for column in table.key where !known.contains(where: column.isSameSQLName) {
      guard facts.isRowid(column) || facts.schema.column(named: column) != nil else {
        throw DatabaseError(
          code: .error,
          message: "\(table.type) has the key column \(column), but its table has only "
            + facts.schema.columnNames.joined(separator: ", "), path: path)
      }
      list.append("\(name).\(column.sqlQuoted) AS \(column.sqlQuoted)")
    }
    self.init(
      sql: "SELECT \(list.joined(separator: ", ")) FROM \(name) \(clauses.text)",
      parameters: clauses.parameters, key: table.key)
  }
}
