internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The rows of a table without a key, compared with a list as wholes, each as often as it occurs.
struct RowBag {
  /// The deletions and insertions that make the table equal to the list.
  let changes: DatabaseMirror.Changes
  let deletedRows: Deletion
  let rowCount: Int

  /// The rows to delete.
  struct Deletion {
    /// A name of the rowid that no column has, not even a generated one.
    let rowidName: String
    let rowids: [Int64]
  }

  /// Reads all rows of a table; memory grows with it.
  ///
  /// - Parameters:
  ///   - structured: The columns whose JSON is compared by structure.
  ///   - cells: The columns where a number and a text may be the same cell of CSV.
  /// - Throws: ``MirrorError`` if the table has columns that the list does not have, because rows that are replaced
  ///   would lose their values.
  init(
    of schema: TableSchema, _ columns: TableColumns, to list: FittedList,
    structured: Set<Int>, cells: Set<Int>, in connection: DatabaseConnection
  ) throws {
    let own = schema.columns.filter { !$0.isGenerated && columns.offset(of: $0.name) == nil }
    guard own.isEmpty, let rowidName = try TableFacts(schema.name, in: connection)?.rowidName
    else {
      let reason =
        own.first.map { "it has the column \($0.name), which the list does not have" }
        ?? "its rows have no rowid"
      throw MirrorError(
        .unfitDestination,
        "table \(schema.name) cannot be mirrored without a key: \(reason); name a key")
    }
    let missing = columns.missingOffsets
    let names = columns.columns.indices.map {
      missing.contains($0) ? "NULL" : columns.columns[$0].name.sqlQuoted
    }
    let statement = try connection.prepare(
      "SELECT \(([rowidName] + names).joined(separator: ", ")) FROM \(schema.name.sqlQuoted)")
    var forms = RowForms(structured: structured)
    var rowCount = 0
    while try statement.step() {
      let values = try statement.values()
      guard case .integer(let rowid) = values[0] else { continue }
      forms.add(Row(rowid: rowid, values: Array(values.dropFirst())))
      rowCount += 1
    }
    var inserted: [Record] = []
    for position in list.indices {
      let record = list.record(at: position)
      if !forms.takeRow(equalTo: record.values) { inserted.append(record) }
    }
    if !cells.isEmpty { inserted = forms.withoutSameCells(inserted, cells) }
    let deleted = forms.rows.values.joined().sorted { $0.rowid < $1.rowid }
    var difference = SetDifference<Record>()
    difference.inserted = inserted
    difference.deleted = deleted.map {
      Record(uncheckedLayout: columns.layout, values: $0.values)
    }
    changes = DatabaseMirror.Changes(difference)
    deletedRows = Deletion(rowidName: rowidName, rowids: deleted.map(\.rowid))
    self.rowCount = rowCount
  }

  struct Row {
    let rowid: Int64
    let values: [FieldValue]
  }
}
