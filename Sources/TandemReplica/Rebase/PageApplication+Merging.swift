internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension PageApplication {
  /// The record for the row; records the conflict if there is one.
  func merge(
    _ row: ReplicaRow, with change: SyncRecordState, in table: ReplicaTable, isFirst: Bool
  ) throws -> Record? {
    let edits = try tables.droppedEdits(of: table, change.key.id)
    // The second time, the base is what came the first time.
    var versions =
      try isFirst && !isDecided
      ? versions(row, with: change, in: table, edits)
      : (base: row.base, local: row.local)
    let isRepaired = state.pullNeed == .repair && isFirst && row.isTouched
    let added =
      decision == .adoptRemote ? [] : add(edits, to: &versions, row, beside: change.fields)
    let result = try merge(versions, with: change, in: table, isRepaired: isRepaired)
    guard !edits.isEmpty, let result else { return result }
    guard let remote = change.fields else {
      // The row has them.
      for edit in added { try tables.forget(edit, table, change.key.id) }
      return result
    }
    // Nothing of a row that was deleted comes back with the record.
    let areLost = decision == .adoptRemote || versions.local == nil
    try tables.rebase(areLost ? edits : added, on: remote, result, of: table, change.key.id) {
      areLost || $0.isMissing(in: table)
    }
    return result.with(added.filter { $0.isMissing(in: table) }.map(\.name.text), of: remote)
  }

  /// Adds edits of columns that the table does not have, or has again, to two versions of a row.
  ///
  /// - Returns: Those that were added.
  private func add(
    _ edits: [DroppedEdit], to versions: inout (base: Record?, local: Record?), _ row: ReplicaRow,
    beside remote: Record?
  ) -> [DroppedEdit] {
    guard var local = versions.local else { return [] }
    var added: [DroppedEdit] = []
    let isUnchanged = versions.base.hasSameStorage(as: remote)
    for edit in edits {
      var value = edit.value
      if edit.isMissing(in: row.table) {
        // An edit that no row shows does not revive a record. Without a base, it is merged when it is sent, unless it
        // is not known to be an edit.
        let isMerged =
          switch decision {
          case .adoptLocal?: true
          case .union? where !edit.isKnown: true
          case .union?, .adoptRemote?, nil: versions.base != nil
          }
        guard let remote, isMerged else { continue }
        // The space has not changed the value, and the edit was not made from it: it is of a column that the table had
        // meanwhile, such as its default.
        if isUnchanged, edit.isKnown, !edit.former.hasSameStorage(as: remote[edit.name.text]) {
          added.append(edit)
          continue
        }
      } else {
        let column = columnChanges[row.table.name]?.added.first { $0.name == edit.name }
        guard let column, let present = row.present?[edit.name.text] else { continue }
        // A value that not all rows got is a later edit. An earlier addition is added to it, unless the column has got
        // its name back: then the value has both.
        if !column.isStandard(present) {
          let sum =
            edits.contains { $0.isMissing(in: row.table) }
            ? nil
            : merging.merging(of: row.table.name).sum(
              edit.name.text, base: column.standard, local: present, remote: value)
          value = sum ?? present
        }
      }
      edit.write(value, to: &local)
      if var base = versions.base {
        edit.write(edit.former, to: &base)
        versions.base = base
      }
      added.append(edit)
    }
    versions.local = local
    return added
  }

  /// True if one side decides on all records.
  private var isDecided: Bool {
    switch decision {
    case .adoptRemote?, .adoptLocal?: true
    case .union?, nil: false
    }
  }

  /// - Parameter isRepaired: True if the base may have edits that no trigger noted.
  private func merge(
    _ versions: (base: Record?, local: Record?), with change: SyncRecordState,
    in table: ReplicaTable, isRepaired: Bool
  ) throws -> Record? {
    let remote = change.fields
    switch decision {
    case .adoptRemote?:
      try recordDifference(versions.local, remote, .remote, change)
      return remote
    case .adoptLocal?:
      try recordDifference(versions.local, remote, .local, change)
      return versions.local
    case .union?, nil: break
    }
    let merge = RowMerge(
      base: versions.base, local: versions.local, remote: remote, table.declaration.granularity,
      merging.merging(of: table.name))
    if let conflict = merge.conflict?.limited(to: table.layout) {
      try tables.record(conflict, change.key)
    } else if isRepaired,
      !merge.result.hasSameStorage(as: versions.local, among: table.columnNames)
    {
      // The former version may have edits that no trigger noted: the merge takes them for the base.
      try recordDifference(versions.local, remote, .unresolved, change)
    }
    return merge.result
  }

  /// The versions of a row that are merged with that of the space.
  ///
  /// - Parameter edits: The row's edits of dropped columns.
  private func versions(
    _ row: ReplicaRow, with change: SyncRecordState, in table: ReplicaTable, _ edits: [DroppedEdit]
  ) throws -> (base: Record?, local: Record?) {
    var (base, local) = (row.seenBase, row.local)
    let changes = columnChanges[table.name] ?? ColumnChanges(added: [], dropped: [])
    // The record is the base if it has not changed since.
    if let remote = change.fields, var former = base,
      change.version <= state.revision?.version ?? 0
    {
      // The table may have lost columns meanwhile.
      for name in remote.layout.names where table.layout.offset(of: name) == nil {
        former[field: FieldName(name)] = remote[field: FieldName(name)]
        local?[field: FieldName(name)] = remote[field: FieldName(name)]
      }
      base = former
    }
    if row.row.isMissing, var former = base {
      // Nobody has edited the new columns of a row that this file has deleted, unless the space has a later version.
      let isLater = change.version > state.revision?.version ?? 0
      for column in changes.added {
        former[field: column.name] = isLater ? nil : change.fields?[field: column.name]
      }
      base = former
    }
    if !changes.added.isEmpty, case .values(let values) = row.row, var former = base,
      var current = local
    {
      for column in changes.added {
        let value = values[column.offset]
        let resolution = column.adjust(
          &former, &current, value, former: row.former(of: value, at: column.offset, edits),
          remote: change.fields, parked: row.parked?.fields, mayBeRenamed: !changes.dropped.isEmpty)
        if let resolution, let remote = change.fields {
          try record(value, of: column, beside: remote, resolution, change.key)
        }
      }
      (base, local) = (former, current)
    }
    // Only new columns have edits to merge.
    let names = table.columnNames.filter { name in
      !changes.added.contains { $0.name == FieldName(name) }
    }
    // Without a column that was dropped, the digest does not show whether rows were changed unnoticed.
    if state.pullNeed == .columns, change.fields != nil,
      change.version <= state.revision?.version ?? 0,
      !row.base.hasSameStorage(as: change.fields, among: names)
    {
      throw ReplicaTables.WrongBase()
    }
    guard state.pullNeed == .repair, !row.isTouched else { return (base, local) }
    // The row may have been changed unnoticed, and nothing says which version is later. So the conflict stays open.
    // A record that came after the base is new, unless it was deleted here unnoticed: then an edit beats the deletion.
    let isNew =
      base == nil && local == nil && change.version > state.revision?.version ?? 0
    if !isNew, !local.hasSameStorage(as: change.fields, among: names) {
      try recordDifference(local, change.fields, .unresolved, change)
    }
    if !edits.isEmpty { return (base, local) }
    guard let remote = change.fields, let base, let local else {
      return (change.fields, change.fields)
    }
    return (
      remote.with(changes.added.map(\.name.text), of: base),
      remote.with(changes.added.map(\.name.text), of: local)
    )
  }

  /// Records the value of a new column beside that of the space, of which one is taken without a merge.
  private func record(
    _ value: FieldValue, of column: NewColumn, beside remote: Record,
    _ resolution: MergeResolution<FieldValue>, _ key: SyncKey
  ) throws {
    var local = remote
    local[field: column.name] = value
    var outcome = MergeResolution<Record>.local
    if case .unresolved = resolution {
      outcome = .unresolved
      // A sum would count additions twice.
      let rule = merging.merging(of: key.table).fields[column.name]
      if case .counter? = rule { outcome = .remote }
      if case .remote? = rule?.policy.resolution(
        base: nil, local: value, remote: remote[column.name.text])
      {
        outcome = .remote
      }
    }
    try tables.record(
      .addAdd(local: local, remote: remote), outcome, key, fields: [column.name.text])
  }

  /// Records two versions that differ, of which one is taken without a merge.
  private func recordDifference(
    _ local: Record?, _ remote: Record?, _ resolution: MergeResolution<Record>,
    _ change: SyncRecordState
  ) throws {
    guard !local.hasSameStorage(as: remote) else { return }
    switch (local, remote) {
    case (let local?, let remote?):
      try tables.record(.addAdd(local: local, remote: remote), resolution, change.key)
    // The loser is the only version that there is.
    case (let local?, nil):
      try tables.record(.editDelete(base: local, local: local), resolution, change.key)
    case (nil, let remote?):
      // A repair undoes deletions that no trigger noted. A file that takes over all records of the
      // space has few of them before.
      if case .remote = resolution { return }
      try tables.record(.deleteEdit(base: remote, remote: remote), resolution, change.key)
    case (nil, nil): return
    }
  }
}

extension ReplicaRow {
  /// The value that this file has edited to the present one of a new column; `nil` if no edit is known. A column that was
  /// renamed has the edits of the dropped one.
  fileprivate func former(
    of value: FieldValue, at offset: Int, _ edits: [DroppedEdit]
  ) -> FieldValue? {
    if case .values(let values)? = shadow, !values[offset].isNull,
      !values[offset].hasSameStorage(as: value)
    {
      return values[offset]
    }
    return edits.first {
      $0.isKnown && $0.isMissing(in: table) && $0.value.hasSameStorage(as: value)
    }?.former
  }
}
