internal import Synchronization
internal import TandemSync

/// The events of a run.
final class RunLog: Sendable {
  /// What the steps of the run note, and what its report has.
  private struct State {
    /// The rows of commits that the space has accepted.
    var sent = RowCount()
    /// The rows of the parts of the present commit that were sent, by the numbers of the parts: a part may be sent twice,
    /// and counts in ``sent`` only when the whole commit is accepted.
    var sentParts: [Int: RowCount] = [:]
    /// The rows of the present pull, also those that change nothing.
    var received = RowCount()
    /// The rows that all pulls have written.
    var pulledCount = 0
    var declaredTables: [SpaceTable]?
    var spaceName: String?
    var status = SyncStatus.connecting
    var cause: (any Error)?
  }

  private let state = Mutex(State())
  private let report: @Sendable (SyncStatus, (any Error)?) -> Void
  private let renumbered: @Sendable ([RenumberedRow]) -> Void
  /// Called with the progress of applying too.
  let progress: @Sendable (ReplicaProgress) -> Void

  init(
    _ report: @escaping @Sendable (SyncStatus, (any Error)?) -> Void,
    _ renumbered: @escaping @Sendable ([RenumberedRow]) -> Void,
    _ progress: @escaping @Sendable (ReplicaProgress) -> Void
  ) {
    self.report = report
    self.renumbered = renumbered
    self.progress = progress
  }

  func note(_ status: SyncStatus, _ cause: (any Error)?) {
    state.withLock { state in
      state.status = status
      state.cause = cause ?? state.cause
    }
    report(status, cause)
  }

  /// The tables that the space knows.
  var declaredTables: [SpaceTable]? { state.withLock { $0.declaredTables } }
  func noteDeclared(_ tables: [SpaceTable]?) { state.withLock { $0.declaredTables = tables } }
  /// The name by which the file knew the space at the start.
  var spaceName: String? { state.withLock { $0.spaceName } }
  func noteSpace(_ name: String) { state.withLock { $0.spaceName = name } }

  func count(_ commit: SyncCommit, answeredBy outcome: SyncOutcome) {
    switch outcome {
    case .accepted, .parts: break
    case .conflict, .refused, .sequence, .gone:
      return state.withLock { $0.sentParts = [:] }
    }
    progress(
      state.withLock { state in
        var part = RowCount()
        part.add(commit, recordCount: commit.recordCount)
        state.sentParts[commit.part] = part
        let sent = state.sentParts.values.reduce(into: state.sent) { $0.add($1) }
        if case .accepted = outcome { (state.sent, state.sentParts) = (sent, [:]) }
        return sent.progress(.sending, share: nil)
      })
  }

  func count(received page: SyncPage, for pull: SyncPull) {
    progress(
      state.withLock { state in
        if pull.cursor == nil { state.received = RowCount() }
        state.received.add(page)
        return state.received.progress(.receiving, share: page.share(of: pull))
      })
  }

  func note(applied: ReplicaApplyReport) {
    state.withLock { $0.pulledCount += applied.writtenCount }
    if !applied.renumbered.isEmpty { renumbered(applied.renumbered) }
  }

  func run(endingWith status: SyncStatus? = nil, blockedBy block: ReplicaError? = nil) -> ReplicaRun
  {
    state.withLock { state in
      ReplicaRun(
        status: status ?? state.status, block: block, cause: state.cause,
        pushedCount: state.sent.rowCount, pulledCount: state.pulledCount)
    }
  }
}

extension SyncCommit {
  /// The number of records that it changes.
  fileprivate var recordCount: Int {
    var records = FrozenRecords(self)
    var count = 0
    while records.next() != nil { count += 1 }
    return count
  }
}
