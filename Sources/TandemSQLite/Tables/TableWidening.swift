internal import TandemRecords

/// The rebuilding of a table so that columns of it, which have types that change or reject some values, keep every
/// value as it is.
///
/// SQLite cannot change a column's type. So the rows are copied, and the table is created again by its own
/// statement, without the types of these columns, or with `ANY` in a strict table. All rows keep their values and
/// rowids; the table keeps its other columns, constraints, foreign keys, indexes, triggers and tracking. Views and
/// triggers of other tables refer to tables by name, and stay.
package struct TableWidening {
  private let connection: DatabaseConnection
  private let facts: TableFacts
  private let columns: [String]
  /// The statement that creates the table anew.
  private let creation: String
  private let copy = "tandem_widening"

  /// Plans the widening of columns of a table.
  ///
  /// - Throws: ``DatabaseError`` if it cannot be done, with the reason.
  package init(
    _ columns: [String], ofTable name: String, in connection: DatabaseConnection
  ) throws(DatabaseError) {
    guard let facts = try TableFacts(name, in: connection), facts.isOrdinary,
      let sql = try connection.declaration(ofTable: name)
    else {
      throw DatabaseError(
        code: .error, message: "\(name) cannot be widened: it is no ordinary table",
        path: connection.path)
    }
    self.connection = connection
    self.facts = facts
    self.columns = columns
    let statement = CreateTableStatement(sql)
    let widened = statement.widening(
      columns, type: facts.schema.isStrict ? "ANY" : nil,
      notNull: columns.filter { facts.isRowid($0) })
    guard let creation = widened else {
      throw DatabaseError(
        code: .error,
        message: "\(facts.schema.name) cannot be widened: its declaration needs the type of "
          + "\(columns.joined(separator: ", ")); create the table anew", sql: sql,
        path: connection.path)
    }
    self.creation = creation
  }

  /// True if another table refers to this one, or this one to itself: dropping it would then do to the rows there
  /// what their foreign keys say.
  package var isReferenced: Bool {
    get throws(DatabaseError) { try connection.isTableReferenced(facts.schema.name) }
  }

  /// Rebuilds the table, in the transaction that is open.
  ///
  /// - Throws: ``DatabaseError``, after which the transaction must not be committed: also if the table is
  ///   referred to and foreign keys are enforced.
  package func run() throws(DatabaseError) {
    let table = facts.schema.name
    if try connection.integer("PRAGMA foreign_keys") == 1, try isReferenced {
      throw DatabaseError(
        code: .constraint,
        message: "\(table) cannot be widened while foreign keys that refer to it are enforced",
        path: connection.path)
    }
    let isTracked = try !TriggerSet(prefix: TableTracking.prefix, table: table)
      .installedNames(kinds: [], in: connection).isEmpty
    if isTracked { try connection.untrack(table) }
    let additions = try connection.additions(toTable: table)
    try rebuild()
    for sql in additions { try connection.execute(sql) }
    if isTracked { try connection.track(TableTracking(table: table, in: connection)) }
  }

  private func rebuild() throws(DatabaseError) {
    let table = facts.schema.name.sqlQuoted
    let names = facts.schema.columns.filter { !$0.isGenerated }.map(\.name)
    let rowid = facts.rowidName
    let rowidColumn = rowid.map { "\($0) AS tandem_rowid, " } ?? ""
    // The sign removes the affinity: the columns of the copy keep every value.
    let values = names.map { "+\($0.sqlQuoted) AS \($0.sqlQuoted)" }.joined(separator: ", ")
    try connection.execute("CREATE TABLE \(copy) AS SELECT \(rowidColumn)\(values) FROM \(table)")
    try connection.execute("DROP TABLE \(table)")
    try connection.execute(creation)
    try requireSameTable()
    // A column that is the rowid gets it with its value.
    let isKept = try TableFacts(facts.schema.name, in: connection).map { facts in
      facts.rowidName != nil && !names.contains(where: facts.isRowid)
    }
    let (into, from) =
      isKept == true && rowid != nil ? ("\(rowid ?? ""), ", "tandem_rowid, ") : ("", "")
    try connection.execute(
      """
      INSERT INTO \(table) (\(into)\(names.sqlList)) SELECT \(from)\(names.sqlList) FROM \(copy)
      """)
    try connection.execute("DROP TABLE \(copy)")
  }

  /// Throws unless the new table has the columns and the key of the old one, and no other types but the widened
  /// ones.
  private func requireSameTable() throws(DatabaseError) {
    var expected = facts.schema
    let found = try connection.schema(ofTable: expected.name)
    for position in expected.columns.indices
    where columns.contains(where: expected.columns[position].name.isSameSQLName) {
      let widened = found?.column(named: expected.columns[position].name)
      expected.columns[position].declaredType =
        widened?.affinity == ColumnAffinity.none
        ? widened?.declaredType ?? "" : "?"
      expected.columns[position].affinity = .none
    }
    guard found == expected else {
      throw DatabaseError(
        code: .error, message: "\(expected.name) cannot be widened: its declaration is unusual",
        sql: creation, path: connection.path)
    }
  }
}

extension DatabaseConnection {
  /// True if a foreign key of any table refers to this one.
  func isTableReferenced(_ name: String) throws(DatabaseError) -> Bool {
    let count = try integer(
      """
      SELECT count(*) FROM sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f
      WHERE s.type = 'table' AND f."table" = ? COLLATE NOCASE
      """, .text(name))
    return count != 0
  }
}

extension Database {
  /// Widens columns of a table that others refer to, in a transaction of its own. Foreign keys are not enforced
  /// meanwhile, so that dropping the table does nothing to the rows that refer to it; they are checked before the
  /// commit.
  package func widen(_ columns: [String], ofTable name: String) async throws {
    try await withWriter { connection in
      try connection.write(foreignKeys: .ignored, nil) { transaction in
        let earlier = try ForeignKeyViolations(transaction)
        try TableWidening(columns, ofTable: name, in: transaction.connection).run()
        try ForeignKeyViolations(transaction).check(
          since: earlier, after: "widening of \(name)", path: transaction.connection.path)
      }
    }
  }
}
