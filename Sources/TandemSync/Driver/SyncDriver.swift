/// The end of a run.
package enum SyncGoal: Hashable, Sendable {
  /// Ends when the replica is up to date or blocked, or after so many failed requests in a row.
  case settled(maxFailureCount: Int)
  /// Ends when the replica is up to date at this revision or a later one, at any revision of
  /// another history, or when it is blocked.
  case reached(SpaceRevision)
  /// Ends only with an error, or when the task is cancelled.
  case forever

  /// True if a run waits for new changes.
  fileprivate var waits: Bool {
    switch self {
    case .settled: false
    case .reached, .forever: true
    }
  }
}

/// Performs the actions of a ``SyncSession`` on a replica and a space.
///
/// A run is one task group: nothing of it outlives the call. Cancelling the task ends it between two
/// actions, or in the middle of a request, whose outcome the next run finds out.
package struct SyncDriver<Replica: SyncReplica, Remote: SyncRemote>: Sendable {
  /// The result of a child task.
  private enum ChildResult: Sendable {
    case performed(SyncSummary)
    case happened(SyncSession.Event, cause: (any Error)? = nil)
    /// The head of the space is not this revision any more, or waiting for that has failed.
    case announced(after: SpaceRevision, failed: Bool)
  }

  private let replica: Replica
  private let remote: Remote
  private let backoff: SyncBackoff
  private let clock: any Clock<Duration>
  private let chance: @Sendable () -> Double
  private let publish: @Sendable (SyncStatus, (any Error)?) -> Void

  /// A driver.
  ///
  /// - Parameters:
  ///   - backoff: The pauses between attempts.
  ///   - clock: The clock of the pauses.
  ///   - chance: Returns random numbers from 0 to 1.
  ///   - publish: Called with each new status, in order, and with the error that led to it.
  package init(
    _ replica: Replica, _ remote: Remote, backoff: SyncBackoff = SyncBackoff(),
    clock: any Clock<Duration> = .continuous,
    chance: @escaping @Sendable () -> Double = { .random(in: 0...1) },
    publish: @escaping @Sendable (SyncStatus, (any Error)?) -> Void = { _, _ in }
  ) {
    self.replica = replica
    self.remote = remote
    self.backoff = backoff
    self.clock = clock
    self.chance = chance
    self.publish = publish
  }

  /// Synchronizes until the goal is reached.
  ///
  /// - Returns: The last status.
  /// - Throws: An error of the replica's file; `CancellationError`.
  @discardableResult
  package func run(until goal: SyncGoal) async throws -> SyncStatus {
    try await withThrowingTaskGroup(of: ChildResult.self) { group in
      defer { group.cancelAll() }
      if goal.waits { watchReplica(in: &group) }
      var session = SyncSession()
      var watch = SpaceWatch()
      var actions = session.handle(.requested)
      var cause: (any Error)?
      while true {
        for action in actions {
          if isEnd(action, session.status, goal) { return session.status }
          begin(action, cause, in: &group)
        }
        if isEnd(session, goal) { return session.status }
        if goal.waits, !session.isBusy, let revision = watch.next() {
          watchSpace(after: revision, failureCount: watch.failureCount, in: &group)
        }
        guard let result = try await group.next() else {
          preconditionFailure("a session that is not at its goal waits for an event")
        }
        cause = nil
        actions = []
        switch result {
        case .performed(let summary):
          watch.revision = summary.revision
          actions = session.handle(.performed(summary))
        case .happened(let event, let error):
          cause = error
          if event == .changedLocally { watchReplica(in: &group) }
          actions = session.handle(event)
        case .announced(let revision, let failed):
          if watch.end(revision, failed: failed) { actions = session.handle(.announced) }
        }
      }
    }
  }

  /// True if a run ends because the session waits for events that its goal does not include.
  private func isEnd(_ session: SyncSession, _ goal: SyncGoal) -> Bool {
    guard !session.isBusy else { return false }
    switch (goal, session.status) {
    case (.settled, .upToDate), (.settled, .blocked), (.reached, .blocked): return true
    case (.reached(let goal), .upToDate(let revision)):
      return revision.epoch != goal.epoch || revision.version >= goal.version
    case (.forever, _), (_, .connecting), (_, .pushing), (_, .pulling), (_, .verifying),
      (_, .offline):
      return false
    }
  }

  /// True if a run ends instead of performing an action.
  private func isEnd(
    _ action: SyncSession.Action, _ status: SyncStatus, _ goal: SyncGoal
  ) -> Bool {
    guard case .settled(let maxFailureCount) = goal, status == .offline,
      case .timer(_, let failureCount, _) = action
    else { return false }
    return failureCount >= maxFailureCount
  }
}

/// The wait for commits of others.
private struct SpaceWatch {
  /// The revision of the replica.
  var revision: SpaceRevision?
  /// The number of waits in a row that failed.
  private(set) var failureCount = 0
  /// The revision that a child task waits after.
  private var watched: SpaceRevision?

  /// The revision to wait after, unless a child task does.
  mutating func next() -> SpaceRevision? {
    guard revision != watched else { return nil }
    watched = revision
    return watched
  }

  /// Takes note of the end of a wait. Returns false if the replica has moved on by itself, so that
  /// the space need not have anything new.
  mutating func end(_ known: SpaceRevision, failed: Bool) -> Bool {
    failureCount = failed ? failureCount + 1 : 0
    if known == watched { watched = nil }
    return known == revision
  }
}

// MARK: - Actions

extension SyncDriver {
  private typealias Group = ThrowingTaskGroup<ChildResult, any Error>

  private func begin(
    _ action: SyncSession.Action, _ cause: (any Error)?, in group: inout Group
  ) {
    switch action {
    case .perform(let step): group.addTask { try await perform(step) }
    case .push(let commit): group.addTask { try await push(commit) }
    case .pull(let request):
      group.addTask {
        try await answer { .pulled(try await remote.pull(request)) }
      }
    case .timer(let number, let failureCount, let least):
      let pause = max(backoff.delay(afterFailure: failureCount, chance: chance()), least ?? .zero)
      group.addTask {
        try await clock.sleep(for: pause)
        return .happened(.timerFired(number))
      }
    case .report(let status): publish(status, cause)
    }
  }

  private func perform(_ step: SyncStep) async throws -> ChildResult {
    do {
      return .performed(try await replica.perform(step))
    } catch let error as SyncUndecided {
      return .happened(.undecided, cause: error)
    }
  }

  private func push(_ id: SyncToken) async throws -> ChildResult {
    guard let commit = try await replica.outbox(), commit.id == id else {
      return .happened(.superseded)
    }
    return try await answer { .pushed(try await remote.push(commit)) }
  }

  /// The event of a request's answer. Only cancelling the run ends it.
  private func answer(
    _ request: () async throws -> SyncSession.Event
  ) async throws -> ChildResult {
    do {
      return .happened(try await request())
    } catch let refusal as SyncRefusal {
      return .happened(.refused(refusal), cause: refusal)
    } catch {
      try Task.checkCancellation()
      return .happened(.disconnected, cause: error)
    }
  }

  private func watchReplica(in group: inout Group) {
    group.addTask {
      try await replica.waitForChange()
      return .happened(.changedLocally)
    }
  }

  private func watchSpace(
    after revision: SpaceRevision, failureCount: Int, in group: inout Group
  ) {
    group.addTask {
      do {
        try await remote.waitForCommit(after: revision)
        return .announced(after: revision, failed: false)
      } catch {
        try Task.checkCancellation()
        // The pull that follows finds out whether the space can be reached.
        try await clock.sleep(for: backoff.delay(afterFailure: failureCount + 1, chance: chance()))
        return .announced(after: revision, failed: true)
      }
    }
  }
}
