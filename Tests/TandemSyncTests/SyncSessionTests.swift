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
  fileprivate func exhaustive(budget: SessionWorld.Budget) {
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

  @Test("Events that nothing waits for are ignored")
  func lateEvents() {
    var session = SyncSession()
    let late: [SyncSession.Event] = [
      .timerFired(0), .performed(summary()), .undecided, .superseded, .pushed(.gone(.epoch)),
      .pulled(.gone(.epoch)), .refused(SyncRefusal(.malformed, "")), .disconnected,
    ]
    for event in late { #expect(session.handle(event) == [], "\(event)") }
    #expect(session.handle(.requested) == [.perform(.look)])
    for event in late where event != .performed(summary()) && event != .undecided {
      #expect(session.handle(event) == [], "\(event)")
    }
  }

  @Test("A refused commit is taken back only if each attempt to send it was answered")
  func takingBack() {
    let refusal = SyncRefusal(.overLimit, "too large")
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
  }

  @Test("A space that cannot answer now is asked again not before the time it names")
  func retryAfter() {
    var session = SyncSession()
    _ = session.handle(.requested)
    _ = session.handle(.performed(summary(pull: .page(request))))
    let busy = SyncRefusal(.unavailable, "busy", retryAfter: .seconds(30))
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
    #expect(session.handle(.changedLocally) == [.perform(.look)])
    #expect(session.handle(.performed(summary(hasChanges: true))) == [.perform(.freeze)])
  }

  @Test("A cursor that the space does not know any more starts the pull again, after a pause")
  func unknownCursor() {
    var session = SyncSession()
    _ = session.handle(.requested)
    let second = SyncPull(replica: nil, since: nil, cursor: "old")
    #expect(session.handle(.performed(summary(pull: .page(second)))).last == .pull(second))
    let refusal = SyncRefusal(.malformed, "unknown cursor")
    #expect(session.handle(.refused(refusal)) == [.perform(.discardStaged)])
    #expect(
      session.handle(.performed(summary(pull: .page(request)))).last
        == .timer(1, failureCount: 1, atLeast: nil))
    #expect(session.handle(.timerFired(1)) == [.perform(.look)])
    #expect(session.handle(.performed(summary(pull: .page(request)))).last == .pull(request))
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

  @Test("Pauses double up to a bound, and chance shortens them by at most a half")
  func backoff() {
    let backoff = SyncBackoff(first: .seconds(2), max: .seconds(30))
    let longest = [1, 2, 3, 4, 5, 6, 1_000, .max].map { backoff.delay(afterFailure: $0, chance: 1) }
    #expect(longest == [2, 4, 8, 16, 30, 30, 30, 30].map { .seconds($0) })
    #expect(backoff.delay(afterFailure: 3, chance: 0) == .seconds(4))
    #expect(backoff.delay(afterFailure: 3, chance: 0.5) == .seconds(6))
    #expect(backoff.delay(afterFailure: 0, chance: 1) == .seconds(2))
    #expect(
      SyncBackoff(first: .seconds(9), max: .seconds(3)).delay(afterFailure: 1, chance: 1)
        == .seconds(3))
    // The space may ask for longer pauses, but not for any.
    let bounded = SyncBackoff(first: .seconds(2), maxRequested: .seconds(60))
    let pauses = [nil, 1, 50, 1 << 40].map {
      bounded.delay(afterFailure: 1, atLeast: $0.map { .seconds($0) }, chance: 1)
    }
    #expect(pauses == [2, 2, 50, 60].map { .seconds($0) })
    #expect(SyncBackoff().delay(afterFailure: .max, chance: 1) == .seconds(30))
  }

  private let token = SyncToken(bits: 5)
  private let revision = SpaceRevision(epoch: SyncToken(bits: 0), version: 1, mark: 0)
  private let request = SyncPull(replica: nil, since: nil)
  private var page: SyncPage {
    SyncPage(revision: revision, digest: .empty, replica: nil, changes: [], next: nil)
  }

  private func summary(
    outbox: SyncToken? = nil, pull: SyncSummary.Pull = .none, hasChanges: Bool = false,
    hasEqualDigests: Bool = true
  ) -> SyncSummary {
    SyncSummary(
      revision: revision, outbox: outbox.map { SyncSummary.Outbox(commit: $0, changeCount: 1) },
      pull: pull, hasChanges: hasChanges, hasEqualDigests: hasEqualDigests)
  }
}

/// A session with a file that counts edits, and a space that counts them too.
private struct SessionWorld: Hashable {
  /// The file: its edits are numbers of changes, frozen ones in the outbox.
  private struct File: Hashable {
    var base: Int?
    var editCount = 0
    var outbox: Commit?
    var needsPull = true
    var pages: [SyncPage] = []
  }

  private struct Commit: Hashable {
    var id: SyncToken
    var base: Int
    var editCount: Int
  }

  private struct Space: Hashable {
    var version = 0
    /// The number of edits that arrived, by this replica.
    var editCount = 0
    var lastCommit: SyncToken?
    var lastOutcome: SyncOutcome?
  }

  struct Budget: Hashable {
    var edits: Int
    var commits: Int
    var faults: Int
    var crashes: Int
    /// Events with the changes of commits.
    var announcements: Int
  }

  private var session = SyncSession()
  private var file = File()
  private var space = Space()
  private var budget: Budget
  /// The action under way.
  private var action: SyncSession.Action?
  private var timer: Int?
  /// The result of the step under way, after which the file may change before the session has it.
  private var result: SyncSummary?
  private var nextCommit = 1
  private var madeEditCount = 0
  /// True if edits were made of which the session has no notice yet.
  private var hasUnnoticedEdits = false
  /// Commits of which an attempt was not answered.
  private var unanswered: Set<SyncToken> = []
  private(set) var violations: [String] = []

  init(_ budget: Budget) {
    self.budget = budget
    handle(.requested)
  }
}

extension SessionWorld {
  /// The worlds after each possible event.
  var successors: [SessionWorld] {
    var worlds: [SessionWorld] = []
    func add(_ change: (inout SessionWorld) -> Void) {
      var world = self
      change(&world)
      worlds.append(world)
    }
    if action != nil {
      add { $0.complete() }
      if budget.faults > 0 { for fault in Fault.allCases { add { $0.fail(fault) } } }
    }
    if timer != nil { add { $0.fireTimer() } }
    if hasUnnoticedEdits { add { $0.notice() } }
    if budget.edits > 0 {
      add {
        $0.budget.edits -= 1
        $0.madeEditCount += 1
        $0.file.editCount += 1
        $0.hasUnnoticedEdits = true
      }
    }
    if budget.commits > 0 {
      for isAnnounced in [true, false] {
        add {
          $0.budget.commits -= 1
          $0.space.version += 1
          if isAnnounced { $0.handle(.announced(.head(SessionWorld.revision($0.space.version)))) }
        }
      }
    }
    // Events come late, repeatedly and in any order, also those of own commits.
    if budget.announcements > 0 {
      for version in 0..<max(0, space.version) {
        add {
          $0.budget.announcements -= 1
          $0.handle(.announced(SessionWorld.event(to: version + 1)))
        }
      }
    }
    if budget.crashes > 0 {
      add {
        $0.budget.crashes -= 1
        if case .push(let commit) = $0.action { $0.unanswered.insert(commit) }
        $0.action = nil
        $0.result = nil
        $0.timer = nil
        $0.session = SyncSession()
        $0.handle(.requested)
      }
    }
    return worlds
  }

  /// Violations of the promises that hold once nothing goes wrong any more.
  var violationsAfterFaultsStop: [String] {
    var world = self
    if world.hasUnnoticedEdits { world.notice() }
    world.handle(.requested)
    for _ in 0..<100 {
      if world.action != nil {
        world.complete()
      } else if world.timer != nil {
        world.fireTimer()
      } else {
        break
      }
    }
    let revision = SessionWorld.revision(world.space.version)
    guard world.session.status == .upToDate(revision) else {
      return ["\(self) does not come to rest, but to \(world)"]
    }
    guard world.space.editCount == world.madeEditCount else {
      return ["\(self) leads to \(world.space.editCount) of \(world.madeEditCount) edits"]
    }
    return world.violations
  }

  private static func revision(_ version: Int) -> SpaceRevision {
    SpaceRevision(epoch: SyncToken(bits: 0), version: version, mark: 0)
  }

  private static func event(to version: Int) -> SyncEvent {
    .commit(
      from: revision(version - 1),
      SyncPage(
        revision: revision(version), digest: .empty, replica: nil, changes: [], next: nil))
  }

  private mutating func handle(_ event: SyncSession.Event) {
    for next in session.handle(event) {
      check(next)
      switch next {
      case .perform, .push, .pull:
        if action != nil {
          violations.append("\(next) begins during \(String(describing: action))")
        }
        action = next
        result = nil
        timer = nil
      case .timer(let number, _, _): timer = number
      case .report: break
      }
    }
  }

  private mutating func check(_ action: SyncSession.Action) {
    let hasOutbox = file.outbox != nil
    switch action {
    case .pull, .perform(.stage), .perform(.apply), .perform(.freeze), .perform(.receive):
      if hasOutbox { violations.append("\(action) while a commit has no outcome") }
    case .perform(.takeBack(let commit)):
      if unanswered.contains(commit) || space.lastCommit == commit {
        violations.append("\(commit) is taken back, but may have arrived")
      }
    case .report(.upToDate(let revision)):
      let isTrue =
        !hasOutbox && !file.needsPull && file.base == revision.version
        && (file.editCount == 0 || hasUnnoticedEdits)
      if !isTrue { violations.append("it is not up to date: \(file)") }
    case .perform, .push, .timer, .report: break
    }
  }

  private mutating func notice() {
    hasUnnoticedEdits = false
    handle(.changedLocally)
  }

  private mutating func fireTimer() {
    guard let number = timer else { return }
    timer = nil
    handle(.timerFired(number))
  }
}

// MARK: - The network

extension SessionWorld {
  private enum Fault: CaseIterable {
    case requestLost
    case replyLost
    case busy
    case refused
    case superseded
  }

  /// The action under way succeeds; a step in two parts.
  private mutating func complete() {
    guard let action else { return }
    if case .perform(let step) = action, result == nil {
      perform(step)
      result = summary
      return
    }
    self.action = nil
    switch action {
    case .perform:
      if let result { handle(.performed(result)) }
    case .push:
      guard let commit = file.outbox else { return handle(.superseded) }
      handle(.pushed(answer(commit)))
    case .pull(let request): handle(.pulled(.page(page(request))))
    case .timer, .report: break
    }
  }

  /// The action under way fails; a step on the file does not.
  private mutating func fail(_ fault: Fault) {
    guard let action else { return }
    let isPush: Bool
    switch action {
    case .push: isPush = true
    case .pull: isPush = false
    case .perform, .timer, .report: return
    }
    budget.faults -= 1
    self.action = nil
    switch fault {
    case .requestLost, .replyLost:
      if isPush, let commit = file.outbox {
        unanswered.insert(commit.id)
        if fault == .replyLost { _ = answer(commit) }
      }
      handle(.disconnected)
    case .busy:
      if isPush, let commit = file.outbox { unanswered.insert(commit.id) }
      handle(.refused(SyncRefusal(.unavailable, "busy")))
    case .refused: handle(.refused(SyncRefusal(.unauthorized, "no rights")))
    case .superseded: if isPush { handle(.superseded) } else { handle(.disconnected) }
    }
  }

  /// The space answers a commit: a repeated one as before, one with an old base by a conflict.
  private mutating func answer(_ commit: Commit) -> SyncOutcome {
    if space.lastCommit == commit.id, let outcome = space.lastOutcome { return outcome }
    let outcome: SyncOutcome
    if commit.base == space.version {
      space.version += 1
      space.editCount += commit.editCount
      outcome = .accepted(SessionWorld.revision(space.version), .empty)
    } else {
      outcome = .conflict([])
    }
    space.lastCommit = commit.id
    space.lastOutcome = outcome
    return outcome
  }

  /// Each pull has two pages.
  private func page(_ request: SyncPull) -> SyncPage {
    SyncPage(
      revision: SessionWorld.revision(space.version), digest: .empty, replica: nil, changes: [],
      next: request.cursor == nil ? "second" : nil)
  }
}

// MARK: - The file

extension SessionWorld {
  private var summary: SyncSummary {
    var pull = SyncSummary.Pull.none
    if file.needsPull {
      if let last = file.pages.last, last.next == nil {
        pull = .staged
      } else {
        pull = .page(SyncPull(replica: nil, since: nil, cursor: file.pages.last?.next))
      }
    }
    return SyncSummary(
      revision: file.base.map(SessionWorld.revision),
      outbox: file.outbox.map {
        SyncSummary.Outbox(commit: $0.id, changeCount: $0.editCount)
      }, pull: pull, hasChanges: file.editCount > 0, hasEqualDigests: true)
  }

  private mutating func perform(_ step: SyncStep) {
    switch step {
    case .look, .verify, .lose: break
    case .requirePull: file.needsPull = true
    case .freeze:
      guard let base = file.base, !file.needsPull, file.outbox == nil, file.editCount > 0 else {
        return
      }
      let id = SyncToken(bits: UInt128(nextCommit))
      file.outbox = Commit(id: id, base: base, editCount: file.editCount)
      file.editCount = 0
      nextCommit += 1
    case .settle(let outcome, let id):
      guard let outbox = file.outbox, outbox.id == id else { return }
      file.outbox = nil
      if case .accepted(let revision, _) = outcome {
        if revision.version == outbox.base + 1 {
          file.base = revision.version
        } else {
          file.needsPull = true
        }
      } else {
        file.editCount += outbox.editCount
        file.needsPull = true
      }
    case .takeBack(let id):
      guard let outbox = file.outbox, outbox.id == id else { return }
      file.outbox = nil
      file.editCount += outbox.editCount
    case .stage(let page, let request):
      if request.cursor == file.pages.last?.next { file.pages.append(page) }
    case .discardStaged: file.pages = []
    case .receive(let page, let from):
      guard file.base != page.revision.version else { return }
      file.needsPull = file.needsPull || file.base != from.version
      if !file.needsPull { file.base = page.revision.version }
    case .apply:
      guard file.outbox == nil, let last = file.pages.last, last.next == nil else { return }
      file.base = last.revision.version
      file.pages = []
      file.needsPull = false
    }
  }
}
