internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

extension PageApplication {
  /// The record for the row; records the conflict if there is one.
  func merge(
    _ row: ReplicaRow, with change: SyncRecordState, in table: ReplicaTable, isFirst: Bool
  ) throws -> Record? {
    // The second time, the base is what came the first time.
    let versions =
      try isFirst && !isDecided
      ? versions(row, with: change, in: table) : (base: row.base, local: row.local)
    let isRepaired = state.pullNeed == .repair && isFirst && row.isTouched
    return try merge(versions, with: change, in: table, isRepaired: isRepaired)
  }

  /// True if one side decides on all records.
  private var isDecided: Bool {
    switch decision {
    case .adoptRemote?, .adoptLocal?: true
    case .union?, nil: false
    }
  }

  /// - Parameter isRepaired: True if the base may have edits that no trigger noted.
  func merge(
    _ versions: (base: Record?, local: Record?), with change: SyncRecordState,
    in table: ReplicaTable, isRepaired: Bool = false
  ) throws -> Record? {
    let remote = change.fields
    switch decision {
    case .adoptRemote?:
      try recordDifference(versions.local, remote, .remote, change)
      if let remote {
        try tables.giveUpDroppedEdits(of: table, change.key.id, beside: remote) { _ in true }
      }
      return remote
    case .adoptLocal?:
      try recordDifference(versions.local, remote, .local, change)
      return versions.local
    case .union?, nil: break
    }
    let merge = RowMerge(
      base: versions.base, local: versions.local, remote: remote, table.declaration.granularity,
      merging.merging(of: table.name))
    if let base = versions.base, let remote {
      try giveUpDroppedEdits(of: table, base, remote, change)
    }
    if let conflict = merge.conflict {
      try tables.record(conflict, change.key)
    } else if isRepaired, !merge.result.hasSameStorage(as: versions.local) {
      // The former version may have edits that no trigger noted: the merge takes them for the base.
      try recordDifference(versions.local, remote, .unresolved, change)
    }
    return merge.result
  }

  /// Gives up edits of dropped columns that belong together with a field that the space has changed: nobody has seen
  /// both. Those of other fields are merged when they are sent.
  private func giveUpDroppedEdits(
    of table: ReplicaTable, _ base: Record, _ remote: Record, _ change: SyncRecordState
  ) throws {
    guard table.mayHaveDroppedEdits else { return }
    let merging = merging.merging(of: table.name)
    // Of a column that was dropped since the base was made, the former value is not known.
    let isLater = change.version > state.revision?.version ?? 0
    let dropped = isLater ? columnChanges[table.name]?.dropped ?? [] : []
    let names = remote.layout.names.map { FieldName($0) } + table.columnNames.map { FieldName($0) }
    let changed = Set(
      names.filter {
        dropped.contains($0) || !base[$0.text].hasSameStorage(as: remote[$0.text])
      })
    try tables.giveUpDroppedEdits(of: table, change.key.id, beside: remote) { name in
      if table.declaration.granularity == .record { return !changed.subtracting([name]).isEmpty }
      return !merging.isCounter(name.text)
        && merging.units.contains { unit in
          unit.contains(name) && unit.contains { $0 != name && changed.contains($0) }
        }
    }
  }

  /// The versions of a row that are merged with that of the space.
  private func versions(
    _ row: ReplicaRow, with change: SyncRecordState, in table: ReplicaTable
  ) throws -> (base: Record?, local: Record?) {
    var (base, local) = (row.seenBase, row.local)
    let changes = columnChanges[table.name] ?? ColumnChanges(added: [], dropped: [])
    // The record is the base if it has not changed since.
    if let remote = change.fields, var former = base,
      change.version <= state.revision?.version ?? 0
    {
      changes.restoreDropped(&former, &local, from: remote)
      base = former
    }
    if !changes.added.isEmpty, case .values(let values) = row.row, var former = base,
      var current = local
    {
      for column in changes.added {
        let resolution = column.adjust(
          &former, &current, values[column.offset], remote: change.fields,
          parked: row.parked?.fields, dropped: changes.dropped)
        if let resolution { try recordDifference(row.local, change.fields, resolution, change) }
      }
      (base, local) = (former, current)
    }
    guard state.pullNeed == .repair, !row.isTouched else { return (base, local) }
    // The row may have been changed unnoticed, and nothing says which version is later. So the conflict
    // stays open. Only new columns have edits to merge.
    let names = table.columnNames.filter { name in
      !changes.added.contains { $0.name == FieldName(name) }
    }
    // A record that came after the base is new, unless it was deleted here unnoticed: then an edit beats the deletion.
    let isNew =
      base == nil && local == nil && change.version > state.revision?.version ?? 0
    if !isNew, !local.hasSameStorage(as: change.fields, among: names) {
      try recordDifference(local, change.fields, .unresolved, change)
    }
    guard let remote = change.fields, let base, let local else {
      return (change.fields, change.fields)
    }
    return (
      remote.with(changes.added.map(\.name.text), of: base),
      remote.with(changes.added.map(\.name.text), of: local)
    )
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
