internal import TandemRecords
internal import TandemSQLite

/// Resolves the ORDER BY of a statement over one table to columns of its result.
struct QueryOrderResolver {
  let clauses: QueryClauses
  let statement: Statement
  let reads: StatementReads
  let connection: DatabaseConnection

  /// The order, or the reason why it is unknown.
  enum Outcome {
    case order(QueryOrder)
    case unknown(String)
  }

  func resolve(_ table: TableFacts) throws(DatabaseError) -> Outcome {
    guard try connection.hasUTF8Texts() else {
      return .unknown("the database keeps its texts in UTF-16")
    }
    var terms: [QueryOrder.Term] = []
    for tokens in clauses.orderTerms {
      guard let term = try term(tokens, table) else {
        let text = tokens.map { clauses.tokens.text($0.range) }.joined(separator: " ")
        return .unknown("ORDER BY \(text) is not a column of the result with a collation of SQLite")
      }
      terms.append(term)
    }
    return .order(QueryOrder(terms: terms))
  }

  /// A term: a column, and the words after it.
  private func term(
    _ tokens: [SQLToken], _ table: TableFacts
  ) throws(DatabaseError) -> QueryOrder.Term? {
    var rest = tokens[...]
    guard let offset = column(&rest, table) else { return nil }
    var collation: QueryOrder.Collation?
    if takeWord("COLLATE", &rest) {
      guard let name = rest.popFirst().flatMap({ clauses.tokens.name($0) }) else { return nil }
      collation = QueryOrder.Collation(name: name)
      if collation == nil { return nil }
    } else {
      collation = self.collation(ofColumn: offset, table)
    }
    guard let collation else { return nil }
    let isDescending = takeWord("DESC", &rest)
    if !isDescending { _ = takeWord("ASC", &rest) }
    var putsNullsLast = isDescending
    if takeWord("NULLS", &rest) {
      putsNullsLast = takeWord("LAST", &rest)
      if !putsNullsLast, !takeWord("FIRST", &rest) { return nil }
    }
    guard rest.isEmpty else { return nil }
    return QueryOrder.Term(
      offset: offset, collation: collation, isDescending: isDescending,
      putsNullsLast: putsNullsLast)
  }

  private func takeWord(_ word: String, _ rest: inout ArraySlice<SQLToken>) -> Bool {
    guard let first = rest.first, clauses.tokens.isWord(first, word) else { return false }
    rest.removeFirst()
    return true
  }
}

extension QueryOrderResolver {
  /// The column of the result that a term begins with: its number, its alias, or a column of the
  /// table, whose name may be qualified.
  private func column(_ rest: inout ArraySlice<SQLToken>, _ table: TableFacts) -> Int? {
    guard let first = rest.popFirst() else { return nil }
    if first.kind == .number {
      let number = Int(clauses.tokens.text(first.range)) ?? 0
      return (1...statement.columnCount).contains(number) ? number - 1 : nil
    }
    guard let name = clauses.tokens.name(first) else { return nil }
    if let dot = rest.first, clauses.tokens.isSymbol(dot, ".") {
      guard let last = rest.dropFirst().first, let column = clauses.tokens.name(last) else {
        return nil
      }
      rest = rest.dropFirst(2)
      return columns(from: column, table).first
    }
    let named = statement.columnNames.indices.filter {
      statement.columnNames[$0].isSameSQLName(as: name)
    }
    if named.isEmpty { return columns(from: name, table).first }
    // SQLite prefers an alias to a column of the table.
    guard named.count == 1, columns(from: name, table).contains(named[0]) || isAlias(name) else {
      return nil
    }
    return named[0]
  }

  /// The columns of the result that are a column of the table, unchanged.
  private func columns(from name: String, _ table: TableFacts) -> [Int] {
    (0..<statement.columnCount).filter { offset in
      guard let origin = statement.origin(ofColumn: offset) else { return false }
      return origin.column.isSameSQLName(as: name)
        || table.isRowid(origin.column) && table.isRowid(name)
    }
  }

  /// True if the statement has AS with this name: the name of an expression without AS is its text.
  private func isAlias(_ name: String) -> Bool {
    let tokens = clauses.tokens.tokens
    return zip(tokens, tokens.dropFirst()).contains { word, alias in
      word.depth == 0 && clauses.tokens.isWord(word, "AS")
        && clauses.tokens.name(alias)?.isSameSQLName(as: name) == true
    }
  }

  /// The collation of a column of the result: as declared if it is a column of the table, and
  /// BINARY if it is an expression in which no other occurs.
  private func collation(
    ofColumn offset: Int, _ table: TableFacts
  ) -> QueryOrder.Collation? {
    if let origin = statement.origin(ofColumn: offset) {
      return connection.collation(of: origin).flatMap { QueryOrder.Collation(name: $0) }
    }
    guard !SQLTokens(clauses.body).words.contains("COLLATE") else { return nil }
    let isBinary = (reads.columns[table.schema.name] ?? []).allSatisfy { column in
      let origin = ColumnOrigin(table: table.schema.name, column: column)
      return column.isEmpty || table.isRowid(column)
        || connection.collation(of: origin)?.isSameSQLName(as: "BINARY") == true
    }
    return isBinary ? .binary : nil
  }
}
