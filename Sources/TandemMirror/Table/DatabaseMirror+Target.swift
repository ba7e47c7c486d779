internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

extension DatabaseMirror {
  /// A table that records are mirrored into, as it is or as it is to be created.
  struct Target {
    let name: String
    let key: [String]
    let columns: TableColumns
    /// The columns that the list itself has fields for; those of files are not among them.
    let listColumns: [String]
    let keyOffsets: [Int]
    /// The table as it is, if it exists.
    let schema: TableSchema?

    init(
      _ mirror: DatabaseMirror, schema: TableSchema?, state: MirrorState?,
      contents: [MirroredContent], records: [Record]
    ) throws(MirrorError) {
      try mirror.requireTable(schema)
      try mirror.requireKey(schema)
      let fileFields = contents.map(\.fileField)
      let columns = try TableColumns(
        schema: schema, records: records,
        owned: mirror.key + (state?.columns ?? []) + fileFields)
      let key = mirror.key.map { field in
        columns.offset(of: field).map { columns.columns[$0].name } ?? field
      }
      name = schema?.name ?? mirror.table
      self.key = key
      self.columns = columns
      listColumns = columns.layout.names.filter { name in
        !fileFields.contains(where: name.isSameSQLName)
      }
      keyOffsets = key.compactMap(columns.offset(of:))
      self.schema = schema
    }

    /// The difference from the table to the records.
    func compare(
      _ records: [Record], in connection: DatabaseConnection
    ) throws -> Outcome {
      let source = try KeyedRecords(columns.stored(records), key: key)
      var outcome = Outcome()
      outcome.sourceCount = source.count
      guard let schema else {
        outcome.difference.inserted = source.records
        return outcome
      }
      let scan = try TableScan(
        connection, table: schema, columns: columns.layout, key: keyOffsets,
        missing: columns.missingOffsets)
      outcome.existingCount = try scan.forEachChange(to: source.records) {
        outcome.difference.append($0)
      }
      return outcome
    }
  }

  /// Throws unless the table is one to mirror into, if it exists, or may be created.
  private func requireTable(_ schema: TableSchema?) throws(MirrorError) {
    if let schema, schema.isView {
      throw MirrorError(
        .unfitDestination, "\(schema.name) is a view; a mirror needs a table of its own")
    }
    for prefix in ["sqlite_", "tandem_"]
    where String(decoding: table.utf8.prefix(prefix.count), as: UTF8.self).isSameSQLName(as: prefix)
    {
      throw MirrorError(
        .unfitDestination,
        "table names that begin with \(prefix) are reserved; choose another name than \(table)")
    }
  }

  /// Throws unless the columns of the key are different ones, and the table, if it exists, has them.
  private func requireKey(_ schema: TableSchema?) throws(MirrorError) {
    for (position, field) in key.enumerated() {
      if let first = key[..<position].first(where: field.isSameSQLName) {
        throw MirrorError(
          .unfitDestination, "the key fields \(first) and \(field) are one column in SQLite")
      }
      guard let schema else { continue }
      guard let column = schema.column(named: field) else {
        throw MirrorError(
          .unfitDestination,
          "table \(schema.name) has no column \(field) to be the key; it has "
            + schema.columnNames.joined(separator: ", "))
      }
      guard !column.isGenerated else {
        throw MirrorError(
          .unfitDestination, "column \(column.name) is generated, and cannot be the key of a mirror"
        )
      }
    }
  }
}
