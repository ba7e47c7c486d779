internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Copies may define a column differently. The space keeps how the first copy did, until an operator lets another copy
// define the columns of the table, and each file tells its users what differs. Rows that a table cannot have because of it stay beside the table.

extension TableConstraints {
  /// How the table defines its synchronized columns.
  ///
  /// - Parameter policies: The names of the policies for its columns.
  func definitions(_ policies: [FieldName: String]) throws -> [SpaceColumn] {
    let isStrict =
      try connection.rows(
        "SELECT strict FROM pragma_table_list(?) WHERE schema = 'main'", [.text(table.name)]
      ).first?[0] == 1
    return try connection.rows(
      "SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info(?, 'main')",
      [.text(table.name)]
    ).compactMap { row in
      guard let name = row[0].textValue.flatMap(column) else { return nil }
      return SpaceColumn(
        name, type: row[1].textValue ?? "", isStrict: isStrict, isRequired: row[2] != 0,
        defaultText: row[3].textValue,
        checks: checks.filter { $0.names.contains(name) }.map(\.text), policy: policies[name])
    }
  }
}

extension ReplicaTables {
  /// What the file and the first copies of its columns define differently, in sentences for people. Both are as the last
  /// synchronization found them.
  func definitionNotices() throws -> [String] {
    let others = try spaceTables()
    return try declarations().flatMap { own in
      others.table(named: own.name).map { DefinitionDifference(own, $0).notices } ?? []
    }
  }
}

extension SQLTokens {
  /// Tokens as one line without comments.
  func line(of tokens: [SQLToken]) -> String {
    var line = ""
    var end: Int?
    for token in tokens {
      if let end, end < token.range.lowerBound { line += " " }
      line += text(token.range)
      end = token.range.upperBound
    }
    return line
  }
}
