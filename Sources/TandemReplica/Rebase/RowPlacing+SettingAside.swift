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

  /// The number of times that all versions are tried before the rows in their way are looked for, which
  /// takes about as long. A few times are enough unless rows wait for each other in a chain.
  private static let maxPassCount = 16

  /// Tries to place versions that were set aside. One that is still not accepted stays as it is.
  ///
  /// - Complexity: O(*n* log *n*) in the number of versions, also if each one waits for a value of the next.
  mutating func placeSetAside(among keys: [SyncKey]) throws {
    var keys = keys
    var (count, passCount) = (0, 0)
    repeat {
      count = keys.count
      if passCount == RowPlacing.maxPassCount {
        keys = try placeFreed(keys)
        passCount = 0
      }
      keys = try keys.filter { try !isPlacedAgain($0) }
      passCount += 1
    } while !keys.isEmpty && keys.count < count
  }

  /// Places versions, each when the row has moved whose value it needs; returns the others.
  private mutating func placeFreed(_ keys: [SyncKey]) throws -> [SyncKey] {
    var order = FreedVersions(keys)
    var holders = ValueHolders(tables)
    if firesTriggers {
      try placeFreed(&order, &holders)
    } else {
      // SQLite compiles all statements again when triggers are disabled or enabled. So this is done once.
      try tables.notingRemovedRows { try placeFreed(&order, &holders) }
    }
    try holders.drop()
    return order.rest
  }

  private mutating func placeFreed(
    _ order: inout FreedVersions, _ holders: inout ValueHolders
  ) throws {
    while true {
      let rows = try rowsInTheWay(of: order.refusedKeys, &holders)
      guard order.begin(rows) else { break }
      while let number = order.next() {
        order.note(number, isPlaced: try isPlacedAgain(order.keys[number]))
      }
    }
  }

  /// The rows that prevent each of these versions; `nil` for those that something else prevents.
  private mutating func rowsInTheWay(
    of keys: [SyncKey], _ holders: inout ValueHolders
  ) throws -> [[SyncKey]?] {
    guard !keys.isEmpty else { return [] }
    try restoreDisturbed()
    return try tables.notingRemovedRows {
      try keys.map { key in
        guard let table = try tables.schema().table(named: key.table), table.keeps(key: key.id)
        else { return nil }
        let row = try tables.row(table, key.id)
        guard let parked = row.parked, parked.extent != .deletion, !row.isUnreadable else {
          return nil
        }
        return try holders.rows(
          inTheWayOf: RowPlacement(
            table: table, key: key.id, row: row, remote: row.base, result: row.local))
      }
    }
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
