internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension RowPlacing {
  /// Places the records that wait, and tries versions again that were set aside. Call it when all
  /// records of a pull have come.
  ///
  /// - Parameter triesSetAside: False if nothing has come from the space.
  /// - Complexity: O(*n* log *n*) in the number of records, unless triggers of the application run.
  mutating func finish(triesSetAside: Bool = true) throws {
    let setAside = triesSetAside ? try tables.setAsideKeys() : []
    for key in setAside where waitingOffsets[key] == nil {
      if let placement = try setAsidePlacement(of: key) { wait(placement) }
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

  /// The placement of a version that was set aside; `nil` if a local edit has replaced it.
  private func setAsidePlacement(of key: SyncKey) throws -> RowPlacement? {
    guard let table = schema.table(named: key.table), table.keeps(key: key.id) else { return nil }
    let row = try tables.row(table, key.id)
    guard let parked = row.parked, !row.isUnreadable else { return nil }
    // An edit has revived the row, or is of the fields that the row does not have. It is sent.
    let isReplaced = parked.isDeletion ? row.local != nil : row.isWrittenAnew || row.unseen != nil
    if isReplaced { return nil }
    return RowPlacement(table: table, key: key.id, row: row, remote: row.base, result: row.local)
  }

  /// Places a version that was set aside if the table accepts it. No other row is changed.
  mutating func placeSetAside(_ key: SyncKey) throws {
    if let placement = try setAsidePlacement(of: key) {
      if placement.result == nil {
        wait(placement)
        try decideDeletions()
      } else if try isStored(placement) {
        try complete(placement)
      }
    }
  }

  private mutating func takeWaiting() -> [RowPlacement] {
    defer {
      waiting = []
      waitingOffsets = [:]
    }
    return waiting
  }

  /// Reads the row of a placement as it is now. The former version is the one that it had.
  private func refresh(_ placement: inout RowPlacement) throws {
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
      return try setAside(placingWithoutLosses(placement), obstacle)
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

// MARK: - Rows that others refer to

extension RowPlacing {
  /// Deletes the rows that wait because the space deleted them, except for those that other rows still
  /// refer to. These stay:
  ///
  /// - If a local edit made the reference, and was not sent, the deletion is overruled. The row is
  ///   revived by an ordinary edit, which the next commit contains.
  /// - Otherwise the deletion is set aside, and nothing is sent.
  ///
  /// A reference does not keep a row if a record that waits takes the row's place: its values are equal
  /// by the collations of the parent, as if only the letters of a name have changed.
  ///
  /// A row whose parent this file has never had stays without it: a replica that has the parent
  /// keeps it.
  ///
  /// - Complexity: O(*n* log *n*) in the number of deletions, of rows that refer to them, of records
  ///   that wait and of rows with local edits.
  mutating func decideDeletions() throws {
    let others = waiting.filter { $0.result != nil }
    let deletions = waiting.filter { $0.result == nil }
    guard !deletions.isEmpty else { return }
    var decision = DeletionDecision(deletions, tables, schema)
    try decision.decide(among: others)
    _ = takeWaiting()
    for placement in others { wait(placement) }
    let actions = try declaredActions(for: deletions)
    for (placement, fate) in zip(deletions, decision.fates) {
      var placement = placement
      try refresh(&placement)
      switch fate {
      case .revived: try keep(placement)
      case .stays where placement.remote == nil: try setDeletionAside(placement)
      case .stays:
        // A local edit has deleted the row; it gives way to the rows that refer to it.
        placement.result = placement.remote
        try place(placement)
      case .goes:
        let deleted = try actions?.values(
          of: placement.table.name, where: placement.table.hasKey, placement.key)
        let isDeleted = try isStored(placement)
        precondition(isDeleted, "without triggers, nothing forbids a deletion")
        try complete(placement)
        if let deleted { try actions?.run(for: deleted) }
      }
    }
  }

  /// What tables that are not synchronized declare for deletions; `nil` if nothing.
  private func declaredActions(for deletions: [RowPlacement]) throws -> DeclaredActions? {
    let areDeclared = deletions.contains { deletion in
      schema.foreignKeys(to: deletion.table).contains {
        $0.attachedChild == nil && $0.action != nil
      }
    }
    guard areDeclared else { return nil }
    return try DeclaredActions(tables, schema)
  }

  /// Makes the deletion of the space the base of a row that stays.
  private mutating func keep(_ placement: RowPlacement) throws {
    var placement = placement
    placement.result = placement.row.local ?? placement.row.present
    try complete(placement)
    if placement.result != nil { kept.append(placement) }
  }

  /// Keeps a row without sending it.
  private func setDeletionAside(_ placement: RowPlacement) throws {
    try tables.setShadow(nil, placement.table, placement.key)
    try tables.park(
      placement.row.row.isMissing
        ? nil : .deletion("rows of this file refer to it", of: placement.row), placement.syncKey)
  }

  /// Removes the references to a row that is gone: the table cannot have it, or the space refused it. A row of
  /// a synchronized table that refers to it by a local edit gets `NULL` if its foreign key says so. Otherwise it
  /// goes back to the space's version, and a new row goes too. All of them are noted in `tandem_kept`.
  ///
  /// Rows of other tables stay as they are.
  private mutating func removeReferences(to parent: RowPlacement) throws {
    guard let record = parent.row.local,
      case .missing = try tables.row(parent.table, parent.key).row
    else { return }
    for foreignKey in schema.foreignKeys(to: parent.table) {
      guard let child = foreignKey.attachedChild,
        let values = foreignKey.values(of: record, parent.key)
      else { continue }
      let reason =
        "it refers to a row of \(parent.table.name) that is not there any more, "
        + parent.syncKey.idText
      for key in try tables.references(foreignKey, to: values) {
        let row = try tables.row(child, key)
        guard !row.isUnreadable, let local = row.local else { continue }
        // A record of the space stays as it is: it waits for its parent.
        if let base = row.base, foreignKey.refers(base, key, to: values) { continue }
        // Another row may have the value that it refers to.
        if try !tables.parents(foreignKey, of: local, key).isEmpty { continue }
        var placement = RowPlacement(
          table: child, key: key, row: row, remote: row.base, result: row.base)
        try rejectEdits(of: placement, reason, others: try tables.otherValues(child, key))
        if foreignKey.action == .setNull {
          placement.result = foreignKey.withoutReference(local)
        }
        placement.isRejected = true
        try place(placement)
      }
    }
  }
}
