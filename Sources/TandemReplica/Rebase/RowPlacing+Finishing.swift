internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension RowPlacing {
  /// Places the records that wait, and tries versions again that were withheld. Call it when all
  /// records of a pull have come.
  ///
  /// - Parameter triesWithheld: False if nothing has come from the space.
  /// - Complexity: O(*n* log *n*) in the number of records, unless triggers of the application run.
  mutating func finish(triesWithheld: Bool = true) throws {
    let withheld = triesWithheld ? try tables.withheldKeys() : []
    for key in withheld where waitingOffsets[key] == nil {
      if let placement = try withheldPlacement(of: key) { wait(placement) }
    }
    try decideDeletions()
    while true {
      if !waiting.isEmpty {
        // Others may have left the values that they wait for.
        for var placement in takeWaiting() {
          try refresh(&placement)
          try place(placement)
        }
        try exchange()
      } else if let row = removed.popLast() {
        try removeReferences(to: row)
      } else if let orphan = orphans.popLast() {
        try reviveParent(of: orphan.key, orphan.foreignKey)
      } else {
        return try recordOverruledDeletions()
      }
    }
  }

  /// The placement of a version that was withheld; `nil` if a local edit has replaced it.
  private func withheldPlacement(of key: SyncKey) throws -> RowPlacement? {
    guard let table = schema.table(named: key.table), table.stores(key: key.id) else { return nil }
    let row = try tables.row(table, key.id)
    guard let parked = row.parked, !row.isUnreadable else { return nil }
    // An edit has revived the row, or is of the fields that the row does not have. It is sent.
    let isReplaced = parked.isDeletion ? row.local != nil : row.isWrittenAnew || row.unseen != nil
    if isReplaced { return nil }
    return RowPlacement(table: table, key: key.id, row: row, remote: row.base, result: row.local)
  }

  /// Places a version that was withheld if the table accepts it. No other row is changed.
  mutating func placeWithheld(_ key: SyncKey) throws {
    if let placement = try withheldPlacement(of: key) {
      if placement.result == nil {
        wait(placement)
        try decideDeletions()
      } else if try isStored(placement) {
        try complete(placement)
      }
    }
  }

  mutating func takeWaiting() -> [RowPlacement] {
    defer {
      waiting = []
      waitingOffsets = [:]
    }
    return waiting
  }

  /// Reads the row of a placement as it is now. The former version is the one that it had.
  func refresh(_ placement: inout RowPlacement) throws {
    placement.row.row = try tables.row(placement.table, placement.key).row
  }

  /// Decides about the records that the table forbids as long as others are as they are, those of one table together.
  private mutating func exchange() throws {
    if waiting.isEmpty { return }
    var groups = Dictionary(grouping: takeWaiting()) { $0.table.name }
    for table in schema.tables {
      guard var group = groups.removeValue(forKey: table.name) else { continue }
      for offset in group.indices { try refresh(&group[offset]) }
      var exchange = try RowExchange(tables, table, group)
      // If a trigger forbids a row, the rows are right without the triggers.
      if try !firesTriggers || !isExchangedWithTriggers(&exchange) { try exchange.decide() }
      try exchange.end()
      for entry in exchange.entries { try complete(entry) }
    }
  }

  /// Decides an exchange, and writes its rows with triggers; `false` if one of them forbids a row.
  private func isExchangedWithTriggers(_ exchange: inout RowExchange) throws -> Bool {
    let start = exchange
    try tables.attempt {
      try exchange.decide()
      return false
    }
    let error = try tables.objection {
      try tables.connection.savepoint { try exchange.writeWithTriggers() }
    }
    if error != nil { exchange = start }
    return error == nil
  }

  /// Takes note of the result of a row that took part in an exchange.
  private mutating func complete(_ entry: RowExchange.Entry) throws {
    var placement = entry.placement
    if let obstacle = entry.obstacle {
      return try withhold(placingWithoutLosses(placement), obstacle)
    }
    if let loss = entry.loss {
      try rejectEdits(of: placement, loss, others: entry.others)
      placement.result = placement.remote
      placement.isRejected = true
    } else if !entry.isWaiting {
      return
    }
    try complete(placement)
  }
}
