internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Versions of the space that a table does not accept.

extension RowPlacing {
  /// Sets the space's version of a record aside, which the table does not accept. Its row stays as it
  /// was, with its local edits if they are of other fields. Other edits are rejected. A record without a
  /// row is kept beside the table.
  ///
  /// - Parameters:
  ///   - others: The values of the row in columns that are not synchronized, if it has been removed.
  ///   - hasRow: False if the row has been removed.
  mutating func setAside(
    _ placement: RowPlacement, _ reason: String, others: Record? = nil, hasRow: Bool = true
  ) throws {
    var placement = placement
    try noteMissingParents(
      of: placement.table, placement.key, placement.remote,
      besides: placement.row.row.isMissing ? nil : placement.row.base)
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
      if hasRow {
        try dropEdits(&placement)
        if let parked = placement.withheld(reason) { return try keepRow(of: placement, parked) }
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

  /// Gives a row its former version back. If there is none, or a constraint forbids it, the row stays as
  /// it is, because others may refer to it. In either case, its values are no edits any more.
  private func dropEdits(_ placement: inout RowPlacement) throws {
    defer { placement.row.shadow = nil }
    guard case .values(let former)? = placement.row.shadow else { return }
    let (table, key) = (placement.table, placement.key)
    let record = Record(uncheckedLayout: table.layout, values: former)
    do {
      try tables.quietly { try tables.store(record, over: placement.row.row, table, key) }
      placement.row.row = .values(former)
    } catch let error as DatabaseError where error.forbidsRow {}
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
    try restoreDisturbed()
    let row = try tables.row(table, key.id)
    guard let parked = row.parked, parked.reason != nil, !row.isUnreadable else { return true }
    switch (parked.extent, row.row) {
    case (.deletion, _):
      wait(RowPlacement(table: table, key: key.id, row: row, remote: nil, result: nil))
      try decideDeletions()
      try restoreDisturbed()
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
  /// The fields in which the row differs from the space's version. `nil` if base and local edits could not
  /// be computed from these fields, so that the row cannot stay.
  fileprivate func withheld(_ reason: String) -> ParkedFields? {
    guard case .values = row.row, let remote, let fields = row.fieldsMissing(of: remote) else {
      return nil
    }
    let parked = ParkedFields(fields: fields, extent: .fields, reason: reason)
    var after = row
    after.parked = parked
    return after.base.hasSameStorage(as: remote) && after.local.hasSameStorage(as: result)
      ? parked : nil
  }
}
