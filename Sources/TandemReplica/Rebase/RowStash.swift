internal import TandemRecords
internal import TandemSQLite

/// A temporary table for rows that are out of their table for the time being, with all their columns: those that are
/// not synchronized too, and the rowid, to which others may refer.
struct RowStash {
  /// The name of the temporary table. Its columns have no types, so tables with as many columns share it.
  private let name: String
  private let table: ReplicaTable
  private let tables: ReplicaTables
  /// The stored columns that are not synchronized, and the rowid if it is not the key.
  private let others: [String]
  private let rowidName: String?
  /// A rowid that is greater than those of all rows; `nil` if there is none.
  private let firstNewRowid: Int64?

  init(_ table: ReplicaTable, _ tables: ReplicaTables) throws {
    self.table = table
    self.tables = tables
    let connection = tables.connection
    let synchronized = table.keyNames + table.columnNames
    let rowidName = table.shadow.rowidName
    self.rowidName = rowidName
    others =
      table.schema.columns.filter { !$0.isGenerated && !synchronized.contains($0.name) }
      .map(\.name) + (rowidName.map { [$0] } ?? [])
    let last = try rowidName.map {
      try connection.integer("SELECT max(\($0)) FROM main.\(table.name.sqlQuoted)")
    }
    let (next, isTooGreat) = max(0, (last ?? 0) ?? 0).addingReportingOverflow(1)
    firstNewRowid = isTooGreat ? nil : next
    let count = synchronized.count + others.count
    name = "temp.tandem_stash_\(count)"
    let places = (0..<count).map { ", c\($0)" }.joined()
    try tables.run("CREATE TABLE IF NOT EXISTS \(name) (place INTEGER PRIMARY KEY\(places))", [])
  }

  /// Empties the temporary table. If it were dropped, SQLite would compile all statements again.
  func empty() throws { try tables.run("DELETE FROM \(name)", []) }

  private var names: [String] { table.keyNames + table.columnNames + others }

  /// Takes a row out of its table, into the place of a number. The place is empty if there is no row.
  func takeOut(_ key: [FieldValue], to place: Int) throws {
    try tables.run("DELETE FROM \(name) WHERE place = ?", [.integer(Int64(place))])
    try tables.run(
      """
      INSERT INTO \(name)
      SELECT ?\(key.count + 1), \(names.sqlList) FROM main.\(table.name.sqlQuoted) WHERE \(table.hasKey)
      """, key + [.integer(Int64(place))])
    try tables.run(table.statements.delete, key)
  }

  /// Puts a row back as it was, if its place has one.
  func putBack(from place: Int) throws {
    let places = names.indices.map { "c\($0)" }.joined(separator: ", ")
    try tables.run(
      """
      INSERT OR ABORT INTO main.\(table.name.sqlQuoted) (\(names.sqlList))
      SELECT \(places) FROM \(name) WHERE place = ?
      """, [.integer(Int64(place))])
  }

  /// Inserts a row with a record.
  ///
  /// - Parameters:
  ///   - place: The place of the row; a new one gets a rowid that no other row has, those included that are out of
  ///     the table.
  ///   - isKept: True if the row is in its place. The other columns get the values that they have there.
  func insert(_ record: Record, _ key: [FieldValue], at place: Int, isKept: Bool) throws {
    let fields = table.values(of: record)
    var marks =
      key.indices.map { "?\($0 + 1)" }
      + fields.indices.map { table.storing(fields[$0], at: $0, parameter: key.count + $0 + 1) }
    var values = key + fields
    var columns = table.keyNames + table.columnNames
    var source = ""
    if isKept {
      marks += others.indices.map { "c\(columns.count + $0)" }
      columns += others
      source = " FROM \(name) WHERE place = ?"
      values.append(.integer(Int64(place)))
    } else if let rowidName {
      let rowid = firstNewRowid?.addingReportingOverflow(Int64(place))
      marks.append("?")
      columns.append(rowidName)
      values.append(rowid.flatMap { $0.overflow ? nil : .integer($0.partialValue) } ?? .null)
    }
    try tables.run(
      """
      INSERT OR ABORT INTO main.\(table.name.sqlQuoted) (\(columns.sqlList))
      SELECT \(marks.joined(separator: ", "))\(source)
      """, values)
  }
}
