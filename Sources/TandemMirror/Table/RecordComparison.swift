public import TandemDifferences
public import TandemRecords
internal import TandemSQLite

/// The difference of two lists or tables of records, by key.
///
/// Two tables are read side by side, and memory does not grow with them; a list is held whole. Where
/// a list meets a table, its values are first made what the table's columns would store. A field or
/// column that only one side has counts as null in the other, also a column that a mirror would leave
/// alone.
public struct RecordComparison {
  /// What to compare from.
  public var old: RecordCollection
  /// What to compare with.
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

  /// Calls `body` with each change, in the order of the keys for two tables, otherwise grouped:
  /// the order within each kind is that of the keys.
  ///
  /// - Throws: ``RecordError``, ``DatabaseError`` or ``MirrorError`` if a side cannot be read or
  ///   compared, or a key is missing or occurs twice; what `body` throws.
  public func forEachChange(_ body: (SetChange<Record>) throws -> Void) throws {
    switch (old, new) {
    case (.table(let oldSchema, let oldConnection), .table(let newSchema, let newConnection)):
      try TableComparison(from: oldSchema, to: newSchema, key: key)
        .forEachChange(from: oldConnection, to: newConnection, body)
    case (.list(let old), .list(let new)):
      let difference = SetDifference(
        from: try KeyedRecords(old, key: key), to: try KeyedRecords(new, key: key))
      try difference.forEachChange(body)
    case (.table(let schema, let connection), .list(let records)):
      try difference(from: schema, of: connection, to: records).forEachChange(body)
    case (.list(let records), .table(let schema, let connection)):
      try difference(from: schema, of: connection, to: records).inverted.forEachChange(body)
    }
  }

  private func difference(
    from schema: TableSchema, of connection: DatabaseConnection, to records: [Record]
  ) throws -> SetDifference<Record> {
    var difference = SetDifference<Record>()
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
    let names = offsets.map { columns.columns[$0].name }
    let source = try KeyedRecords(columns.stored(records, keepsUnfit: true), key: names)
    try connection.snapshot {
      let scan = try TableScan(
        connection, table: schema, columns: columns.layout, key: offsets,
        missing: columns.missingOffsets)
      _ = try scan.forEachChange(to: source.records) { difference.append($0) }
    }
    return difference
  }
}
