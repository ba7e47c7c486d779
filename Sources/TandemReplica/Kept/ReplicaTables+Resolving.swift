internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// What a person decides about kept edits. Rows are written by ordinary edits, which the next commit contains.
extension ReplicaTables {
  /// Resolves open edits by the chosen version, all or none of them. Rows may exchange unique values.
  ///
  /// Of a conflict, only the fields in conflict are written. The remote version is in the row already, or was replaced
  /// by a later edit: the row stays as it is. Another version replaces the row as it is now. If the row has changed
  /// since, the version that is replaced is kept as another conflict, which is resolved. Older open conflicts of the
  /// record in the same fields are resolved too. In each field of a record, the version of its last conflict counts.
  ///
  /// An edit that was taken out of its row is forgotten. Its local version is merged with the row as it is now: only
  /// the fields that it changed are written.
  ///
  /// - Returns: The number of edits.
  /// - Throws: ``ReplicaError`` with code `unknownEdit`; with code `unsuitable` if a version needs a column that
  ///   the table no longer has; with code `constraint` if the table does not accept the version; with code
  ///   `waitingCommit`.
  @discardableResult
  package func resolve(_ selection: KeptEdit.Selection, by choice: KeptEdit.Choice) throws -> Int {
    let edits = try openEdits(selection)
    if case .one = selection, let reason = edits.first?.reasonToHaveNoChoice {
      throw ReplicaError(.unknownEdit, reason)
    }
    guard choice == .same else {
      return try resolve(edits, by: choice, namingEdits: !selection.isSingle)
    }
    try checkNoCommitWaits()
    try run("PRAGMA defer_foreign_keys=ON", [])
    return try withoutSilencedTriggers(areEdits: true) {
      if case .one = selection {
        for edit in edits { try join(edit) }
        return edits.count
      }
      return try joinAll(edits.map(\.id))
    }
  }

  /// Makes open edits again: the local versions of conflicts, all or none of them, and those of the rejected changes
  /// that the tables accept, in the order in which they came. An edit that depends on another one, as a row on its
  /// parent, follows it. Rows that refer to each other are written together. A record of the space that the table did
  /// not accept gets its row.
  ///
  /// - Returns: The number of edits.
  /// - Throws: As ``resolve(_:by:)``. If the tables accept none of several, the error is that of the first one.
  @discardableResult
  package func retry(_ selection: KeptEdit.Selection) throws -> Int {
    let edits = try openEdits(selection)
    if case .one(let id) = selection, edits.first?.kind == .row {
      throw ReplicaError(
        .unknownEdit, "edit \(id) is still in its row: correct the row, and synchronize")
    }
    let conflicts = edits.filter(\.kind.isConflict)
    let count = try resolve(conflicts, by: .local, namingEdits: !selection.isSingle)
    let rejected = edits.filter { !$0.kind.isConflict && $0.kind != .row }
    return count + (try retry(rejected, namingEdits: !selection.isSingle))
  }

  /// Forgets open edits: the remote versions of conflicts stay. A record of the space is kept until the table has it:
  /// without the note, the file would seem to be in step.
  ///
  /// - Returns: The number of edits.
  /// - Throws: ``ReplicaError`` with code `unknownEdit`; with code `constraint` if it is a record of the space.
  @discardableResult
  package func discard(_ selection: KeptEdit.Selection) throws -> Int {
    let edits = try openEdits(selection)
    if case .one(let id) = selection, let edit = edits.first, edit.kind == .record {
      throw ReplicaError(
        .constraint,
        "edit \(id) is a version of the space, which this file still lacks: \(edit.reason). Correct the table, "
          + "or change the row in another copy")
    }
    if case .one(let id) = selection, let edit = edits.first,
      let table = try tableReferring(to: edit)
    {
      throw ReplicaError(
        .constraint,
        "rows of \(table) refer to the row of edit \(id), whose number another row may get: change them first, or "
          + "resolve the edit as the same as another row")
    }
    let rejected = try edits.filter {
      try ($0.kind == .edit || $0.kind == .row) && tableReferring(to: $0) == nil
    }
    for edit in rejected { try forget(keptEdit: edit.id) }
    let conflicts = edits.filter(\.kind.isConflict)
    return rejected.count
      + (try resolve(conflicts, by: .remote, namingEdits: !selection.isSingle))
  }

  private func openEdits(_ selection: KeptEdit.Selection) throws -> [KeptEdit] {
    try upgrade()
    let edits = try keptEdits(selection)
    if case .one(let id) = selection, edits.isEmpty {
      throw ReplicaError(.unknownEdit, "there is no open conflict or rejected change \(id)")
    }
    return edits
  }

  /// Throws while a commit waits for its outcome: the versions that it replaces are computed from what the file
  /// keeps beside its tables, which making a rejected edit again may alter.
  func checkNoCommitWaits() throws {
    guard try outboxSummary() != nil else { return }
    throw ReplicaError(
      .waitingCommit,
      "a commit of this file waits for the answer of the space: synchronize first, then try the rejected "
        + "changes again; nothing was changed")
  }
}

extension KeptEdit.Selection {
  fileprivate var isSingle: Bool { if case .one = self { true } else { false } }
}

extension KeptEdit {
  /// Why no version can be chosen; `nil` if one can.
  fileprivate var reasonToHaveNoChoice: String? {
    switch kind {
    case .row: "edit \(id) is still in its row: correct the row, and synchronize"
    case .record:
      "edit \(id) is a version of the space, which the table does not accept: \(reason). Correct the table, and "
        + "retry it"
    default: nil
    }
  }

  /// Its name in a message.
  var label: String { "\(kind.isConflict ? "conflict" : "rejected change") \(id)" }
}

// MARK: - All or none

extension ReplicaTables {
  /// - Parameter namesEdits: True if errors name the edit.
  func resolve(
    _ edits: [KeptEdit], by choice: KeptEdit.Choice, namingEdits namesEdits: Bool
  ) throws -> Int {
    let edits = edits.filter { $0.reasonToHaveNoChoice == nil }
    if choice != .remote, edits.contains(where: { $0.kind == .edit }) { try checkNoCommitWaits() }
    // Until the end of the transaction: a row may come back before the one that it refers to.
    try run("PRAGMA defer_foreign_keys=ON", [])
    let conflicts = edits.contains(where: \.kind.isConflict) ? try keptEdits(.conflicts) : []
    let ofRecords = Dictionary(grouping: conflicts, by: \.key)
    var closed: Set<KeptEdit.ID> = []
    var resolutions: [EditResolution] = []
    // The fields of the conflicts that are newer.
    var newerFields: [SyncKey: Set<FieldName>] = [:]
    for conflict in edits.reversed() where conflict.kind.isConflict && !closed.contains(conflict.id)
    {
      var (ids, resolution) = try close(conflict, by: choice, ofRecords[conflict.key] ?? [])
      closed.formUnion(ids)
      resolution.newerFields = newerFields[conflict.key] ?? []
      resolutions.append(resolution)
      newerFields[conflict.key, default: []].formUnion(
        (conflict.fields ?? []).map { FieldName($0) })
    }
    for edit in edits where !edit.kind.isConflict {
      resolutions.append(try close(edit, by: choice, []).resolution)
    }
    let written = resolutions.filter { $0.choice != .remote }
    if written.contains(where: { $0.edit.kind == .edit }) {
      // What triggers wrote into synchronized rows was an edit of its own, as when a row is received.
      try withoutSilencedTriggers(areEdits: true) { try write(written, namingEdits: namesEdits) }
    } else {
      try write(written, namingEdits: namesEdits)
    }
    return edits.count
  }

  /// Takes note that an edit is resolved, and the older conflicts of its record in the same fields.
  ///
  /// - Parameter conflicts: The open conflicts of the record.
  /// - Returns: The numbers of those that are resolved, and what to write.
  private func close(
    _ edit: KeptEdit, by choice: KeptEdit.Choice, _ conflicts: [KeptEdit]
  ) throws -> (ids: [KeptEdit.ID], resolution: EditResolution) {
    guard let table = try schema().table(named: edit.key.table) else {
      throw ReplicaError(
        .unknownEdit, "\(edit.label): the table \(edit.key.table) is not synchronized")
    }
    let resolution = EditResolution(edit: edit, choice: choice, table: table)
    guard edit.kind.isConflict else {
      try forget(keptEdit: edit.id)
      return ([edit.id], resolution)
    }
    let older = conflicts.filter { $0.id < edit.id && $0.isAbout(fieldsOf: edit) }
    try close(edit.id, choice.resolution)
    for older in older { try close(older.id, choice == .remote ? .remote : .chosen) }
    return ([edit.id] + older.map(\.id), resolution)
  }

  private func close(_ id: KeptEdit.ID, _ resolution: KeptEdit.Resolution) throws {
    try run(
      "UPDATE tandem_kept SET resolution = ? WHERE id = ?",
      [.text(resolution.rawValue), .integer(id)])
  }

  /// Writes the versions that resolve edits.
  ///
  /// A resolution waits while another row still has its unique value. If more than half of the resolutions
  /// wait, rows may exchange values: they first get placeholder values that no other row has. This is not
  /// done in tables with triggers of the application, which would see the placeholders.
  private func write(_ resolutions: [EditResolution], namingEdits namesEdits: Bool) throws {
    var waiting = resolutions
    // First of all versions: a deletion of one row may delete others, which refer to it.
    for index in waiting.indices {
      do {
        waiting[index].former = try recordReplaced(by: waiting[index])
      } catch let error as ReplicaError {
        throw error.naming(waiting[index].edit, if: namesEdits)
      }
    }
    let all = waiting
    // Since this one was written, deferred foreign keys are violated.
    var firstViolation: EditResolution?
    var havePlaceholders = waiting.count < 2
    while !waiting.isEmpty {
      var refused: [(resolution: EditResolution, error: ReplicaError)] = []
      for resolution in waiting {
        do {
          try write(resolution)
          firstViolation =
            connection.violatesDeferredKeys ? firstViolation ?? resolution : nil
        } catch let error as DatabaseError
          where error.forbidsRow && connection.isInTransaction
        {
          let refusal = try refusal(of: resolution, error)
          guard error.isAboutUniqueness else {
            throw refusal.naming(resolution.edit, if: namesEdits)
          }
          refused.append((resolution, refusal))
        } catch let error as ReplicaError {
          throw error.naming(resolution.edit, if: namesEdits)
        }
      }
      if refused.count > waiting.count / 2 {
        let mayExchange =
          // A trigger must not see placeholders: it may forbid them, or write them down.
          try !havePlaceholders
          && refused.allSatisfy { try !connection.hasTriggers(on: $0.resolution.table.name) }
        if !mayExchange, let first = refused.first {
          throw first.error.naming(first.resolution.edit, if: namesEdits)
        }
        for (resolution, _) in refused { try writePlaceholders(for: resolution) }
        havePlaceholders = true
      }
      // Rows that move by one place each are free of each other in one direction.
      waiting = refused.reversed().map(\.resolution)
    }
    // In a step of a synchronization, SQLite does not check them.
    let isViolation = firstViolation != nil || !connection.enforcesForeignKeys
    if isViolation,
      let violation = try all.first(where: {
        try leavesOpenReference($0.table, $0.edit.key.id, former: $0.former)
      }) ?? firstViolation
    {
      throw refusalOfReference(violation.edit.key).naming(violation.edit, if: namesEdits)
    }
  }

  /// True if a change made a row refer to one that is not there, or took away a row that others refer to.
  func leavesOpenReference(
    _ table: ReplicaTable, _ key: [FieldValue], former: Record?
  ) throws -> Bool {
    let present = try row(table, key).present
    return try schema().foreignKeys.contains { foreignKey in
      if foreignKey.attachedChild === table, let present,
        foreignKey.reference(of: present, key) != nil,
        former.map({ !foreignKey.hasSameReference(present, $0, key) }) ?? true,
        try parents(foreignKey, of: present, key).isEmpty
      {
        return true
      }
      guard foreignKey.parent === table, let former,
        let values = foreignKey.values(of: former, key)
      else { return false }
      return try rows(foreignKey, replacedBy: former, key).isEmpty
        && !references(foreignKey, to: values).isEmpty
    }
  }

  /// Keeps the version of a row that a resolution replaces, if the row has changed since.
  ///
  /// - Returns: That version.
  private func recordReplaced(by resolution: EditResolution) throws -> Record? {
    let edit = resolution.edit
    let present = try row(resolution.table, edit.key.id).local
    // A merge with the present version keeps what it replaces itself.
    guard !resolution.isMerged else { return present }
    let (chosen, fields) = try resolution.version(over: present)
    // A deletion replaces all fields.
    let replaced = chosen == nil ? nil : fields
    guard !present.hasSameStorage(as: edit.remote, among: replaced),
      !present.hasSameStorage(as: chosen, among: replaced)
    else { return present }
    let versions =
      MergeConflict(base: edit.remote, local: chosen, remote: present)
      ?? present.map { .deleteEdit(base: $0, remote: $0) }
    if let versions {
      try record(versions, .local, edit.key, fields: edit.fields)
    }
    return present
  }

  /// Writes the version that resolves an edit.
  private func write(_ resolution: EditResolution) throws {
    let (edit, table) = (resolution.edit, resolution.table)
    let row = try row(table, edit.key.id)
    let merge = resolution.isMerged ? try merge(edit, with: row.local) : nil
    let chosen = try merge.map(\.result) ?? resolution.version(over: row.local).chosen
    if row.base == nil, row.parked == nil {
      // A row that the space does not have: what the table cannot hold is sent all the same.
      let fields = chosen.flatMap(table.unstorableFields)
      try park(fields.map { ParkedFields(fields: $0, extent: .fields) }, edit.key)
    } else if merge != nil, let chosen {
      try table.checkColumns(
        chosen.layout.names.filter { name in
          !(row.local.map { $0[name].hasSameStorage(as: chosen[name]) } ?? chosen[name].isNull)
        })
    }
    let content = row.content(for: chosen)
    try store(content, over: row.row, table, edit.key.id, others: edit.others)
    try checkIsWritten(content, over: row.row, table, edit.key)
    if !row.row.isMissing { try restore(edit.others, table, edit.key.id, isNew: false) }
    if let conflict = merge?.conflict { try record(conflict, edit.key) }
  }

  /// The edit as a change of the present version. Later edits of other fields stay, whatever the granularity is.
  private func merge(_ edit: KeptEdit, with present: Record?) throws -> RowMerge {
    var merging = try storedMerging().merging(of: edit.table)
    merging.record = .keepLocal
    return RowMerge(base: edit.base, local: edit.local, remote: present, .field, merging)
  }

  /// Writes placeholders in the columns that a version changes, as far as the table accepts them.
  private func writePlaceholders(for resolution: EditResolution) throws {
    let (table, key) = (resolution.table, resolution.edit.key.id)
    let row = try row(table, key)
    guard case .values(let values) = row.row else { return }
    let chosen =
      resolution.isMerged
      ? try merge(resolution.edit, with: row.local).result
      : try resolution.version(over: row.local).chosen
    guard let wanted = chosen.map(table.values) else { return }
    // A row that refers to this one by the column would lose the reference to NULL.
    let isParent = try schema().foreignKeys.contains { $0.parent === table }
    var generator = SystemRandomNumberGenerator()
    for offset in values.indices where !values[offset].hasSameStorage(as: wanted[offset]) {
      let number = Int64.random(in: Int64.min ... -1 << 53, using: &generator)
      for value in [.text("tandem\(number)"), .integer(number)] + (isParent ? [] : [.null])
        as [FieldValue]
      {
        do {
          try run(table.update(of: [offset], to: [value]), key, [value])
          break
        } catch let error as DatabaseError where error.forbidsRow && connection.isInTransaction {}
      }
    }
  }
}
