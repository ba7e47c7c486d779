internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension RowPlacing {
  /// Places the records that wait. Call it when all records of a pull have come.
  ///
  /// - Complexity: O(*n* log *n*) in the number of records, unless triggers of the application run.
  mutating func finish() throws {
    try decideDeletions()
    while true {
      if !waiting.isEmpty {
        let count = waiting.count
        // Rows that move by one place each are free of each other in one direction.
        for var placement in takeWaiting().reversed() {
          try refresh(&placement)
          try place(placement)
        }
        if waiting.count > count / 2 { try contest() }
      } else if let row = removed.popLast() {
        try removeReferences(to: row)
      } else {
        return
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

  /// Places all records that wait, together.
  private mutating func contest() throws {
    var contest = try RowContest(tables, takeWaiting())
    try contest.run(firingTriggers: firesTriggers)
    for entry in contest.rejections {
      try reject(entry.key, entry.reason, entry.content, others: entry.others)
    }
    for (placement, obstacle, others) in contest.placements {
      if let obstacle {
        try parkWhole(placement, obstacle, others: others)
      } else {
        try complete(placement)
      }
    }
  }
}

// MARK: - Rows that others refer to

extension RowPlacing {
  /// Deletes the rows that the space deleted, except for those that other rows still refer to: these
  /// stay, as an ordinary edit, which the next commit contains.
  ///
  /// A row whose parent this file has never had stays without it: a replica that has the parent
  /// keeps it.
  private mutating func decideDeletions() throws {
    let others = waiting.filter { $0.result != nil }
    var rest = waiting.filter { $0.result == nil }
    guard !rest.isEmpty else { return }
    var doomed = Set(rest.map(\.syncKey))
    // A row that waits counts as it is going to be, not as it is.
    let waitingKeys = Set(others.map(\.syncKey))
    // A row that stays keeps the rows that it refers to, so the search is repeated.
    var isStable = false
    while !isStable {
      isStable = true
      var unreferenced: [RowPlacement] = []
      for placement in rest.reversed() {
        let isReferenced = try isReferenced(placement, byOneOf: others) {
          $0 != placement.syncKey && !doomed.contains($0) && !waitingKeys.contains($0)
        }
        if isReferenced {
          doomed.remove(placement.syncKey)
          isStable = false
          try keep(placement)
        } else {
          unreferenced.append(placement)
        }
      }
      rest = unreferenced
    }
    _ = takeWaiting()
    for placement in others { replaceWaiting(placement) }
    for var placement in rest {
      try refresh(&placement)
      // A deletion breaks no unique index, so it does not wait.
      _ = try isPlaced(&placement)
    }
  }

  /// Makes the deletion of the space the base of a row that stays.
  private mutating func keep(_ placement: RowPlacement) throws {
    var placement = placement
    try refresh(&placement)
    placement.result = placement.row.local
    try complete(placement)
    if placement.result != nil { kept.append(placement) }
  }

  /// True if a row that is counted, or a record that waits, refers to the row of a placement.
  private func isReferenced(
    _ placement: RowPlacement, byOneOf others: [RowPlacement],
    orRow isCounted: (SyncKey) -> Bool
  ) throws -> Bool {
    guard let record = placement.row.local else { return false }
    for foreignKey in references(to: placement.table) {
      guard let values = foreignKey.values(of: record, placement.key) else { continue }
      let isWaiting = others.contains { other in
        guard other.table === foreignKey.attachedChild, let result = other.result else {
          return false
        }
        return foreignKey.refers(result, other.key, to: values)
      }
      if isWaiting { return true }
      if try tables.hasReference(foreignKey, to: values, where: isCounted) { return true }
    }
    return false
  }

  /// Removes the references to a row that is gone: the table cannot have it, or the space refused it.
  /// A row of a synchronized table that refers to it gets `NULL` if its foreign key says so, or its
  /// former parent if a local edit chose the new one. Otherwise it goes too. All of them are noted in
  /// `tandem_rejected`.
  ///
  /// Rows of other tables stay as they are: Tandem never changes them.
  private mutating func removeReferences(to parent: RowPlacement) throws {
    guard let record = parent.row.local,
      case .missing = try tables.row(parent.table, parent.key).row
    else { return }
    for foreignKey in references(to: parent.table) {
      guard let child = foreignKey.attachedChild,
        let values = foreignKey.values(of: record, parent.key)
      else { continue }
      let reason =
        "it refers to a row of \(parent.table.name) that is not there any more, "
        + parent.syncKey.idText
      for (key, row, local) in try references(foreignKey, to: values) {
        try reject(child.syncKey(key), reason, local)
        var placement = RowPlacement(
          table: child, key: key, row: row, remote: row.base, result: nil, isRejected: true)
        if foreignKey.setsNull {
          placement.result = foreignKey.withoutReference(local)
        } else if let base = row.base, !foreignKey.refers(base, key, to: values) {
          placement.result = base
        }
        try place(placement)
      }
      // A constraint may have prevented the change.
      for (key, row, _) in try references(foreignKey, to: values)
      where waitingOffsets[child.syncKey(key)] == nil {
        try place(
          RowPlacement(
            table: child, key: key, row: row, remote: row.base, result: nil, isRejected: true))
      }
    }
  }

  /// The rows that refer to a row which is gone, without those that stay.
  private func references(
    _ foreignKey: ForeignKey, to values: [FieldValue]
  ) throws -> [(key: [FieldValue], row: ReplicaRow, local: Record)] {
    guard let child = foreignKey.attachedChild else { return [] }
    return try tables.references(foreignKey, to: values).compactMap { key in
      let row = try tables.row(child, key)
      guard !row.isUnreadable, let local = row.local else { return nil }
      let isOfSpace = row.base.map { foreignKey.refers($0, key, to: values) } ?? false
      return isOfSpace && keepsReferencesOfSpace ? nil : (key, row, local)
    }
  }
}
