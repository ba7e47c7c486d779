internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Computes the values of records in one index.
///
/// SQLite does, in a database in memory whose only table has the columns of the index. So copies state the same values
/// whether their tables have the index or not, and the SQL of other copies reaches nothing else.
final class IndexValues {
  let index: SpaceIndex
  private let connection: DatabaseConnection
  /// The columns that are stored, with the place of those of the key.
  private let columns: [(name: String, place: Int?)]
  private let collations: [ComparedColumn.Collation]
  private let update: StatementText
  private let selection: StatementText
  /// The condition that a row has values in the index.
  let comparison: String

  /// - Throws: ``DatabaseError`` if the definition is not that of one unique index, or if it has functions or collations
  ///   that only an application has.
  init(_ index: SpaceIndex, of table: SpaceTable) throws(DatabaseError) {
    func fault(_ message: String) -> DatabaseError {
      DatabaseError(code: .error, message: message, sql: index.sql, path: ":memory:")
    }
    self.index = index
    columns = index.columns.filter { $0.expression == nil }.map { column in
      (column.name.text, table.keyColumns.firstIndex { FieldName($0) == column.name })
    }
    guard let parts = IndexParts(index.sql), !columns.isEmpty else {
      throw fault("the text is not that of a unique index")
    }
    connection = try DatabaseConnection(path: ":memory:")
    let definitions = index.columns.map { column in
      "\(column.name.text.sqlQuoted) \(column.affinity.rawValue) COLLATE \(column.collation.rawValue)"
        + (column.expression.map { " AS (\($0))" } ?? "")
    }
    let name = table.name.sqlQuoted
    try connection.execute("CREATE TABLE \(name) (\(definitions.joined(separator: ", ")))")
    // The text of a generated column might end its definition, and go on.
    let built = try connection.rows(
      "SELECT name, hidden FROM pragma_table_xinfo(?) ORDER BY cid", [.text(table.name)])
    let wanted = index.columns.map {
      [.text($0.name.text), $0.expression == nil ? 0 : 2] as [FieldValue]
    }
    let checks = SQLTokens(index.columns.compactMap(\.expression).joined(separator: " "))
    guard built == wanted, checks.tokens.allSatisfy({ !checks.isWord($0, "CHECK") }) else {
      throw fault("the columns are not those of a table")
    }
    // Now SQLite has accepted the text as one statement that makes an index of this table.
    try connection.execute(index.sql)
    let terms = try connection.rows(
      """
      SELECT s.name, i.coll FROM sqlite_schema AS s, pragma_index_xinfo(s.name) AS i
      WHERE s.type = 'index' AND i.key ORDER BY i.seqno
      """)
    collations = terms.compactMap { $0[1].textValue.flatMap(ComparedColumn.Collation.init(name:)) }
    guard let term = terms.first, collations.count == parts.terms.count else {
      throw fault("the text is not that of a unique index")
    }
    try connection.execute("DROP INDEX \((term[0].textValue ?? "").sqlQuoted)")
    try connection.execute("INSERT INTO \(name) DEFAULT VALUES")
    update = StatementText(
      "UPDATE \(name) SET \(columns.map { "\($0.name.sqlQuoted) = ?" }.joined(separator: ", "))")
    selection = StatementText(
      "SELECT \(parts.terms.joined(separator: ", ")) FROM \(name)"
        + (parts.condition.map { " WHERE \($0)" } ?? ""))
    var conditions = zip(parts.terms, collations).map { term, collation in
      "(\(term)) = ? COLLATE \(collation.rawValue)"
    }
    if let condition = parts.condition { conditions.insert("(\(condition))", at: 0) }
    comparison = conditions.joined(separator: " AND ")
    let reads = try connection.compile(selection.sql).reads
    guard reads.selectCount == 1, !reads.reachesFurther else {
      throw fault("the text is not that of a unique index")
    }
  }

  /// True if a table has all columns of the index.
  func isComputable(in table: SpaceTable) -> Bool {
    index.columns.allSatisfy { $0.expression == nil && table.synchronizes($0.name) }
  }

  /// The values of a record, in canonical form; none if the index does not have it.
  func values(of key: [FieldValue], _ record: Record) throws(DatabaseError) -> [FieldValue] {
    let row: [FieldValue]?
    do throws(DatabaseError) {
      try connection.run(
        update, columns.map { $0.place.map { key[$0] } ?? record[$0.name] })
      row = try connection.row(selection, [])
    } catch  where [.error, .mismatch, .tooBig, .constraint].contains(error.code.primary) {
      // No table with the index accepts the record.
      return []
    }
    guard let row, !row.contains(where: \.isNull) else { return [] }
    return zip(row, collations).map { $0.canonical($1) }
  }
}

/// The parts of a statement that creates a unique index.
private struct IndexParts {
  /// The columns and expressions, without their directions.
  let terms: [String]
  let condition: String?

  /// The parts; `nil` of another statement.
  init?(_ statement: String) {
    let sql = SQLTokens(statement)
    let tokens = sql.tokens
    func isSymbol(_ token: SQLToken, _ symbol: Unicode.Scalar, depth: Int) -> Bool {
      token.depth == depth && sql.isSymbol(token, symbol)
    }
    guard tokens.count > 3, zip(tokens, ["CREATE", "UNIQUE", "INDEX"]).allSatisfy(sql.isWord),
      let start = tokens.firstIndex(where: { isSymbol($0, "(", depth: 0) }),
      let end = tokens[start...].firstIndex(where: { isSymbol($0, ")", depth: 0) })
    else { return nil }
    func text(_ tokens: ArraySlice<SQLToken>) -> String {
      guard let first = tokens.first, let last = tokens.last else { return "" }
      return sql.text(first.range.lowerBound..<last.range.upperBound)
    }
    var terms: [String] = []
    let list = tokens[(start + 1)..<end]
    for term in list.split(
      omittingEmptySubsequences: false, whereSeparator: { isSymbol($0, ",", depth: 1) })
    {
      // The direction of the order is no part of the value.
      let hasDirection =
        term.count > 1
        && ["ASC", "DESC"].contains { word in
          term.last.map { $0.depth == 1 && sql.isWord($0, word) } ?? false
        }
      terms.append(text(hasDirection ? term.dropLast() : term))
    }
    self.terms = terms
    let rest = tokens[(end + 1)...]
    let isPartial = rest.first.map { sql.isWord($0, "WHERE") } ?? false
    condition = isPartial ? text(rest.dropFirst()) : nil
  }
}
