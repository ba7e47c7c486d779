internal import TandemRecords

// A column may be dropped while rows have edits in it that were not sent. Neither the rows nor their
// shadows have the column afterwards. So the rows that have changed are kept as they are before a
// change of the schema, and the edits of the columns that it dropped are kept after it.

extension TableShadow {
  /// The column of the dropped edits with the name of the column that was dropped.
  package static let droppedColumn = "tandem_column"
  /// The column of the dropped edits with the value that the shadow had.
  package static let droppedFormer = "tandem_former"
  /// The column of the dropped edits with the value that the row had.
  package static let droppedValue = "tandem_value"

  /// The table that holds the edits of dropped columns: the key, and the columns above. It exists
  /// only after a change of the schema has dropped an edited column.
  package static func droppedName(_ table: String) -> String { "tandem_dropped_\(table)" }

  /// The table that holds the former versions of rows whose changes wait for an answer.
  package static func asideName(_ table: String) -> String { "tandem_aside_\(table)" }

  /// The table that holds the changed rows while the schema is changed.
  package static func presentName(_ table: String) -> String { "tandem_present_\(table)" }

  /// The condition that two rows have the same key, with the collations of the first one's table.
  ///
  /// - Parameter row: The alias of the application's table, whose index it uses.
  package func sameKey(_ row: String, _ other: String) -> String {
    key.map { name in
      let pair = "\(row).\(name.sqlQuoted) = \(other).\(name.sqlQuoted)"
      // The sign removes the type of the column: it may have changed, and would convert the other key.
      return "\(pair) AND +\(pair) COLLATE BINARY"
    }.joined(separator: " AND ")
  }
}

extension DatabaseConnection {
  /// Keeps the rows that have changed as they are, before a change of the schema.
  ///
  /// - Parameter mayMissChanges: True if the shadow may lack rows that have changed. All rows are kept then; in the
  ///   column ``TableShadow/existed``, those that the shadow lacks have 0.
  /// - Complexity: O(*n*) in the number of rows that have changed.
  func keepPresentRows(of shadow: TableShadow, mayMissChanges: Bool) throws(DatabaseError) {
    let present = TableShadow.presentName(shadow.table)
    try execute("DROP TABLE IF EXISTS \(present.sqlQuoted)")
    try execute(shadow.creation(of: present))
    let names = shadow.key + shadow.columns
    for former in [shadow.name, TableShadow.asideName(shadow.table)]
    where try !columnNames(of: former).isEmpty {
      try execute(
        """
        INSERT INTO \(present.sqlQuoted) (\(names.sqlList), \(TableShadow.existed))
        SELECT \(names.sqlList(of: "t")), 1 FROM \(former.sqlQuoted) AS s
        JOIN \(shadow.table.sqlQuoted) AS t ON \(shadow.sameKey("t", "s"))
        WHERE TRUE ON CONFLICT DO NOTHING
        """)
    }
    try replaceDefaults(of: shadow)
    guard mayMissChanges else { return }
    try execute(
      """
      INSERT INTO \(present.sqlQuoted) (\(names.sqlList), \(TableShadow.existed))
      SELECT \(names.sqlList), 0 FROM \(shadow.table.sqlQuoted) WHERE \(shadow.hasKey) ON CONFLICT DO NOTHING
      """)
  }

  /// Takes the default of a column that was dropped, and came back with it, for no later edit of rows whose edit is kept.
  private func replaceDefaults(of shadow: TableShadow) throws(DatabaseError) {
    let dropped = TableShadow.droppedName(shadow.table).sqlQuoted
    guard try !columnNames(of: TableShadow.droppedName(shadow.table)).isEmpty else { return }
    let defaults = try rows(
      "SELECT name, dflt_value FROM pragma_table_info(?, 'main') WHERE dflt_value NOT NULL",
      [.text(shadow.table)])
    for row in defaults {
      guard let name = row[0].textValue, let standard = row[1].textValue,
        shadow.columns.contains(name)
      else { continue }
      let column = name.sqlQuoted
      let edit = """
        FROM \(dropped) AS d
        WHERE \(shadow.sameKey("p", "d")) AND \(TableShadow.droppedColumn) = \(name.sqlLiteral)
        """
      try execute(
        """
        UPDATE \(TableShadow.presentName(shadow.table).sqlQuoted) AS p
        SET \(column) = (SELECT \(TableShadow.droppedValue) \(edit))
        WHERE CAST(\(column) AS TEXT) IS CAST((\(standard)) AS TEXT) AND EXISTS (SELECT 1 \(edit))
        """)
    }
  }

  /// Keeps the edits of columns that a change of the schema has dropped, and forgets the rows as they
  /// were before it. An edit of the same field that is kept already keeps its former value. A value
  /// that may have changed unnoticed is its own former value: that of the space replaces it, on record.
  ///
  /// - Parameter shadow: The shadow with the columns that the table still has. The table of former
  ///   versions has the others too.
  func keepDroppedEdits(of shadow: TableShadow) throws(DatabaseError) {
    let present = TableShadow.presentName(shadow.table).sqlQuoted
    let kept = shadow.key + shadow.columns + [TableShadow.existed]
    let columns = try columnNames(of: TableShadow.presentName(shadow.table))
    for column in columns where !kept.contains(column) {
      try keepDroppedEdits(of: shadow, column)
    }
    try execute("DROP TABLE IF EXISTS \(present)")
  }

  private func keepDroppedEdits(
    of shadow: TableShadow, _ column: String
  ) throws(DatabaseError) {
    let table = TableShadow.droppedName(shadow.table).sqlQuoted
    let present = TableShadow.presentName(shadow.table).sqlQuoted
    let (key, name) = (shadow.key, column.sqlQuoted)
    let (former, value) = (TableShadow.droppedFormer, TableShadow.droppedValue)
    try execute(
      """
      CREATE TABLE IF NOT EXISTS \(table) (
        \(key.sqlList), \(TableShadow.droppedColumn), \(former), \(value),
        PRIMARY KEY (\(key.sqlList), \(TableShadow.droppedColumn)))
      """)
    var (source, old) = ("", "s.\(name)")
    let aside = TableShadow.asideName(shadow.table)
    if try columnNames(of: aside).contains(column) {
      source = "LEFT JOIN \(aside.sqlQuoted) AS a ON \(shadow.sameKey("p", "a"))"
      old = "CASE WHEN a.\(TableShadow.existed) IS NULL THEN s.\(name) ELSE a.\(name) END"
    }
    let isKnown = TableShadow.existed
    func isEdit(_ row: String) -> String {
      let (former, value) = ("\(row).\(former)", "\(row).\(value)")
      return "(\(former) IS NOT \(value) OR typeof(\(former)) <> typeof(\(value)))"
    }
    try execute(
      """
      INSERT INTO \(table)
      SELECT \(key.sqlList), ?, \(former), \(value) FROM (
        SELECT \(key.sqlList(of: "p")), iif(p.\(isKnown), \(old), p.\(name)) AS \(former), p.\(name) AS \(value),
          p.\(isKnown) AS \(isKnown)
        FROM \(present) AS p
        LEFT JOIN \(shadow.name.sqlQuoted) AS s ON \(shadow.sameKey("p", "s")) \(source)) AS e
      WHERE \(isEdit("e")) OR NOT \(isKnown) AND \(value) NOT NULL
      ON CONFLICT DO UPDATE SET \(value) = excluded.\(value)
        WHERE \(isEdit("excluded"))
      """, .text(column))
  }
}
