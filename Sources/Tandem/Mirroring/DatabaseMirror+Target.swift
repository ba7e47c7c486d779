internal import TandemDifferences
internal import TandemMirror
internal import TandemRecords
internal import TandemSQLite

extension DatabaseMirror {
  /// A table that records are mirrored into, as it is or as it is to be created.
  struct Target {
    let name: String
    let key: [String]
    let columns: TableColumns
    /// The table as it is, if it exists.
    private let schema: TableSchema?
    private let keyOffsets: [Int]

    init(
      _ mirror: DatabaseMirror, schema: TableSchema?, state: MirrorState?, records: [Record]
    ) throws(MirrorError) {
      if let schema, schema.isView {
        throw MirrorError(
          .unfitDestination, "\(schema.name) is a view; a mirror needs a table of its own")
      }
      name = schema?.name ?? mirror.table
      self.schema = schema
      let columns = try TableColumns(schema: schema, records: records, owned: state?.columns ?? [])
      var names: [String] = []
      for field in mirror.key {
        if let schema, schema.column(named: field) == nil {
          throw MirrorError(
            .unfitDestination,
            "table \(schema.name) has no column \(field) to be the key; it has "
              + schema.columnNames.joined(separator: ", "))
        }
        names.append(columns.offset(of: field).map { columns.columns[$0].name } ?? field)
      }
      self.columns = columns
      key = names
      keyOffsets = names.compactMap { columns.offset(of: $0) }
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
      guard keyOffsets.count == key.count else {
        // No record, and no run before: nothing to compare by.
        outcome.existingCount = Int(
          try connection.integer("SELECT count(*) FROM \(name.sqlQuoted)") ?? 0)
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

    /// Creates the table, or adds the columns it lacks.
    func prepareTable(in connection: DatabaseConnection) throws(DatabaseError) {
      if schema != nil {
        for column in columns.additions { try connection.addColumn(column, toTable: name) }
      } else {
        try connection.createTable(name, columns: columns.additions, key: key)
      }
    }

    /// Writes the changes: deletions first, so that values which must be unique are free again.
    func write(
      _ difference: SetDifference<Record>, to connection: DatabaseConnection,
      progress: (_ done: Int, _ total: Int) -> Void
    ) throws(DatabaseError) {
      guard !difference.isEmpty else { return }
      try connection.execute("PRAGMA defer_foreign_keys=ON")
      let writer = TableWriter(connection, table: name, columns: columns.layout, key: keyOffsets)
      var done = 0
      func advance() {
        done += 1
        if done % 1_000 == 0 || done == difference.count { progress(done, difference.count) }
      }
      for record in difference.deleted {
        try writer.delete(record)
        advance()
      }
      for update in difference.updated {
        try writer.update(from: update.old, to: update.new)
        advance()
      }
      for record in difference.inserted {
        try writer.insert(record)
        advance()
      }
    }
  }
}
