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
  /// The kept edits that are rows which the space never had, before any is joined with a record of the space.
  var refusedInsertions: [KeptEdit.ID] = []
  /// The rows that got another number.
  package var renumbered: [RenumberedRow] = []
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
    let file = try stagedFile()
    guard try outboxSummary() == nil, try staging() == .complete,
      let last = try lastStagedPage(in: file)
    else { return ReplicaApplyReport() }
    return try apply(
      last, isStaged: true, file, merging, decision, namesReplica: true, using: &generator)
  }

  /// Takes a page that answers a request. If more pages follow, it is staged; the last one is applied
  /// at once, with the staged ones. So a pull of one page takes one transaction, and writes nothing
  /// that it deletes again.
  ///
  /// If the application has to decide first, or rows are to be copied from the file beside the database, the last page
  /// is staged as well.
  ///
  /// The connection must not enforce foreign keys if it is the last page.
  ///
  /// - Returns: The result if the pages were applied.
  /// - Throws: Also `ForeignPage`; nothing is changed then.
  func take(
    _ page: SyncPage, for pull: SyncPull, _ merging: ReplicaMerging,
    using generator: inout some RandomNumberGenerator
  ) throws -> ReplicaApplyReport? {
    let file = page.next == nil ? try stagedFile() : nil
    guard page.next == nil, try !state().pullNeed.needsDecision, try awaits(answerTo: pull),
      try file == nil || !canCopyRows()
    else {
      try stage(page, for: pull)
      return nil
    }
    try discardStaged(exceptSince: pull.since)
    try check(page)
    return try apply(
      page, isStaged: false, file, merging, nil, namesReplica: true, using: &generator)
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
    do { try check(page, isEvent: true) } catch is ForeignPage { return nil }
    // Another process may be in the middle of a pull. It starts again where this one ends.
    try discardStaged()
    return try apply(
      page, isStaged: false, nil, merging, nil, namesReplica: false, using: &generator)
  }

  /// Applies the staged pages and, if it is not one of them, the last page.
  ///
  /// - Parameters:
  ///   - file: The file that has the content of staged pages.
  ///   - namesReplica: True if the pages have the last commit of the replica.
  private func apply(
    _ last: SyncPage, isStaged: Bool, _ file: StagedFile?, _ merging: ReplicaMerging,
    _ decision: EpochPolicy.Decision?, namesReplica: Bool,
    using generator: inout some RandomNumberGenerator
  ) throws -> ReplicaApplyReport {
    let schema = try schema()
    var state = try state()
    if namesReplica, try hasLostCommits(last, &state, using: &generator) {
      return ReplicaApplyReport()
    }
    if state.pullNeed == .history, last.revision == state.revision, state.hasEqualDigests {
      // The space has the history of the base after all, with the last commit that is part of it.
      state.pullNeed = .horizon
    }
    if state.pullNeed.needsDecision, decision == nil {
      throw ReplicaError(
        .undecided,
        "the space has another history than the one this file knows; decide whether to keep the "
          + "records of both, the space's, or this file's")
    }
    try noteStanding(last.replica, &state)
    if try state.pullNeed == .columns && hasMissedChanges(state) { state.pullNeed = .repair }
    if state.pullNeed == .conflict, last.revision == state.revision {
      return try requireRepair(&state)
    }
    try checkStatements(schema)
    let triggers = try foreignTriggers()
    let apply = {
      let report = try self.readingRows {
        var application = try PageApplication(self, schema, merging, state, decision)
        return try application.run(last, isStaged: isStaged, file)
      }
      if !report.hasEqualDigests, state.pullNeed.trustsUntouchedRows { throw WrongBase() }
      return report
    }
    let report: ReplicaApplyReport
    do {
      report = try connection.savepoint {
        try withoutSilencedTriggers {
          try !triggers.areFired && isLong(last) ? quietly(apply) : apply()
        }
      }
    } catch is WrongBase {
      return try requireRepair(&state)
    }
    try joinSame(report.refusedInsertions)
    try discardStaged()
    hasAppliedFile = file != nil
    try pruneKeptEdits()
    try pruneNotes()
    return report
  }

  /// The base is not what the space had at the revision: rows have edits that no trigger noted.
  struct WrongBase: Error {}

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
}
