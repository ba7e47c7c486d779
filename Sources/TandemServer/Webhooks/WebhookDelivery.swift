internal import Synchronization
internal import TandemRecords
internal import TandemSpace
internal import TandemSync

/// Delivers the commits of all spaces to a webhook, after they are durable: each at least once, and those of one space in
/// their order.
///
/// The position of a space is kept when its delivery was accepted, or given up. A delivery that was under way when the
/// server ended comes again, perhaps with later commits in addition. A space waits for its delivery, and not for those of
/// others. A server that follows another one delivers nothing before its promotion.
package final class WebhookDelivery: Sendable {
  /// Sends a request; returns the status code of the answer.
  package typealias Sending = @Sendable (Webhook.Request) async throws -> Int

  private struct State {
    var positions: [String: CommitPosition] = [:]
    /// The marks of the spaces at the last look at all of them, except of those whose delivery was under way.
    var seen: [String: String] = [:]
    /// True if it is time to look at all spaces.
    var isLookDue = false
    /// The spaces with a commit through this server since their last delivery began, in its turn.
    var noted: Set<String> = []
    /// The spaces whose delivery is under way.
    var busy: Set<String> = []
    /// Begins deliveries; `nil` unless it is this node's turn.
    var wake: AsyncStream<Void>.Continuation?
    /// The number of dead letters at the last look.
    var letterCount = 0
    /// The end of this node's turn, unless it is prolonged.
    var turnEnd = ContinuousClock.now
  }

  /// Why it is not this node's turn any more.
  private enum TurnLost: Error {
    /// Another node has taken it.
    case taken
    /// It ended before it was prolonged: another node may have delivered since.
    case lapsed
  }

  /// The outcome of an attempt.
  private enum Attempt {
    case accepted
    /// It may succeed later.
    case failed(String)
    /// The receiver refuses it.
    case refused(String)
  }

  private let webhook: Webhook
  private let spaces: any ServedSpaces
  private let store: any WebhookStore
  private let limits: Webhook.Limits
  private let following: Following?
  private let clock: any Clock<Duration>
  private let log: @Sendable (ServerEvent) -> Void
  private let send: Sending
  private let gate: RequestGate
  private let state = Mutex(State())

  /// Deliveries, which ``run()`` makes.
  ///
  /// - Parameter following: The leader that the server follows; `nil` if it follows none.
  package init(
    _ webhook: Webhook, of spaces: any ServedSpaces, keptIn store: any WebhookStore,
    limits: Webhook.Limits = Webhook.Limits(), following: Following? = nil,
    clock: any Clock<Duration> = .continuous,
    log: @escaping @Sendable (ServerEvent) -> Void, sending: @escaping Sending
  ) {
    self.webhook = webhook
    self.spaces = spaces
    self.store = store
    self.limits = limits
    self.following = following
    self.clock = clock
    self.log = log
    send = sending
    gate = RequestGate(width: limits.maxRequestCount)
  }

  /// Takes note of a commit, so that it is delivered at once.
  package func noteCommit(in space: String) {
    let wake = state.withLock { state in
      // A turn begins with all spaces.
      if state.wake != nil { state.noted.insert(space) }
      return state.wake
    }
    wake?.yield()
  }

  /// Begins with the present, if nothing was delivered before. Otherwise commits between the start of a server and that
  /// of ``run()`` would count as earlier ones. The promotion of a server that follows does this
  /// (``WebhookFile/begin(withCopiesIn:)``).
  package func prepare() async throws {
    if !isFollowing { _ = try await positions() }
  }

  /// The lengths of the queues; none unless it is this node's turn.
  package var gauges: [ServerMetrics.Gauge] {
    let counts = state.withLock { state in
      state.wake.map { _ in (state.noted.union(state.busy).count, state.letterCount) }
    }
    guard let (waitingCount, letterCount) = counts else { return [] }
    return Self.gauges(waitingCount: waitingCount, letterCount: letterCount)
  }

  static func gauges(waitingCount: Int, letterCount: Int) -> [ServerMetrics.Gauge] {
    [
      ServerMetrics.Gauge(
        name: "tandem_webhook_waiting_spaces",
        help: "Spaces with commits that the webhook has not accepted yet.", value: waitingCount),
      ServerMetrics.Gauge(
        name: "tandem_webhook_dead_letters", help: "Deliveries that were given up.",
        value: letterCount),
    ]
  }

  private var isFollowing: Bool { following?.isFollowing ?? false }

  /// Delivers until the task is cancelled, whenever it is this node's turn.
  package func run() async {
    while !Task.isCancelled {
      do {
        if !isFollowing, try await takeTurn() { try await deliver() }
      } catch TurnLost.taken {
        log(ServerEvent(.warning, "another server delivers to the webhook from now on"))
      } catch TurnLost.lapsed {
        log(
          ServerEvent(
            .warning,
            "the deliveries to the webhook begin again: the server, or its database, stood still"))
      } catch {
        guard !Task.isCancelled else { break }
        log(ServerEvent(.error, "the deliveries to the webhook begin again: \(error)"))
      }
      try? await clock.sleep(for: limits.pause)
    }
    // Not a child, which would be cancelled.
    try? await Task { [store] in try await store.endTurn() }.value
  }

  private func deliver() async throws {
    let positions = try await positions()
    let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { state in
      state.positions = positions
      (state.seen, state.busy, state.noted, state.wake) = ([:], [], [], wake)
    }
    defer { state.withLock { $0.wake = nil } }
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await self.prolongTurns() }
      group.addTask { try await self.deliverLetters() }
      group.addTask {
        // A task that fails cancels this one, which ends the loop below.
        defer { wake.finish() }
        while true {
          self.state.withLock { $0.isLookDue = true }
          wake.yield()
          try await self.clock.sleep(for: self.limits.pause)
        }
      }
      for await _ in wakes {
        for space in try await nextSpaces() {
          group.addTask { try await self.deliver(space) }
        }
      }
      try Task.checkCancellation()
    }
  }

  /// The positions, which are the heads of all spaces the first time.
  private func positions() async throws -> [String: CommitPosition] {
    if let texts = try await store.positions() {
      return texts.compactMapValues { CommitPosition($0) }
    }
    var heads: [String: CommitPosition] = [:]
    for space in try await spaces.names() {
      let head = try? await spaces.with(space) { try await $0.state().head }
      if let head { heads[space] = CommitPosition(since: head, cursor: nil) }
    }
    try await store.begin(at: heads.mapValues(\.description))
    return heads
  }

  private func takeTurn() async throws -> Bool {
    // The store counts from a later moment.
    let end = ContinuousClock.now + limits.lease
    guard try await store.takeTurn(for: limits.lease) else { return false }
    state.withLock { $0.turnEnd = end }
    return true
  }

  private func prolongTurns() async throws {
    while true {
      try await clock.sleep(for: limits.lease / 4)
      try await prolongTurn()
    }
  }

  /// Prolongs the turn, which has not ended yet: otherwise the positions in memory may be old ones.
  private func prolongTurn() async throws {
    guard ContinuousClock.now < state.withLock({ $0.turnEnd }) else { throw TurnLost.lapsed }
    guard try await takeTurn() else { throw TurnLost.taken }
  }

  /// The spaces whose deliveries begin now: those with a commit through this server and, if it is time to look at all
  /// spaces, those that may have changed, or are gone.
  private func nextSpaces() async throws -> [String] {
    let isLookDue = state.withLock { state in
      defer { state.isLookDue = false }
      return state.isLookDue
    }
    let marks = try await isLookDue ? spaces.marks() : nil
    return state.withLock { state in
      var next = state.noted
      if let marks {
        let changed = marks.keys.filter { state.seen[$0] != marks[$0] }
        next.formUnion(changed)
        next.formUnion(state.positions.keys.filter { marks[$0] == nil })
      }
      next.subtract(state.busy)
      if let marks {
        for space in next { state.seen[space] = marks[space] }
      }
      state.noted.subtract(next)
      state.busy.formUnion(next)
      return next.sorted()
    }
  }

  // MARK: - One space

  /// Delivers what a space has, until there is nothing more.
  private func deliver(_ space: String) async throws {
    // Only attempts make a dead letter, and not what this server cannot read.
    var (failureCount, troubleCount) = (0, 0)
    while true {
      do {
        guard try await deliverNext(of: space, &failureCount) else { break }
        troubleCount = 0
      } catch let refusal as SyncRequestError where refusal.code == .unknownSpace {
        try await forget(space)
        break
      } catch let error where !(error is CancellationError || error is TurnLost) {
        troubleCount += 1
        log(ServerEvent(.error, "cannot read the commits for the webhook: \(error)", space: space))
      }
      let count = max(failureCount, troubleCount)
      if count > 0 {
        try await clock.sleep(
          for: limits.backoff.delay(afterFailure: count, chance: .random(in: 0...1)))
      }
    }
    let wake = state.withLock { state in
      state.busy.remove(space)
      return state.noted.contains(space) ? state.wake : nil
    }
    wake?.yield()
  }

  /// Delivers once; returns false if there is nothing to deliver.
  private func deliverNext(of space: String, _ failureCount: inout Int) async throws -> Bool {
    await gate.enter()
    defer { gate.leave() }
    try Task.checkCancellation()
    let position = state.withLock { $0.positions[space] } ?? .start
    let reading = try await spaces.with(space) { store in
      try await CommittedChanges.read(space, in: store, after: position)
    }
    guard case .changes(let changes) = reading else { return false }
    let body = changes.body
    var letter: (reason: String, time: Int, body: [UInt8])?
    switch try await attempt(body) {
    case .accepted: break
    case .failed(let reason) where failureCount + 1 < limits.maxAttemptCount:
      failureCount += 1
      if failureCount == 1 {
        log(
          ServerEvent(.warning, "the webhook does not accept a delivery: \(reason)", space: space))
      }
      return true
    case .failed(let reason), .refused(let reason):
      guard try await store.letterCount() < limits.maxLetterCount else {
        failureCount += 1
        log(
          ServerEvent(
            .error,
            "the webhook has \(limits.maxLetterCount) dead letters, the most, so that the space waits: \(reason)",
            space: space))
        return true
      }
      letter = (reason, webhook.time, body)
      log(
        ServerEvent(
          .error, "a delivery to the webhook is a dead letter: \(reason)", space: space))
    }
    guard try await store.keep("\(changes.position)", of: space, burying: letter) else {
      throw TurnLost.taken
    }
    state.withLock { $0.positions[space] = changes.position }
    failureCount = 0
    return true
  }

  /// Forgets a space that was deleted or renamed, and says what was delivered: nobody can read later commits any more.
  private func forget(_ space: String) async throws {
    // A file that another program is making has no space yet.
    guard try await !spaces.names().contains(space) else { return }
    let successor = try await spaces.successor(of: space)
    guard try await store.forget(space) else { throw TurnLost.taken }
    let position = state.withLock { state in
      state.seen[space] = nil
      return state.positions.removeValue(forKey: space)
    }
    if let successor {
      log(
        ServerEvent(
          .notice, "the space is called \(successor) now: the webhook gets it from its beginning",
          space: space))
    } else {
      let revision = position?.since.map { " after revision \($0)" } ?? ""
      log(
        ServerEvent(
          .warning,
          "the space was deleted: its commits\(revision), if there were any, were not delivered to the webhook",
          space: space))
    }
  }

  private func attempt(_ body: [UInt8]) async throws -> Attempt {
    // Another node must not deliver while this request is on its way.
    let turnEnd = state.withLock { $0.turnEnd }
    if ContinuousClock.now + limits.maxRequestTime >= turnEnd { try await prolongTurn() }
    let status: Int
    do {
      status = try await send(webhook.request(body))
    } catch {
      try Task.checkCancellation()
      return .failed("\(error)")
    }
    switch status {
    case 200..<300: return .accepted
    // Request Timeout, Too Early, Too Many Requests.
    case 408, 425, 429: return .failed("status \(status)")
    case 400..<500: return .refused("status \(status)")
    default: return .failed("status \(status)")
    }
  }

  // MARK: - Dead letters

  /// Delivers the dead letters that an operator wants to be delivered again, once each.
  private func deliverLetters() async throws {
    while true {
      for letter in try await store.letters(
        dueOnly: true, after: 0, maxCount: DeadLetter.readCount)
      {
        switch try await attempt(letter.body) {
        case .accepted: try await store.settle(letter.id, failure: nil)
        case .failed(let reason), .refused(let reason):
          try await store.settle(letter.id, failure: reason)
        }
      }
      let count = try await store.letterCount()
      state.withLock { $0.letterCount = count }
      try await clock.sleep(for: limits.pause)
    }
  }
}
