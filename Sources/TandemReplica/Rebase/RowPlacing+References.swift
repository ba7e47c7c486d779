internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// Rows that others refer to: those that the space deleted, those that gave up, and those that local edits deleted.

extension RowPlacing {
  /// Deletes the rows that wait because the space deleted them, except for those that other rows still
  /// refer to. These stay:
  ///
  /// - If a local edit made the reference, and was not sent, the deletion is overruled. The row is
  ///   revived by an ordinary edit, which the next commit contains.
  /// - Otherwise the deletion is withheld, and nothing is sent.
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
      case .revived: try stay(placement)
      case .stays where placement.remote == nil: try withholdDeletion(placement)
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

  /// What tables that are not synchronized declare for deletions; `nil` if nothing, or if perhaps nobody has deleted the
  /// rows.
  private func declaredActions(for deletions: [RowPlacement]) throws -> DeclaredActions? {
    let areDeclared = deletions.contains { deletion in
      schema.foreignKeys(to: deletion.table).contains {
        $0.attachedChild == nil && $0.action != nil
      }
    }
    guard areDeclared, !mayDeleteOwnRows else { return nil }
    return try DeclaredActions(tables, schema)
  }

  /// Makes the deletion of the space the base of a row that stays.
  private mutating func stay(_ placement: RowPlacement) throws {
    var placement = placement
    placement.result = placement.row.local ?? placement.row.present
    try complete(placement)
    if placement.result != nil { kept.append(placement) }
  }

  /// Keeps a row without sending it.
  private func withholdDeletion(_ placement: RowPlacement) throws {
    try tables.setShadow(nil, placement.table, placement.key)
    try tables.park(
      placement.row.row.isMissing
        ? nil : .deletion("rows of this file refer to it", of: placement.row), placement.syncKey)
  }

  /// Removes the references to a row that is gone: the table cannot have it, or the space refused it. A row of
  /// a synchronized table that refers to it by a local edit goes back to the space's version. A new row goes too,
  /// unless its foreign key says that it gets `NULL`. All of them are noted in `tandem_kept`.
  ///
  /// Rows of other tables stay as they are, and so do references in columns that are not synchronized.
  mutating func removeReferences(to parent: RowPlacement) throws {
    guard let record = parent.row.local,
      case .missing = try tables.row(parent.table, parent.key).row
    else { return }
    // A row that goes by one reference does not stay without another one.
    let foreignKeys = schema.foreignKeys(to: parent.table)
    for foreignKey in foreignKeys.filter({ $0.action != .setNull })
      + foreignKeys.filter({ $0.action == .setNull })
    {
      guard let child = foreignKey.attachedChild,
        let values = foreignKey.values(of: record, parent.key)
      else { continue }
      let reason =
        "it refers to a row of \(parent.table.name) that is not there any more, "
        + parent.syncKey.idText
      for key in try tables.references(foreignKey, to: values) {
        let row = try tables.row(child, key)
        guard !row.isUnreadable, let local = row.local, foreignKey.reference(of: local, key) != nil
        else { continue }
        // A record of the space stays as it is: it waits for its parent.
        if let base = row.base, foreignKey.refers(base, key, to: values) { continue }
        // Another row may have the value that it refers to.
        if try !tables.parents(foreignKey, of: local, key).isEmpty { continue }
        let others = try tables.otherValues(child, key)
        var placement = RowPlacement(
          table: child, key: key, row: row, remote: row.base, result: row.base)
        // A new row stays without the reference, if its table has it so.
        if row.base == nil, foreignKey.action == .setNull,
          let rest = foreignKey.withoutReference(local)
        {
          placement.result = rest
          if try isStored(placement) {
            try rejectEdits(of: placement, reason, others: others, newRowKeeps: rest)
            try complete(placement)
            continue
          }
          placement.result = nil
        }
        try rejectEdits(of: placement, reason, others: others)
        placement.isRejected = true
        try place(placement)
      }
    }
  }
}

// MARK: - Rows that local edits deleted

extension RowPlacing {
  /// Takes note of a record if it begins to refer to a row that is not there. See
  /// ``reviveParent(of:_:)``.
  ///
  /// - Parameter former: The version that the row had, whose references are none of the space's.
  mutating func noteMissingParents(
    of table: ReplicaTable, _ key: [FieldValue], _ record: Record?, besides former: Record?
  ) throws {
    guard let record else { return }
    for foreignKey in schema.foreignKeys(of: table) {
      if let former, foreignKey.hasSameReference(record, former, key) { continue }
      if let values = foreignKey.reference(of: record, key),
        try deletedParent(foreignKey, values) != nil
      {
        orphans.append((foreignKey, key))
      }
    }
  }

  /// Brings the row back that a row of the space refers to, if a local edit deleted it: another replica has
  /// added the reference without having seen the deletion. If the space has the deletion already, the row
  /// is a local edit, which the next commit contains. All that the row refers to comes back too.
  ///
  /// A row that refers to another one that was never here, or is gone for all replicas, stays without it.
  mutating func reviveParent(of key: [FieldValue], _ foreignKey: ForeignKey) throws {
    guard let child = foreignKey.attachedChild else { return }
    let row = try tables.row(child, key)
    let isOfSpace = row.base.map { base in
      row.local.map { foreignKey.hasSameReference($0, base, key) } ?? true
    }
    guard let record = row.local ?? row.base,
      isOfSpace ?? revived.contains(where: { $0.table === child && $0.key == key }),
      try tables.parents(foreignKey, of: record, key).isEmpty,
      let values = foreignKey.reference(of: record, key),
      let parent = try deletedParent(foreignKey, values)
    else { return }
    let parentRow = try tables.row(foreignKey.parent, parent)
    guard case .missing = parentRow.row, parentRow.local == nil,
      let former = parentRow.base
    else { return }
    let placement = RowPlacement(
      table: foreignKey.parent, key: parent, row: parentRow, remote: parentRow.base,
      result: former)
    revived.append(placement)
    try place(placement)
  }

  /// Records the deletions that were overruled, if the rows are still or again here: those of the space because local
  /// edits need the rows, and those of local edits because rows of the space refer to them.
  func recordOverruledDeletions() throws {
    for (placements, isOfSpace) in [(kept, true), (revived, false)] {
      for placement in placements {
        guard let record = placement.result,
          case .values = try tables.row(placement.table, placement.key).row
        else { continue }
        let versions: MergeConflict<Record> =
          isOfSpace
          ? .editDelete(base: record, local: record) : .deleteEdit(base: record, remote: record)
        try tables.record(versions, isOfSpace ? .local : .remote, placement.syncKey)
      }
    }
  }

  /// The key of the deleted row that had these values.
  private mutating func deletedParent(
    _ foreignKey: ForeignKey, _ values: [FieldValue]
  ) throws -> [FieldValue]? {
    let parents =
      try deletedParents[foreignKey.number] ?? DeletedParents(foreignKey, tables)
    deletedParents[foreignKey.number] = parents
    return parents.key(of: values)
  }
}
