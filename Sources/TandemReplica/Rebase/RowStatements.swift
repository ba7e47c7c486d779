internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The statements on the rows of a table and of its shadow. The first parameters of each are the
/// values of the key, except for those that concern all rows.
struct RowStatements: Sendable {
  /// The first column of the key and the other columns of a row, then `tandem_existed` and the
  /// columns of its former version. There is always one row, with nulls for what is missing.
  let row: StatementText
  /// The rows with a former version, in the order of their keys: the key, and the columns of ``row``.
  /// First those that are there, then those that were deleted.
  let touched: [StatementText]
  /// 1 if a row up to a key was deleted, else 0.
  let hasMissingUpTo: StatementText
  /// `tandem_existed` and the columns of a version that was set aside.
  let aside: StatementText
  let deleteShadow: StatementText
  /// Sets a former version; the values follow the key.
  let replaceShadow: StatementText
  /// Notes that there was no former version. If the space had one until now, the entry is the real number 0 in place
  /// of the integer: the row is no new record, but brings the former one back.
  let replaceShadowByAbsence: StatementText
  /// Copies a former version to those that were set aside.
  let setAside: StatementText
  /// Copies all former versions. Into an empty table, SQLite copies whole pages.
  let setAllAside: StatementText
  let deleteShadows: StatementText
  /// Copies the former versions up to a key.
  let setAsideUpTo: StatementText
  let deleteShadowsUpTo: StatementText
  /// The insertion of a row whose values need no defaults; they follow the key. `OR ABORT` is
  /// explained at ``ReplicaTables/store(_:over:_:_:others:)``.
  let insert: StatementText
  private let insertInto: String
  /// The beginning of an update, which assignments and the condition on the key follow.
  private let updateSet: String
  let delete: StatementText
  let hasKey: String

  init(_ table: SpaceTable, _ shadow: TableShadow) {
    let (keys, columns) = (table.keyColumns, table.columns)
    let name = table.name.sqlQuoted
    let shadowName = shadow.name.sqlQuoted
    let asideName = TableShadow.asideName(table.name).sqlQuoted
    func marks(_ numbers: Range<Int>) -> String {
      numbers.map { "?\($0 + 1)" }.joined(separator: ", ")
    }
    /// The condition on the key of a table of former versions, whose collation compares bytes.
    func condition(_ alias: String = "") -> String {
      keys.enumerated().map { "\(alias)\($1.sqlQuoted) = ?\($0 + 1)" }
        .joined(separator: " AND ")
    }
    func rowCondition(_ alias: String = "") -> String {
      keys.enumerated().map { offset, key in
        let pair = "\(alias)\(key.sqlQuoted) = ?\(offset + 1)"
        // The sign removes the type of the column, which would convert the key.
        return "\(pair) AND +\(pair) COLLATE BINARY"
      }.joined(separator: " AND ")
    }
    row = StatementText(
      """
      SELECT \(([keys[0]] + columns).sqlList(of: "t")), \(([TableShadow.existed] + columns).sqlList(of: "s"))
      FROM (SELECT 1) LEFT JOIN \(name) AS t ON \(rowCondition("t."))
        LEFT JOIN \(shadowName) AS s ON \(condition("s."))
      """)
    touched = RowPresence.allCases.map { presence in
      // A cross join, so that SQLite looks for the row of each former version, never the reverse.
      StatementText(
        """
        SELECT \(keys.sqlList(of: "s")), \(([keys[0]] + columns).sqlList(of: "t")),
          \(([TableShadow.existed] + columns).sqlList(of: "s"))
        FROM \(shadowName) AS s \(presence == .present ? "CROSS" : "LEFT") JOIN \(name) AS t
          ON \(shadow.sameKey("t", "s"))
        WHERE \(presence == .present ? "TRUE" : "t.\(keys[0].sqlQuoted) IS NULL")
        ORDER BY \(keys.sqlList(of: "s"))
        """)
    }
    hasMissingUpTo = StatementText(
      """
      SELECT EXISTS (
        SELECT 1 FROM \(shadowName) AS s WHERE (\(keys.sqlList(of: "s"))) <= (\(marks(0..<keys.count)))
          AND NOT EXISTS (SELECT 1 FROM \(name) AS t WHERE \(shadow.sameKey("t", "s"))))
      """)
    aside = StatementText(
      """
      SELECT \(([TableShadow.existed] + columns).sqlList) FROM \(asideName) WHERE \(condition())
      """)
    deleteShadow = StatementText("DELETE FROM \(shadowName) WHERE \(condition())")
    let kept = (keys + columns + [TableShadow.existed]).sqlList
    // Not by REPLACE, which would write the entry of the index anew.
    let assigned = (columns + [TableShadow.existed]).map {
      "\($0.sqlQuoted) = excluded.\($0.sqlQuoted)"
    }
    let replacement = """
      ON CONFLICT (\(keys.sqlList)) DO UPDATE SET \(assigned.joined(separator: ", "))
      """
    let count = keys.count + columns.count
    replaceShadow = StatementText(
      "INSERT INTO \(shadowName) (\(kept)) VALUES (\(marks(0..<count)), 1) \(replacement)")
    let nulls = columns.map { _ in ", NULL" }.joined()
    let existed = TableShadow.existed
    replaceShadowByAbsence = StatementText(
      """
      INSERT INTO \(shadowName) (\(kept)) VALUES (\(marks(0..<keys.count))\(nulls), 0.0)
      ON CONFLICT (\(keys.sqlList)) DO UPDATE SET \(assigned.dropLast().map { "\($0), " }.joined())
        \(existed) = CASE \(existed) WHEN 1 THEN 0.0 ELSE \(existed) END
      """)
    let copy = "INSERT OR REPLACE INTO \(asideName) SELECT * FROM \(shadowName)"
    setAllAside = StatementText(copy)
    setAside = StatementText("\(copy) WHERE \(condition())")
    deleteShadows = StatementText("DELETE FROM \(shadowName)")
    let isUpTo = "(\(keys.sqlList)) <= (\(marks(0..<keys.count)))"
    setAsideUpTo = StatementText("\(copy) WHERE \(isUpTo)")
    deleteShadowsUpTo = StatementText("\(deleteShadows.sql) WHERE \(isUpTo)")
    hasKey = rowCondition()
    insertInto = """
      INSERT OR ABORT INTO \(name) (\((keys + columns).sqlList)) VALUES (\(marks(0..<keys.count))
      """
    insert = RowStatements.insertion(insertInto, (keys.count..<count).map { "?\($0 + 1)" })
    updateSet = "UPDATE OR ABORT \(name) SET "
    delete = StatementText("DELETE FROM \(name) WHERE \(hasKey)")
  }

  /// The insertion of a row with these expressions for the values of its columns.
  func insertion(_ expressions: [String]) -> StatementText {
    RowStatements.insertion(insertInto, expressions)
  }

  private static func insertion(_ start: String, _ expressions: [String]) -> StatementText {
    StatementText("\(start)\(expressions.map { ", \($0)" }.joined()))")
  }

  /// The update of a row by these assignments.
  func update(_ assignments: [String]) -> StatementText {
    StatementText("\(updateSet)\(assignments.joined(separator: ", ")) WHERE \(hasKey)")
  }
}

/// The rows of a table that are there, or those that were deleted.
enum RowPresence: Int, CaseIterable {
  case present
  case missing
}
