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
  /// The foreign keys that refer to each table, by its name in lower case.
  let references: [String: [ForeignKey]]
  /// The foreign keys of each table.
  let ownReferences: [ObjectIdentifier: [ForeignKey]]
  /// The tables with a pending unique index of this file. Rows that come count as touched, because another copy may
  /// have sent them without their values in the index.
  private let unclaimed: [ReplicaTable]
  /// The records that wait, in the order in which they came.
  var waiting: [RowPlacement] = []
  /// Their positions.
  var waitingOffsets: [SyncKey: Int] = [:]
  /// The rows that others may refer to and that had to go, because they were local additions that the
  /// table cannot have.
  var removed: [RowPlacement] = []
  /// The rows that the space deleted and that stay, because local edits need them.
  var kept: [RowPlacement] = []
  /// The rows that refer to no row, of which local edits may have deleted the one that they refer to.
  var orphans: [(foreignKey: ForeignKey, key: [FieldValue])] = []
  /// The rows that local edits deleted and that are back, because rows of the space refer to them.
  var revived: [RowPlacement] = []
  /// For each table that was looked at, whether local edits have deleted rows of it.
  var knownDeletions: [ObjectIdentifier: Bool] = [:]
  /// For the numbers of foreign keys, the deleted rows that they may refer to.
  var deletedParents: [Int: DeletedParents] = [:]
  /// The number of rows that were written.
  private(set) var writtenCount = 0
  /// The number of local edits that were noted in `tandem_kept`.
  private(set) var rejectedCount = 0
  /// Those of them that are rows which the space never had.
  private(set) var refusedInsertions: [KeptEdit.ID] = []

  /// - Parameter foreignKeys: Those that refer to the synchronized tables.
  init(
    _ tables: ReplicaTables, firesTriggers: Bool, foreignKeys: [ForeignKey],
    unclaimed: [ReplicaTable] = []
  ) {
    self.tables = tables
    self.firesTriggers = firesTriggers
    self.unclaimed = unclaimed
    references = Dictionary(grouping: foreignKeys) { $0.parent.name.lowercased() }
    let attached = foreignKeys.compactMap { key in key.attachedChild.map { ($0, key) } }
    ownReferences = Dictionary(grouping: attached) { ObjectIdentifier($0.0) }
      .mapValues { $0.map(\.1) }
  }

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
  /// noted in `tandem_kept`, and the row gets the space's version. If a constraint forbids that
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
    try setAside(placingWithoutLosses(placement), reason)
    return true
  }

  /// Writes the row of a placement; returns the error of a constraint that forbids it. Triggers of the
  /// application run unless they prevent it.
  func obstacle(to placement: RowPlacement) throws -> DatabaseError? {
    do {
      if firesTriggers {
        try tables.connection.savepoint { try store(placement) }
      } else {
        try store(placement)
      }
      return nil
    } catch let error as DatabaseError
      where error.forbidsRow && tables.connection.isInTransaction
    {
      guard firesTriggers, !error.isAboutUniqueness || placement.result == nil else { return error }
    }
    do {
      try tables.quietly { try store(placement) }
      return nil
    } catch let error as DatabaseError where error.forbidsRow {
      return error
    }
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
  /// - Parameter others: The values of the row in columns that are not synchronized.
  mutating func rejectEdits(
    of placement: RowPlacement, _ reason: String, others: Record?
  ) throws {
    let content = placement.row.local ?? placement.result
    let base = placement.row.seenBase
    // A row that the space does not have is written as a whole when it comes back.
    let id = try tables.reject(
      placement.syncKey, reason, content,
      from: base.hasSameStorage(as: content) ? nil : base, others: others)
    rejectedCount += 1
    if base == nil, placement.remote == nil { refusedInsertions.append(id) }
  }

  /// Takes note that a row was written, and makes the record of the space its base.
  mutating func complete(_ placement: RowPlacement) throws {
    if !placement.row.local.hasSameStorage(as: placement.result) {
      writtenCount += 1
      if placement.result == nil, placement.isRejected, !references(to: placement.table).isEmpty {
        removed.append(placement)
      }
    }
    try noteMissingParents(
      of: placement.table, placement.key, placement.result, besides: placement.row.present)
    try settle(placement)
  }
}

// MARK: - Making the base

extension RowPlacing {
  /// Makes the record of the space the base of its row.
  private func settle(_ placement: RowPlacement) throws {
    let (table, key) = (placement.table, placement.key)
    let parked = placement.unstorableFields
    var after = ReplicaRow.Current(placement.result, table)
    if parked != nil || table.hasDefaults(for: placement.result) {
      after = try tables.row(table, key).row
    }
    var shadow = shadow(placement, after, parked)
    if shadow == nil, let remote = placement.remote, unclaimed.contains(where: { $0 === table }) {
      shadow = .values(table.values(of: remote))
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
