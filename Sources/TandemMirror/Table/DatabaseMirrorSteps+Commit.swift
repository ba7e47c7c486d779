internal import Synchronization
internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

extension DatabaseMirrorSteps {
  /// Commits the difference, unless the run ended early; then removes the files that no row points to, if
  /// nothing failed.
  func end(_ report: MirrorReport<RecordKey>) async throws {
    defer { closeFolders() }
    let isPrepared = state.withLock { $0.transfers.isPrepared }
    guard report.interruption == nil, isPrepared else { return }
    guard let plan = state.withLock({ $0.plan }) else {
      return mirror.isDryRun ? () : try removeFiles(notIn: state.withLock { $0.files.values })
    }
    if mirror.isDryRun { try assumeTransfers(plan) }
    let commit = MirrorCommit(
      plan, state.withLock { $0.transfers }, areIntact: { self.isIntact($0, at: $1) })
    // The index is true of all files, before rows point to them.
    if !mirror.isDryRun { try flushIndex() }
    let outcome = try await write(commit, origin: origin(report, plan))
    state.withLock { $0.report.outcome = outcome }
    guard !contents.isEmpty else { return }
    let paths = commit.rowPaths()
    if !mirror.isDryRun { try clearDirty(commit, paths) }
    guard mirror.isDryRun || report.isComplete else { return }
    try removeFiles(notIn: paths)
    if !mirror.isDryRun { for store in stores { try store.discardPartialFiles() } }
  }

  /// Assumes that all transfers succeed, and that all deletions are made.
  private func assumeTransfers(_ plan: Plan) throws {
    for (position, content) in contents.enumerated() {
      for item in plan.items { add(try request(for: item, content), at: position, of: item.id) }
    }
    let target = plan.comparison.target
    let ids = plan.comparison.changes.deleted.map(target.key(of:))
    state.withLock { $0.transfers.removedIDs.formUnion(ids) }
  }

  /// The origin of the list, for a conditional request next time; `nil` if something failed, which the next run
  /// has to ask for, even if the list is the same.
  private func origin(_ report: MirrorReport<RecordKey>, _ plan: Plan) -> MirrorOrigin? {
    guard case .url(let url) = source, report.isComplete || mirror.isDryRun else { return nil }
    return MirrorOrigin(
      url: url, options: listOptions, contents: contents, validators: plan.validators)
  }

  /// Writes the commit in one transaction. If the table was changed since it was compared, it is compared
  /// again there.
  private func write(
    _ commit: MirrorCommit, origin: MirrorOrigin?
  ) async throws -> DatabaseMirror.Outcome {
    let (progress, comparison) = (progress, commit.plan.comparison)
    let mirror = comparison.mirror
    let changes = commit.changes()
    let outcome = try await database.read {
      try comparison.outcome(of: changes, origin: origin, in: $0)
    }
    if mirror.isDryRun || outcome.isUpToDate { return outcome }
    if !outcome.widenedColumns.isEmpty,
      try await database.read({ try comparison.needsOwnWidening(in: $0) })
    {
      try await database.widen(outcome.widenedColumns, ofTable: comparison.target.name)
    }
    var written = try await database.write { connection in
      let report = { progress(.writing(changeCount: $0, totalCount: $1)) }
      let outcome: DatabaseMirror.Outcome
      if try comparison.isCurrent(in: connection) {
        outcome = try comparison.write(changes, origin: origin, to: connection, progress: report)
      } else {
        let (records, files) = commit.rows()
        let renewed = try DatabaseMirror.Comparison(mirror, records, files: files, in: connection)
        try renewed.requirePermission(sourceCount: comparison.list.count)
        outcome = try renewed.write(
          renewed.changes, origin: origin, to: connection, progress: report)
      }
      try mirror.requireRows(after: outcome, in: connection) { commit.rows() }
      return outcome
    }
    written.widenedColumns = outcome.widenedColumns
    return written
  }

  /// Notes that files belong to their rows, but for those of rows that stayed as they were.
  private func clearDirty(_ commit: MirrorCommit, _ rowPaths: [[String?]]) throws {
    let dirty = state.withLock { $0.dirty }
    // Most runs replace no file.
    let isClean = dirty.allSatisfy(\.isEmpty)
    let arrived = names(isClean ? [] : commit.arrivedPaths())
    let pointed = names(isClean ? [] : rowPaths)
    for (position, store) in stores.enumerated() {
      try store.setDirty(
        dirty[position].intersection(pointed[position]).subtracting(arrived[position]))
    }
  }

  /// Removes the files that are not among the paths of rows, or finds them in a dry run.
  private func removeFiles(notIn rowPaths: some Sequence<[String?]>) throws {
    let kept = names(rowPaths)
    for (position, content) in contents.enumerated() {
      let removed =
        mirror.isDryRun
        ? try files[position].names().filter { !kept[position].contains($0) }
        : try stores[position].sweep(keeping: kept[position])
      state.withLock { $0.report.removedPaths += removed.map(content.path) }
    }
  }

  /// The names of files that rows point to, by content.
  private func names(_ rowPaths: some Sequence<[String?]>) -> [Set<FileName>] {
    var result = contents.map { _ in Set<FileName>() }
    for paths in rowPaths {
      for (position, name) in names(paths) { result[position].insert(name) }
    }
    return result
  }
}

/// The rows that a run commits: those of its list, of which items with a failed transfer keep their old row.
private struct MirrorCommit: Sendable {
  let plan: DatabaseMirrorSteps.Plan
  /// The old and the new row of each item that was to be transferred, by the item's position.
  private var itemRows: [Int: (old: Record?, new: Record?)] = [:]
  private let removedIDs: Set<RecordKey>
  private let arrived: [[String?]]

  init(
    _ plan: DatabaseMirrorSteps.Plan, _ transfers: DatabaseMirrorSteps.Transfers,
    areIntact isIntact: (_ path: String, _ position: Int) -> Bool
  ) {
    let (comparison, contents) = (plan.comparison, plan.comparison.mirror.contents)
    let target = comparison.target
    var arrived: [[String?]] = []
    for item in plan.items {
      let stored = comparison.list.record(at: item.position)
      let old = plan.insertedIDs.contains(item.id) ? nil : plan.oldRows[item.id] ?? stored
      // A file that is missing is not in the row.
      let oldFiles = target.files(of: stored).enumerated().map { position, path in
        path.flatMap { isIntact($0, position) ? $0 : nil }
      }
      let paths = contents.indices.map { transfers.paths[item.id]?[$0] }
      if zip(contents, paths).allSatisfy({ !$0.isRequired || $1 != nil }) {
        let files = zip(paths, oldFiles).map { $0 ?? $1 }
        itemRows[item.position] = (old, target.record(stored, files: files))
        arrived.append(paths.map { $0 ?? nil })
      } else {
        itemRows[item.position] = (old, old.map { target.record($0, files: oldFiles) })
      }
    }
    self.plan = plan
    self.arrived = arrived
    removedIDs = transfers.removedIDs
  }
}

extension MirrorCommit {
  private var target: DatabaseMirror.Target { plan.comparison.target }

  /// The paths of the files that arrived for items whose rows are written.
  func arrivedPaths() -> [[String?]] { arrived }

  /// The changes to the table as it was compared, each kind ascending by key.
  func changes() -> DatabaseMirror.Changes {
    if plan.comparison.mirror.contents.isEmpty { return plan.comparison.changes }
    var changes = SetDifference<Record>()
    changes.deleted = plan.comparison.changes.deleted.filter {
      removedIDs.contains(target.key(of: $0))
    }
    for row in itemRows.values {
      switch row {
      case (let old?, let new?) where old != new: changes.updated.append(.init(old: old, new: new))
      case (nil, let new?): changes.inserted.append(new)
      default: break
      }
    }
    changes.inserted.sort { target.key(of: $0) < target.key(of: $1) }
    changes.updated.sort { target.key(of: $0.new) < target.key(of: $1.new) }
    return DatabaseMirror.Changes(changes)
  }

  /// All rows after the commit.
  private func records() -> [Record] {
    var records: [Record] = []
    let list = plan.comparison.list
    for position in list.indices {
      if let row = itemRows[position] {
        if let new = row.new { records.append(new) }
      } else {
        records.append(list.record(at: position))
      }
    }
    return records
      + plan.comparison.changes.deleted.filter { !removedIDs.contains(target.key(of: $0)) }
  }

  /// All rows after the commit, and the paths of their files by key.
  func rows() -> (records: PackedRecords, files: [RecordKey: [String?]]) {
    if plan.comparison.mirror.contents.isEmpty { return (plan.comparison.list.source, [:]) }
    let records = records()
    let files = records.map { (target.key(of: $0), target.files(of: $0)) }
    return (PackedRecords(records), Dictionary(files, uniquingKeysWith: { first, _ in first }))
  }

  /// The paths of the files of all rows after the commit.
  func rowPaths() -> [[String?]] { records().map(target.files(of:)) }
}
