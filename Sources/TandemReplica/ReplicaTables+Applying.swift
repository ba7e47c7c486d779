internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// The result of applying a pull.
package struct ReplicaApplyReport: Hashable, Sendable {
  /// The revision of the base from now on; `nil` if nothing could be applied.
  package var revision: SpaceRevision?
  /// The number of rows that were written.
  package var writtenCount = 0
  /// The number of conflicts that were recorded, open ones included.
  package var conflictCount = 0
  /// The number of those that are open.
  package var openCount = 0
  /// The number of rows that were noted in `tandem_rejected`.
  package var rejectedCount = 0
  /// The number of rows that the space deleted and that stay, because rows refer to them.
  package var revivedCount = 0
  /// True if the base is what the space has at the revision. Otherwise another pull is needed.
  package var hasEqualDigests = true
}

extension ReplicaTables {
  /// Applies the staged pages: merges every record of the space with its row, and makes it the
  /// base. Does nothing unless all pages are there and no commit waits for its outcome.
  ///
  /// The connection must not enforce foreign keys.
  ///
  /// - Parameter decision: The decision of the application if the space's history was lost.
  /// - Throws: ``ReplicaError`` with code `undecided` if a decision is needed.
  package func applyStaged(
    _ merging: ReplicaMerging, decision: EpochPolicy.Decision? = nil,
    using generator: inout some RandomNumberGenerator
  ) throws -> ReplicaApplyReport {
    guard try outboxSummary() == nil, try staging() == .complete,
      let last = try takeLastStagedPage()
    else { return ReplicaApplyReport() }
    return try apply(last, merging, decision, namesReplica: true, using: &generator)
  }

  /// Takes a page that answers a request. If more pages follow, it is staged; the last one is applied
  /// at once, with the staged ones. So a pull of one page takes one transaction, and writes nothing
  /// that it deletes again.
  ///
  /// If the application has to decide first, the last page is staged as well.
  ///
  /// The connection must not enforce foreign keys if it is the last page.
  ///
  /// - Returns: The result if the pages were applied.
  func take(
    _ page: SyncPage, for pull: SyncPull, _ merging: ReplicaMerging,
    using generator: inout some RandomNumberGenerator
  ) throws -> ReplicaApplyReport? {
    guard page.next == nil, try !state().pullNeed.needsDecision, try awaits(answerTo: pull) else {
      try stage(page, for: pull)
      return nil
    }
    try discardStaged(exceptSince: pull.since)
    return try apply(page, merging, nil, namesReplica: true, using: &generator)
  }

  /// Applies the page of an event, which has the changes after a revision, in place of a pull: if the
  /// replica is exactly at the revision, no commit waits for its outcome, and nothing but such a pull
  /// is needed. Otherwise demands a pull, unless the replica is at the revision of the page.
  ///
  /// An event names no replica, so it cannot show that the space has lost an outcome of this one. It
  /// need not: the mark of the revision shows that the space has the history which the replica has,
  /// and the next commit or pull shows the rest.
  ///
  /// The connection must not enforce foreign keys.
  func receive(
    _ page: SyncPage, after revision: SpaceRevision, _ merging: ReplicaMerging,
    using generator: inout some RandomNumberGenerator
  ) throws -> ReplicaApplyReport? {
    var state = try state()
    guard state.revision != page.revision else { return nil }
    let isNext =
      try state.revision == revision && [.none, .changes].contains(state.pullNeed)
      // Otherwise the base has a commit of this replica that the page may lack.
      && state.hasEqualDigests && outboxSummary() == nil && !hasWithdrawn()
    state.requirePull()
    try save(state)
    guard isNext else { return nil }
    // Another process may be in the middle of a pull. It starts again where this one ends.
    try discardStaged()
    return try apply(page, merging, nil, namesReplica: false, using: &generator)
  }

  /// Applies the staged pages and the one after them, which is the last.
  ///
  /// - Parameter namesReplica: True if the pages have the last commit of the replica.
  private func apply(
    _ last: SyncPage, _ merging: ReplicaMerging, _ decision: EpochPolicy.Decision?,
    namesReplica: Bool, using generator: inout some RandomNumberGenerator
  ) throws -> ReplicaApplyReport {
    let schema = try schema()
    var state = try state()
    if namesReplica, try hasLostCommits(last, &state, using: &generator) {
      return ReplicaApplyReport()
    }
    if state.pullNeed.needsDecision, decision == nil {
      throw ReplicaError(
        .undecided,
        "the space has another history than the one this file knows; decide whether to keep the "
          + "records of both, the space's, or this file's")
    }
    try noteStanding(last.replica, &state)
    if state.pullNeed == .conflict, last.revision == state.revision {
      return try requireRepair(&state)
    }
    let firesTriggers = try hasForeignTriggers(schema)
    if firesTriggers { try checkStatements(schema) }
    let apply = {
      let report = try self.readingRows {
        var application = try PageApplication(
          self, schema, merging, state, decision, firesTriggers: firesTriggers)
        return try application.run(last)
      }
      if !report.hasEqualDigests, state.pullNeed.trustsUntouchedRows { throw WrongBase() }
      return report
    }
    let report: ReplicaApplyReport
    do {
      report = try connection.savepoint {
        try !firesTriggers && isLong(last) ? quietly(apply) : apply()
      }
    } catch is WrongBase {
      return try requireRepair(&state)
    }
    try discardStaged()
    try pruneConflicts()
    try pruneNotes()
    return report
  }

  /// The base is not what the space had at the revision: rows have edits that no trigger noted.
  private struct WrongBase: Error {}

  /// Demands a pull of everything, and leaves all rows as they are: those that differ from the space's
  /// records are kept as conflicts by that pull.
  private func requireRepair(_ state: inout ReplicaState) throws -> ReplicaApplyReport {
    state.pullNeed = .repair
    try save(state)
    try discardStaged()
    return ReplicaApplyReport()
  }

  /// Notes that the space's history is lost if the space does not know the last commit of this
  /// replica that had an outcome.
  private func hasLostCommits(
    _ page: SyncPage, _ state: inout ReplicaState, using generator: inout some RandomNumberGenerator
  ) throws -> Bool {
    guard !state.pullNeed.needsDecision, (page.replica?.sequence ?? 0) < state.sequence else {
      return false
    }
    try lose(.history, using: &generator)
    try discardStaged()
    state = try self.state()
    return true
  }

  /// True if a pull has so many changes that it is applied with all triggers disabled.
  private func isLong(_ last: SyncPage) throws -> Bool {
    try last.changes.count >= minQuietChangeCount
      || minQuietChangeCount < .max && !rows("SELECT 1 FROM tandem_staged LIMIT 1").isEmpty
  }

  /// True if a table has triggers that are not those of its shadow.
  private func hasForeignTriggers(_ schema: ReplicaSchema) throws -> Bool {
    for table in schema.tables {
      let count = try connection.integer(
        """
        SELECT count(*) FROM (
          SELECT * FROM main.sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
        WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
          AND substr(name, 1, ?) <> ?
        """, .text(table.name), .integer(Int64(TableShadow.prefix.utf8.count)),
        .text(TableShadow.prefix))
      if count != 0 { return true }
    }
    return false
  }
}

/// One application of staged pages.
private struct PageApplication {
  private let tables: ReplicaTables
  private let schema: ReplicaSchema
  private let merging: ReplicaMerging
  private let decision: EpochPolicy.Decision?
  private let firesTriggers: Bool
  private var state: ReplicaState
  private var placing: RowPlacing
  private var report = ReplicaApplyReport()
  /// The changes of columns since the base was made, by table.
  private let columnChanges: [String: ColumnChanges]

  init(
    _ tables: ReplicaTables, _ schema: ReplicaSchema, _ merging: ReplicaMerging,
    _ state: ReplicaState, _ decision: EpochPolicy.Decision?, firesTriggers: Bool
  ) throws {
    self.tables = tables
    self.schema = schema
    self.merging = merging
    self.state = state
    self.decision = state.pullNeed.needsDecision ? decision : nil
    self.firesTriggers = firesTriggers
    columnChanges = try tables.columnChanges(schema)
    placing = RowPlacing(
      tables, firesTriggers: firesTriggers, foreignKeys: schema.foreignKeys)
  }

  /// - Parameter last: The last page.
  mutating func run(_ last: SyncPage) throws -> ReplicaApplyReport {
    try prepare()
    try tables.forEachStagedPage { page in
      for change in page.changes { try apply(change) }
    }
    for change in last.changes { try apply(change) }
    // Before any record takes a unique value from another one, which the space may have deleted.
    if deletesMissing { try deleteMissing() }
    try placing.finish()
    try recordKept()
    // Emptied, not dropped: each change of the schema makes SQLite compile all statements again.
    if isComplete { try tables.run("DELETE FROM temp.tandem_seen", []) }
    try end(at: last)
    report.writtenCount = placing.writtenCount
    report.rejectedCount = placing.rejectedCount
    return report
  }

  /// True if the pages have every record of the space.
  private var isComplete: Bool {
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
    case .none, .changes, .conflict, .horizon: break
    case .first: try assumeEmptyBase()
    case .columns, .repair: state.digest = try tables.computedDigest(schema)
    case .epoch, .history:
      state.digest = .empty
      try forgetBase()
    }
  }

  /// Forgets the base: all rows are local additions, or all are the base if the space decides.
  /// Records that no table can hold are kept as conflicts.
  private mutating func forgetBase() throws {
    for row in try tables.rows("SELECT \"table\", id FROM tandem_parked WHERE is_whole") {
      guard case .text(let table) = row[0], case .text(let text) = row[1],
        let id = try? SyncMessageReader().id(Array(text.utf8))
      else { throw ReplicaError.damaged("tandem_parked", tables.connection.path) }
      let key = SyncKey(table: table, id: id)
      guard let fields = try tables.parked(key)?.fields else { continue }
      try record(.editDelete(base: fields, local: fields), .remote, key)
      try tables.park(nil, key)
    }
    for table in schema.tables {
      try tables.run("DELETE FROM \(table.shadow.name.sqlQuoted)", [])
    }
    if decision != .adoptRemote { try assumeEmptyBase() }
  }

  /// Makes all rows local additions, those included that no trigger noted.
  private func assumeEmptyBase() throws {
    for table in schema.tables {
      let (shadow, names) = (table.shadow.name.sqlQuoted, table.keyNames)
      let isKnown = names.map { "\($0.sqlQuoted) NOT NULL" }.joined(separator: " AND ")
      try tables.run(
        "UPDATE \(shadow) SET \(TableShadow.existed) = 0 WHERE \(TableShadow.existed) <> 0", [])
      try tables.run(
        """
        INSERT INTO \(shadow) (\((names + [TableShadow.existed]).sqlList))
        SELECT \(names.sqlList), 0 FROM \(table.name.sqlQuoted) WHERE \(isKnown)
        ON CONFLICT DO NOTHING
        """, [])
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
  private mutating func apply(_ change: SyncRecordState) throws {
    let isFirst = try see(change.key)
    guard let table = schema.table(named: change.key.table), table.keeps(key: change.key.id) else {
      return try park(change, isFirst: isFirst)
    }
    let change = SyncRecordState(
      key: change.key, version: change.version, fields: change.fields.map(table.adopting))
    if let waiting = placing.waitingPlacement(of: change.key) {
      return try apply(change, to: waiting)
    }
    let row = try tables.row(table, change.key.id)
    account(change.key, base: row.base, change.fields, isFirst: isFirst)
    let result =
      row.isUnreadable
      ? row.local : try merge(row, with: change, in: table, isFirst: isFirst)
    let placement = RowPlacement(
      table: table, key: change.key.id, row: row, remote: change.fields, result: result)
    // A row that no message can hold stays as it is: it is noted when changes are frozen.
    if row.isUnreadable { return try placing.makeBase(placement) }
    try placing.place(placement)
  }

  /// Merges a record of the space with the one that waits for its row: both came in this pull.
  private mutating func apply(_ change: SyncRecordState, to waiting: RowPlacement) throws {
    account(change.key, base: waiting.remote, change.fields, isFirst: false)
    let result = try merge(
      (base: waiting.remote, local: waiting.result), with: change, in: waiting.table)
    placing.replaceWaiting(
      RowPlacement(
        table: waiting.table, key: waiting.key, row: waiting.row, remote: change.fields,
        result: result))
  }

  /// Keeps a record for which the file has no table.
  private mutating func park(_ change: SyncRecordState, isFirst: Bool) throws {
    let old = try tables.parked(change.key)?.fields
    account(change.key, base: old, change.fields, isFirst: isFirst)
    let reason = schema.table(named: change.key.table).map { table in
      "the table \(table.name) would store the primary key as another value"
    }
    try tables.park(
      change.fields.map { ParkedFields(fields: $0, isWhole: true, reason: reason) }, change.key)
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

  /// The record for the row; records the conflict if there is one.
  private mutating func merge(
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
  private mutating func merge(
    _ versions: (base: Record?, local: Record?), with change: SyncRecordState,
    in table: ReplicaTable, isRepaired: Bool = false
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
    if let conflict = merge.conflict {
      try record(conflict.versions, conflict.resolution, change.key, fields: conflict.fields)
    } else if isRepaired, !merge.result.hasSameStorage(as: versions.local) {
      // The former version may have edits that no trigger noted: the merge takes them for the base.
      try recordDifference(versions.local, remote, .remote, change)
    }
    return merge.result
  }

  /// The versions of a row that are merged with that of the space.
  private mutating func versions(
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
          &former, &current, values[column.offset], remote: change.fields, dropped: changes.dropped)
        if let resolution { try recordDifference(row.local, change.fields, resolution, change) }
      }
      (base, local) = (former, current)
    }
    guard state.pullNeed == .repair, !row.isTouched else { return (base, local) }
    // The row may have been changed unnoticed. Only new columns have edits to merge.
    let names = table.columnNames.filter { name in
      !changes.added.contains { $0.name == FieldName(name) }
    }
    if !local.hasSameStorage(as: change.fields, in: names) {
      try recordDifference(local, change.fields, .remote, change)
    }
    guard let remote = change.fields, let base, let local else {
      return (change.fields, change.fields)
    }
    return (
      remote.with(changes.added.map(\.name), of: base),
      remote.with(changes.added.map(\.name), of: local)
    )
  }

  /// Records two versions that differ, of which one is taken without a merge.
  private mutating func recordDifference(
    _ local: Record?, _ remote: Record?, _ resolution: MergeResolution<Record>,
    _ change: SyncRecordState
  ) throws {
    guard !local.hasSameStorage(as: remote) else { return }
    switch (local, remote) {
    case (let local?, let remote?):
      try record(.addAdd(local: local, remote: remote), resolution, change.key)
    // The loser is the only version that there is.
    case (let local?, nil):
      try record(.editDelete(base: local, local: local), resolution, change.key)
    case (nil, let remote?):
      // A repair undoes deletions that no trigger noted. A file that takes over all records of the
      // space has few of them before.
      if case .remote = resolution, state.pullNeed != .repair { return }
      try record(.deleteEdit(base: remote, remote: remote), resolution, change.key)
    case (nil, nil): return
    }
  }

  private mutating func record(
    _ conflict: MergeConflict<Record>, _ resolution: MergeResolution<Record>, _ key: SyncKey,
    fields: [String]? = nil
  ) throws {
    report.conflictCount += 1
    if resolution.isUnresolved { report.openCount += 1 }
    try tables.record(
      conflict, resolution, key, fields: fields, version: state.revision?.version ?? 0)
  }
}

// MARK: - Records that are not in the pages

extension PageApplication {
  /// Notes that the space has a record; `false` if it came before.
  private func see(_ key: SyncKey) throws -> Bool {
    guard isComplete else { return true }
    try tables.run(
      "INSERT OR IGNORE INTO temp.tandem_seen (\"table\", \"key\") VALUES (?, ?)",
      [.text(key.table), .blob(key.canonicalBytes)])
    return tables.connection.changeCount == 1
  }

  private func isSeen(_ key: SyncKey) throws -> Bool {
    try !tables.rows(
      "SELECT 1 FROM temp.tandem_seen WHERE \"table\" = ? AND \"key\" = ?",
      [.text(key.table), .blob(key.canonicalBytes)]
    ).isEmpty
  }

  /// Deletes the records of the base that the space no longer has.
  private mutating func deleteMissing() throws {
    for table in schema.tables {
      try deleteMissing(table, listedIn: table.name)
      try deleteMissing(table, listedIn: table.shadow.name)
    }
    for row in try tables.rows("SELECT \"table\", id FROM tandem_parked") {
      guard case .text(let table) = row[0], case .text(let text) = row[1],
        let id = try? SyncMessageReader().id(Array(text.utf8))
      else { throw ReplicaError.damaged("tandem_parked", tables.connection.path) }
      try deleteIfMissing(SyncKey(table: table, id: id))
    }
  }

  private mutating func deleteMissing(_ table: ReplicaTable, listedIn list: String) throws {
    var last: KeyPage.Position?
    repeat {
      let page = try tables.keys(of: table, in: list, after: last)
      for key in page.keys { try deleteIfMissing(table.syncKey(key)) }
      last = page.next
    } while last != nil
  }

  private mutating func deleteIfMissing(_ key: SyncKey) throws {
    guard try !isSeen(key) else { return }
    if let table = schema.table(named: key.table), try tables.row(table, key.id).base == nil {
      return
    }
    try apply(SyncRecordState(key: key, version: 0, fields: nil))
  }
}

// MARK: - Foreign keys

extension PageApplication {
  /// Records the deletions of the space that rows of this file overruled, because they refer to the
  /// deleted rows.
  private mutating func recordKept() throws {
    for placement in placing.kept {
      guard let record = placement.result,
        case .values = try tables.row(placement.table, placement.key).row
      else { continue }
      report.revivedCount += 1
      try self.record(.editDelete(base: record, local: record), .local, placement.syncKey)
    }
  }
}

extension Record {
  /// This record with some fields of another one.
  fileprivate func with(_ names: [FieldName], of other: Record) -> Record {
    var record = self
    for name in names { record[field: name] = other[field: name] }
    return record
  }
}

extension Optional where Wrapped == Record {
  /// True if both are absent, or store the given fields identically.
  fileprivate func hasSameStorage(as other: Record?, in names: [String]) -> Bool {
    switch (self, other) {
    case (let one?, let other?): names.allSatisfy { one[$0].hasSameStorage(as: other[$0]) }
    case (nil, nil): true
    default: false
    }
  }
}
