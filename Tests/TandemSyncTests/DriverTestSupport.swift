import Synchronization
import TandemRecords
import TandemSync

/// A value with tasks that wait for it to meet a condition.
final class Watched<Value: Sendable>: Sendable {
  private struct State {
    var value: Value
    var waiters: [(condition: @Sendable (Value) -> Bool, resume: CheckedContinuation<Void, Never>)]
  }

  private let state: Mutex<State>

  init(_ value: Value) { state = Mutex(State(value: value, waiters: [])) }

  var current: Value { state.withLock { $0.value } }

  @discardableResult
  func change<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
    let (result, due) = state.withLock { state in
      let result = body(&state.value)
      let value = state.value
      let due = state.waiters.filter { $0.condition(value) }
      state.waiters.removeAll { $0.condition(value) }
      return (result, due.map(\.resume))
    }
    for waiter in due { waiter.resume() }
    return result
  }

  /// Waits until the value meets the condition, or the task is cancelled.
  func reach(_ condition: @escaping @Sendable (Value) -> Bool) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if condition(state.value) || Task.isCancelled { return true }
          state.waiters.append((condition, continuation))
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      let all = state.withLock { state in
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in all { waiter.resume.resume() }
    }
  }
}

/// The statuses that a driver has published.
final class Statuses: Sendable {
  private let published = Watched<[(SyncStatus, (any Error)?)]>([])

  var all: [SyncStatus] { published.current.map(\.0) }
  var errors: [any Error] { published.current.compactMap(\.1) }

  func append(_ status: SyncStatus, _ error: (any Error)?) {
    published.change { $0.append((status, error)) }
  }

  /// Waits until the last status meets the condition.
  func reach(_ condition: @escaping @Sendable (SyncStatus) -> Bool) async {
    await published.reach { $0.last.map { condition($0.0) } ?? false }
  }
}

extension SyncStatus {
  /// The name of the case.
  var name: String { "\(self)".prefix { $0 != "(" }.description }
}

/// A clock whose sleepers wake at once. Its time moves by their pauses.
final class RecordingClock: Clock, Sendable {
  typealias Instant = ContinuousClock.Instant

  private let asked = Mutex<[Duration]>([])
  private let start = ContinuousClock.now

  var pauses: [Duration] { asked.withLock { $0 } }
  var now: Instant { start + pauses.reduce(.zero, +) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    let pause = now.duration(to: deadline)
    asked.withLock { $0.append(pause) }
  }
}

/// A file whose edits are only counted.
final class CountingReplica: SyncReplica {
  struct Failed: Error {}

  fileprivate struct State: Sendable {
    var base: Int?
    var editCount = 0
    var outbox: SyncCommit?
    var frozenCount = 0
    var needsPull = true
    var staged: SyncPage?
    var sequence = 0
    var hasNews = false
    var isFailing = false
    let id: SyncToken
  }

  private let state: Watched<State>

  init() {
    var generator = SystemRandomNumberGenerator()
    state = Watched(State(id: .random(using: &generator)))
  }

  var base: Int? { state.current.base }

  func edit() {
    state.change {
      $0.editCount += 1
      $0.hasNews = true
    }
  }

  func fail() { state.change { $0.isFailing = true } }

  func waitForChange() async throws {
    await state.reach { $0.hasNews }
    try Task.checkCancellation()
    state.change { $0.hasNews = false }
  }

  func outbox(part number: Int) async throws -> SyncCommit? { state.current.outbox }

  func perform(_ step: SyncStep) async throws -> SyncSummary {
    if state.current.isFailing { throw Failed() }
    return state.change { state in
      state.perform(step)
      var summary = state.summary
      summary.outbox?.isNew = step == .freeze
      return summary
    }
  }
}

extension CountingReplica.State {
  var summary: SyncSummary {
    var pull = SyncSummary.Pull.none
    if needsPull {
      let isComplete = staged.map { $0.next == nil } ?? false
      pull =
        isComplete ? .staged : .page(SyncPull(replica: nil, since: nil, cursor: staged?.next))
    }
    return SyncSummary(
      revision: base.map(CountingRemote.revision),
      outbox: outbox.map { SyncSummary.Outbox(commit: $0.id, changeCount: frozenCount) },
      pull: pull, hasChanges: editCount > 0, hasEqualDigests: true)
  }

  mutating func perform(_ step: SyncStep) {
    switch step {
    case .look, .verify, .lose, .discardStaged, .takeBack: break
    case .requirePull: needsPull = true
    case .freeze:
      guard let base, !needsPull, outbox == nil, editCount > 0 else { return }
      outbox = SyncCommit(
        replica: id, sequence: sequence + 1, id: SyncToken(bits: id.bits &+ UInt128(sequence)),
        base: CountingRemote.revision(base),
        changes: (0..<editCount).map {
          SyncChange(key: SyncKey(table: "t", id: [.integer(Int64($0))]), verb: .delete)
        })
      frozenCount = editCount
      editCount = 0
    case .settle(let outcome, let commit):
      guard let pending = outbox, pending.id == commit else { return }
      outbox = nil
      sequence += 1
      if case .accepted(let revision, _) = outcome {
        if revision.version == pending.base.version + 1 {
          base = revision.version
        } else {
          needsPull = true
        }
      } else {
        editCount += frozenCount
        needsPull = true
      }
    case .stage(let page, _): staged = page
    case .receive(let page, let from):
      guard base != page.revision.version else { return }
      needsPull = needsPull || base != from.version || outbox != nil
      if !needsPull { base = page.revision.version }
    case .apply:
      guard let page = staged, outbox == nil else { return }
      base = page.revision.version
      staged = nil
      needsPull = false
    }
  }
}

/// A space that counts edits, with faults at given requests.
final class CountingRemote: SyncRemote, SyncAnnouncements {
  struct Lost: Error {}

  enum Fault: Hashable, Sendable {
    case none
    case requestLost
    case replyLost
    case busy
    case refused
    /// A page that is followed by itself.
    case repeatedPage
    /// A page with records of these versions.
    case page([Int], next: String?)
    /// A commit is refused for no record of it.
    case refusedCommit
  }

  struct State: Sendable {
    var version = 0
    var editCount = 0
    var outcomes: [SyncToken: SyncOutcome] = [:]
    var faults: [Fault]
    var requestCount = 0
    /// The number of waits for a commit that fail.
    var failingWaitCount: Int
    var pullCount = 0
    /// The number of times that somebody began to follow the space.
    var followerCount = 0
    /// Events to send before the usual ones.
    var events: [SyncEvent] = []
  }

  static let refusal = SyncRequestError(.unauthorized, "no rights")
  static let repeatedPage = SyncPullAnswer.page(
    SyncPage(revision: revision(0), digest: .empty, replica: nil, changes: [], next: "again"))

  private static func page(_ versions: [Int], _ next: String?, at version: Int) -> SyncPage {
    SyncPage(
      revision: revision(version), digest: .empty, replica: nil,
      changes: versions.enumerated().map { offset, version in
        SyncRecordState(
          key: SyncKey(table: "t", id: [.integer(Int64(offset))]), version: version, fields: nil)
      }, next: next)
  }

  static func revision(_ version: Int) -> SpaceRevision {
    SpaceRevision(epoch: SyncToken(bits: 0), version: version, mark: 0)
  }

  private let state: Watched<State>
  /// True if events have the changes.
  private let sendsChanges: Bool

  init(faults: [Fault] = [], failingWaitCount: Int = 0, sendsChanges: Bool = false) {
    self.sendsChanges = sendsChanges
    state = Watched(State(faults: faults, failingWaitCount: failingWaitCount))
  }

  var revision: SpaceRevision { CountingRemote.revision(state.current.version) }
  var editCount: Int { state.current.editCount }
  var requestCount: Int { state.current.requestCount }
  var followerCount: Int { state.current.followerCount }
  var pullCount: Int { state.current.pullCount }

  func commit() { state.change { $0.version += 1 } }

  /// Makes commits up to a version, announced by an event of the changes since any version.
  func commit(to version: Int, eventFrom from: Int) {
    state.change {
      $0.version = max($0.version, version)
      $0.events.append(CountingRemote.event(from, version))
    }
  }

  private static func event(_ from: Int, _ version: Int) -> SyncEvent {
    .commit(
      from: revision(from),
      SyncPage(
        revision: revision(version), digest: .empty, replica: nil, changes: [], next: nil))
  }

  func reach(_ condition: @escaping @Sendable (State) -> Bool) async {
    await state.reach(condition)
  }

  func declare(_ tables: [SpaceTable]) async throws -> [SpaceTable] { tables }

  func push(_ commit: SyncCommit) async throws -> SyncOutcome {
    try request { state in
      if let outcome = state.outcomes[commit.id] { return outcome }
      var outcome = SyncOutcome.conflict([])
      if commit.base.version == state.version {
        state.version += 1
        state.editCount += commit.changes.count
        outcome = .accepted(CountingRemote.revision(state.version), .empty)
      }
      state.outcomes[commit.id] = outcome
      return outcome
    }
  }

  func pull(_ pull: SyncPull) async throws -> SyncPullAnswer {
    try request { state in
      state.pullCount += 1
      return .page(
        SyncPage(
          revision: CountingRemote.revision(state.version), digest: .empty, replica: nil,
          changes: [], next: nil))
    }
  }

  func follow(after revision: SpaceRevision) async throws -> any SyncAnnouncements {
    state.change { $0.followerCount += 1 }
    return self
  }

  func next(after known: SpaceRevision) async throws -> SyncEvent {
    let fails = state.change { state in
      state.failingWaitCount -= 1
      return state.failingWaitCount >= 0
    }
    if fails { throw Lost() }
    await state.reach { $0.version != known.version || !$0.events.isEmpty }
    try Task.checkCancellation()
    let event = state.change { $0.events.isEmpty ? nil : $0.events.removeFirst() }
    if let event { return event }
    return sendsChanges ? Self.event(known.version, revision.version) : .head(revision)
  }

  private func request<Answer: Sendable>(
    _ body: @Sendable (inout State) -> Answer
  ) throws -> Answer {
    try state.change { state -> Result<Answer, any Error> in
      state.requestCount += 1
      switch state.faults.isEmpty ? .none : state.faults.removeFirst() {
      case .none: return .success(body(&state))
      case .requestLost: return .failure(Lost())
      case .replyLost:
        _ = body(&state)
        return .failure(Lost())
      case .busy: return .failure(SyncRequestError(.unavailable, "busy", retryAfter: .seconds(9)))
      case .refused: return .failure(CountingRemote.refusal)
      case .repeatedPage: return .success(CountingRemote.repeatedPage as? Answer ?? body(&state))
      case .page(let versions, let next):
        let page = CountingRemote.page(versions, next, at: state.version)
        return .success(SyncPullAnswer.page(page) as? Answer ?? body(&state))
      case .refusedCommit: return .success(SyncOutcome.refused([]) as? Answer ?? body(&state))
      }
    }.get()
  }
}
