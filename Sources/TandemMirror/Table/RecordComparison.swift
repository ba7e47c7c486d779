public import TandemDifferences
public import TandemRecords
public import TandemSQLite

/// One side of a comparison: a list of records, or a table.
public enum RecordCollection {
  /// A list, in any order.
  case list([Record])
  /// A table of a database.
  case table(TableSchema, Database)

  /// The columns of the primary key of a table; empty for a list.
  public var primaryKey: [String] {
    switch self {
    case .list: return []
    case .table(let schema, _): return schema.primaryKey
    }
  }
}

/// The difference of two lists or tables of records, by key.
///
/// Two tables are read side by side, and memory does not grow with them; a list is held whole. A list is
/// compared with a table by the values that the table's columns would store for it. A field or column that
/// only one side has counts as null in the other, including a column that a mirror would leave alone.
public struct RecordComparison {
  /// The side to compare from.
  public var old: RecordCollection
  /// The side to compare with.
  public var new: RecordCollection
  /// The fields that identify a record.
  public var key: [String]

  /// Compares `old` with `new` by the given key fields.
  ///
  /// - Precondition: `key` names one or more fields, each once.
  public init(from old: RecordCollection, to new: RecordCollection, key: [String]) {
    precondition(!key.isEmpty && RecordLayout(key) != nil, "A key names fields, each once")
    self.old = old
    self.new = new
    self.key = key
  }

  /// Calls `body` with each change: for two tables in the order of the keys, otherwise deletions, updates and
  /// insertions one after the other, each in the order of the keys. Blocks this thread.
  ///
  /// - Throws: ``/TandemRecords/RecordError``, ``/TandemSQLite/DatabaseError`` or ``MirrorError``
  ///   if a side cannot be read or compared, or a key is missing or occurs twice; the error that
  ///   `body` throws.
  public func forEachChange(_ body: (SetChange<Record>) throws -> Void) throws {
    switch (old, new) {
    case (.table(let old, let oldDatabase), .table(let new, let newDatabase)):
      let comparison = TableComparison(from: old, to: new, key: key)
      try oldDatabase.read { oldTransaction in
        if oldDatabase === newDatabase {
          return try comparison.forEachChange(from: oldTransaction, to: oldTransaction, body)
        }
        let connection = oldTransaction.connection
        try newDatabase.read {
          try comparison.forEachChange(from: connection, to: $0.connection, body)
        }
      }
    case (.list(let old), .list(let new)):
      let difference = SetDifference(
        from: try KeyedRecords(old, key: key), to: try KeyedRecords(new, key: key))
      try difference.forEachChange(body)
    case (.table(let schema, let database), .list(let records)):
      try changes(from: schema, of: database, to: records).forEach(body)
    case (.list(let records), .table(let schema, let database)):
      try changes(from: schema, of: database, to: records).difference.inverted.forEachChange(body)
    }
  }

  private func changes(
    from schema: TableSchema, of database: Database, to records: [Record]
  ) throws -> DatabaseMirror.Changes {
    let records = PackedRecords(records)
    let columns = try TableColumns(comparing: schema, with: records)
    var offsets: [Int] = []
    for field in key {
      guard schema.column(named: field) != nil, let offset = columns.offset(of: field) else {
        throw MirrorError(
          .unfitDestination,
          "table \(schema.name) has no column \(field) to be the key; it has "
            + schema.columnNames.joined(separator: ", "))
      }
      // Names that differ in case are one column.
      if !offsets.contains(offset) { offsets.append(offset) }
    }
    // One transaction, so that the rows have the keys that were found for the cells.
    return try database.read { transaction in
      let list = try FittedList(
        records, columns, key: offsets.map { columns.columns[$0].name }, keepsUnfit: true,
        cellKeys: CellKeys(of: records, columns, key: offsets, in: schema, transaction.connection))
      let scan = try TableScan(
        transaction.connection, table: schema, columns: columns.layout, key: offsets,
        missing: columns.missingOffsets, structured: columns.structuredOffsets(of: records),
        cells: columns.cellOffsets(of: records))
      var rowCount = 0
      return try DatabaseMirror.Changes(from: scan, to: list, countingRowsIn: &rowCount)
    }
  }
}
