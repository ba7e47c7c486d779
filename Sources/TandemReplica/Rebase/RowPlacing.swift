internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// A record that came from the space, and the record that its row is to hold.
struct RowPlacement {
  let table: ReplicaTable
  let key: [FieldValue]
  /// The row and its former version before.
  var row: ReplicaRow
  /// The record of the space; `nil` if there is none.
  let remote: Record?
  /// The record for the row, which differs from ``remote`` if local edits remain.
  var result: Record?
  /// The version of the space that made the record; 0 if the record did not come in this pull.
  var version = 0
  /// True if the row has lost local edits, because the table cannot have them. They are noted in
  /// `tandem_kept`.
  var isRejected = false

  var syncKey: SyncKey { table.syncKey(key) }

  /// True if local edits remain in the row.
  var hasEdits: Bool { !result.hasSameStorage(as: remote) }
}

/// Writes records of the space into rows, and makes them the base.
///
/// Afterwards a row is touched only if it differs from the record of the space because of local
/// edits. **Receiving makes no edit:** a version of the space that a table does not accept is withheld,
/// and the row stays as it was. Nothing of this is sent. The version is tried again whenever a
/// pull is applied. So is the deletion of a row that others refer to.
///
/// Records that cannot be placed at once wait until ``finish()``: those with a unique value that
/// another row has, and deletions of rows that others may refer to.
struct RowPlacing {
  let tables: ReplicaTables
  let schema: ReplicaSchema
  /// True if triggers of the application run.
  let firesTriggers: Bool
  /// True if the records that are missing may be rows that the space never had.
  var mayDeleteOwnRows = false
  /// The tables with a pending unique index of this file. Rows that come count as touched, because another copy may
  /// have sent them without their values in the index.
  let unclaimed: [ReplicaTable]
  /// The records that wait, in the order in which they came.
  var waiting: [RowPlacement] = []
  /// Their positions.
  var waitingOffsets: [SyncKey: Int] = [:]
  /// The rows that others may refer to and that had to go, because they were local additions that the
  /// table cannot have.
  var removed: [RowPlacement] = []
  /// The rows that the space deleted and that stay, because local edits need them.
  var kept: [RowPlacement] = []
  /// The rows that may refer to a row which local edits have deleted.
  var orphans: [(foreignKey: ForeignKey, key: [FieldValue])] = []
  /// The rows that local edits deleted and that are back, because rows of the space refer to them.
  var revived: [RowPlacement] = []
  /// For the numbers of foreign keys, the deleted rows that they may refer to.
  var deletedParents: [Int: DeletedParents] = [:]
  /// The number of rows that were written.
  private(set) var writtenCount = 0
  /// The kept edits that are rows which the space never had.
  private(set) var refusedInsertions: [KeptEdit.ID] = []

  init(_ tables: ReplicaTables, _ schema: ReplicaSchema) throws {
    self.tables = tables
    self.schema = schema
    unclaimed = try schema.unclaimedTables(of: tables.spaceTables())
    firesTriggers = try tables.foreignTriggers().areOnTables
  }

  /// Places a record, now or at ``finish()``.
  mutating func place(_ placement: RowPlacement) throws {
    if try !mayBeReferenced(placement) && isStored(placement) {
      try complete(placement)
    } else {
      wait(placement)
    }
  }

  /// The placement of a record that waits; `nil` if it does not wait.
  func waitingPlacement(of key: SyncKey) -> RowPlacement? {
    waitingOffsets[key].map { waiting[$0] }
  }

  /// Lets a record wait, in the place of the one that came before if it comes a second time.
  mutating func wait(_ placement: RowPlacement) {
    if let offset = waitingOffsets[placement.syncKey] {
      waiting[offset] = placement
    } else {
      waitingOffsets[placement.syncKey] = waiting.count
      waiting.append(placement)
    }
  }

  /// True if the space has deleted a row that others may refer to.
  private func mayBeReferenced(_ placement: RowPlacement) -> Bool {
    placement.result == nil && !placement.isRejected && !placement.row.row.isMissing
      && !schema.foreignKeys(to: placement.table).isEmpty
  }

  /// Writes the row of a placement; `false` if the table forbids it. Triggers of the application run unless they prevent
  /// it: they guard the edits that the application makes.
  func isStored(_ placement: RowPlacement) throws -> Bool {
    let store = { try self.store(placement) }
    guard firesTriggers else { return try tables.objection(to: store) == nil }
    let error = try tables.objection { try tables.connection.savepoint(store) }
    guard let error else { return true }
    // Another row has a unique value, unless it is one of those that triggers write.
    if error.isAboutUniqueness, placement.result != nil { return false }
    return try tables.objection { try tables.quietly(store) } == nil
  }

  /// Writes the row of a placement, without triggers if one of them has prevented it.
  private func store(_ placement: RowPlacement) throws {
    let (table, key) = (placement.table, placement.key)
    try tables.store(placement.result, over: placement.row.row, table, key)
    guard firesTriggers else { return }
    let row = try tables.row(table, key).row
    if placement.isWritten(in: row) { return }
    try tables.quietly { try tables.store(placement.result, over: row, table, key) }
  }

  /// Notes the local edits of a row, which loses them.
  ///
  /// - Parameters:
  ///   - others: The values of the row in columns that are not synchronized.
  ///   - rest: What stays of a row that the space never had; `nil` if it goes.
  mutating func rejectEdits(
    of placement: RowPlacement, _ reason: String, others: Record?, newRowKeeps rest: Record? = nil
  ) throws {
    let (table, key) = (placement.table, placement.key)
    var content = placement.row.local ?? placement.result
    var base = placement.row.seenBase ?? rest
    if base != nil, base.hasSameStorage(as: content), placement.remote != nil {
      // The edits are of columns that the table got or lost.
      (content, base) = (placement.result, placement.remote)
    }
    let isInsertion = base == nil && placement.remote == nil
    if isInsertion, let record = content {
      content = try tables.takeDroppedEdits(of: table, key, into: record)
    }
    // An edit of a column that the table has again is one of those that are kept.
    for edit in try tables.droppedEdits(of: table, key)
    where edit.isKnown && !edit.isMissing(in: table)
      && edit.value.hasSameStorage(as: content?[edit.name.text] ?? .null)
    {
      try tables.forget(edit, table, key)
    }
    // A row that the space does not have is written as a whole when it comes back.
    let id = try tables.reject(
      placement.syncKey, reason, content,
      from: base.hasSameStorage(as: content) ? nil : base, others: others)
    if isInsertion { refusedInsertions.append(id) }
  }

  /// Takes note that a row was written, and makes the record of the space its base.
  mutating func complete(_ placement: RowPlacement) throws {
    if !placement.row.local.hasSameStorage(as: placement.result) {
      writtenCount += 1
      if placement.result == nil, placement.isRejected,
        !schema.foreignKeys(to: placement.table).isEmpty
      {
        removed.append(placement)
      }
    }
    try noteMissingParents(
      of: placement.table, placement.key, placement.result, besides: placement.row.present)
    try makeBase(placement)
  }
}

// MARK: - Making the base

extension RowPlacing {
  /// Makes the record of the space the base of its row.
  private func makeBase(_ placement: RowPlacement) throws {
    let (table, key) = (placement.table, placement.key)
    let parked = placement.unstorableFields
    var after = ReplicaRow.Current(placement.result, table)
    if parked != nil || table.hasDefaults(for: placement.result) {
      after = try tables.row(table, key).row
    }
    var shadow = shadow(placement, after, parked)
    if shadow == nil, case .values(let values) = after,
      unclaimed.contains(where: { $0 === table })
    {
      shadow = .values(values)
    }
    try tables.setShadow(shadow, table, key)
    if parked != nil || placement.row.parked != nil {
      try tables.park(parked.map { ParkedFields(fields: $0, extent: .fields) }, placement.syncKey)
    }
  }

  /// The former version that the row has from now on; `nil` if it is the record of the space.
  ///
  /// Where a column alters a value of the space, the former version has the altered value. So the
  /// column counts as edited only after another value is written to it.
  private func shadow(
    _ placement: RowPlacement, _ after: ReplicaRow.Current, _ parked: Record?
  ) -> ReplicaRow.Shadow? {
    let table = placement.table
    let isAsWritten = placement.result.map { after.holds($0, table, except: parked) }
    if !placement.hasEdits, isAsWritten ?? after.isMissing { return nil }
    guard let remote = placement.remote else { return .absent }
    var former = table.values(of: remote)
    if let parked, let result = placement.result, case .values(let values) = after {
      for (offset, name) in table.columnNames.enumerated()
      where parked.layout.offset(of: name) != nil
        && result[name].hasSameStorage(as: remote[name])
      {
        former[offset] = values[offset]
      }
    }
    return .values(former)
  }
}

extension RowPlacement {
  /// The fields that the table cannot hold as they are.
  fileprivate var unstorableFields: Record? { (remote ?? result).flatMap(table.unstorableFields) }

  /// True if the row holds the record that it is to hold, apart from fields that the table alters.
  fileprivate func isWritten(in row: ReplicaRow.Current) -> Bool {
    result.map { row.holds($0, table, except: table.alteredFields(of: $0)) } ?? row.isMissing
  }
}

extension ReplicaRow.Current {
  /// The row of a record, if its table alters no value.
  init(_ record: Record?, _ table: ReplicaTable) {
    self = record.map { .values(table.values(of: $0)) } ?? .missing
  }

  var isMissing: Bool {
    if case .missing = self { true } else { false }
  }

  /// True if there is a row, and it has another value than before, or is new.
  func differs(from former: Self) -> Bool {
    guard case .values(let values) = self else { return false }
    guard case .values(let old) = former else { return true }
    return !zip(values, old).allSatisfy { $0.hasSameStorage(as: $1) }
  }

  /// True if the row holds a record, apart from the given fields.
  func holds(_ record: Record, _ table: ReplicaTable, except parked: Record?) -> Bool {
    guard case .values(let values) = self else { return false }
    let wanted = table.values(of: record)
    return values.indices.allSatisfy { offset in
      parked?.layout.offset(of: table.columnNames[offset]) != nil
        || values[offset].hasSameStorage(as: wanted[offset])
    }
  }
}

extension DatabaseError {
  /// True if another row has a value that must be unique: SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY or
  /// _ROWID.
  var isAboutUniqueness: Bool { [2_067, 1_555, 2_579].contains(code.rawValue) }

  /// True if the table can never have the row: a constraint, a type or a trigger forbids it.
  var forbidsRow: Bool { [.constraint, .mismatch, .tooBig].contains(code.primary) }
}
