internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Two rows of a table cannot have the same unique value, but the space accepts such records from
/// two replicas. Rows that only exchange values are written together. Otherwise one row has to go:
/// local edits first, then the record with the greater key, so that all replicas choose the same.
/// The row that goes is noted in `tandem_rejected`.
extension RowPlacing {
  /// Places the records that wait for unique values.
  mutating func finish() throws {
    while !blocked.isEmpty {
      var waiting = blocked
      blocked = []
      blockedKeys = []
      for offset in waiting.indices {
        waiting[offset].row = try refreshed(waiting[offset])
        try place(waiting[offset])
      }
      if blocked.count == waiting.count { try breakDeadlock() }
    }
  }

  /// The row of a placement as it is now, with the former version that it had.
  private func refreshed(_ placement: RowPlacement) throws -> ReplicaRow {
    var row = placement.row
    row.row = try tables.row(placement.table, placement.key).row
    return row
  }

  /// Places records that wait for each other: all of their rows are removed, then written again.
  /// Columns that are not synchronized keep their values.
  private mutating func breakDeadlock() throws {
    let waiting = blocked
    blocked = []
    blockedKeys = []
    var complete: [[String: FieldValue]] = []
    for placement in waiting {
      complete.append(try completeRow(placement))
      try tables.store(nil, over: placement.row.row, placement.table, placement.key)
    }
    for (placement, values) in zip(waiting, complete) {
      try placeAlone(placement, values)
    }
  }

  /// Places a record whose row has been removed, at the expense of other rows if necessary.
  private mutating func placeAlone(
    _ placement: RowPlacement, _ values: [String: FieldValue]
  ) throws {
    let tables = tables
    let insert = { (placement: RowPlacement) throws in
      try tables.insert(placement, with: values)
    }
    if try isPlaced(placement, by: insert) { return }
    var placement = placement
    if placement.hasEdits {
      try reject(placement.syncKey, RowPlacing.reason, placement.row.local)
      placement.result = placement.remote
      if try isPlaced(placement, by: insert) { return }
    }
    for holder in try holders(placement, values) {
      guard try isYielding(holder, to: placement) else { return try yield(placement) }
    }
    if try !isPlaced(placement, by: insert) { try yield(placement) }
  }

  private static var reason: String { "another row has the same unique value" }

  /// Removes a row that holds a unique value of the given record; `false` if the record itself has
  /// to yield.
  private mutating func isYielding(
    _ holder: SyncKey, to placement: RowPlacement
  ) throws -> Bool {
    let table = placement.table
    let row = try tables.row(table, holder.id)
    let base = row.base
    if row.isTouched {
      try reject(holder, RowPlacing.reason, row.local)
      let former = RowPlacement(
        table: table, key: holder.id, row: row, remote: base, result: base)
      // The former version may hold the same value.
      if try isPlaced(former), try !holds(holder, placement) { return true }
    }
    guard base == nil || holder > placement.syncKey else { return false }
    if !row.isTouched { try reject(holder, RowPlacing.reason, base) }
    try delete(table, holder.id, base)
    return true
  }

  private func holds(_ holder: SyncKey, _ placement: RowPlacement) throws -> Bool {
    try holders(placement, [:]).contains(holder)
  }

  /// Gives a record of the space up: its deletion becomes a local edit.
  private mutating func yield(_ placement: RowPlacement) throws {
    try reject(placement.syncKey, RowPlacing.reason, placement.remote)
    try delete(placement.table, placement.key, placement.remote)
  }

  private func delete(_ table: ReplicaTable, _ key: [FieldValue], _ base: Record?) throws {
    try tables.store(nil, over: try tables.row(table, key).row, table, key)
    try tables.setShadow(base.map { .values(table.values(of: $0)) }, table, key)
    try tables.park(
      base.flatMap(table.unstorableFields).map { ParkedFields(fields: $0, isWhole: false) },
      table.syncKey(key))
  }

  /// The keys of the rows that have a unique value of a record that has no row.
  private func holders(
    _ placement: RowPlacement, _ values: [String: FieldValue]
  ) throws -> [SyncKey] {
    let table = placement.table
    var found: [SyncKey] = []
    for columns in table.shadow.uniqueColumns {
      let wanted = columns.map { column in
        placement.value(of: column.name) ?? values[column.name] ?? .null
      }
      guard !wanted.contains(where: \.isNull) else { continue }
      let condition = columns.map {
        "\($0.name.sqlQuoted) = ? COLLATE \($0.collation.sqlQuoted)"
      }.joined(separator: " AND ")
      let keys = try tables.readableRows(
        "SELECT \(table.keyNames.sqlList) FROM \(table.name.sqlQuoted) WHERE \(condition)", wanted
      ).rows
      for key in keys where key != placement.key && !found.contains(table.syncKey(key)) {
        found.append(table.syncKey(key))
      }
    }
    return found
  }

  /// The values of the row of a placement in columns that are not synchronized; none if there is no
  /// row.
  private func completeRow(_ placement: RowPlacement) throws -> [String: FieldValue] {
    let table = placement.table
    let synchronized = table.keyNames + table.columnNames
    let names = table.schema.columns.filter { column in
      !column.isGenerated && !synchronized.contains(column.name)
    }.map(\.name)
    guard !names.isEmpty else { return [:] }
    let condition = table.keyCondition
    let rows = try tables.readableRows(
      "SELECT \(names.sqlList) FROM \(table.name.sqlQuoted) WHERE \(condition.sql)",
      condition.parameters(placement.key)
    ).rows
    return Dictionary(
      uniqueKeysWithValues: zip(names, rows.first ?? []).map { ($0.0, $0.1) })
  }
}

extension RowPlacement {
  /// The value that the row is to have in a synchronized column.
  fileprivate func value(of column: String) -> FieldValue? {
    if let offset = table.keyNames.firstIndex(where: column.isSameSQLName) { return key[offset] }
    guard let name = table.columnNames.first(where: column.isSameSQLName) else { return nil }
    return result?[name] ?? .null
  }
}

extension ReplicaTables {
  /// Inserts the row of a placement, with the given values in columns that are not synchronized.
  fileprivate func insert(_ placement: RowPlacement, with values: [String: FieldValue]) throws {
    guard let record = placement.result else { return }
    let table = placement.table
    let others = values.sorted { $0.key < $1.key }
    let names = table.keyNames + table.columnNames + others.map(\.key)
    let fields = table.values(of: record)
    let marks =
      placement.key.map { _ in "?" }
      + fields.indices.map { table.storing(fields[$0], at: $0) } + others.map { _ in "?" }
    try run(
      """
      INSERT OR ABORT INTO \(table.name.sqlQuoted) (\(names.sqlList))
      VALUES (\(marks.joined(separator: ", ")))
      """, placement.key + fields + others.map(\.value))
  }
}
