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
  /// - Throws: ``MirrorError`` if the table has columns that the list does not have, because rows that are replaced
  ///   would lose their values.
  init(
    of schema: TableSchema, _ columns: TableColumns, to list: FittedList,
    in connection: DatabaseConnection
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
    var rowids: [RecordKey: [Int64]] = [:]
    var rowCount = 0
    while try statement.step() {
      let values = try statement.values()
      guard case .integer(let rowid) = values[0] else { continue }
      rowids[RecordKey(Array(values.dropFirst())), default: []].append(rowid)
      rowCount += 1
    }
    var difference = SetDifference<Record>()
    for position in list.indices {
      let record = list.record(at: position)
      if rowids[RecordKey(record.values)]?.popLast() == nil { difference.inserted.append(record) }
    }
    var deletedRowids: [Int64] = []
    for (row, rowids) in rowids {
      let record = Record(uncheckedLayout: columns.layout, values: row.values)
      difference.deleted += repeatElement(record, count: rowids.count)
      deletedRowids += rowids
    }
    changes = DatabaseMirror.Changes(difference)
    deletedRows = Deletion(rowidName: rowidName, rowids: deletedRowids)
    self.rowCount = rowCount
  }
}
