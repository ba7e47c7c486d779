internal import TandemRecords

/// The steps that create a table anew by another declaration, with all its rows, indexes and triggers.
///
/// SQLite cannot change a column's type. The rows wait in a temporary table, whose columns keep every value, while the
/// table is dropped and created; so the file grows by no copy of them. Views, and triggers of other tables, refer to
/// tables by name, and stay.
struct TableRebuild {
  private let facts: TableFacts
  private let creation: String
  /// The values of columns that change, for a row `t` of the former table.
  private let values: [String: String]
  private let rowCount: Int
  /// The statements of its indexes and triggers.
  private let additions: [String]
  /// The number of AUTOINCREMENT, if there is one.
  private let sequence: Int64?
  private let hasStatistics: Bool

  init(
    _ facts: TableFacts, creation: String, values: [String: String],
    in connection: DatabaseConnection
  ) throws(DatabaseError) {
    self.facts = facts
    self.creation = creation
    self.values = values
    let name = facts.schema.name
    rowCount = Int(try connection.integer("SELECT count(*) FROM \(name.sqlQuoted)") ?? 0)
    additions = try connection.additions(toTable: name)
    sequence = try connection.sequence(ofTable: name)
    let isAnalyzed = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'"
    let statistics = "SELECT 1 FROM sqlite_stat1 WHERE tbl = ?"
    if try connection.integer(isAnalyzed) != nil {
      hasStatistics = try connection.row(statistics, [.text(name)]) != nil
    } else {
      hasStatistics = false
    }
  }

  /// The steps.
  ///
  /// - Parameter keepsNumbers: False if the integer primary key, if the table has one, is none afterwards.
  func steps(keepsNumbers: Bool) -> [KeyChange.Step] {
    let name = facts.schema.name
    let table = "main.\(name.sqlQuoted)"
    let waiting = "temp.\("tandem_rekey_\(name)".sqlQuoted)"
    let columns = facts.schema.columns.filter { !$0.isGenerated }.map(\.name)
    let places = columns.indices.map { "c\($0)" }
    // An integer primary key is a rowid that its column writes.
    let rowid = facts.rowidNames.first
    let hasNumberedKey = facts.isIdentifiedByRowid && !facts.schema.primaryKey.isEmpty
    let writesRowid = rowid != nil && !(keepsNumbers && hasNumberedKey)
    // The sign removes the affinity.
    let selected = columns.map { values[$0] ?? "+t.\($0.sqlQuoted)" }.joined(separator: ", ")
    let into = (writesRowid ? [rowid ?? ""] : []) + columns.map(\.sqlQuoted)
    let from = (writesRowid ? ["w.place"] : []) + places.map { "w.\($0)" }
    var steps: [KeyChange.Step] = [
      .statement(
        "CREATE TEMP TABLE \("tandem_rekey_\(name)".sqlQuoted) "
          + "(place INTEGER PRIMARY KEY, \(places.joined(separator: ", ")))"),
      .copy(
        RowCopy(
          insertion:
            "INSERT INTO \(waiting) SELECT \(rowid.map { "t.\($0)" } ?? "NULL"), \(selected)",
          source: "\(table) AS t", order: rowid.map { "t.\($0)" }, table: name, rowCount: rowCount)),
      .statement("DROP TABLE \(table)"), .statement(creation),
      .copy(
        RowCopy(
          insertion: "INSERT INTO \(table) (\(into.joined(separator: ", "))) "
            + "SELECT \(from.joined(separator: ", "))",
          source: "\(waiting) AS w", order: "w.place", table: name, rowCount: rowCount)),
    ]
    steps += checks(table, waiting, columns: columns, rowid: rowid)
    steps.append(.statement("DROP TABLE \(waiting)"))
    steps += additions.map(KeyChange.Step.statement)
    if let sequence, keepsNumbers {
      steps += [
        .statement("DELETE FROM sqlite_sequence WHERE name = \(name.sqlLiteral)"),
        .statement("INSERT INTO sqlite_sequence VALUES (\(name.sqlLiteral), \(sequence))"),
      ]
    }
    if hasStatistics { steps.append(.statement("ANALYZE \(table)")) }
    steps.append(
      .check(
        "SELECT count(*) FROM pragma_integrity_check(\(name.sqlLiteral)) WHERE integrity_check <> 'ok'",
        table: name))
    return steps
  }

  /// The checks that each row is there again with the values that waited.
  private func checks(
    _ table: String, _ waiting: String, columns: [String], rowid: String?
  ) -> [KeyChange.Step] {
    let name = facts.schema.name
    let count = KeyChange.Step.check(
      "SELECT (SELECT count(*) FROM \(table)) <> (SELECT count(*) FROM \(waiting))", table: name)
    func place(_ column: String) -> String { "w.c\(columns.firstIndex(of: column) ?? 0)" }
    let identity =
      rowid.map { ["t.\($0) = w.place"] }
      ?? facts.schema.primaryKey.map { "t.\($0.sqlQuoted) = \(place($0))" }
    guard !identity.isEmpty else { return [count] }
    let same = columns.map { column in
      let quoted = "t.\(column.sqlQuoted)"
      return "\(quoted) COLLATE BINARY IS \(place(column)) "
        + "AND typeof(\(quoted)) = typeof(\(place(column)))"
    }
    return [
      count,
      .check(
        """
        SELECT count(*) FROM \(waiting) AS w WHERE NOT EXISTS (
          SELECT 1 FROM \(table) AS t WHERE \((identity + same).joined(separator: " AND ")))
        """, table: name),
    ]
  }
}

/// An `INSERT … SELECT` that copies all rows of a source.
struct RowCopy: Sendable {
  /// The statement up to the source.
  let insertion: String
  let source: String
  /// The integer that orders the rows of the source, if one does: then they are copied in parts.
  let order: String?
  /// The table, for reports.
  let table: String
  let rowCount: Int

  var sql: String { "\(insertion) FROM \(source)" }

  /// The number of rows that are copied between two reports.
  private static let maxPartRowCount = 20_000

  /// Copies the rows.
  func run(
    in connection: DatabaseConnection, _ progress: (_ rowCount: Int) -> Void
  ) throws(DatabaseError) {
    guard let order else { return try connection.execute(sql) }
    var start: Int64? = .min
    var count = 0
    while let first = start {
      progress(min(count, rowCount))
      count += Self.maxPartRowCount
      start = try connection.integer(
        "SELECT \(order) FROM \(source) WHERE \(order) >= ? ORDER BY 1 LIMIT 1 OFFSET ?",
        .integer(first), .integer(Int64(Self.maxPartRowCount)))
      if let next = start {
        try connection.execute(
          "\(sql) WHERE \(order) >= ? AND \(order) < ?", .integer(first), .integer(next))
      } else {
        try connection.execute("\(sql) WHERE \(order) >= ?", .integer(first))
      }
    }
  }
}
