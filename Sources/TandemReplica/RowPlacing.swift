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

  var syncKey: SyncKey { table.syncKey(key) }

  /// True if local edits remain in the row.
  var hasEdits: Bool { !result.hasSameStorage(as: remote) }
}

/// Writes records of the space into rows, and makes them the base.
///
/// Afterwards a row is touched only if it differs from the record of the space, whether because of
/// local edits or because a trigger of the application changed it.
struct RowPlacing {
  let tables: ReplicaTables
  /// True if triggers of the application run.
  let firesTriggers: Bool
  /// The records that wait for a unique value that another row has.
  var blocked: [RowPlacement] = []
  var blockedKeys: Set<SyncKey> = []
  /// The number of rows that were written.
  private(set) var writtenCount = 0
  /// The number of rows that were noted in `tandem_rejected`.
  private(set) var rejectedCount = 0
  /// The rows that were deleted from tables to which others refer.
  private(set) var deleted: [(table: ReplicaTable, key: [FieldValue], record: Record)] = []
  private let referencedTables: Set<String>

  /// - Parameter referencedTables: The tables to which foreign keys refer, in lower case.
  init(_ tables: ReplicaTables, firesTriggers: Bool, referencedTables: Set<String>) {
    self.tables = tables
    self.firesTriggers = firesTriggers
    self.referencedTables = referencedTables
  }

  /// Places a record, now or at ``finish()``.
  mutating func place(_ placement: RowPlacement) throws {
    if try !isPlaced(placement) {
      blocked.append(placement)
      blockedKeys.insert(placement.syncKey)
    }
  }

  /// Places a record; `false` if another row has one of its unique values.
  mutating func isPlaced(
    _ placement: RowPlacement, by write: ((RowPlacement) throws -> Void)? = nil
  ) throws -> Bool {
    do {
      if let write {
        try write(placement)
      } else {
        try tables.store(placement.result, over: placement.row.row, placement.table, placement.key)
      }
    } catch let error as DatabaseError where error.isAboutUniqueness {
      return false
    } catch let error as DatabaseError where error.forbidsRow {
      try parkWhole(placement, error.message)
      return true
    }
    note(placement)
    try settle(placement)
    return true
  }

  private mutating func note(_ placement: RowPlacement) {
    let before = placement.row.local
    guard !before.hasSameStorage(as: placement.result) else { return }
    writtenCount += 1
    if placement.result == nil, let before,
      referencedTables.contains(placement.table.name.lowercased())
    {
      deleted.append((placement.table, placement.key, before))
    }
  }

  /// True if a record waits for a unique value.
  func isBlocked(_ key: SyncKey) -> Bool { blockedKeys.contains(key) }

  /// Makes a record of the space the base of a row that stays as it is.
  func makeBase(_ placement: RowPlacement) throws {
    let former = placement.remote.map { ReplicaRow.Shadow.values(placement.table.values(of: $0)) }
    try tables.setShadow(former ?? .absent, placement.table, placement.key)
  }

  /// Notes a row that cannot be synchronized.
  mutating func reject(_ key: SyncKey, _ reason: String, _ content: Record?) throws {
    try tables.reject(key, reason, content)
    rejectedCount += 1
  }

  /// Keeps a record beside its table, which cannot have it as a row.
  mutating func parkWhole(_ placement: RowPlacement, _ reason: String) throws {
    let (table, key) = (placement.table, placement.key)
    if placement.row.isTouched || placement.hasEdits, placement.row.local != nil {
      try reject(placement.syncKey, reason, placement.row.local)
    }
    try tables.store(nil, over: placement.row.row, table, key)
    try tables.setShadow(nil, table, key)
    try tables.park(
      placement.remote.map { ParkedFields(fields: $0, isWhole: true) }, placement.syncKey)
  }
}

// MARK: - Making the base

extension RowPlacing {
  /// Makes the record of the space the base of its row.
  private func settle(_ placement: RowPlacement) throws {
    let (table, key) = (placement.table, placement.key)
    let parked = (placement.remote ?? placement.result).flatMap(table.unstorableFields)
    var after = ReplicaRow.Current(placement.result, table)
    if firesTriggers || parked != nil || table.hasDefaults(for: placement.result) {
      after = try restored(placement, parked)
    }
    try tables.setShadow(shadow(placement, after, parked), table, key)
    if parked != nil || placement.row.parked != nil {
      try tables.park(parked.map { ParkedFields(fields: $0, isWhole: false) }, placement.syncKey)
    }
  }

  /// The row after it was written. If a trigger of the application has changed it at once, as one
  /// that notes the time of each change does, it is written again.
  ///
  /// Otherwise the change of the trigger would be a local edit, which the triggers of all other
  /// replicas would answer with edits of their own, without end. So the second time no triggers
  /// run.
  private func restored(
    _ placement: RowPlacement, _ parked: Record?
  ) throws -> ReplicaRow.Current {
    let (table, key) = (placement.table, placement.key)
    let row = try tables.row(table, key).row
    guard firesTriggers, case .values = row, let result = placement.result,
      !row.holds(result, table, except: parked)
    else { return row }
    try tables.connection.withoutTriggers { try tables.store(result, over: row, table, key) }
    return try tables.row(table, key).row
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

extension ReplicaRow.Current {
  /// The row of a record, if its table alters no value.
  init(_ record: Record?, _ table: ReplicaTable) {
    self = record.map { .values(table.values(of: $0)) } ?? .missing
  }

  var isMissing: Bool {
    if case .missing = self { true } else { false }
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
