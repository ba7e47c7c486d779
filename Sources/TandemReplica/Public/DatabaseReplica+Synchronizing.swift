internal import Synchronization
internal import TandemSQLite
public import TandemSync

extension DatabaseReplica {
  /// The result of a synchronization.
  public struct Report: Hashable, Sendable {
    /// The revision of the space that the file has exactly.
    public let revision: SpaceRevision
    /// The number of rows whose changes the space accepted.
    public let pushedCount: Int
    /// The number of rows that were written for changes of other replicas.
    public let pulledCount: Int
    /// The number of conflicts that are open in the file, older ones included.
    public let conflictCount: Int
    /// The number of rejected changes in the file, older ones included.
    public let rejectedCount: Int
    /// The rows that got another key, see ``AttachedTable/renumbers``.
    public let renumbered: [RenumberedRow]
  }

  /// The number of failed requests in a row after which ``sync(with:verifyingRows:reporting:)`` gives up. It gives up earlier,
  /// after two requests, if a space does not answer for half a minute.
  public static var maxFailureCount: Int { 5 }

  /// Synchronizes until the file is in step with the space.
  ///
  /// Neither conflicts nor rejected changes prevent this: the row has the version of the space then. The
  /// report counts them; ``keptEdits(_:includingResolved:)`` has them.
  ///
  /// No row is read for that: triggers note the rows that change. Writes that bypass triggers are found if
  /// all rows are verified. Such a row gets the version of the space, and the row as it was is kept as an
  /// open conflict.
  ///
  /// - Parameters:
  ///   - space: The space that the file is attached to.
  ///   - verifiesRows: True to read all rows afterwards and compare their digest with that of the space.
  ///   - report: Called with each new state of the synchronization, in order, and with the error that led
  ///     to it, such as the reason why the space cannot be reached.
  /// - Complexity: With `verifiesRows`, O(*n*) in the number of rows; with write-ahead logging, no writer
  ///   waits meanwhile.
  /// - Returns: The revision that was reached. All changes are durable on both sides.
  /// - Throws: ``ReplicaError`` with code `otherSpace` if the file is attached to another space, and with
  ///   code `undecided` or `blocked` if the synchronization needs help; the error of the last request if
  ///   the space could not be reached; `DatabaseError`; `CancellationError`. It may be called again at any
  ///   time, and continues.
  @discardableResult
  public func sync(
    with space: SyncSpace, verifyingRows verifiesRows: Bool = false,
    reporting report: @escaping @Sendable (SyncStatus, (any Error)?) -> Void = { _, _ in }
  ) async throws -> Report {
    let renumbered = Mutex<[RenumberedRow]>([])
    let run = try await synchronize(
      with: space, verifyingRows: verifiesRows,
      renumbered: { rows in renumbered.withLock { $0 += rows } }, report)
    return try await self.report(of: run, renumbered.withLock { $0 })
  }

  /// Synchronizes until the file contains a revision of the space, which may not exist yet.
  ///
  /// So a program waits for something that another one has written: it gets the revision of the
  /// other one's ``Report``.
  ///
  /// - Throws: As ``sync(with:verifyingRows:reporting:)``, except that it waits while the space cannot be reached;
  ///   ``ReplicaError`` with code `otherHistory` if the revision is not in the space's history.
  @discardableResult
  public func sync(
    with space: SyncSpace, upTo revision: SpaceRevision,
    reporting report: @escaping @Sendable (SyncStatus, (any Error)?) -> Void = { _, _ in }
  ) async throws -> Report {
    let renumbered = Mutex<[RenumberedRow]>([])
    let run = try await run(
      until: .reached(revision), with: space,
      renumbered: { rows in renumbered.withLock { $0 += rows } }, report)
    let result = try await self.report(of: run, renumbered.withLock { $0 })
    guard result.revision.epoch == revision.epoch else {
      throw ReplicaError(
        .otherHistory,
        "the space has the history \(result.revision.epoch), not \(revision.epoch): it was restored "
          + "or replaced; ask for a revision of the present history")
    }
    return result
  }

  /// Keeps the file in step with the space until the task is cancelled: it follows the commits of
  /// all programs to both.
  ///
  /// It continues by itself after failures, with pauses of up to half a minute, or of up to five minutes
  /// if the space asks for that. While another program keeps the file locked, or the disk of the file is
  /// full, it waits; the status is `offline` while the disk is full.
  ///
  /// - Parameters:
  ///   - space: The space that the file is attached to.
  ///   - report: Called with each new state of the synchronization, in order, and with the error that led
  ///     to it, such as the reason why the space cannot be reached.
  ///   - renumbered: Called with rows that got another key, see ``AttachedTable/renumbers``.
  /// - Throws: `CancellationError`; ``ReplicaError`` and `DatabaseError` if the file cannot be
  ///   synchronized.
  public func run(
    with space: SyncSpace,
    reporting report: @escaping @Sendable (SyncStatus, (any Error)?) -> Void = { _, _ in },
    renumbering renumbered: @escaping @Sendable ([RenumberedRow]) -> Void = { _ in }
  ) async throws {
    let run = try await run(until: .forever, with: space, renumbered: renumbered, report)
    if let block = run.block { throw block }
    try Task.checkCancellation()
  }
}

// MARK: - Runs

/// The end of a run.
package struct ReplicaRun: Sendable {
  /// The last state.
  package let status: SyncStatus
  /// The reason for which the file itself cannot be synchronized; `nil` if it can.
  package let block: ReplicaError?
  /// The error that led to it.
  package let cause: (any Error)?
  /// The number of rows whose changes the space accepted.
  package fileprivate(set) var pushedCount: Int
  /// The number of rows that were written for changes of other replicas.
  package fileprivate(set) var pulledCount: Int

  /// This run with the counts of the one before it.
  fileprivate func adding(_ former: ReplicaRun) -> ReplicaRun {
    var run = self
    run.pushedCount += former.pushedCount
    run.pulledCount += former.pulledCount
    return run
  }
}

extension DatabaseReplica {
  /// The report of a run that ended in step.
  ///
  /// - Throws: The reason why another run ended; `DatabaseError`; `CancellationError`.
  private func report(
    of run: ReplicaRun, _ renumbered: [RenumberedRow]
  ) async throws -> Report {
    if let block = run.block { throw block }
    switch run.status {
    case .upToDate(let revision):
      let (conflictCount, rejectedCount) = try await database.read {
        let tables = ReplicaTables($0.connection)
        return (try tables.openCount(.conflicts), try tables.openCount(.rejected))
      }
      return Report(
        revision: revision, pushedCount: run.pushedCount, pulledCount: run.pulledCount,
        conflictCount: conflictCount, rejectedCount: rejectedCount, renumbered: renumbered)
    case .blocked(let block): throw ReplicaError(block)
    case .offline, .connecting, .pushing, .pulling, .verifying:
      throw run.cause
        ?? SyncRequestError(.unavailable, "the space cannot be reached; try again later")
    }
  }
}

extension ReplicaError {
  /// True if a change of the file's schema prevents its synchronization.
  package var needsHelp: Bool { code == .schema || code == .paused }

  /// The error of a synchronization that needs help.
  package init(_ block: SyncStatus.Block) {
    switch block {
    case .undecided:
      self.init(
        .undecided,
        "the space was restored or replaced: it has another history than the one this file knows; "
          + "decide whether to keep the records of both, the space's, or this file's")
    case .refused(let refusal): self.init(.blocked, "the space refuses to continue: \(refusal)")
    case .unsendable:
      self.init(
        .blocked, "some rows cannot be synchronized; see the rejected changes for the reasons")
    case .differentDigests:
      self.init(
        .blocked,
        "the rows differ from those of the space, even after all were fetched again; check whether "
          + "a trigger changes rows as they are written, then synchronize again, or detach the "
          + "file and attach it again")
    }
  }
}

extension DatabaseReplica {
  /// Synchronizes until the file is in step or the space cannot be reached, and counts.
  ///
  /// - Parameters:
  ///   - verifiesRows: True to read all rows as well. If some differ from those of the space without having
  ///     been noted by a trigger, they are repaired.
  ///   - progress: Called after each commit that was accepted, and each page that was received or applied.
  ///   - renumbered: Called with rows that got another key.
  ///   - report: Called with each new state, and with the error that led to it.
  package func synchronize(
    with space: SyncSpace, verifyingRows verifiesRows: Bool,
    progress: @escaping @Sendable (ReplicaProgress) -> Void = { _ in },
    renumbered: @escaping @Sendable ([RenumberedRow]) -> Void = { _ in },
    _ report: @escaping @Sendable (SyncStatus, (any Error)?) -> Void
  ) async throws -> ReplicaRun {
    let goal = SyncGoal.settled(maxFailureCount: DatabaseReplica.maxFailureCount)
    var run = try await run(
      until: goal, with: space, progress: progress, renumbered: renumbered, report)
    while verifiesRows, run.block == nil, run.status.isAtRevision {
      report(.verifying, nil)
      if try await verifyRows() {
        report(run.status, nil)
        break
      }
      run = try await self.run(
        until: goal, with: space, progress: progress, renumbered: renumbered, report
      ).adding(run)
    }
    return run
  }

  /// Synchronizes until the goal is reached, and counts. A run for ever ends without an error when
  /// the task is cancelled.
  ///
  /// - Parameters:
  ///   - progress: Called after each commit that was accepted, and each page that was received or applied.
  ///   - renumbered: Called with rows that got another key.
  ///   - report: Called with each new state, and with the error that led to it.
  package func run(
    until goal: SyncGoal, with space: SyncSpace,
    progress: @escaping @Sendable (ReplicaProgress) -> Void = { _ in },
    renumbered: @escaping @Sendable ([RenumberedRow]) -> Void = { _ in },
    _ report: @escaping @Sendable (SyncStatus, (any Error)?) -> Void
  ) async throws -> ReplicaRun {
    // Pages are applied inside of a transaction, which must not wait for whoever shows the progress.
    let (events, event) = AsyncStream<ReplicaProgress>.makeStream()
    return try await withThrowingTaskGroup { group in
      group.addTask { for await progressed in events { progress(progressed) } }
      defer { event.finish() }
      let log = RunLog(report, renumbered) { event.yield($0) }
      return try await run(until: goal, space.remote, named: space.name, log)
    }
  }

  private func run(
    until goal: SyncGoal, _ remote: some SyncRemote, named name: String, _ log: RunLog
  ) async throws -> ReplicaRun {
    // The tables may have been attached since the last run, or by another process.
    forgetWatch()
    let replica = CountedReplica(replica: self, log: log, waits: goal == .forever)
    let driver = SyncDriver(
      replica, CountedRemote(remote: remote, log: log, replica: self),
      publish: { log.note($0, $1) })
    do {
      log.noteSpace(try await replica.requireAttachment(toSpaceNamed: name))
      return log.run(endingWith: try await driver.run(until: goal))
    } catch is CancellationError where goal == .forever {
      return log.run()
    } catch let error as ReplicaError where error.needsHelp {
      return log.run(blockedBy: error)
    }
  }
}

extension SyncStatus {
  /// True if the file has what the space has at a revision, apart from rows that cannot be sent.
  fileprivate var isAtRevision: Bool {
    switch self {
    case .upToDate, .blocked(.unsendable): true
    case .connecting, .pushing, .pulling, .verifying, .offline, .blocked: false
    }
  }
}
