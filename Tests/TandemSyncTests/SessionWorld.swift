import TandemSync

/// A session with a file that counts edits, and a space that counts them too.
struct SessionWorld: Hashable {
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
    /// A commit of more than one edit has two parts.
    var partCount: Int { min(editCount, 2) }
  }

  private struct Space: Hashable {
    var version = 0
    /// The number of edits that arrived, by this replica.
    var editCount = 0
    var lastCommit: SyncToken?
    var lastOutcome: SyncOutcome?
    /// The parts of a commit that are not all there.
    var parts: Set<Int> = []
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
        if case .push(let commit, _) = $0.action { $0.unanswered.insert(commit) }
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
    /// The request is lost, and a day passes.
    case partsDropped
  }

  /// The action under way succeeds; a step in two parts.
  private mutating func complete() {
    guard let action else { return }
    if case .perform(let step) = action, result == nil {
      perform(step)
      result = summary
      result?.outbox?.isNew = step == .freeze
      return
    }
    self.action = nil
    switch action {
    case .perform:
      if let result { handle(.performed(result)) }
    case .push(_, let part):
      guard let commit = file.outbox else { return handle(.superseded) }
      handle(.pushed(answer(commit, part: part)))
    case .pull(let request): handle(.pulled(.page(page(request))))
    case .timer, .report: break
    }
  }

  /// The action under way fails; a step on the file does not.
  private mutating func fail(_ fault: Fault) {
    guard let action else { return }
    let part: Int?
    switch action {
    case .push(_, let number): part = number
    case .pull: part = nil
    case .perform, .timer, .report: return
    }
    budget.faults -= 1
    self.action = nil
    switch fault {
    case .requestLost, .replyLost:
      if let part, let commit = file.outbox {
        unanswered.insert(commit.id)
        if fault == .replyLost { _ = answer(commit, part: part) }
      }
      handle(.disconnected)
    case .busy:
      if part != nil, let commit = file.outbox { unanswered.insert(commit.id) }
      handle(.refused(SyncRequestError(.unavailable, "busy")))
    case .refused: handle(.refused(SyncRequestError(.unauthorized, "no rights")))
    case .partsDropped:
      space.parts = []
      handle(.disconnected)
    case .superseded: if part != nil { handle(.superseded) } else { handle(.disconnected) }
    }
  }

  /// The space answers a commit: a repeated one as before, one with an old base by a conflict.
  private mutating func answer(_ commit: Commit, part: Int) -> SyncOutcome {
    if space.lastCommit == commit.id, let outcome = space.lastOutcome { return outcome }
    if !(1...commit.partCount).contains(part) { violations.append("\(commit) has no part \(part)") }
    space.parts.insert(part)
    let missing = (1...commit.partCount).filter { !space.parts.contains($0) }
    guard missing.isEmpty else { return .parts(missing: missing) }
    space.parts = []
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
        SyncSummary.Outbox(
          commit: $0.id, changeCount: $0.editCount, partCount: $0.partCount)
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
