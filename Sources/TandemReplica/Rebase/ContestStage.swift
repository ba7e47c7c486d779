internal import TandemRecords
internal import TandemSQLite

/// The temporary tables of a contest for the rows of one table: rows that are out of the table, and
/// the keys of those that `REPLACE` removes.
struct ContestStage {
  private let table: ReplicaTable
  private let rowsName: String
  private let keysName: String
  /// The columns that are stored and not synchronized, and the rowid if it is not the key: others
  /// may refer to it.
  private let others: [String]
  private let rowidName: String?
  /// A rowid that is greater than those of all rows.
  private let firstNewRowid: Int64

  init(_ table: ReplicaTable, number: Int, _ tables: ReplicaTables) throws {
    self.table = table
    rowsName = "tandem_contest_\(number)"
    keysName = "tandem_removed_\(number)"
    let synchronized = table.keyNames + table.columnNames
    let rowidName = table.shadow.rowidName
    self.rowidName = rowidName
    others =
      table.schema.columns.filter { !$0.isGenerated && !synchronized.contains($0.name) }
      .map(\.name) + (rowidName.map { [$0] } ?? [])
    let name = table.name.sqlQuoted
    let connection = tables.connection
    let last = try rowidName.map { try connection.integer("SELECT max(\($0)) FROM main.\(name)") }
    let (next, isTooGreat) = max(0, (last ?? 0) ?? 0).addingReportingOverflow(1)
    firstNewRowid = isTooGreat ? .max : next
    let places = (0..<(synchronized.count + others.count)).map { ", c\($0)" }.joined()
    try connection.execute(
      "CREATE TEMP TABLE \(rowsName) (place INTEGER PRIMARY KEY\(places))")
    let keys = table.keyNames.indices.map { "k\($0)" }.joined(separator: ", ")
    try connection.execute("CREATE TEMP TABLE \(keysName) (\(keys))")
    // It runs even while triggers are disabled, because it is a temporary one.
    try connection.execute(
      """
      CREATE TEMP TRIGGER \(keysName)_note BEFORE DELETE ON main.\(name) BEGIN
        INSERT INTO \(keysName) VALUES (\(
          table.keyNames.map { "old.\($0.sqlQuoted)" }.joined(separator: ", "))); END
      """)
  }

  func drop(_ connection: DatabaseConnection) throws {
    try connection.execute("DROP TRIGGER temp.\(keysName)_note")
    try connection.execute("DROP TABLE temp.\(keysName)")
    try connection.execute("DROP TABLE temp.\(rowsName)")
  }

  private var names: [String] { table.keyNames + table.columnNames + others }

  /// Keeps a row, whose key the first parameters are, in a place that is the last one.
  var keep: String {
    """
    INSERT OR REPLACE INTO temp.\(rowsName) SELECT ?\(table.keyNames.count + 1), \(names.sqlList)
    FROM main.\(table.name.sqlQuoted) WHERE \(table.hasKey)
    """
  }

  /// Puts a row back that is kept in a place.
  var putBack: String { putBack("ABORT") }
  /// The same; rows that are in the way are removed.
  var putBackReplacing: String { putBack("REPLACE") }

  private func putBack(_ clause: String) -> String {
    let places = names.indices.map { "c\($0)" }.joined(separator: ", ")
    return """
      INSERT OR \(clause) INTO main.\(table.name.sqlQuoted) (\(names.sqlList))
      SELECT \(places) FROM temp.\(rowsName) WHERE place = ?
      """
  }

  var forgetRemoved: String { "DELETE FROM temp.\(keysName)" }
  var removed: String { "SELECT * FROM temp.\(keysName)" }

  /// Inserts a row with a record.
  ///
  /// - Parameters:
  ///   - place: The place in which the row is kept that has the values of other columns; `nil` if
  ///     there was no row.
  ///   - number: The number of the row. A new row gets a rowid that no other one has, those included
  ///     that are out of the table.
  func insertion(
    of record: Record, _ key: [FieldValue], _ clause: String, from place: FieldValue?,
    number: Int
  ) -> (sql: String, values: [FieldValue]) {
    let fields = table.values(of: record)
    var marks =
      key.indices.map { "?\($0 + 1)" }
      + fields.indices.map { table.storing(fields[$0], at: $0, parameter: key.count + $0 + 1) }
    var values = key + fields
    var columns = table.keyNames + table.columnNames
    var source = ""
    if let place {
      marks += others.indices.map { "c\(columns.count + $0)" }
      columns += others
      source = " FROM temp.\(rowsName) WHERE place = ?"
      values.append(place)
    } else if let rowidName {
      let (rowid, isTooGreat) = firstNewRowid.addingReportingOverflow(Int64(number))
      marks.append("?")
      columns.append(rowidName)
      values.append(isTooGreat ? .null : .integer(rowid))
    }
    let sql = """
      INSERT OR \(clause) INTO main.\(table.name.sqlQuoted) (\(columns.sqlList))
      SELECT \(marks.joined(separator: ", "))\(source)
      """
    return (sql, values)
  }
}
