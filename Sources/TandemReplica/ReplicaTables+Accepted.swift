internal import TandemRecords
internal import TandemSQLite

/// The space accepts a commit after others that its replica has not seen, unless they changed the same
/// fields. So one replica may delete a row while another one begins to refer to it, and neither commit
/// has seen the other. The replica whose commit was accepted last brings the row back: it keeps the former
/// versions of the commit's rows until a pull has brought the commits before it.
extension ReplicaTables {
  /// Keeps the former versions of a commit that was accepted after others, of tables with foreign keys.
  package func keepAccepted(_ schema: ReplicaSchema) throws {
    for table in schema.relatedTables {
      try connection.renewFormerVersions(table.acceptedName, of: table.shadow)
      try run(
        """
        INSERT INTO \(table.acceptedName.sqlQuoted) SELECT * FROM \(table.asideName.sqlQuoted) WHERE TRUE
        ON CONFLICT DO NOTHING
        """, [])
    }
  }

  /// True if there are any.
  package func hasAccepted() throws -> Bool {
    try schema().tables.contains { table in
      try table.mayHaveAccepted
        && !rows("SELECT 1 FROM \(table.acceptedName.sqlQuoted) LIMIT 1").isEmpty
    }
  }

  /// Forgets them: the commits between have come.
  func forgetAccepted(_ schema: ReplicaSchema) throws {
    for table in schema.tables where table.mayHaveAccepted {
      try run("DELETE FROM \(table.acceptedName.sqlQuoted)", [])
    }
  }

  /// The former version of a row in such a commit; `nil` if there was none, or no such commit has the row.
  func formerAccepted(_ table: ReplicaTable, _ key: [FieldValue]) throws -> Record? {
    guard table.mayHaveAccepted else { return nil }
    let columns = ([TableShadow.existed] + table.columnNames).sqlList
    let rows = try readableRows(
      "SELECT \(columns) FROM \(table.acceptedName.sqlQuoted) WHERE \(table.hasKey)", key
    ).rows
    guard let row = rows.first, row[0] != 0 else { return nil }
    return Record(uncheckedLayout: table.layout, values: Array(row.dropFirst()))
  }
}

extension ReplicaSchema {
  /// The tables that refer to synchronized tables or are referred to by them.
  fileprivate var relatedTables: [ReplicaTable] {
    let related = foreignKeys.filter { $0.attachedChild != nil }
    return tables.filter { table in
      related.contains { $0.parent === table || $0.attachedChild === table }
    }
  }
}
