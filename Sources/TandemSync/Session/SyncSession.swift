/// The synchronization of one replica, as a machine without clock, random numbers or I/O.
///
/// The driver performs actions one at a time and reports each result as an event. Everything durable
/// is in the replica's file, whose ``SyncSummary`` comes with each result. The order of steps is:
///
/// 1. A commit in the outbox is sent until there is an outcome, and the outcome is settled. Until
///    then, nothing is pulled or applied: merging rows whose commit may or may not have landed would
///    count edits twice.
/// 2. A pull that is needed is completed: its pages are applied in one transaction, with the last one. A replica
///    without a revision pulls before its first commit.
/// 3. Local changes are frozen into the outbox.
/// 4. If the digests differ, the base is verified, and repaired by a pull of everything.
/// 5. Otherwise the replica is up to date, and waits for an event.
package struct SyncSession: Hashable, Sendable {
  /// An event.
  package enum Event: Hashable, Sendable {
    /// The synchronization begins, or somebody asks for it now.
    case requested
    /// The step was performed, and the file is in this state.
    case performed(SyncSummary)
    /// The step needs a decision of the application.
    case undecided
    /// The step took a page that no space makes, and changed nothing.
    case foreign(ForeignPage)
    /// The commit that the push was for is not in the outbox any more.
    case superseded
    /// The space answered the push.
    case pushed(SyncOutcome)
    /// The space answered the pull.
    case pulled(SyncPullAnswer)
    /// The space refused the request as a whole.
    case refused(SyncRequestError)
    /// The request has no answer; its outcome is unknown.
    case disconnected
    /// Rows of the file may have changed.
    case changedLocally
    /// The space has announced commits that the file may not have.
    case announced(SyncEvent)
    /// The timer of this number has fired.
    case timerFired(Int)
  }

  /// An action.
  package enum Action: Hashable, Sendable {
    /// Perform the step on the file, and report `performed`, `undecided` or `foreign`.
    case perform(SyncStep)
    /// Send the part of this number of the commit in the outbox if it is this one, and report `pushed`,
    /// `refused`, `disconnected` or `superseded`.
    case push(SyncToken, part: Int = 1)
    /// Send the request, and report `pulled`, `refused` or `disconnected`.
    case pull(SyncPull)
    /// Report `timerFired` with the number, after the pause for so many failures in a row and not
    /// before the given time has passed. It replaces the timer before.
    case timer(Int, failureCount: Int, atLeast: Duration?)
    /// Publish the status.
    case report(SyncStatus)
  }

  /// After this many commits in a row that the space did not accept, or that changed no record and followed
  /// pulls, the next commit waits. The same holds for pulls in a row that the space could answer neither from the revision nor from the cursor.
  /// So busy replicas do not prevent each other, and a space that accepts nothing gets a pause.
  package static let maxImmediateFailureCount = 3

  /// The number of refused commits in a row from which they count as not accepted. An outcome names at most
  /// ``SyncLimits/maxObjectionCount`` changes.
  package static let maxRefusedCommitCount = 1_000

  private enum Activity: Hashable {
    /// Nothing has been requested yet.
    case new
    case performing(SyncStep)
    case pushing(SyncToken, part: Int, of: Int)
    case pulling(SyncPull)
    /// Waits for an event.
    case waiting
    /// Waits for the timer.
    case delayed
  }

  private var activity = Activity.new
  /// The last status that was reported.
  package private(set) var status = SyncStatus.connecting
  private var timer = 0
  /// The number of requests without success in a row.
  private var failureCount = 0
  /// The number of commits in a row that the space did not accept, or that pulls made necessary although no
  /// row had changed: a space that is out of order can demand these without end.
  private var failedCommitCount = 0
  /// The number of commits in a row that the space refused.
  private var refusedCommitCount = 0
  /// True if the commit that is being sent changes no record.
  private var isCommitEmpty = false
  /// True if a pull was completed since the last commit.
  private var hasPulled = false
  /// The number of pulls in a row that the space could not answer from the revision.
  private var lostPullCount = 0
  /// The number of times that the space lacked a part that was sent before, since the last outcome.
  private var lostPartCount = 0
  /// The number of cursors that the space did not know any more since a pull was completed.
  private var forgottenCursorCount = 0
  /// True if the next commit has to wait, because several were not accepted.
  private var delaysCommit = false
  /// The commit that was frozen by this session and of which each attempt, if any, was answered.
  private var certainCommit: SyncToken?
  /// True if the space may have commits that the file does not know it has to pull.
  private var isPullNeeded = false
  /// True if the file may have changed since the last look.
  private var isLookNeeded = false
  /// True if the last freeze found nothing that it could send.
  private var isStuck = false
  /// True if a repair has been demanded since the digests were equal.
  private var isRepaired = false
  /// The reason to wait after the step that is being performed.
  private var block: SyncStatus.Block?

  /// A session that has not begun.
  package init() {}

  /// True if an action is under way, whose result the session waits for.
  package var isBusy: Bool {
    switch activity {
    case .performing, .pushing, .pulling: true
    case .new, .waiting, .delayed: false
    }
  }
}

extension SyncSession {
  /// The session without the counts on which only the lengths of pauses depend, to compare states.
  package var withoutPauses: SyncSession {
    var session = self
    session.failureCount = 0
    session.timer = 0
    return session
  }
}

// MARK: - Events

extension SyncSession {
  /// Takes note of an event; returns the actions that follow.
  ///
  /// At most one action of the first three kinds is under way at a time. Results that no action is
  /// under way for are ignored: they are late.
  package mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .requested: return resume()
    case .announced(let event): return announced(event)
    case .changedLocally:
      isLookNeeded = true
      isStuck = false
      // A failed request is not repeated sooner because of an edit.
      return activity == .waiting ? freeze() : []
    case .timerFired(let number):
      guard activity == .delayed, number == timer else { return [] }
      return look()
    case .performed(let summary):
      guard case .performing(let step) = activity else { return [] }
      return performed(step, summary)
    case .undecided:
      guard case .performing = activity else { return [] }
      return wait(blockedBy: .undecided)
    case .foreign(let page):
      guard case .performing = activity else { return [] }
      // The pages before it come from the same server.
      block = .refused(SyncRequestError(.unavailable, page.description))
      return perform(.discardStaged)
    case .superseded:
      guard case .pushing = activity else { return [] }
      return look()
    case .pushed(let outcome):
      guard case .pushing(let commit, let part, let count) = activity else { return [] }
      if case .parts(let missing) = outcome { return push(commit, missing, after: part, of: count) }
      return pushed(outcome, commit)
    case .pulled(let answer):
      guard case .pulling(let request) = activity else { return [] }
      return pulled(answer, request)
    case .refused(let refusal): return refused(refusal)
    case .disconnected: return disconnected(retryAfter: nil)
    }
  }

  /// Begins, or ends a wait: the space has something new, or can be reached again.
  private mutating func resume() -> [Action] {
    isPullNeeded = true
    guard !isBusy else { return [] }
    endWait()
    return look()
  }

  private mutating func endWait() {
    failureCount = 0
    isStuck = false
    isRepaired = false
  }

  /// Commits of the space are applied at once if the file waits for nothing else; otherwise a pull
  /// fetches them.
  private mutating func announced(_ event: SyncEvent) -> [Action] {
    guard case .commit(let from, let page) = event, activity == .waiting else { return resume() }
    endWait()
    // The summary of the step is a look.
    isLookNeeded = false
    return perform(.receive(page, after: from))
  }

  private mutating func pulled(_ answer: SyncPullAnswer, _ request: SyncPull) -> [Action] {
    switch answer {
    case .page(let page):
      lostPullCount = 0
      return perform(.stage(page, for: request))
    case .gone(let gone):
      lostPullCount += 1
      if lostPullCount > SyncSession.maxImmediateFailureCount {
        block = .refused(
          SyncRequestError(
            .unavailable,
            "the space does not know the revision that it has just named, \(lostPullCount) times in a "
              + "row; check whether several servers with different data answer at its address"))
      } else {
        failureCount = 0
      }
      return perform(.lose(gone, for: request))
    }
  }

  private mutating func pushed(_ outcome: SyncOutcome, _ commit: SyncToken) -> [Action] {
    failureCount = 0
    lostPartCount = 0
    certainCommit = nil
    // The next commit has the changes that lack claims as well.
    if case .refused(let objections) = outcome,
      objections.contains(where: { $0.reason != .unclaimed })
    {
      refusedCommitCount += 1
    } else {
      refusedCommitCount = 0
    }
    if case .accepted = outcome, !(isCommitEmpty && hasPulled) {
      failedCommitCount = 0
    } else if refusedCommitCount == 0 || refusedCommitCount > SyncSession.maxRefusedCommitCount {
      // Each refusal names changes that the next commit does not have.
      failedCommitCount += 1
      delaysCommit = failedCommitCount > SyncSession.maxImmediateFailureCount
    }
    hasPulled = false
    return perform(.settle(outcome, of: commit))
  }

  /// Sends the first missing part of a commit.
  private mutating func push(
    _ commit: SyncToken, _ missing: [Int], after part: Int, of count: Int
  ) -> [Action] {
    // The space may have dropped parts. One that drops all gets a pause.
    if let next = missing.first, next < part { lostPartCount += 1 }
    guard let next = missing.first, next <= count, !missing.contains(part),
      lostPartCount <= SyncSession.maxImmediateFailureCount
    else {
      lostPartCount = 0
      return disconnected(retryAfter: nil)
    }
    failureCount = 0
    activity = .pushing(commit, part: next, of: count)
    return [.push(commit, part: next)]
  }

  private mutating func disconnected(retryAfter: Duration?) -> [Action] {
    switch activity {
    case .pushing: certainCommit = nil
    case .pulling: break
    case .new, .performing, .waiting, .delayed: return []
    }
    failureCount += 1
    return report(.offline) + delay(failureCount, atLeast: retryAfter)
  }

  private mutating func refused(_ refusal: SyncRequestError) -> [Action] {
    if refusal.isTransient { return disconnected(retryAfter: refusal.retryAfter) }
    switch activity {
    // Without a valid token nothing can be pulled either: the commit stays as it is until there is one. A space with
    // a full quota has looked at earlier attempts: none was accepted.
    case .pushing(let commit, _, _)
    where certainCommit == commit && refusal.code != .unauthenticated
      || refusal.code == .overQuota:
      certainCommit = nil
      // The pull shows whether the space has consumed the sequence.
      isPullNeeded = true
      block = .refused(refusal)
      return perform(.takeBack(commit))
    case .pulling(let request) where refusal.code == .malformed && request.cursor != nil:
      // The space does not know its cursor any more: another version of it runs now.
      forgottenCursorCount += 1
      if forgottenCursorCount > SyncSession.maxImmediateFailureCount { block = .refused(refusal) }
      return perform(.discardStaged)
    case .pushing, .pulling: return wait(blockedBy: .refused(refusal))
    case .new, .performing, .waiting, .delayed: return []
    }
  }
}

// MARK: - Steps

extension SyncSession {
  private mutating func performed(_ step: SyncStep, _ summary: SyncSummary) -> [Action] {
    switch step {
    case .freeze:
      isStuck = summary.hasChanges && summary.outbox == nil && summary.pull == .none
      certainCommit = summary.outbox.flatMap { $0.isNew ? $0.commit : nil }
    case .stage, .apply, .receive:
      failureCount = 0
      isStuck = false
      if summary.pull == .none {
        forgottenCursorCount = 0
        hasPulled = true
      }
    case .verify: isRepaired = !summary.hasEqualDigests
    case .look, .requirePull, .settle, .takeBack, .discardStaged, .lose: break
    }
    if let block {
      self.block = nil
      return wait(blockedBy: block)
    }
    return proceed(summary)
  }

  /// The next step for a file in this state.
  private mutating func proceed(_ summary: SyncSummary) -> [Action] {
    if summary.hasEqualDigests { isRepaired = false }
    if let outbox = summary.outbox {
      isCommitEmpty = outbox.changeCount == 0
      // Each commit is a state of its own, also if the one before it had as many changes.
      status = .pushing(changeCount: outbox.changeCount)
      // The answer to the last part names those that are missing.
      let part = outbox.isNew ? 1 : outbox.partCount
      activity = .pushing(outbox.commit, part: part, of: outbox.partCount)
      return [.report(status), .push(outbox.commit, part: part)]
    }
    switch summary.pull {
    case .page(let request):
      isPullNeeded = false
      activity = .pulling(request)
      return report(.pulling) + [.pull(request)]
    case .staged: return perform(.apply)
    case .none: break
    }
    if isPullNeeded {
      isPullNeeded = false
      return perform(.requirePull)
    }
    if isLookNeeded { return look() }
    if summary.hasChanges, !isStuck {
      guard !delaysCommit else {
        delaysCommit = false
        return delay(failedCommitCount - SyncSession.maxImmediateFailureCount, atLeast: nil)
      }
      return perform(.freeze)
    }
    guard summary.hasEqualDigests else {
      return isRepaired ? wait(blockedBy: .differentDigests) : perform(.verify)
    }
    activity = .waiting
    guard !summary.hasChanges, let revision = summary.revision else {
      return report(.blocked(.unsendable))
    }
    failedCommitCount = 0
    return report(.upToDate(revision))
  }

  /// Freezes the changes that are there. The summary of the step is a look.
  private mutating func freeze() -> [Action] {
    guard !delaysCommit else { return look() }
    isLookNeeded = false
    return perform(.freeze)
  }

  private mutating func look() -> [Action] {
    isLookNeeded = false
    return perform(.look)
  }

  private mutating func perform(_ step: SyncStep) -> [Action] {
    activity = .performing(step)
    switch step {
    case .verify: return report(.verifying) + [.perform(step)]
    case .stage, .apply, .receive: return report(.pulling) + [.perform(step)]
    case .look, .requirePull, .freeze, .settle, .takeBack, .discardStaged, .lose:
      return [.perform(step)]
    }
  }

  private mutating func wait(blockedBy block: SyncStatus.Block) -> [Action] {
    failureCount += 1
    return report(.blocked(block)) + delay(failureCount, atLeast: nil)
  }

  private mutating func delay(_ failureCount: Int, atLeast: Duration?) -> [Action] {
    activity = .delayed
    timer += 1
    return [.timer(timer, failureCount: failureCount, atLeast: atLeast)]
  }

  private mutating func report(_ status: SyncStatus) -> [Action] {
    guard status != self.status else { return [] }
    self.status = status
    return [.report(status)]
  }
}
