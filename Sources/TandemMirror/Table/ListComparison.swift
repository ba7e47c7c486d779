internal import TandemRecords
internal import TandemSQLite

extension DatabaseMirror {
  /// A list, compared with the table in one state of the database: all that a run needs to know before it
  /// transfers and writes.
  struct Comparison: Sendable {
    let mirror: DatabaseMirror
    let target: Target
    /// The list as the table stores it.
    let list: FittedList
    /// The changes from the table to the list.
    let changes: Changes
    /// The number of rows.
    let existingCount: Int
    /// The rows to delete, if the mirror has no key.
    private let deletedRows: RowBag.Deletion?
    private let version: DatabaseVersion

    /// Compares a list with the table, in the transaction that is open.
    ///
    /// - Parameter files: The paths of the files of each record, by its key.
    init(
      _ mirror: DatabaseMirror, _ records: PackedRecords, files: [RecordKey: [String?]] = [:],
      in connection: DatabaseConnection
    ) throws {
      self.mirror = mirror
      version = try DatabaseVersion(connection)
      let schema = try connection.schema(ofTable: mirror.table)
      let directory = try DirectoryState.load(table: mirror.table, from: connection)
      try directory?.requireContents(mirror.contents, ofTable: schema)
      let (target, fitting) = try Self.fit(records, mirror, schema, in: connection)
      var list = fitting
      if !mirror.contents.isEmpty {
        let rows = records.indices.lazy.map { position in
          let record = fitting.record(at: position)
          return target.record(record, files: files[target.key(of: record)] ?? [])
        }
        list = try FittedList(PackedRecords(rows), target.columns, key: target.key)
      }
      let structured = target.columns.structuredOffsets(of: records)
      let cells = target.columns.cellOffsets(of: records)
      if let schema, mirror.key.isEmpty {
        let bag = try RowBag(
          of: schema, target.columns, to: list, structured: structured, cells: cells,
          in: connection)
        (changes, existingCount, deletedRows) = (bag.changes, bag.rowCount, bag.deletedRows)
      } else if let schema {
        deletedRows = nil
        let scan = try TableScan(
          connection, table: schema, columns: target.columns.layout, key: target.keyOffsets,
          missing: target.columns.missingOffsets,
          structured: structured, cells: cells,
          comparesTypes: target.comparesTypes)
        var rowCount = 0
        changes = try Changes(from: scan, to: list, countingRowsIn: &rowCount)
        existingCount = rowCount
      } else {
        existingCount = 0
        deletedRows = nil
        changes = Changes(inserting: list)
      }
      self.target = target
      self.list = list
    }

    /// The table, and the records as it stores them, which widens columns if the mirror may.
    private static func fit(
      _ records: PackedRecords, _ mirror: DatabaseMirror, _ schema: TableSchema?,
      in connection: DatabaseConnection
    ) throws -> (Target, FittedList) {
      let state = try MirrorState.load(table: mirror.table, from: connection)
      let onlyTypes = try schema.map { try connection.onlyTypes(of: $0) } ?? [:]
      func list(_ target: Target) throws -> FittedList {
        let keys = try CellKeys(
          of: records, target.columns, key: target.keyOffsets, in: schema, connection)
        return try FittedList(records, target.columns, key: target.key, cellKeys: keys)
      }
      let target = try Target(
        mirror, schema: schema, state: state, records: records, onlyTypes: onlyTypes)
      do {
        return (target, try list(target))
      } catch let error as RecordError {
        guard mirror.widensColumns, error.code == .notRepresentable else { throw error }
        let misfits = target.columns.misfits(of: records)
        // Throws if the table cannot be widened, in a dry run too.
        _ = try TableWidening(misfits, ofTable: mirror.table, in: connection)
        let wider = try Target(
          mirror, schema: schema, state: state, records: records, onlyTypes: onlyTypes,
          widened: misfits)
        return (wider, try list(wider))
      }
    }

    /// True if columns have to be widened in a transaction of its own, because other tables refer to this one.
    func needsOwnWidening(in connection: DatabaseConnection) throws -> Bool {
      try TableWidening(target.widenedColumns, ofTable: target.name, in: connection)
        .isReferenced
    }

    /// Throws if the guard refuses a run with this difference.
    ///
    /// - Parameter sourceCount: The number of records in the list, if some of them have no row.
    func requirePermission(sourceCount: Int? = nil) throws(MirrorError) {
      let refusal = mirror.mirrorGuard.refusal(
        sourceCount: sourceCount ?? list.count, existingCount: existingCount,
        deletionCount: changes.deletedCount, remark: deletionRemark)
      if let refusal { throw refusal }
    }

    /// The remark for the guard that some keys have only changed their type; empty if none has, or if nothing is
    /// refused.
    var deletionRemark: String {
      let refusal = mirror.mirrorGuard.refusal(
        sourceCount: list.count, existingCount: existingCount, deletionCount: changes.deletedCount)
      guard refusal != nil, !mirror.key.isEmpty else { return "" }
      let inserted = Dictionary(
        changes.inserted.lazy.map { target.key(of: $0) }.map { ($0.withNumbers, $0) },
        uniquingKeysWith: { first, _ in first })
      var retyped: (count: Int, example: String) = (0, "")
      for row in changes.deleted {
        let old = target.key(of: row)
        guard let new = inserted[old.withNumbers] else { continue }
        if retyped.count == 0 { retyped.example = "\(old) is now \(new)" }
        retyped.count += 1
      }
      guard retyped.count > 0 else { return "" }
      return " (\(retyped.count) of them are in the list by a key of another type: "
        + "\(retyped.example))"
    }

    /// True if the table still is in the state that was compared.
    ///
    /// - Precondition: `connection` is that of the comparison, unless there was no table.
    func isCurrent(in connection: DatabaseConnection) throws -> Bool {
      if target.schema == nil { return try connection.schema(ofTable: mirror.table) == nil }
      return try DatabaseVersion(connection) == version
    }
  }
}

/// The version of a database, as one connection sees it: two equal versions hold the same rows.
///
/// `data_version` changes with each commit of other connections, `total_changes()` with each row that this
/// connection changes, and `schema_version` with each change of the schema.
private struct DatabaseVersion: Equatable {
  let dataVersion: Int64?
  let schemaVersion: Int64?
  let changeCount: Int64?

  init(_ connection: DatabaseConnection) throws(DatabaseError) {
    dataVersion = try connection.integer("PRAGMA data_version")
    schemaVersion = try connection.integer("PRAGMA schema_version")
    changeCount = try connection.integer("SELECT total_changes()")
  }
}

// MARK: - Writing

extension DatabaseMirror.Comparison {
  /// The outcome of a run that makes these changes, found out without writing.
  ///
  /// - Parameters:
  ///   - changes: The changes to the table as it was compared.
  ///   - origin: The origin of the list.
  func outcome(
    of changes: DatabaseMirror.Changes, origin: MirrorOrigin?, in connection: DatabaseConnection
  ) throws -> DatabaseMirror.Outcome {
    var outcome = DatabaseMirror.Outcome()
    outcome.changes = changes
    outcome.existingCount = existingCount
    outcome.sourceCount = list.count
    let hasTable = target.schema != nil || changes.insertedCount > 0
    outcome.createsTable = target.schema == nil && hasTable
    outcome.lacksTable = !hasTable
    outcome.addedColumns = target.schema == nil ? [] : target.columns.additions.map(\.name)
    outcome.widenedColumns = target.widenedColumns
    outcome.decidedTypes = target.decidedTypes
    let (old, new) = try directoryStates(in: connection)
    outcome.isUpToDate =
      try !hasTable
      || (target.schema != nil && outcome.addedColumns.isEmpty
        && outcome.widenedColumns.isEmpty && changes.isEmpty && old == new
        && state(origin).isSaved(table: target.name, in: connection))
    return outcome
  }

  /// Makes these changes and saves the state, in the transaction that is open, unless the mirror is a dry
  /// run or there is nothing to write.
  func write(
    _ changes: DatabaseMirror.Changes, origin: MirrorOrigin?, to connection: DatabaseConnection,
    progress: (_ done: Int, _ total: Int) -> Void
  ) throws -> DatabaseMirror.Outcome {
    let outcome = try outcome(of: changes, origin: origin, in: connection)
    guard !mirror.isDryRun, !outcome.isUpToDate else { return outcome }
    try MirrorState.prepareTables(in: connection)
    try target.prepareTable(in: connection)
    let rowCount = existingCount + changes.insertedCount - changes.deletedCount
    try target.write(
      changes, deletedRows: deletedRows, rowCount: rowCount, to: connection, progress: progress)
    try state(origin).save(table: target.name, to: connection)
    let (old, new) = try directoryStates(in: connection)
    if old != new { try new?.save(table: target.name, to: connection) }
    return outcome
  }

  private func state(_ origin: MirrorOrigin?) -> MirrorState {
    MirrorState(columns: target.listColumns, key: target.key, origin: origin)
  }

  private func directoryStates(
    in connection: DatabaseConnection
  ) throws(DatabaseError) -> (old: DirectoryState?, new: DirectoryState?) {
    let old = try DirectoryState.load(table: mirror.table, from: connection)
    var new = old
    new?.contents = mirror.contents.map(DirectoryState.Content.init)
    return (old, new)
  }
}

extension DatabaseConnection {
  /// The only types that columns of a table take, by name: the column that is the rowid takes integers, and those
  /// of a strict table what they are declared for.
  fileprivate func onlyTypes(of schema: TableSchema) throws(DatabaseError) -> [String: ColumnType] {
    var types: [String: ColumnType] = [:]
    if schema.isStrict {
      for column in schema.columns {
        let type = column.declaredType.uppercased()
        types[column.name] = type == "INT" ? .integer : ColumnType(rawValue: type)
      }
    }
    if let key = schema.primaryKey.first, schema.primaryKey.count == 1,
      try TableFacts(schema.name, in: self)?.isRowid(key) == true
    {
      types[key] = .integer
    }
    return types
  }
}
