/// A run under way, as its own task performs it.
struct MirrorExecution<Steps: MirrorSteps>: Sendable {
  typealias Transfer = MirrorTransferQueue.Transfer

  /// What a child of the run's task group has to say.
  enum ChildEvent: Sendable {
    case transferred(Transfer, byteCount: Int)
    case transferFailed(
      Transfer, byteCount: Int, error: any Error, outlook: MirrorRun.TransferFailure)
    case retryDue(Transfer)
    /// It has reported what happened itself; this is to be done.
    case reported([MirrorRun.Action])
  }

  private let driver: MirrorRunDriver<Steps>
  private let desk: MirrorDesk<Steps.Item>

  init(_ driver: MirrorRunDriver<Steps>) {
    self.driver = driver
    desk = MirrorDesk(
      driver.options, meter: MirrorMeter(clock: driver.clock, publish: driver.publish))
  }

  /// What the run has done so far.
  var report: MirrorReport<Steps.Item.ID> { desk.withLedger { $0.report } }

  /// Goes on until the machine has ended and the group is empty.
  func run(in group: inout TaskGroup<ChildEvent>) async {
    var actions = advance(.started)[...]
    while true {
      while let action = actions.popFirst() {
        if let event = await perform(action, in: &group) { actions += advance(event) }
      }
      guard !desk.isEnded, let event = await group.next() else { return }
      actions += take(event)
    }
  }

  private func advance(_ event: MirrorRun.Event) -> [MirrorRun.Action] {
    desk.handle(event, isCancelled: Task.isCancelled)
  }

  private func take(_ event: ChildEvent) -> [MirrorRun.Action] {
    switch event {
    case .transferred(let transfer, let byteCount):
      return desk.take(
        transfer, byteCount: byteCount, as: .transferred(transfer), isCancelled: Task.isCancelled)
    case .transferFailed(let transfer, let byteCount, let error, let outlook):
      return desk.take(
        transfer, byteCount: byteCount, error: error, as: .transferFailed(transfer, outlook),
        isCancelled: Task.isCancelled)
    case .retryDue(let transfer): return advance(.retryDue(transfer))
    case .reported(let actions): return actions
    }
  }

  /// Performs an action; returns what has happened, unless that is still to come.
  private func perform(
    _ action: MirrorRun.Action, in group: inout TaskGroup<ChildEvent>
  ) async -> MirrorRun.Event? {
    switch action {
    case .begin: return await begin()
    case .compare: return await compare()
    case .prepare: return await prepare()
    case .remove: return await remove()
    case .transfer(let transfer): start(transfer, in: &group)
    case .retry(let transfer, let delay): wait(delay, toRetry: transfer, in: &group)
    case .cancelTransfers: group.cancelAll()
    case .end(let ending): return await end(ending)
    case .report, .recordFailure: preconditionFailure("The desk performs \(action) itself")
    }
    return nil
  }
}

// MARK: Steps

extension MirrorExecution {
  private func begin() async -> MirrorRun.Event {
    do {
      try await driver.call { try await $0.begin() }
      return .begun
    } catch { return fail(.begin, error) }
  }

  private func compare() async -> MirrorRun.Event {
    do {
      let plan = try await driver.plan()
      desk.withLedger { $0.record(plan) }
      if let refusal = driver.refusal(of: plan) { return fail(.compare, refusal) }
      return .compared(removalCount: plan.removals.count)
    } catch let failure as MirrorFailure<Steps.Item.ID> {
      return fail(failure.step, failure.error)
    } catch {
      return fail(.list, error)
    }
  }

  private func prepare() async -> MirrorRun.Event {
    do {
      let items = desk.withLedger { $0.items }
      let prepared = try await driver.call { try await $0.prepare(items) }
      try desk.withLedger { try $0.record(prepared: prepared) }
      return .prepared(itemCount: prepared.count)
    } catch { return fail(.prepare, error) }
  }

  private func remove() async -> MirrorRun.Event {
    do {
      let ids = desk.withLedger { $0.removals }
      try await driver.call { try await $0.remove(ids) }
      desk.withLedger { $0.recordRemoval() }
      return .removed
    } catch { return fail(.remove, error) }
  }

  private func end(_ ending: MirrorRun.Ending) async -> MirrorRun.Event {
    desk.withLedger { ledger in
      if case .cancelled(let step) = ending { ledger.recordCancellation(during: step) }
      ledger.close()
    }
    do {
      try await driver.end(report)
    } catch {
      desk.withLedger { $0.recordFailure(.end, error, isCancelled: false) }
    }
    return .ended
  }

  private func fail(_ step: MirrorStep, _ error: any Error) -> MirrorRun.Event {
    let isCancelled = Task.isCancelled
    desk.withLedger { $0.recordFailure(step, error, isCancelled: isCancelled) }
    return .stepFailed
  }
}

// MARK: Transfers

extension MirrorExecution {
  private func start(_ transfer: Transfer, in group: inout TaskGroup<ChildEvent>) {
    group.addTask { await work(from: transfer) }
  }

  /// Makes a transfer, and the one that follows from its success, until something else does.
  ///
  /// To go on in one task saves two changes of tasks for each transfer, which are much of what a small
  /// one costs.
  private func work(from first: Transfer) async -> ChildEvent {
    var transfer = first
    while true {
      let number = transfer.item
      let (item, stage) = (desk.withLedger { $0.items[number] }, desk.stages[transfer.stage])
      let meter = desk.meter
      let progress = MirrorTransferProgress(attempt: transfer.attempt) { meter.add($0) }
      do {
        try await driver.transfer(item, stage, progress: progress)
      } catch {
        let outlook = await driver.outlook(afterAttempt: transfer.attempt, error: error)
        return .transferFailed(
          transfer, byteCount: progress.byteCount, error: error, outlook: outlook)
      }
      // Only the run's own task knows whether it is the run that was cancelled.
      if Task.isCancelled { return .transferred(transfer, byteCount: progress.byteCount) }
      let actions = desk.take(
        transfer, byteCount: progress.byteCount, as: .transferred(transfer), isCancelled: false)
      guard actions.count == 1, case .transfer(let next) = actions[0] else {
        return .reported(actions)
      }
      transfer = next
    }
  }

  private func wait(
    _ delay: Duration, toRetry transfer: Transfer, in group: inout TaskGroup<ChildEvent>
  ) {
    let clock = driver.clock
    group.addTask {
      try? await clock.sleep(for: delay)  // Cancelled or not, the machine knows what follows.
      return .retryDue(transfer)
    }
  }
}
