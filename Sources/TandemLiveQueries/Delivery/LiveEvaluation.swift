internal import Synchronization
internal import TandemSQLite

/// The evaluation of a query that all runs of equal queries share: it reads the rows once, keeps
/// them once, and puts each change into the ``Mailbox`` of each run.
///
/// A task of its own drives it, so that a run that is cancelled interrupts no read for the others.
/// It reads only while a run waits: meanwhile only the keys of touched rows accumulate. The last run
/// that leaves ends it. An error ends it too, and is thrown to each run.
///
/// Whoever brings the result up to date holds its lock from the beginning of the snapshot until the
/// change is in all mailboxes. So the result never goes back, and a run that joins misses nothing.
/// The lock of the exchange is taken after that of the result, and never held for long.
final class LiveEvaluation<Result: LiveResult>: Sendable {
  /// The rows. Its lock is held while rows are read.
  private struct Progress {
    var result: Result
    /// True when the result has the rows of a snapshot.
    var hasBegun = false
    var readPause = ReadPause()
  }

  /// The runs and the driver. A run is in one of three states: it has a mailbox alone while it works, is counted by
  /// `waitingCount` while its mailbox has a waiter, and is in `ready` from the delivery until the read has ended.
  fileprivate struct Exchange {
    var changes: ChangeSubscription?
    /// The task that reads. It is idle unless a run waits.
    var driver: Task<Void, Never>?
    /// Resumed when a run waits.
    var idleDriver: CheckedContinuation<Void, Never>?
    var mailboxes: [Int: Mailbox<Result.Change>] = [:]
    var waitingCount = 0
    /// The runs that have something to take, once the read that found it has ended.
    var ready: [CheckedContinuation<Void, Never>] = []
    /// The number of runs without a first change.
    var newcomerCount = 0
    /// The number of the last run that joined.
    var lastPlace = 0
    /// True from before changes are taken until they are in the mailboxes.
    var isAdvancing = false
    /// The error that follows the changes in each mailbox.
    var failure: (any Error)?
    /// True when the last run has left. Nobody joins any more.
    var isEnded = false
  }

  private let key: [UInt8]?
  private let database: Database
  private let feed: ChangeFeed
  private let delivery: LiveDelivery
  private let sleep: @Sendable (Duration) async throws -> Void
  private let progress: Mutex<Progress>
  private let exchange = Mutex(Exchange())

  private init(
    _ definition: QueryDefinition, key: [UInt8]?, in database: Database, _ feed: ChangeFeed,
    _ delivery: LiveDelivery, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.key = key
    self.database = database
    self.feed = feed
    self.delivery = delivery
    self.sleep = sleep
    progress = Mutex(Progress(result: Result(definition)))
  }
}

// MARK: - Joining and leaving

extension LiveEvaluation {
  /// The membership of a run.
  struct Place: Sendable {
    let evaluation: LiveEvaluation
    fileprivate let number: Int

    /// The next change, the first of which leads from no rows to the present ones; `nil` once the
    /// task is cancelled or the run has left.
    func next() async throws -> Result.Change? { try await evaluation.next(number) }

    /// Ends the membership, and the evaluation if nobody else has one.
    func leave() { evaluation.leave(number) }
  }

  /// Joins the evaluation of equal queries, or begins it.
  static func join(
    _ definition: QueryDefinition, in database: Database, _ feed: ChangeFeed,
    _ delivery: LiveDelivery, needsStart: Bool,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) -> Place {
    let key = definition.identity.map { [Result.kind, delivery == .latest ? 0 : 1] + $0 }
    let make = {
      LiveEvaluation(definition, key: key, in: database, feed, delivery, sleep: sleep)
    }
    guard let key else { return make().begin(needsStart: needsStart) }
    return feed.withSharedObjects { evaluations in
      let known = evaluations[key] as? LiveEvaluation
      if let place = known?.join(needsStart: needsStart) { return place }
      let evaluation = make()
      evaluations[key] = evaluation
      return evaluation.begin(needsStart: needsStart)
    }
  }

  private func begin(needsStart: Bool) -> Place {
    var action: ChangeSubscription.CommitAction?
    if delivery == .everyCommit {
      action = { [weak self] connection in self?.didCommit(connection) }
    }
    let changes = feed.subscribe(onCommit: action)
    let driver = Task { await drive(changes) }
    exchange.withLock { exchange in
      exchange.changes = changes
      exchange.driver = driver
    }
    guard let place = join(needsStart: needsStart) else {
      preconditionFailure("It can only end after the first run left")
    }
    return place
  }

  /// A new membership, unless it is over.
  private func join(needsStart: Bool) -> Place? {
    exchange.withLock { exchange in
      guard !exchange.isEnded, exchange.failure == nil else { return nil }
      exchange.lastPlace += 1
      exchange.newcomerCount += 1
      exchange.mailboxes[exchange.lastPlace] = Mailbox(delivery, needsStart: needsStart)
      return Place(evaluation: self, number: exchange.lastPlace)
    }
  }

  private func leave(_ place: Int) {
    let isLast = exchange.withLock { exchange in
      guard let mailbox = exchange.mailboxes.removeValue(forKey: place) else { return false }
      if !mailbox.hasStarted { exchange.newcomerCount -= 1 }
      exchange.isEnded = exchange.mailboxes.isEmpty
      return exchange.isEnded
    }
    if isLast { end() }
  }

  private func end() {
    stopSharing()
    let (changes, driver, idleDriver) = exchange.withLock { exchange in
      defer { exchange.idleDriver = nil }
      return (exchange.changes, exchange.driver, exchange.idleDriver)
    }
    driver?.cancel()
    idleDriver?.resume()
    if let changes { feed.unsubscribe(changes) }
  }

  /// From now on, others begin an evaluation of their own.
  private func stopSharing() {
    guard let key else { return }
    feed.withSharedObjects { evaluations in
      if evaluations[key] === self { evaluations[key] = nil }
    }
  }
}

// MARK: - The side of a run

extension LiveEvaluation {
  private func next(_ place: Int) async throws -> Result.Change? {
    if delivery == .latest, isBehind, exchange.withLock({ $0.mailboxes[place]?.isEmpty }) == false {
      // Commits from before the consumer asked belong into this element.
      await wait(place, forMore: true)
    }
    while !Task.isCancelled {
      let changes = try exchange.withLock { exchange -> [Result.Change]? in
        guard let taken = exchange.mailboxes[place]?.take() else { return nil }
        let failure = exchange.mailboxes[place]?.failure ?? exchange.failure
        if taken.isEmpty, let failure { throw failure }
        return taken
      }
      guard let changes else { return nil }
      if !changes.isEmpty { return .composing(changes) }
      await wait(place)
    }
    return nil
  }

  /// True if there may be a commit whose change is in no mailbox yet.
  private var isBehind: Bool {
    // In this order: whoever takes changes has said so before.
    exchange.withLock { $0.changes }?.hasChanges ?? false || exchange.withLock { $0.isAdvancing }
  }

  /// Returns when there is a change, an error, or the task is cancelled.
  ///
  /// - Parameter waitsForMore: True to wait, though there is a change, until the result is no longer
  ///   behind.
  private func wait(_ place: Int, forMore waitsForMore: Bool = false) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (toResume, toWake) = exchange.withLock {
          $0.wait(place, continuation, forMore: waitsForMore)
        }
        for continuation in toResume { continuation.resume() }
        toWake?.wake()
        if waitsForMore, !isBehind { exchange.withLock { $0.takeWaiter(place) }?.resume() }
      }
    } onCancel: {
      let waiter = exchange.withLock { exchange in
        exchange.mailboxes[place]?.isCancelled = true
        return exchange.takeWaiter(place)
      }
      waiter?.resume()
    }
  }
}

extension LiveEvaluation.Exchange {
  /// Lets a run wait, and the driver work for it.
  ///
  /// - Returns: The tasks that go on, and the subscription whose wait ends.
  mutating func wait(
    _ place: Int, _ continuation: CheckedContinuation<Void, Never>, forMore waitsForMore: Bool
  ) -> ([CheckedContinuation<Void, Never>], ChangeSubscription?) {
    guard let mailbox = mailboxes[place], mailbox.isEmpty || waitsForMore, !mailbox.isCancelled,
      mailbox.failure == nil, failure == nil
    else { return ([continuation], nil) }
    // Of two tasks that wait for one run, the later one does.
    var toResume = takeWaiter(place).map { [$0] } ?? []
    mailboxes[place]?.waiter = continuation
    waitingCount += 1
    if let driver = idleDriver.take() { toResume.append(driver) }
    return (toResume, mailbox.hasStarted ? nil : changes)
  }

  mutating func takeWaiter(_ place: Int) -> CheckedContinuation<Void, Never>? {
    guard let waiter = mailboxes[place]?.takeWaiter() else { return nil }
    waitingCount -= 1
    return waiter
  }

  /// Puts something into the mailboxes, and makes the runs ready that wait for it.
  mutating func deliver(_ put: (inout Mailbox<Result.Change>) -> Void) {
    for index in mailboxes.indices {
      put(&mailboxes.values[index])
      let mailbox = mailboxes.values[index]
      guard !mailbox.isEmpty || mailbox.failure != nil || failure != nil else { continue }
      guard let waiter = mailboxes.values[index].takeWaiter() else { continue }
      waitingCount -= 1
      ready.append(waiter)
    }
  }
}

// MARK: - The driver

extension LiveEvaluation {
  private var hasNewcomers: Bool { exchange.withLock { $0.newcomerCount > 0 } }
  /// True if a run needs the change from no rows to the present ones.
  private var needsStart: Bool {
    exchange.withLock { exchange in
      exchange.newcomerCount > 0
        && exchange.mailboxes.values.contains { !$0.hasStarted && $0.needsStart }
    }
  }
  private var isOver: Bool { exchange.withLock { $0.isEnded || $0.failure != nil } }

  /// Reads as long as there are runs.
  private func drive(_ changes: ChangeSubscription) async {
    do {
      while !isOver {
        await waitForRun()
        if !hasNewcomers { await changes.wait() }
        guard exchange.withLock({ $0.waitingCount }) > 0 else { continue }
        try await pause(before: changes)
        try await advance(changes)
      }
    } catch {
      fail(error)
      resumeReady()
    }
  }

  /// Returns when a run waits, or there are none.
  private func waitForRun() async {
    await withCheckedContinuation { continuation in
      let isDone = exchange.withLock { exchange in
        if exchange.waitingCount > 0 || exchange.isEnded { return true }
        exchange.idleDriver = continuation
        return false
      }
      if isDone { continuation.resume() }
    }
  }

  /// Waits so that writers have most of the time, if they cannot write while the result is read.
  private func pause(before changes: ChangeSubscription) async throws {
    guard changes.hasChanges, !hasNewcomers else { return }
    let pause = progress.withLock { progress in
      progress.result.readsEverything(ifUnknown: changes.hasUnknownChanges)
        ? progress.readPause.duration : .zero
    }
    if pause > .zero { try await sleep(pause) }
  }

  private func advance(_ changes: ChangeSubscription) async throws {
    try Task.checkCancellation()
    guard changes.hasChanges || hasNewcomers else { return }
    defer { resumeReady() }
    try await retryingWhileBusy {
      try await self.database.read { transaction in
        try self.advance(changes, transaction.connection)
      }
    }
  }

  /// Brings the result up to date with a commit of this process, before the next one.
  private func didCommit(_ connection: DatabaseConnection) {
    guard let changes = exchange.withLock({ $0.changes }) else { return }
    defer { resumeReady() }
    do {
      try connection.snapshot { try advance(changes, connection) }
    } catch let error as DatabaseError where error.code.primary == .busy {
      // Another program has locked the file. The driver retries.
    } catch {
      fail(error)
    }
  }

  /// Brings the result up to date with the state that a connection reads, in an open transaction
  /// that has read nothing.
  ///
  /// - Throws: The error that keeps the snapshot from beginning. Later errors end the evaluation,
  ///   because the changes have been taken.
  private func advance(
    _ subscription: ChangeSubscription, _ connection: DatabaseConnection
  ) throws {
    let beginning = ContinuousClock.now
    try progress.withLock { progress in
      guard !isOver else { return }
      exchange.withLock { $0.isAdvancing = true }
      let changes = try feed.beginSnapshot(connection, for: subscription)
      let reading = LiveReading(connection: connection) { [self] interests in
        // After the end, this would subscribe again.
        exchange.withLock { if !$0.isEnded { feed.setInterests(interests, of: subscription) } }
      }
      do {
        var change: Result.Change?
        var start: Result.Change?
        if !changes.isEmpty {
          let readsEverything = progress.result.readsEverything(ifUnknown: changes.isUnknown)
          if progress.hasBegun {
            change = try progress.result.advance(changes, reading)
          } else if needsStart {
            start = try progress.result.advance(changes, reading)
          } else {
            try progress.result.begin(changes, reading)
          }
          progress.hasBegun = true
          if readsEverything {
            let cost = ContinuousClock.now - beginning
            progress.readPause.didRead(for: try connection.blocksWriters() ? cost : .zero)
          }
        }
        if start == nil, needsStart { start = progress.result.start() }
        deliver(change, start: start, orNone: progress.result.noChange())
      } catch {
        fail(error)
      }
    }
  }

  /// Puts the change of an advance into the mailboxes, and the start into those of newcomers that need it, or
  /// else an empty change. A newcomer that needs a start stays one until there is a start.
  private func deliver(
    _ change: Result.Change?, start: Result.Change?, orNone none: Result.Change
  ) {
    exchange.withLock { exchange in
      exchange.isAdvancing = false
      var startedCount = 0
      exchange.deliver { mailbox in
        if !mailbox.hasStarted {
          guard let first = mailbox.needsStart ? start : none else { return }
          mailbox.start(first)
          startedCount += 1
        } else if let change, !change.isEmpty {
          append(change, to: &mailbox)
        }
      }
      exchange.newcomerCount -= startedCount
    }
  }

  private func append(_ change: Result.Change, to mailbox: inout Mailbox<Result.Change>) {
    guard mailbox.failure == nil else { return }
    mailbox.append(change)
    let most = Mailbox<Result.Change>.maxCount
    guard delivery == .everyCommit, mailbox.count > most else { return }
    mailbox.failure = DatabaseError(
      code: .tooBig,
      message: "the loop over a live query is more than \(most) commits behind; speed it up, or "
        + "use the delivery .latest", path: database.path)
  }

  /// Throws an error to each run, after the changes that it has not taken.
  private func fail(_ error: any Error) {
    stopSharing()
    exchange.withLock { exchange in
      exchange.failure = exchange.failure ?? error
      exchange.deliver { _ in }
    }
  }

  private func resumeReady() {
    let ready = exchange.withLock { exchange in
      defer { exchange.ready = [] }
      return exchange.ready
    }
    for waiter in ready { waiter.resume() }
  }
}
