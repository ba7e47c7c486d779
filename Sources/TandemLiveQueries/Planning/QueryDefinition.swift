internal import TandemRecords
internal import TandemSQLite

/// What a live query was asked to watch.
enum QueryDefinition: Hashable, Sendable {
  /// All rows of a table, by its primary key, or by rowid if it has none.
  case table(String)
  /// The rows of a query, by some of its columns.
  case query(SQL, key: [String])
}

/// A definition that has met the schema: one statement, its parameters, and its key.
struct ResolvedQuery {
  let sql: String
  let parameters: [FieldValue]
  let key: [String]

  init(_ definition: QueryDefinition, in connection: DatabaseConnection) throws(DatabaseError) {
    switch definition {
    case .query(let sql, let key):
      self.init(sql: sql.text, parameters: sql.parameters, key: key)
    case .table(let name):
      guard let facts = try TableFacts(name, in: connection) else {
        throw DatabaseError(code: .error, message: "no such table: \(name)", path: connection.path)
      }
      self = try ResolvedQuery(facts, path: connection.path)
    }
  }

  private init(sql: String, parameters: [FieldValue], key: [String]) {
    // What follows would otherwise stand behind the end of the statement.
    self.sql = String(
      sql.reversed().drop { $0 == ";" || $0.isWhitespace }.reversed())
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
}
