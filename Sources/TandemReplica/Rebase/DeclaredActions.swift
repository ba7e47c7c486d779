internal import TandemRecords
internal import TandemSQLite

/// What foreign keys of tables that are not synchronized declare for the deletion of a row of another table: no copy
/// but this one has their rows, so nobody else can do it.
///
/// SQLite does not enforce foreign keys while records of the space are written. Actions of synchronized tables are not
/// done here: their effects are in the commit that deleted the row.
struct DeclaredActions {
  private let tables: ReplicaTables
  private var connection: DatabaseConnection { tables.connection }
  /// The foreign keys of tables that are not synchronized, with an action.
  private let keys: [ListedForeignKey]

  init(_ tables: ReplicaTables, _ schema: ReplicaSchema) throws {
    self.tables = tables
    keys = try schema.listedKeys.filter { key in
      guard key.action != nil,
        !schema.tables.contains(where: { $0.name.isSameSQLName(as: key.child) })
      else { return false }
      // SQLite refuses a foreign key to columns that the parent does not have; by the others, wrong rows would follow.
      let parent = try tables.connection.schema(ofTable: key.parent)
      return key.columns.allSatisfy { parent?.column(named: $0.parent) != nil }
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
      let table = key.child.sqlQuoted
      // The columns of the parent decide how values compare.
      let condition = key.columns.map { column in
        let origin = ColumnOrigin(table: key.parent, column: column.parent)
        let collation = connection.collation(of: origin) ?? "BINARY"
        return "\(column.child.sqlQuoted) = ? COLLATE \(collation.sqlQuoted)"
      }.joined(separator: " AND ")
      switch key.action {
      case nil: preconditionFailure("only foreign keys with an action are listed")
      case .cascade:
        queue += try self.values(of: key.child, where: condition, values).values
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
