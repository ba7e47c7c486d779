internal import Synchronization

/// Performs one run: takes the actions of ``MirrorRun`` and reports their outcome to it.
///
/// The run is one task group. The run's own task performs the steps, transfers are the group's
/// children, and the run returns when all of them have ended: nothing of a run outlives it.
final class MirrorRunDriver<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  typealias Plan =
    @Sendable (_ listed: @Sendable (Int) -> Void) async throws -> MirrorPlan<Item>
  private typealias Transfer = MirrorTransferQueue.Transfer

  /// The outcome of a child task.
  private enum ChildResult: Sendable {
    case happened(MirrorRun.Event, byteCount: Int = 0, error: (any Error)? = nil)
    /// The child has reported its event itself; these actions followed.
    case handled([MirrorRun.Action])
  }

  private let processor: MirrorProcessor<Item>
  private let plan: Plan
  private let options: MirrorOptions
  private let clock: any Clock<Duration>
  private let chance: @Sendable () async -> Double
  private let publish: @Sendable (MirrorPhase) -> Void
  /// The time since the driver was made.
  private let time: @Sendable () -> Duration
  private let state: Mutex<MirrorRunState<Item>>

  /// A driver of one run. See ``MirrorProcessor/run(_:clock:chance:publish:plan:)``.
  init(
    _ processor: MirrorProcessor<Item>, _ plan: @escaping Plan, options: MirrorOptions,
    clock: any Clock<Duration>, chance: @escaping @Sendable () async -> Double,
    publish: @escaping @Sendable (MirrorPhase) -> Void
  ) {
    self.processor = processor
    self.plan = plan
    self.options = options
    self.clock = clock
    self.chance = chance
    self.publish = publish
    time = Self.stopwatch(clock)
    state = Mutex(MirrorRunState(options))
  }

  private static func stopwatch(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  /// Runs until the last step has ended, and returns the report.
  func run() async -> MirrorReport<Item.ID> {
    await withTaskGroup(of: ChildResult.self) { group in
      var actions = handle(.started)[...]
      while true {
        while let action = actions.popFirst() {
          if let event = await perform(action, in: &group) { actions += handle(event) }
        }
        guard !state.withLock({ $0.isEnded }), let result = await group.next() else { return }
        switch result {
        case .happened(let event, let byteCount, let error):
          actions += handle(event, byteCount: byteCount, error: error)
        case .handled(let following): actions += following
        }
      }
    }
    return state.withLock { $0.report }
  }

  /// Takes an event of the run's own task.
  private func handle(
    _ event: MirrorRun.Event, byteCount: Int = 0, error: (any Error)? = nil
  ) -> [MirrorRun.Action] {
    handle(event, byteCount: byteCount, error: error, isCancelled: Task.isCancelled)
  }

  /// Takes an event, publishes the phases that follow, and returns the other actions.
  ///
  /// Phases are published under the lock, so that observers see them in the order of the events.
  private func handle(
    _ event: MirrorRun.Event, byteCount: Int, error: (any Error)?, isCancelled: Bool
  ) -> [MirrorRun.Action] {
    state.withLock { state in
      state.handle(
        event, byteCount: byteCount, error: error, isCancelled: isCancelled, at: time()
      ).filter { action in
        guard case .publish(let phase) = action else { return true }
        publish(phase)
        return false
      }
    }
  }

  /// Performs an action; returns the event that it leads to, unless a child task reports it later.
  private func perform(
    _ action: MirrorRun.Action, in group: inout TaskGroup<ChildResult>
  ) async -> MirrorRun.Event? {
    switch action {
    case .begin: return await begin()
    case .compare: return await compare()
    case .prepare: return await prepare()
    case .remove: return await remove()
    case .transfer(let transfer): group.addTask { await self.transfer(from: transfer) }
    case .retry(let transfer, let delay):
      group.addTask { [clock] in
        try? await clock.sleep(for: delay)  // The machine handles a cancellation.
        return .happened(.retryDue(transfer))
      }
    case .cancelTransfers: group.cancelAll()
    case .end(let ending): return await end(ending)
    case .publish, .recordFailure: preconditionFailure("\(action) is handled under the lock")
    }
    return nil
  }
}

// MARK: - Steps

extension MirrorRunDriver {
  private func begin() async -> MirrorRun.Event {
    do {
      try await call { try await $0.begin() }
      return .begun
    } catch { return fail(.begin, error) }
  }

  private func compare() async -> MirrorRun.Event {
    do {
      let plan = try await call { [publish, plan] _ in
        try await plan { publish(.comparing(sourceCount: $0)) }
      }
      state.withLock { $0.record(plan) }
      if let refusal = options.refusal(of: plan) { return fail(.compare, refusal) }
      return .compared(removalCount: plan.removals.count)
    } catch let failure as MirrorFailure<Item.ID> {
      return fail(failure)
    } catch { return fail(.list, error) }
  }

  private func prepare() async -> MirrorRun.Event {
    do {
      let items = state.withLock { $0.items }
      let prepared = try await call { try await $0.prepare(items) }
      try state.withLock { try $0.record(prepared: prepared) }
      return .prepared(itemCount: prepared.count)
    } catch { return fail(.prepare, error) }
  }

  private func remove() async -> MirrorRun.Event {
    do {
      let ids = state.withLock { $0.removals }
      try await call { try await $0.remove(ids) }
      state.withLock { $0.recordRemoval() }
      return .removed
    } catch { return fail(.remove, error) }
  }

  private func end(_ ending: MirrorRun.Ending) async -> MirrorRun.Event {
    let report = state.withLock { state in
      state.close(ending)
      return state.report
    }
    do {
      // A task of its own, awaited at once: the cancellation of the run does not reach the last
      // step.
      try await Task { try await call { try await $0.end(report) } }.value
    } catch {
      state.withLock { $0.record(MirrorFailure(step: .end, error: error), isCancelled: false) }
    }
    return .ended
  }

  /// Takes a step, for no longer than the options allow.
  private func call<Result: Sendable>(
    _ body: @escaping @Sendable (MirrorProcessor<Item>) async throws -> Result
  ) async throws -> Result {
    try await withTimeout(options.stepTimeout, clock: clock) { [processor] in
      try await body(processor)
    }
  }

  private func fail(_ step: MirrorStep, _ error: any Error) -> MirrorRun.Event {
    fail(MirrorFailure(step: step, error: error))
  }

  private func fail(_ failure: MirrorFailure<Item.ID>) -> MirrorRun.Event {
    let isCancelled = Task.isCancelled
    state.withLock { $0.record(failure, isCancelled: isCancelled) }
    return .stepFailed
  }
}

// MARK: - Transfers

extension MirrorRunDriver {
  /// Makes a transfer, and the next one as long as each success leads to exactly one.
  ///
  /// Continuing in the same task saves two task switches per transfer, which dominate small
  /// transfers.
  private func transfer(from first: Transfer) async -> ChildResult {
    var transfer = first
    while true {
      let (item, stage) = state.withLock { [transfer] in $0.subject(of: transfer) }
      let progress = MirrorTransferProgress(attempt: transfer.attempt) { self.add(byteCount: $0) }
      do {
        try await withTimeout(stage.timeout, clock: clock) { [processor] in
          try await processor.transfer(item, stage.stage, progress)
        }
      } catch {
        let failure = await self.failure(afterAttempt: transfer.attempt, error: error)
        return .happened(
          .transferFailed(transfer, failure), byteCount: progress.byteCount,
          error: options.retry.naming(error))
      }
      // Only the run's own task can tell the cancellation of the run from that of its transfers.
      if Task.isCancelled {
        return .happened(.transferred(transfer), byteCount: progress.byteCount)
      }
      let actions = handle(
        .transferred(transfer), byteCount: progress.byteCount, error: nil, isCancelled: false)
      guard actions.count == 1, case .transfer(let next) = actions[0] else {
        return .handled(actions)
      }
      transfer = next
    }
  }

  private func add(byteCount: Int) {
    state.withLock { state in
      if let phase = state.add(byteCount: byteCount, at: time()) { publish(phase) }
    }
  }

  private func failure(
    afterAttempt attempt: Int, error: any Error
  ) async -> MirrorRun.TransferFailure {
    if Task.isCancelled { return .cancelled }
    let delay = options.retry.delay(afterAttempt: attempt, error: error, chance: await chance())
    return delay.map { .transient(retryAfter: $0) } ?? .final
  }
}

// MARK: - Refusals

extension MirrorOptions {
  /// The reason why a run must not carry out this plan, or `nil` if it may.
  fileprivate func refusal<Item>(of plan: MirrorPlan<Item>) -> MirrorError? {
    if duplicates == .refuse, let first = plan.duplicates.first {
      let others = plan.duplicates.count > 1 ? ", and \(plan.duplicates.count - 1) more" : ""
      return MirrorError(
        .duplicateElement,
        "item \(first.position) of the source has the identity \(first.id) of item "
          + "\(first.firstPosition)\(others); remove the duplicates, or keep the first of each")
    }
    return mirrorGuard.refusal(
      sourceCount: plan.sourceCount, existingCount: plan.localCount,
      deletionCount: plan.removals.count, lossCount: plan.lossCount, remark: plan.removalRemark)
  }
}
