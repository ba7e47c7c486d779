package import TandemRecords

/// The end of a run.
package enum SyncGoal: Hashable, Sendable {
  /// Ends when the replica is up to date or blocked, or after so many failures in a row: requests
  /// without an answer, or commits that the space did not accept. A space that has not answered for
  /// ``SyncDriver/maxSilence`` ends it too.
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
    /// The space has announced something.
    case announced(SyncEvent, by: any SyncAnnouncements)
    /// The space cannot be followed any more.
    case lostAnnouncements
  }

  /// The time since a request failed without an answer after which another one without an answer ends a
  /// run that is to settle. The duration of a request that has an answer does not count.
  package static var maxSilence: Duration { .seconds(30) }

  private let replica: Replica
  private let remote: Remote
  private let backoff: Backoff
  private let clock: any Clock<Duration>
  private let chance: @Sendable () -> Double
  private let publish: @Sendable (SyncStatus, (any Error)?) -> Void

  /// Creates a driver.
  ///
  /// - Parameters:
  ///   - backoff: The pauses between attempts.
  ///   - clock: The clock of the pauses.
  ///   - chance: Returns random numbers from 0 to 1.
  ///   - publish: Called with each new status, in order, and with the error that led to it.
  package init(
    _ replica: Replica, _ remote: Remote, backoff: Backoff = Backoff(),
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
      var former: PageEnd?
      let elapsed = clock.stopwatch()
      // The time of the first request without an answer since the last answer.
      var silence: Duration?
      while true {
        for action in actions {
          let isSilent = silence.map { elapsed() - $0 >= Self.maxSilence } ?? false
          if goal.givesUp(before: action, isSilent: isSilent) { return session.status }
          begin(action, cause, after: former, in: &group)
        }
        if session.isAtGoal(goal) { return session.status }
        if goal.waits, let revision = watch.revisionToFollow() {
          follow(watch, after: revision, in: &group)
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
          switch event {
          case .disconnected: silence = silence ?? elapsed()
          case .pushed, .pulled, .refused: silence = nil
          default: break
          }
          former = PageEnd(event) ?? former
          if event == .changedLocally { watchReplica(in: &group) }
          actions = session.handle(event)
        case .announced(let event, let announcements): watch.note(event, by: announcements)
        case .lostAnnouncements:
          watch.noteLoss()
          actions = session.handle(.requested)
        }
        // An announcement of the replica's own commit may come before the outcome of that commit.
        if !session.isBusy, let event = watch.takeNews() {
          actions += session.handle(.announced(event))
        }
      }
    }
  }
}

extension SyncSession {
  /// True if a run ends because the session waits for events that its goal does not include.
  fileprivate func isAtGoal(_ goal: SyncGoal) -> Bool {
    guard !isBusy else { return false }
    switch (goal, status) {
    case (.settled, .upToDate), (.settled, .blocked), (.reached, .blocked): return true
    case (.reached(let goal), .upToDate(let revision)):
      return revision.epoch != goal.epoch || revision.version >= goal.version
    case (.forever, _), (_, .connecting), (_, .pushing), (_, .pulling), (_, .verifying),
      (_, .offline):
      return false
    }
  }
}

extension SyncGoal {
  /// True if a run ends instead of performing an action: after so many requests in a row that had no
  /// answer, or commits in a row that the space did not accept, or if the space has been silent for too
  /// long.
  fileprivate func givesUp(before action: SyncSession.Action, isSilent: Bool) -> Bool {
    guard case .settled(let maxFailureCount) = self, case .timer(_, let failureCount, _) = action
    else { return false }
    return failureCount >= maxFailureCount || isSilent
  }
}

extension Clock where Duration == Swift.Duration {
  /// A function that returns the time since this call.
  fileprivate func stopwatch() -> () -> Duration {
    let start = now
    return { start.duration(to: now) }
  }
}

// MARK: - Actions

extension SyncDriver {
  private typealias Group = ThrowingTaskGroup<ChildResult, any Error>

  private func begin(
    _ action: SyncSession.Action, _ cause: (any Error)?, after former: PageEnd?,
    in group: inout Group
  ) {
    switch action {
    case .perform(let step): group.addTask { try await perform(step) }
    case .push(let commit, let part): group.addTask { try await push(commit, part: part) }
    case .pull(let request):
      group.addTask {
        try await answer {
          let answer = try await remote.pull(request)
          if case .page(let page) = answer {
            let version = former?.next == request.cursor ? former?.version : nil
            try page.checkOrder(asAnswerTo: request, after: version)
          }
          return .pulled(answer)
        }
      }
    case .timer(let number, let failureCount, let least):
      let pause = backoff.delay(
        afterFailure: failureCount, atLeast: least, chance: chance())
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
    } catch let error as ForeignPage {
      return .happened(.foreign(error), cause: error)
    }
  }

  private func push(_ id: SyncToken, part: Int) async throws -> ChildResult {
    guard let commit = try await replica.outbox(part: part), commit.id == id else {
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
    } catch let refusal as SyncRequestError {
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

  /// Waits for the next announcement.
  private func follow(
    _ watch: SpaceWatch, after revision: SpaceRevision, in group: inout Group
  ) {
    group.addTask { [known = watch.announcements, failureCount = watch.failureCount] in
      do {
        return try await announcement(known, after: revision)
      } catch {
        try Task.checkCancellation()
        // The pull that follows finds out whether the space can be reached.
        try await clock.sleep(for: backoff.delay(afterFailure: failureCount + 1, chance: chance()))
        return .lostAnnouncements
      }
    }
  }

  private func announcement(
    _ known: (any SyncAnnouncements)?, after revision: SpaceRevision
  ) async throws -> ChildResult {
    guard let known else {
      let announcements = try await remote.follow(after: revision)
      return .announced(try await announcements.next(after: revision), by: announcements)
    }
    return .announced(try await known.next(after: revision), by: known)
  }
}

/// The end of a page that more follow.
private struct PageEnd {
  /// The cursor of the next page.
  let next: String
  /// The version of the last record.
  let version: Int

  init?(_ event: SyncSession.Event) {
    guard case .pulled(.page(let page)) = event, let next = page.next, let last = page.changes.last
    else { return nil }
    self.next = next
    version = last.version
  }
}
