internal import TandemRecords
public import TandemSQLite

extension LiveQuery where Element: RowDecodable {
  /// The rows of a query as values of a type.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift keyed -->
  /// ```swift
  /// LiveQuery(
  ///   "SELECT name, count(*) AS count FROM place GROUP BY name", as: NameCount.self, key: "name")
  /// ```
  ///
  /// - Parameters:
  ///   - sql: One `SELECT` whose columns have different names, those of the key among them.
  ///   - type: The type of the elements. Rows are decoded off the consumer's actor, and only those
  ///     that are delivered.
  ///   - key: The columns of the result that identify a row: no two rows have the same values in
  ///     them, nor null.
  public init(_ sql: SQL, as type: Element.Type, key: String...) {
    self.init(sql, as: type, key: key)
  }

  /// The rows of a query, with the key as an array.
  public init(_ sql: SQL, as type: Element.Type, key: [String]) {
    self.init(definition: .query(sql, key: key), type)
  }

  private init(definition: QueryDefinition, _ type: Element.Type) {
    let decoder = DetachedRecordDecoder(type)
    self.init(definition: definition, decode: { try decoder.decode($0) })
  }
}

extension LiveQuery where Element: DatabaseRecord {
  /// The records of a table: all of them, or those that a query selects.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift typed -->
  /// ```swift
  /// LiveQuery(Place.self, "WHERE country = \(country) ORDER BY name")
  /// ```
  ///
  /// A row is identified by the key columns of the type. They are read even if the type does not
  /// take them. A whole `SELECT` must have them in its result; otherwise the sequence throws at its
  /// start.
  ///
  /// - Parameters:
  ///   - type: The type of the elements. Rows are decoded off the consumer's actor, and only those
  ///     that are delivered.
  ///   - sql: The clauses after the table's name in a `SELECT`, or a whole `SELECT`.
  public init(_ type: Element.Type, _ sql: SQL = "") {
    let words = SQLTokens(sql.text)
    let isWhole =
      words.tokens.first.map { token in
        ["SELECT", "WITH", "VALUES"].contains { words.isWord(token, $0) }
      } ?? false
    if isWhole {
      self.init(definition: .query(sql, key: type.keyColumnNames), type)
    } else {
      let table = RecordTable(
        type: "\(type)", name: type.tableName, columns: type.columnNames, key: type.keyColumnNames)
      self.init(definition: .records(table, sql), type)
    }
  }
}
