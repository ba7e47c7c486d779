internal import TandemRecords
internal import TandemSQLite

/// What foreign keys of tables that are not synchronized declare for the deletion of a row of another table: no copy
/// but this one has their rows, so nobody else can do it.
///
/// SQLite does not enforce foreign keys while records of the space are written. Actions of synchronized tables are not
/// done here: their effects are in the commit that deleted the row.
struct DeclaredActions {
  /// A foreign key of a table that is not synchronized, with an action.
  private struct Key {
    let table: String
    let parent: String
    let action: ForeignKey.Action
    /// The columns, and those of the parent that they refer to.
    var columns: [(child: String, parent: String)] = []
  }

  private let tables: ReplicaTables
  private var connection: DatabaseConnection { tables.connection }
  private var keys: [Key] = []

  /// - Parameter isSynchronized: True for the name of a table that is.
  init(_ tables: ReplicaTables, isSynchronized: (String) -> Bool) throws {
    self.tables = tables
    let listing = try tables.connection.prepare(
      """
      SELECT t.name, f."table", f."from", coalesce(f."to", (
          SELECT p.name FROM pragma_table_info(f."table") AS p WHERE p.pk = f.seq + 1)),
        f.on_delete, f.seq
      FROM main.sqlite_schema AS t, pragma_foreign_key_list(t.name) AS f
      WHERE t.type = 'table' ORDER BY t.name, f.id, f.seq
      """)
    while try listing.step() {
      let row = try listing.values()
      guard let table = row[0].textValue, let parent = row[1].textValue,
        let child = row[2].textValue,
        let action = row[4].textValue.flatMap({ ForeignKey.Action(rawValue: $0) }),
        !isSynchronized(table)
      else { continue }
      if row[5] == 0 { keys.append(Key(table: table, parent: parent, action: action)) }
      keys[keys.count - 1].columns.append((child, row[3].textValue ?? ""))
    }
    // SQLite refuses a foreign key to columns that the parent does not have; by the others, wrong rows would follow.
    keys = try keys.filter { key in
      let schema = try tables.connection.schema(ofTable: key.parent)
      return key.columns.allSatisfy { schema?.column(named: $0.parent) != nil }
    }
  }

  /// The values of rows that are about to be deleted, to which others may refer; see ``run(for:)``.
  struct Deleted {
    fileprivate var values: [(key: Int, values: [FieldValue])] = []
  }

  /// The values of the rows that a condition selects.
  func values(of table: String, where condition: String, _ parameters: [FieldValue]) throws
    -> Deleted
  {
    var deleted = Deleted()
    for number in keys.indices where keys[number].parent.isSameSQLName(as: table) {
      let names = keys[number].columns.map(\.parent)
      let rows = try connection.rows(
        "SELECT \(names.sqlList) FROM main.\(table.sqlQuoted) WHERE \(condition)", parameters)
      deleted.values += rows.filter { !$0.contains(where: \.isNull) }.map { (number, $0) }
    }
    return deleted
  }

  /// Does what is declared, once the rows are gone; for rows that are deleted by it too.
  func run(for deleted: Deleted) throws {
    var queue = deleted.values
    while let (number, values) = queue.popLast() {
      let key = keys[number]
      let table = key.table.sqlQuoted
      // The columns of the parent decide how values compare.
      let condition = key.columns.map { column in
        let origin = ColumnOrigin(table: key.parent, column: column.parent)
        let collation = connection.collation(of: origin) ?? "BINARY"
        return "\(column.child.sqlQuoted) = ? COLLATE \(collation.sqlQuoted)"
      }.joined(separator: " AND ")
      switch key.action {
      case .cascade:
        queue += try self.values(of: key.table, where: condition, values).values
        try write("DELETE FROM main.\(table) WHERE \(condition)", values)
      case .setNull:
        let nulls = key.columns.map { "\($0.child.sqlQuoted) = NULL" }.joined(separator: ", ")
        try write("UPDATE main.\(table) SET \(nulls) WHERE \(condition)", values)
      }
    }
  }

  /// Runs a statement, without triggers if one of them forbids it. Rows whose table forbids it stay as they are.
  private func write(_ sql: String, _ values: [FieldValue]) throws {
    let error = try tables.objection {
      try connection.savepoint { try connection.run(sql, values) }
    }
    if error == nil { return }
    _ = try tables.objection { try tables.quietly { try connection.run(sql, values) } }
  }
}
