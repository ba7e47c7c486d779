internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// One application of the pages of a pull.
struct PageApplication {
  let tables: ReplicaTables
  let schema: ReplicaSchema
  let merging: ReplicaMerging
  let decision: EpochPolicy.Decision?
  var state: ReplicaState
  var placing: RowPlacing
  var report = ReplicaApplyReport()
  /// The changes of columns since the base was made, by table.
  let columnChanges: [String: ColumnChanges]

  init(
    _ tables: ReplicaTables, _ schema: ReplicaSchema, _ merging: ReplicaMerging,
    _ state: ReplicaState, _ decision: EpochPolicy.Decision?
  ) throws {
    self.tables = tables
    self.schema = schema
    self.merging = try tables.addingUnits(to: merging, schema)
    self.state = state
    self.decision = state.pullNeed.needsDecision ? decision : nil
    columnChanges = try tables.columnChanges(schema)
    placing = try RowPlacing(tables, schema)
    placing.mayDeleteOwnRows = state.pullNeed == .repair || self.decision != nil
  }

  /// - Parameters:
  ///   - last: The last page.
  ///   - isStaged: True if it is one of the staged pages.
  ///   - file: The file that has the content of staged pages.
  mutating func run(
    _ last: SyncPage, isStaged: Bool, _ file: StagedFile?
  ) throws -> ReplicaApplyReport {
    try prepare()
    report.renumbered = try renumber(before: last)
    if state.pullNeed == .columns || state.pullNeed == .repair {
      state.digest = try tables.computedDigest(schema)
    }
    let copied = try file.flatMap { try copyRows(of: $0) }
    let pageCount = try tables.stagedPageCount() + (isStaged ? 0 : 1)
    var (number, count) = (0, copied?.received ?? RowCount())
    // A trigger of the application sees a row after its parent, as when a program writes both.
    let generations = placing.firesTriggers ? schema.generations : [:]
    let lastGeneration = generations.values.max() ?? 0
    for generation in 0...lastGeneration {
      func applyPage(_ page: SyncPage) throws {
        for change in page.changes where generations[change.key.table] ?? 0 == generation {
          try apply(change)
        }
        number += 1
        if copied == nil, generation == 0 { count.add(page) }
        let share = Double(number) / Double(pageCount * (lastGeneration + 1))
        tables.progress(count.progress(.applying, share: share))
      }
      try tables.forEachStagedPage(in: file, withoutRows: copied != nil, applyPage)
      if !isStaged { try applyPage(last) }
    }
    // Before any record takes a unique value from another one, which the space may have deleted.
    if deletesMissing { try deleteMissing() }
    try placing.finish()
    // Emptied, not dropped: each change of the schema makes SQLite compile all statements again.
    if isComplete { try tables.run("DELETE FROM temp.tandem_seen", []) }
    try end(at: last)
    report.writtenCount = placing.writtenCount + (copied?.writtenCount ?? 0)
    report.refusedInsertions = placing.refusedInsertions
    return report
  }

  /// Copies the rows of the file into tables that have none; `nil` if this cannot be, so that each record is merged.
  private mutating func copyRows(
    of file: StagedFile
  ) throws -> (writtenCount: Int, received: RowCount)? {
    // Triggers, of the shadows too, would run.
    guard tables.isQuiet, try tables.canCopyRows() else { return nil }
    var copied: (writtenCount: Int, digest: RecordDigest, received: RowCount)?
    _ = try tables.objection {
      copied = try tables.connection.savepoint { try file.copyRows(to: tables) }
    }
    guard let copied else { return nil }
    state.digest.add(copied.digest)
    for table in placing.unclaimed { try tables.touchRows(of: table) }
    return (copied.writtenCount, copied.received)
  }

  /// True if the pages have every record of the space.
  var isComplete: Bool {
    switch state.pullNeed {
    case .none, .changes, .conflict: false
    case .first, .horizon, .columns, .epoch, .history, .repair: true
    }
  }

  /// True if a record that is not in the pages has been deleted.
  private var deletesMissing: Bool {
    switch state.pullNeed {
    case .horizon, .columns, .repair: true
    case .epoch, .history: decision == .adoptRemote
    case .none, .changes, .conflict, .first: false
    }
  }

  /// Makes the base what it is known to be.
  private mutating func prepare() throws {
    guard isComplete else { return }
    try tables.run(
      """
      CREATE TEMP TABLE IF NOT EXISTS tandem_seen ("table" TEXT, "key" BLOB, PRIMARY KEY ("table", "key"))
      WITHOUT ROWID
      """, [])
    switch state.pullNeed {
    case .none, .changes, .conflict, .horizon, .columns, .repair: break
    case .first: try assumeEmptyBase()
    case .epoch, .history:
      state.digest = .empty
      try forgetBase()
    }
  }

  /// Forgets the base: all rows are local additions, or all are the base if the space decides.
  /// Versions that no row has are kept as conflicts.
  private func forgetBase() throws {
    for key in try tables.parkedKeys("is_whole = 1 OR reason NOT NULL") {
      guard let parked = try tables.parked(key) else { continue }
      let row = try schema.table(named: key.table).flatMap { table in
        try table.stores(key: key.id) ? tables.row(table, key.id) : nil
      }
      switch parked.extent {
      case .record:
        try tables.record(
          .editDelete(base: parked.fields, local: parked.fields), .remote, key)
        try tables.park(nil, key)
      case .fields:
        if let row, let version = row.base, let present = row.present {
          try tables.record(.addAdd(local: version, remote: present), .remote, key)
        }
        let fields = row?.table.unstorableFields(of: parked.fields)
        try tables.park(fields.map { ParkedFields(fields: $0, extent: .fields) }, key)
      case .deletion: if row?.local != nil { try tables.park(nil, key) }
      }
    }
    for table in schema.tables {
      try tables.run("DELETE FROM \(table.shadow.name.sqlQuoted)", [])
    }
    if decision != .adoptRemote { try assumeEmptyBase() }
  }

  /// Makes all rows local additions, those included that no trigger noted.
  private func assumeEmptyBase() throws {
    for table in schema.tables {
      try tables.run(
        "UPDATE \(table.shadow.name.sqlQuoted) SET \(TableShadow.existed) = 0 WHERE \(TableShadow.existed) <> 0",
        [])
      try tables.connection.noteNewRows(of: table.shadow)
    }
  }

  private mutating func end(at page: SyncPage) throws {
    let wasRepair = state.pullNeed == .repair
    if isComplete { try tables.forgetFormerTables() }
    state.revision = page.revision
    state.spaceDigest = page.digest
    // A repair that did not help is not repeated: something else is wrong, and the status says so.
    state.pullNeed = state.hasEqualDigests || wasRepair ? .none : .repair
    try tables.save(state)
    report.revision = state.revision
    report.hasEqualDigests = state.hasEqualDigests
  }
}

// MARK: - Records

extension PageApplication {
  /// Merges one record of the space with its row.
  mutating func apply(_ change: SyncRecordState) throws {
    let isFirst = try see(change.key)
    let table = schema.table(named: change.key.table)
    // An earlier version may have staged it unchecked.
    try table?.checkCount(of: change.key.id)
    guard let table, table.stores(key: change.key.id) else {
      return try park(change, isFirst: isFirst)
    }
    let change = SyncRecordState(
      key: change.key, version: change.version, fields: change.fields.map(table.adopting))
    // A record may come again while it waits. Its row is as it was.
    let waiting = placing.waitingPlacement(of: change.key)
    let row = try waiting?.row ?? tables.row(table, change.key.id)
    account(
      change.key, base: waiting.map(\.remote) ?? row.base, change.fields,
      isFirst: isFirst && waiting == nil)
    // A row that no message can hold stays as it is: it is noted when changes are frozen.
    if row.isUnreadable { return try park(change, beside: row, table) }
    let placement = RowPlacement(
      table: table, key: change.key.id, row: row, remote: change.fields,
      result: try merge(row, with: change, in: table, isFirst: isFirst || waiting != nil),
      version: change.version)
    if waiting != nil { placing.wait(placement) } else { try placing.place(placement) }
  }

  /// Parks a record of the space beside a row that cannot be read. It is merged with the row when that has been
  /// corrected: the row was made from its former version, and has not seen this one.
  private mutating func park(
    _ change: SyncRecordState, beside row: ReplicaRow, _ table: ReplicaTable
  ) throws {
    let reason = "the row has a text that is not UTF-8; correct it, and synchronize again"
    var parked: ParkedFields?
    if case .values? = row.shadow {
      parked = change.fields.flatMap { row.fieldsMissing(of: $0) }.map {
        ParkedFields(fields: $0, extent: .fields, reason: reason)
      }
      if parked?.fields.layout.names.isEmpty == true { parked = nil }
      if change.fields == nil { parked = .deletion(reason, of: row) }
    } else {
      try tables.setShadow(.absent, table, change.key.id)
      parked = change.fields.map { ParkedFields(fields: $0, extent: .record, reason: reason) }
    }
    try placing.noteMissingParents(of: table, change.key.id, change.fields, besides: row.base)
    try tables.park(parked, change.key)
  }

  /// Parks a record for which the file has no table.
  private mutating func park(_ change: SyncRecordState, isFirst: Bool) throws {
    let old = try tables.parked(change.key)?.fields
    account(change.key, base: old, change.fields, isFirst: isFirst)
    let reason = schema.table(named: change.key.table).map { table in
      "the table \(table.name) would store the primary key as another value"
    }
    try tables.park(
      change.fields.map { ParkedFields(fields: $0, extent: .record, reason: reason) }, change.key)
  }

  /// Changes the digest of the base. In a base that was forgotten, each record is new when it comes
  /// for the first time.
  private mutating func account(
    _ key: SyncKey, base: Record?, _ remote: Record?, isFirst: Bool
  ) {
    if let base, !(isFirst && state.pullNeed.needsDecision) {
      state.digest.remove(key, base, by: tables.hasher)
    }
    if let remote { state.digest.add(key, remote, by: tables.hasher) }
  }
}
