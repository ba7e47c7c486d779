internal import TandemRecords
internal import TandemSQLite

extension DatabaseMirror {
  /// The table of a mirror, as it is or as it is to be created, with the columns that take part.
  struct Target {
    let name: String
    let key: [String]
    let columns: TableColumns
    /// The columns that the list itself has fields for; those of files are not among them.
    let listColumns: [String]
    let keyOffsets: [Int]
    /// The offset of each content's column; `nil` if there is none yet, and no record to add it for.
    let fileOffsets: [Int?]
    /// The table as it is, if it exists.
    let schema: TableSchema?
    /// True if a number that changes its type alone is a change, as in a table that mirrors another one.
    let comparesTypes: Bool
    /// The columns whose types have to go before the records fit.
    let widenedColumns: [String]
    /// The columns to create for cells of CSV, with their types.
    let decidedTypes: [String]

    init(
      _ mirror: DatabaseMirror, schema: TableSchema?, state: MirrorState?, records: PackedRecords,
      onlyTypes: [String: ColumnType], widened: [String] = []
    ) throws(MirrorError) {
      try mirror.requireTable(schema)
      try mirror.requireKey(schema)
      let fileFields = mirror.contents.map(\.fileField)
      let columns = try TableColumns(
        schema: schema, records: records, owned: mirror.key + (state?.columns ?? []),
        fileFields: fileFields, onlyTypes: onlyTypes, widened: widened,
        types: mirror.additionTypes)
      if let schema { try mirror.requireTypes(of: schema) }
      try mirror.requireFields(columns)
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
      fileOffsets = fileFields.map(columns.offset(of:))
      self.schema = schema
      widenedColumns = widened
      comparesTypes = mirror.comparesTypes
      decidedTypes =
        records.layouts.contains(where: \.areCells)
        ? columns.additions.filter { !fileFields.contains($0.name) }.map(\.description) : []
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

  /// The types of columns to be added: those that the mirror gives, then those of the source.
  private var additionTypes: [String: ColumnType] {
    let others = sourceTypes.filter { name, _ in
      !columnTypes.keys.contains(where: name.isSameSQLName)
    }
    return columnTypes.merging(others) { given, _ in given }
  }

  /// Throws unless the columns of the table have the types that the mirror gives.
  func requireTypes(of schema: TableSchema) throws(MirrorError) {
    for column in schema.columns {
      guard let type = columnTypes.first(where: { $0.key.isSameSQLName(as: column.name) })?.value,
        column.affinity != ColumnAffinity(declaredType: type.rawValue)
      else { continue }
      let declared = column.declaredType.isEmpty ? "no type" : "the type \(column.declaredType)"
      throw MirrorError(
        .unfitDestination,
        "column \(column.name) of \(table) has \(declared), not \(type.name); leave out its type, "
          + "or create the table anew")
    }
  }

  /// Throws unless there is a column or a field for each type that the mirror gives.
  private func requireFields(_ columns: TableColumns) throws(MirrorError) {
    if columns.columns.isEmpty { return }
    for name in columnTypes.keys.sorted() where columns.offset(of: name) == nil {
      throw MirrorError(
        .unfitSource,
        "no record of the list has the field \(name) that a type is given for; its fields are "
          + columns.layout.names.joined(separator: ", "))
    }
  }

  /// Throws unless the columns of the key are different ones, and the table, if it exists, has them.
  private func requireKey(_ schema: TableSchema?) throws(MirrorError) {
    if key.isEmpty, let schema, !schema.primaryKey.isEmpty {
      throw MirrorError(
        .unfitDestination,
        "table \(schema.name) has the primary key \(schema.primaryKey.joined(separator: ", ")); mirror it by "
          + "this key")
    }
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

// MARK: - Records

extension DatabaseMirror.Target {
  /// The key of a record as the table stores it.
  func key(of record: Record) -> RecordKey { RecordKey(keyOffsets.map { record.values[$0] }) }

  /// The paths of the files that a record as the table stores it points to, one for each content.
  func files(of record: Record) -> [String?] {
    fileOffsets.map { offset in offset.flatMap { record.values[$0].textValue } }
  }

  /// The record with other paths of files.
  func record(_ record: Record, files: [String?]) -> Record {
    var values = record.values
    for (offset, path) in zip(fileOffsets, files) {
      if let offset { values[offset] = FieldValue(path) }
    }
    return Record(uncheckedLayout: columns.layout, values: values)
  }
}

// MARK: - Writing

extension DatabaseMirror.Target {
  /// Creates the table, or widens columns and adds those it lacks.
  func prepareTable(in connection: DatabaseConnection) throws(DatabaseError) {
    if let schema {
      if !widenedColumns.isEmpty {
        try TableWidening(widenedColumns, ofTable: name, in: connection).run()
      }
      for column in columns.additions { try connection.addColumn(column, to: schema) }
    } else {
      try connection.createTable(name, columns: columns.additions, key: key)
    }
  }

  /// Writes the changes, which lead to a table of so many rows.
  ///
  /// - Parameter deletedRows: The rows to delete, if there is no key.
  /// - Throws: ``DatabaseError``; ``MirrorError`` if the table has another number of rows afterwards.
  func write(
    _ changes: DatabaseMirror.Changes, deletedRows: RowBag.Deletion?, rowCount: Int,
    to connection: DatabaseConnection,
    progress: (_ done: Int, _ total: Int) -> Void
  ) throws {
    guard !changes.isEmpty else { return }
    try connection.execute("PRAGMA defer_foreign_keys=ON")
    let writer = TableWriter(
      connection, table: name, columns: columns.layout, key: keyOffsets,
      comparesTypes: comparesTypes)
    if let deletedRows {
      let deletion = "DELETE FROM \(name.sqlQuoted) WHERE \(deletedRows.rowidName) = ?"
      for rowid in deletedRows.rowids { try connection.execute(deletion, .integer(rowid)) }
    }
    try writer.write(
      deleted: key.isEmpty ? PackedRecords() : changes.deleted, updated: changes.updated,
      inserted: changes.inserted,
      schema: schema, progress: progress)
    // Triggers and cascades of the application may delete or insert rows on their own.
    let count = Int(try connection.integer("SELECT count(*) FROM \(name.sqlQuoted)") ?? 0)
    guard count == rowCount else {
      throw MirrorError(
        .unfitDestination,
        "table \(name) would have \(count) rows for the \(rowCount) records of the list; "
          + "do its triggers, its foreign keys or ON CONFLICT clauses insert or delete rows?")
    }
  }
}
