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
  /// `tandem_rejected`.
  var isRejected = false

  var syncKey: SyncKey { table.syncKey(key) }

  /// True if local edits remain in the row.
  var hasEdits: Bool { !result.hasSameStorage(as: remote) }
}

/// Writes records of the space into rows, and makes them the base.
///
/// Afterwards a row is touched only if it differs from the record of the space because of local
/// edits. **Receiving makes no edit:** a version of the space that a table does not accept is set
/// aside, and the row stays as it was. Nothing of this is sent. The version is tried again whenever a
/// pull is applied. So is the deletion of a row that others refer to.
///
/// Records that cannot be placed at once wait until ``finish()``: those with a unique value that
/// another row has, and deletions of rows that others may refer to.
struct RowPlacing {
  let tables: ReplicaTables
  /// True if triggers of the application run.
  let firesTriggers: Bool
  /// Undoes what triggers of the application change in synchronized tables; `nil` if they change none.
  let effects: TriggerEffects?
  /// The foreign keys that refer to each table, by its name in lower case.
  let references: [String: [ForeignKey]]
  /// The records that wait, in the order in which they came.
  var waiting: [RowPlacement] = []
  /// Their positions.
  var waitingOffsets: [SyncKey: Int] = [:]
  /// The rows that others may refer to and that had to go, because they were local additions that the
  /// table cannot have.
  var removed: [RowPlacement] = []
  /// The rows that the space deleted and that stay, because local edits need them.
  var kept: [RowPlacement] = []
  /// The number of rows that were written.
  private(set) var writtenCount = 0
  /// The number of local edits that were noted in `tandem_rejected`.
  private(set) var rejectedCount = 0

  /// - Parameter foreignKeys: Those that refer to the synchronized tables.
  init(_ tables: ReplicaTables, firesTriggers: Bool, foreignKeys: [ForeignKey]) throws {
    self.tables = tables
    effects = firesTriggers ? try TriggerEffects(tables) : nil
    self.firesTriggers = firesTriggers
    references = Dictionary(grouping: foreignKeys) { $0.parent.name.lowercased() }
  }

  /// Ends the placing of rows.
  func end() throws { try effects?.drop() }

  /// The foreign keys that refer to a table.
  func references(to table: ReplicaTable) -> [ForeignKey] {
    references[table.name.lowercased()] ?? []
  }

  /// Places a record, now or at ``finish()``.
  mutating func place(_ placement: RowPlacement) throws {
    var placement = placement
    if mayBeReferenced(placement) {
      wait(placement)
    } else if try !isPlaced(&placement) {
      wait(placement)
    }
  }

  /// The placement of a record that waits; `nil` if it does not wait.
  func waitingPlacement(of key: SyncKey) -> RowPlacement? {
    waitingOffsets[key].map { waiting[$0] }
  }

  /// Replaces the placement of a record that waits, as when the record comes a second time.
  mutating func replaceWaiting(_ placement: RowPlacement) {
    guard let offset = waitingOffsets[placement.syncKey] else { return wait(placement) }
    waiting[offset] = placement
  }

  mutating func wait(_ placement: RowPlacement) {
    waitingOffsets[placement.syncKey] = waiting.count
    waiting.append(placement)
  }

  /// True if the space has deleted a row that others may refer to.
  private func mayBeReferenced(_ placement: RowPlacement) -> Bool {
    placement.result == nil && !placement.isRejected && !placement.row.row.isMissing
      && !references(to: placement.table).isEmpty
  }

  /// Places a record; `false` if another row has one of its unique values.
  ///
  /// A trigger of the application that forbids a version does not run: it guards the edits that the
  /// application makes. If a constraint forbids local edits beside the space's version, the edits are
  /// noted in `tandem_rejected`, and the row gets the space's version. If a constraint forbids that
  /// version, it is set aside.
  mutating func isPlaced(_ placement: inout RowPlacement) throws -> Bool {
    guard let found = try obstacle(to: placement) else {
      try complete(placement)
      return true
    }
    if found.isAboutUniqueness { return false }
    var reason = found.message
    if placement.hasEdits {
      var plain = placement
      plain.result = placement.remote
      let others = try tables.otherValues(placement.table, placement.key)
      if let found = try obstacle(to: plain) {
        if found.isAboutUniqueness { return false }
        reason = found.message
      } else {
        plain.isRejected = true
        try rejectEdits(of: placement, reason, others: others)
        try complete(plain)
        return true
      }
    }
    try setAside(placement, reason)
    return true
  }

  /// Writes the row of a placement; returns the error of a constraint that forbids it. Triggers of the
  /// application run unless they prevent it.
  func obstacle(to placement: RowPlacement) throws -> DatabaseError? {
    let write = {
      try self.tables.store(
        placement.result, over: placement.row.row, placement.table, placement.key)
    }
    do {
      try effects.undoing(besides: placement.table, placement.key, write)
      return nil
    } catch let error as DatabaseError
      where error.forbidsRow && tables.connection.isInTransaction
    {
      guard firesTriggers, !error.isAboutUniqueness || placement.result == nil else { return error }
    }
    do {
      try tables.quietly(write)
      return nil
    } catch let error as DatabaseError where error.forbidsRow {
      return error
    }
  }

  /// Notes the local edits of a row, which loses them.
  ///
  /// - Parameter others: The values of the row in columns that are not synchronized.
  mutating func rejectEdits(
    of placement: RowPlacement, _ reason: String, others: Record?
  ) throws {
    let content = placement.row.local ?? placement.result
    let base = placement.row.base
    // A row that the space does not have is written as a whole when it comes back.
    try tables.reject(
      placement.syncKey, reason, content,
      from: base.hasSameStorage(as: content) ? nil : base, others: others)
    rejectedCount += 1
  }

  /// Takes note that a row was written, and makes the record of the space its base.
  mutating func complete(_ placement: RowPlacement) throws {
    if !placement.row.local.hasSameStorage(as: placement.result) {
      writtenCount += 1
      if placement.result == nil, placement.isRejected, !references(to: placement.table).isEmpty {
        removed.append(placement)
      }
    }
    try settle(placement)
  }

  /// Makes a record of the space the base of a row that stays as it is.
  func makeBase(_ placement: RowPlacement) throws {
    let former = placement.remote.map { ReplicaRow.Shadow.values(placement.table.values(of: $0)) }
    try tables.setShadow(former ?? .absent, placement.table, placement.key)
  }
}

// MARK: - Versions that a table does not accept

extension RowPlacing {
  /// Sets the space's version of a record aside, which the table does not accept. Its row stays as it
  /// was, with its local edits if they are of other fields. A record without a row is kept beside the
  /// table.
  ///
  /// - Parameters:
  ///   - others: The values of the row in columns that are not synchronized, if it has been removed.
  ///   - hasRow: False if the row has been removed.
  mutating func setAside(
    _ placement: RowPlacement, _ reason: String, others: Record? = nil, hasRow: Bool = true
  ) throws {
    var placement = placement
    if hasRow, let parked = placement.withheld(reason) {
      return try keepRow(of: placement, parked)
    }
    if placement.hasEdits || !placement.row.local.hasSameStorage(as: placement.row.base),
      placement.row.local != nil
    {
      if !placement.isRejected {
        try rejectEdits(
          of: placement, reason,
          others: try others ?? tables.otherValues(placement.table, placement.key))
      }
      placement.result = placement.remote
      if hasRow, try returnsToBase(&placement), let parked = placement.withheld(reason) {
        return try keepRow(of: placement, parked)
      }
    }
    try parkWhole(placement, reason, others: others)
  }

  /// Keeps the row of a placement as it is, beside the fields of the space's version that it lacks.
  private func keepRow(of placement: RowPlacement, _ parked: ParkedFields) throws {
    let shadow = placement.hasEdits ? placement.row.shadow : nil
    try tables.setShadow(shadow, placement.table, placement.key)
    try tables.park(parked, placement.syncKey)
  }

  /// Takes the local edits out of a row; `false` if there is no former version, or a constraint forbids
  /// it.
  private func returnsToBase(_ placement: inout RowPlacement) throws -> Bool {
    guard case .values(let former)? = placement.row.shadow else { return false }
    let (table, key) = (placement.table, placement.key)
    let record = Record(uncheckedLayout: table.layout, values: former)
    do {
      try tables.quietly { try tables.store(record, over: placement.row.row, table, key) }
    } catch let error as DatabaseError where error.forbidsRow {
      return false
    }
    placement.row.row = .values(former)
    return true
  }

  /// Keeps a record beside its table, which cannot have it as a row. It is no deletion, so no
  /// trigger of the application runs.
  private func parkWhole(_ placement: RowPlacement, _ reason: String, others: Record?) throws {
    let (table, key) = (placement.table, placement.key)
    let others = try others ?? tables.otherValues(table, key)
    try tables.quietly { try tables.store(nil, over: placement.row.row, table, key) }
    try tables.setShadow(nil, table, key)
    try tables.park(
      placement.remote.map {
        ParkedFields(fields: $0, extent: .record, reason: reason, others: others)
      }, placement.syncKey)
  }

  /// Tries to place versions that were set aside. One that is still not accepted stays as it is.
  ///
  /// - Complexity: O(*n*) attempts in the number of versions, and as many again for each row of a
  ///   chain in which every row waits for a value of the next one.
  mutating func placeSetAside(among keys: [SyncKey]) throws {
    var keys = keys
    var count = 0
    repeat {
      count = keys.count
      keys = try keys.filter { try !isPlacedAgain($0) }
    } while !keys.isEmpty && keys.count < count
  }

  /// Tries to place a version that was set aside; `false` if the table still does not accept it.
  private mutating func isPlacedAgain(_ key: SyncKey) throws -> Bool {
    guard let table = try tables.schema().table(named: key.table), table.keeps(key: key.id) else {
      return false
    }
    let row = try tables.row(table, key.id)
    guard let parked = row.parked, parked.reason != nil, !row.isUnreadable else { return true }
    switch (parked.extent, row.row) {
    case (.deletion, _):
      wait(RowPlacement(table: table, key: key.id, row: row, remote: nil, result: nil))
      try decideDeletions()
      return try tables.parked(key) == nil
    case (.record, _), (.fields, _):
      // A row that a program wrote anew, or in these fields, is sent.
      if row.isWrittenAnew || row.unseen != nil { return true }
      let placement = RowPlacement(
        table: table, key: key.id, row: row, remote: row.base, result: row.local)
      guard try obstacle(to: placement) == nil else { return false }
      try complete(placement)
      return true
    }
  }
}

extension RowPlacement {
  /// The fields of the space's version that the row lacks as it is now; `nil` if these do not describe
  /// the version and the local edits, so that the row cannot stay.
  fileprivate func withheld(_ reason: String) -> ParkedFields? {
    let former: [FieldValue]
    switch (row.shadow, row.row) {
    case (.values(let values)?, .values), (nil, .values(let values)): former = values
    default: return nil
    }
    guard let remote else { return nil }
    var fields: [(name: String, value: FieldValue)] = []
    for (offset, name) in table.columnNames.enumerated()
    where !former[offset].hasSameStorage(as: remote[name]) {
      fields.append((name, remote[name]))
    }
    for (name, value) in zip(remote.layout.names, remote.values)
    where table.layout.offset(of: name) == nil && !value.isNull {
      fields.append((name, value))
    }
    let parked = ParkedFields(
      fields: Record(
        uncheckedLayout: RecordLayout(uniqueNames: fields.map(\.name)),
        values: fields.map(\.value)), extent: .fields, reason: reason)
    var after = row
    after.parked = parked
    return after.base.hasSameStorage(as: remote) && after.local.hasSameStorage(as: result)
      ? parked : nil
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
      try tables.park(parked.map { ParkedFields(fields: $0, extent: .fields) }, placement.syncKey)
    }
  }

  /// The row after it was written. If a trigger of the application has changed it at once, as one
  /// that notes the time of each change does, or has prevented the change, it is written again.
  ///
  /// Otherwise the change of the trigger would be a local edit, which the triggers of all other
  /// replicas would answer with edits of their own, without end. So the second time no triggers
  /// run.
  private func restored(
    _ placement: RowPlacement, _ parked: Record?
  ) throws -> ReplicaRow.Current {
    let (table, key) = (placement.table, placement.key)
    let row = try tables.row(table, key).row
    let isAsWritten =
      placement.result.map { row.holds($0, table, except: parked) } ?? row.isMissing
    guard firesTriggers, !isAsWritten else { return row }
    do {
      try tables.quietly { try tables.store(placement.result, over: row, table, key) }
    } catch let error as DatabaseError where error.forbidsRow {
      // The trigger has written another row with the same unique value.
      return row
    }
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
