import TandemSync
import Testing

/// Every order of events that a session can meet with a small file, a small space and a network with
/// faults.
@Suite struct SyncSessionTests {
  @Test(
    "In every order of events, nothing is counted twice, and the session ends up to date",
    arguments: [
      SessionWorld.Budget(edits: 2, commits: 1, faults: 2, crashes: 1, announcements: 0),
      SessionWorld.Budget(edits: 1, commits: 1, faults: 1, crashes: 1, announcements: 2),
    ])
  func exhaustive(budget: SessionWorld.Budget) {
    var seen: Set<SessionWorld> = [SessionWorld(budget)]
    var open = [SessionWorld(budget)]
    var violations: [String] = []
    while let world = open.popLast(), violations.isEmpty {
      for next in world.successors {
        violations += next.violations
        guard seen.insert(next).inserted else { continue }
        violations += next.violationsAfterFaultsStop
        open.append(next)
      }
    }
    #expect(violations.isEmpty, "\(violations.first ?? "")")
    // Fewer states mean that the exploration has lost a kind of event.
    #expect(seen.count > 20_000, "\(seen.count) states")
  }

  @Test("Each commit is reported, even one with as many changes as the one before")
  func equalCommits() {
    var session = SyncSession()
    var generator = SystemRandomNumberGenerator()
    _ = session.handle(.requested)
    for _ in 0..<2 {
      var state = summary()
      let commit = SyncToken.random(using: &generator)
      state.outbox = SyncSummary.Outbox(commit: commit, changeCount: 10_000)
      #expect(
        session.handle(.performed(state)) == [
          .report(.pushing(changeCount: 10_000)), .push(commit),
        ])
      let outcome = SyncOutcome.conflict([])
      #expect(session.handle(.pushed(outcome)) == [.perform(.settle(outcome, of: commit))])
    }
  }

  @Test("The parts of a new commit are sent in order; of an older one, the last part is sent first")
  func parts() {
    for isNew in [true, false] {
      var session = SyncSession()
      _ = session.handle(.requested)
      var state = summary()
      state.outbox = SyncSummary.Outbox(
        commit: token, changeCount: 9, partCount: 3, isNew: isNew)
      #expect(session.handle(.performed(state)).last == .push(token, part: isNew ? 1 : 3))
      var missing = isNew ? [2, 3] : [1, 2]
      while !missing.isEmpty {
        #expect(
          session.handle(.pushed(.parts(missing: missing))) == [.push(token, part: missing[0])])
        missing.removeFirst()
      }
      let outcome = SyncOutcome.accepted(revision, .empty)
      #expect(session.handle(.pushed(outcome)) == [.perform(.settle(outcome, of: token))])
    }
  }

  @Test("A space that keeps no part, names one that is not there, or loses them again gets a pause")
  func lostParts() {
    var session = SyncSession()
    _ = session.handle(.requested)
    var state = summary()
    state.outbox = SyncSummary.Outbox(commit: token, changeCount: 9, partCount: 2)
    _ = session.handle(.performed(state))
    for missing in [[1, 2], [3], [2]] {
      var other = session
      #expect(other.handle(.pushed(.parts(missing: missing))).last == Self.pause)
    }
    for _ in 0..<SyncSession.maxImmediateFailureCount {
      #expect(session.handle(.pushed(.parts(missing: [1]))) == [.push(token, part: 1)])
      #expect(session.handle(.pushed(.parts(missing: [2]))) == [.push(token, part: 2)])
    }
    #expect(session.handle(.pushed(.parts(missing: [1]))).last == Self.pause)
    #expect(session.handle(.timerFired(1)) == [.perform(.look)])
    #expect(session.handle(.performed(state)).last == .push(token, part: 2))
    #expect(session.handle(.pushed(.parts(missing: [1]))) == [.push(token, part: 1)])
  }

  private static let pause = SyncSession.Action.timer(1, failureCount: 1, atLeast: nil)

  @Test("Events that nothing waits for are ignored")
  func lateEvents() {
    var session = SyncSession()
    let late: [SyncSession.Event] = [
      .timerFired(0), .performed(summary()), .undecided, .superseded, .pushed(.gone(.epoch)),
      .pulled(.gone(.epoch)), .refused(SyncRequestError(.malformed, "")), .disconnected,
    ]
    for event in late { #expect(session.handle(event) == [], "\(event)") }
    #expect(session.handle(.requested) == [.perform(.look)])
    for event in late where event != .performed(summary()) && event != .undecided {
      #expect(session.handle(event) == [], "\(event)")
    }
  }

  @Test("A refused commit is taken back only if each attempt to send it was answered")
  func takingBack() {
    let refusal = SyncRequestError(.overLimit, "too large")
    let pending = summary(outbox: token)
    // Frozen by this session: nobody else has sent it.
    var session = SyncSession()
    _ = session.handle(.requested)
    _ = session.handle(.performed(summary(hasChanges: true)))
    _ = session.handle(.performed(summary(pull: .page(request))))
    _ = session.handle(.pulled(.page(page)))
    _ = session.handle(.performed(summary(hasChanges: true)))
    #expect(session.handle(.performed(pending)).last == .push(token))
    var unanswered = session
    #expect(session.handle(.refused(refusal)) == [.perform(.takeBack(token))])
    let actions = session.handle(.performed(summary(hasChanges: true)))
    #expect(
      actions == [
        .report(.blocked(.refused(refusal))), .timer(1, failureCount: 1, atLeast: nil),
      ])
    // The first attempt may have arrived.
    #expect(unanswered.handle(.disconnected).last == .timer(1, failureCount: 1, atLeast: nil))
    #expect(unanswered.handle(.timerFired(1)) == [.perform(.look)])
    #expect(unanswered.handle(.performed(pending)).last == .push(token))
    #expect(
      unanswered.handle(.refused(refusal)) == [
        .report(.blocked(.refused(refusal))), .timer(2, failureCount: 2, atLeast: nil),
      ])
    // Found in the file: an earlier session may have sent it.
    var later = SyncSession()
    _ = later.handle(.requested)
    #expect(later.handle(.performed(pending)).last == .push(token))
    #expect(later.handle(.refused(refusal)).first == .report(.blocked(.refused(refusal))))
    // A space that is full has looked whether it accepted the commit before.
    var full = SyncSession()
    _ = full.handle(.requested)
    #expect(full.handle(.performed(pending)).last == .push(token))
    let quota = SyncRequestError(.overQuota, "full")
    #expect(full.handle(.refused(quota)) == [.perform(.takeBack(token))])
  }

  @Test("A space that cannot answer now is asked again not before the time it names")
  func retryAfter() {
    var session = SyncSession()
    _ = session.handle(.requested)
    _ = session.handle(.performed(summary(pull: .page(request))))
    let busy = SyncRequestError(.unavailable, "busy", retryAfter: .seconds(30))
    #expect(
      session.handle(.refused(busy)) == [
        .report(.offline), .timer(1, failureCount: 1, atLeast: .seconds(30)),
      ])
  }

  @Test(
    "After several commits in a row that the space did not accept, the next one waits",
    arguments: [SyncOutcome.conflict([]), .refused([]), .sequence(last: 7, fate: nil)])
  func failures(outcome: SyncOutcome) {
    var session = SyncSession()
    _ = session.handle(.requested)
    _ = session.handle(.performed(summary(pull: .page(request))))
    _ = session.handle(.pulled(.page(page)))
    var actions = session.handle(.performed(summary(hasChanges: true)))
    for round in 1...5 {
      let mustWait = round > SyncSession.maxImmediateFailureCount + 1
      if mustWait {
        #expect(actions.last == .timer(round - 4, failureCount: round - 4, atLeast: nil))
        actions = session.handle(.timerFired(round - 4))
        actions = session.handle(.performed(summary(hasChanges: true)))
      }
      #expect(actions.last == .perform(.freeze), "round \(round)")
      _ = session.handle(.performed(summary(outbox: token)))
      _ = session.handle(.pushed(outcome))
      _ = session.handle(.performed(summary(pull: .staged)))
      actions = session.handle(.performed(summary(hasChanges: true)))
    }
  }

  @Test("Different digests lead to one repair; if they stay different, the session says so")
  func repair() {
    var session = SyncSession()
    _ = session.handle(.requested)
    _ = session.handle(.performed(summary(pull: .page(request))))
    _ = session.handle(.pulled(.page(page)))
    _ = session.handle(.performed(summary(pull: .staged)))
    let differs = summary(hasEqualDigests: false)
    #expect(
      session.handle(.performed(differs)) == [.report(.verifying), .perform(.verify)])
    _ = session.handle(.performed(summary(pull: .page(request), hasEqualDigests: false)))
    _ = session.handle(.pulled(.page(page)))
    _ = session.handle(.performed(summary(pull: .staged, hasEqualDigests: false)))
    var failed = session
    #expect(
      failed.handle(.performed(differs)).first == .report(.blocked(.differentDigests)))
    #expect(session.handle(.performed(summary())) == [.report(.upToDate(revision))])
  }

  @Test("Rows that no commit can contain block the status, and are not frozen again and again")
  func unsendable() {
    var session = SyncSession()
    _ = session.handle(.requested)
    _ = session.handle(.performed(summary(pull: .page(request))))
    _ = session.handle(.pulled(.page(page)))
    #expect(session.handle(.performed(summary(hasChanges: true))) == [.perform(.freeze)])
    #expect(
      session.handle(.performed(summary(hasChanges: true))) == [.report(.blocked(.unsendable))])
    #expect(session.handle(.changedLocally) == [.perform(.freeze)])
    #expect(session.handle(.performed(summary(hasChanges: true))) == [])
  }

  @Test("Without a valid token, a commit stays as it is until there is one")
  func unauthenticated() {
    var session = SyncSession()
    _ = session.handle(.requested)
    _ = session.handle(.performed(summary()))
    _ = session.handle(.performed(summary(hasChanges: true)))
    #expect(session.handle(.performed(summary(outbox: token, isNew: true))).last == .push(token))
    let refusal = SyncRequestError(.unauthenticated, "expired")
    #expect(session.handle(.refused(refusal)).first == .report(.blocked(.refused(refusal))))
    #expect(session.handle(.requested) == [.perform(.look)])
    #expect(session.handle(.performed(summary(outbox: token))).last == .push(token))
  }

  @Test("A refused commit is taken back only by the session that has frozen it")
  func foreignCommit() {
    for isNew in [true, false] {
      var session = SyncSession()
      _ = session.handle(.requested)
      _ = session.handle(.performed(summary(pull: .page(request))))
      _ = session.handle(.pulled(.page(page)))
      _ = session.handle(.performed(summary()))
      #expect(session.handle(.changedLocally) == [.perform(.freeze)])
      // Another process may have frozen the edit, and be sending it.
      let frozen = summary(outbox: token, isNew: isNew)
      #expect(session.handle(.performed(frozen)).last == .push(token))
      let actions = session.handle(.refused(SyncRequestError(.unauthorized, "")))
      #expect(actions.contains(.perform(.takeBack(token))) == isNew)
    }
  }

  @Test("A cursor that the space does not know any more starts the pull again, soon with a pause")
  func unknownCursor() {
    var session = SyncSession()
    let second = SyncPull(replica: nil, since: nil, cursor: "old")
    let refusal = SyncRequestError(.malformed, "unknown cursor")
    let count = SyncSession.maxImmediateFailureCount
    var actions = session.handle(.requested)
    for round in 1...2 {
      #expect(actions.last == .perform(.look), "round \(round)")
      #expect(session.handle(.performed(summary(pull: .page(second)))).last == .pull(second))
      for _ in 0..<count {
        #expect(session.handle(.refused(refusal)) == [.perform(.discardStaged)])
        #expect(session.handle(.performed(summary(pull: .page(request)))).last == .pull(request))
        // Another page comes, but the pull does not end.
        _ = session.handle(.pulled(.page(page)))
        #expect(session.handle(.performed(summary(pull: .page(second)))).last == .pull(second))
      }
      if round == 1 {
        // A pull that is completed begins the count again.
        _ = session.handle(.pulled(.page(page)))
        #expect(session.handle(.performed(summary())).last == .report(.upToDate(revision)))
        _ = session.handle(.announced(.head(revision)))
        actions = [.perform(.look)]
      }
    }
    #expect(session.handle(.refused(refusal)) == [.perform(.discardStaged)])
    let waiting = session.handle(.performed(summary(pull: .page(request))))
    #expect(waiting.first == .report(.blocked(.refused(refusal))))
    #expect(waiting.last == .timer(1, failureCount: 1, atLeast: nil))
  }

  @Test("Commits that an event has are applied at once only by a session that waits for nothing")
  func announcements() {
    let event = SyncEvent.commit(from: revision, page)
    var session = SyncSession()
    _ = session.handle(.requested)
    #expect(session.handle(.announced(event)) == [], "while a step is under way")
    // A pull fetches what was announced.
    #expect(session.handle(.performed(summary())) == [.perform(.requirePull)])
    _ = session.handle(.performed(summary(pull: .page(request))))
    _ = session.handle(.pulled(.page(page)))
    _ = session.handle(.performed(summary(pull: .staged)))
    #expect(session.handle(.performed(summary())).last == .report(.upToDate(revision)))
    var other = session
    #expect(
      session.handle(.announced(event)) == [
        .report(.pulling), .perform(.receive(page, after: revision)),
      ])
    #expect(session.handle(.performed(summary())) == [.report(.upToDate(revision))])
    #expect(other.handle(.announced(.head(revision))) == [.perform(.look)])
    #expect(other.handle(.performed(summary())) == [.perform(.requirePull)])
  }

  @Test("A space that never knows the revision it named is asked after pauses, and named")
  func alwaysGone() throws {
    var session = SyncSession()
    _ = session.handle(.requested)
    var actions = session.handle(.performed(summary(pull: .page(request))))
    for round in 1...6 {
      #expect(actions.last == .pull(request), "round \(round)")
      #expect(session.handle(.pulled(.gone(.epoch))) == [.perform(.lose(.epoch, for: request))])
      actions = session.handle(.performed(summary(pull: .page(request))))
      let count = round - SyncSession.maxImmediateFailureCount
      guard count > 0 else { continue }
      #expect(actions.last == .timer(count, failureCount: count, atLeast: nil))
      guard case .blocked(.refused(let refusal)) = session.status else {
        Issue.record("\(session.status)")
        return
      }
      #expect(refusal.message.contains("several servers"))
      #expect(session.handle(.timerFired(count)) == [.perform(.look)])
      actions = session.handle(.performed(summary(pull: .page(request))))
    }
    // A page ends it.
    _ = session.handle(.pulled(.page(page)))
    _ = session.handle(.performed(summary(pull: .staged)))
    #expect(session.handle(.performed(summary())) == [.report(.upToDate(revision))])
  }

  @Test(
    "A page that no space makes is dropped with those before it, and the pull starts again later")
  func foreignPage() {
    var session = SyncSession()
    _ = session.handle(.requested)
    var actions = session.handle(.performed(summary(pull: .page(request))))
    for round in 1...3 {
      #expect(actions.last == .pull(request))
      #expect(session.handle(.pulled(.page(page))).last == .perform(.stage(page, for: request)))
      #expect(session.handle(.foreign(ForeignPage("odd"))) == [.perform(.discardStaged)])
      actions = session.handle(.performed(summary(pull: .page(request))))
      // The pauses grow, although the requests are answered.
      #expect(actions.last == .timer(round, failureCount: round, atLeast: nil))
      guard case .blocked(.refused(let refusal)) = session.status else {
        Issue.record("\(session.status)")
        return
      }
      #expect(refusal.message.contains("odd"))
      #expect(session.handle(.timerFired(round)) == [.perform(.look)])
      actions = session.handle(.performed(summary(pull: .page(request))))
    }
    _ = session.handle(.pulled(.page(page)))
    #expect(session.handle(.performed(summary())) == [.report(.upToDate(revision))])
  }

  @Test(
    "Empty commits that a space makes necessary again and again wait; a backlog of them does not")
  func emptyCommits() {
    for pulls in [true, false] {
      var session = SyncSession()
      _ = session.handle(.requested)
      var actions = session.handle(.performed(summary(pull: .page(request))))
      _ = session.handle(.pulled(.page(page)))
      actions = session.handle(.performed(summary(hasChanges: true)))
      for round in 1...6 {
        let count = round - SyncSession.maxImmediateFailureCount - 1
        if pulls, count > 0 {
          #expect(actions == [.timer(count, failureCount: count, atLeast: nil)], "\(round)")
          #expect(session.handle(.timerFired(count)) == [.perform(.look)])
          actions = session.handle(.performed(summary(hasChanges: true)))
        }
        #expect(actions.last == .perform(.freeze), "\(round)")
        let commit = SyncToken(bits: UInt128(round))
        let outbox = summary(outbox: commit, changeCount: 0, hasChanges: true)
        #expect(session.handle(.performed(outbox)).last == .push(commit))
        _ = session.handle(.pushed(.accepted(revision, .empty)))
        guard pulls else {
          actions = session.handle(.performed(summary(hasChanges: true)))
          continue
        }
        _ = session.handle(.performed(summary(pull: .page(request), hasChanges: true)))
        _ = session.handle(.pulled(.page(page)))
        actions = session.handle(.performed(summary(hasChanges: true)))
      }
    }
  }

  private let token = SyncToken(bits: 5)
  private let revision = SpaceRevision(epoch: SyncToken(bits: 0), version: 1, mark: 0)
  private let request = SyncPull(replica: nil, since: nil)
  private var page: SyncPage {
    SyncPage(revision: revision, digest: .empty, replica: nil, changes: [], next: nil)
  }

  private func summary(
    outbox: SyncToken? = nil, isNew: Bool = true, changeCount: Int = 1,
    pull: SyncSummary.Pull = .none,
    hasChanges: Bool = false, hasEqualDigests: Bool = true
  ) -> SyncSummary {
    SyncSummary(
      revision: revision,
      outbox: outbox.map { SyncSummary.Outbox(commit: $0, changeCount: changeCount, isNew: isNew) },
      pull: pull, hasChanges: hasChanges, hasEqualDigests: hasEqualDigests)
  }
}
