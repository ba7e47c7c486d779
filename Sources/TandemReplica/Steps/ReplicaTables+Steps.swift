internal import TandemSQLite
package import TandemSync

extension ReplicaTables {
  /// Performs a step of a synchronization.
  ///
  /// The connection must not enforce foreign keys if ``TandemSync/SyncStep/writesRows`` is true.
  ///
  /// - Parameters:
  ///   - merging: The rules for conflicts.
  ///   - decision: The decision of the application if the space's history was lost.
  ///   - generator: Draws the identities of commits, and of replicas that need a new one.
  /// - Returns: The state of the file afterwards. ``applyReport`` describes what a step applied.
  /// - Throws: ``ReplicaError``, with code `undecided` if `decision` is needed; `DatabaseError`.
  package func perform(
    _ step: SyncStep, _ merging: ReplicaMerging, decision: EpochPolicy.Decision? = nil,
    limits: SyncLimits = SyncLimits(), using generator: inout some RandomNumberGenerator
  ) throws -> SyncSummary {
    var isNew = false
    do {
      isNew = try connection.savepoint {
        try carryOut(step, merging, decision: decision, limits: limits, using: &generator)
      }
    } catch let error as DatabaseError
      where CompanionFile(of: connection)?.isDamaged(error) ?? false
    {
      // Everything is pulled again.
      forgetSchema()
      try discardStaged()
    }
    var summary = try syncSummary()
    summary.outbox?.isNew = isNew
    return summary
  }

  /// - Returns: True if a commit was made.
  private func carryOut(
    _ step: SyncStep, _ merging: ReplicaMerging, decision: EpochPolicy.Decision?,
    limits: SyncLimits, using generator: inout some RandomNumberGenerator
  ) throws -> Bool {
    _ = try schema()
    switch step {
    case .look: try removeStagedFile()
    case .requirePull: try requirePull()
    case .freeze: return try freeze(merging, limits: limits, using: &generator)
    case .settle(let outcome, let commit): try settle(outcome, of: commit, using: &generator)
    case .takeBack(let commit): try takeBack(commit)
    case .stage(let page, let pull):
      applyReport = try take(page, for: pull, merging, using: &generator)
    case .discardStaged: try discardStaged()
    case .apply:
      applyReport = try applyStaged(merging, decision: decision, using: &generator)
    case .receive(let page, let revision):
      applyReport = try receive(page, after: revision, merging, using: &generator)
    case .lose(let gone, let pull): try lose(gone, for: pull, using: &generator)
    case .verify: _ = try verify()
    }
    return false
  }
}

extension SyncStep {
  /// True if the step writes rows of the application. It needs a transaction in which foreign keys are
  /// not enforced.
  package var writesRows: Bool {
    switch self {
    case .apply, .receive, .settle(.refused, of: _): true
    case .stage(let page, for: _): page.next == nil
    case .look, .requirePull, .freeze, .settle, .takeBack, .discardStaged, .lose, .verify:
      false
    }
  }
}
