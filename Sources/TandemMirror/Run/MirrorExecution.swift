/// A run under way: the machine, and what it does not know of.
struct MirrorExecution<Processor: MirrorProcessor> {
  typealias Transfer = MirrorTransferQueue.Transfer

  /// What a child of the run's task group has to say.
  enum ChildEvent: Sendable {
    case transferred(Transfer, byteCount: Int)
    case transferFailed(
      Transfer, byteCount: Int, error: any Error, outlook: MirrorRun.TransferFailure)
    case retryDue(Transfer)
  }

  private let driver: MirrorRunDriver<Processor>
  private let stages: [MirrorStageOptions]
  private var machine: MirrorRun
  private(set) var ledger: MirrorLedger<Processor.Item>
  private var isCancelled = false
  private let meter: MirrorMeter

  init(_ driver: MirrorRunDriver<Processor>) {
    self.driver = driver
    stages = driver.options.distinctStages
    machine = MirrorRun(driver.options)
    ledger = MirrorLedger(stages: stages)
    meter = MirrorMeter(clock: driver.clock, publish: driver.publish)
  }

  /// Goes on until the machine has ended and the group is empty.
  mutating func run(in group: inout TaskGroup<ChildEvent>) async {
    var actions = machine.handle(.started)[...]
    while true {
      while let action = actions.popFirst() {
        if let event = await perform(action, in: &group) { actions += advance(event) }
      }
      guard !machine.isEnded, let event = await group.next() else { return }
      actions += take(event)
    }
  }

  /// Tells the machine of an event, and before it of a cancellation that may be its cause.
  private mutating func advance(_ event: MirrorRun.Event) -> [MirrorRun.Action] {
    guard Task.isCancelled, !isCancelled else { return machine.handle(event) }
    isCancelled = true
    return machine.handle(.cancelled) + machine.handle(event)
  }

  private mutating func take(_ event: ChildEvent) -> [MirrorRun.Action] {
    switch event {
    case .transferred(let transfer, let byteCount):
      ledger.record(transfer, byteCount: byteCount, error: nil)
      return advance(.transferred(transfer))
    case .transferFailed(let transfer, let byteCount, let error, let outlook):
      ledger.record(transfer, byteCount: byteCount, error: error)
      return advance(.transferFailed(transfer, outlook))
    case .retryDue(let transfer):
      return advance(.retryDue(transfer))
    }
  }

  /// Performs an action; returns what has happened, unless that is still to come.
  private mutating func perform(
    _ action: MirrorRun.Action, in group: inout TaskGroup<ChildEvent>
  ) async -> MirrorRun.Event? {
    switch action {
    case .report(let phase): meter.report(phase)
    case .begin: return await begin()
    case .compare: return await compare()
    case .prepare: return await prepare()
    case .remove: return await remove()
    case .transfer(let transfer): start(transfer, in: &group)
    case .retry(let transfer, let delay): wait(delay, toRetry: transfer, in: &group)
    case .recordFailure(let transfer, let stopsRun):
      ledger.recordFailure(transfer, stopsRun: stopsRun)
    case .cancelTransfers: group.cancelAll()
    case .end(let ending): return await end(ending)
    }
    return nil
  }
}

// MARK: Steps

extension MirrorExecution {
  private mutating func begin() async -> MirrorRun.Event {
    do {
      try await driver.call { try await $0.begin() }
      return .begun
    } catch { return fail(.begin, error) }
  }

  private mutating func compare() async -> MirrorRun.Event {
    do {
      let plan = try await driver.timedPlan()
      ledger.record(plan)
      if let refusal = driver.refusal(of: plan) { return fail(.compare, refusal) }
      return .compared(removalCount: plan.removals.count)
    } catch let failure as MirrorFailure<Processor.Item.ID> {
      return fail(failure.step, failure.error)
    } catch {
      return fail(.list, error)
    }
  }

  private mutating func prepare() async -> MirrorRun.Event {
    do {
      let items = ledger.items
      try ledger.record(prepared: try await driver.call { try await $0.prepare(items) })
      return .prepared(itemCount: ledger.items.count)
    } catch { return fail(.prepare, error) }
  }

  private mutating func remove() async -> MirrorRun.Event {
    do {
      let ids = ledger.removals
      try await driver.call { try await $0.remove(ids) }
      ledger.recordRemoval()
      return .removed
    } catch { return fail(.remove, error) }
  }

  private mutating func end(_ ending: MirrorRun.Ending) async -> MirrorRun.Event {
    if case .cancelled(let step) = ending { ledger.recordCancellation(during: step) }
    ledger.close()
    do {
      try await driver.end(ledger.report)
    } catch {
      ledger.recordFailure(.end, error, isCancelled: false)
    }
    return .ended
  }

  private mutating func fail(_ step: MirrorStep, _ error: any Error) -> MirrorRun.Event {
    ledger.recordFailure(step, error, isCancelled: Task.isCancelled)
    return .stepFailed
  }
}

// MARK: Transfers

extension MirrorExecution {
  private mutating func start(_ transfer: Transfer, in group: inout TaskGroup<ChildEvent>) {
    let (driver, meter) = (driver, meter)
    let (item, stage) = (ledger.items[transfer.item], stages[transfer.stage])
    group.addTask {
      let progress = MirrorTransferProgress(attempt: transfer.attempt) { meter.add($0) }
      do {
        try await driver.transfer(item, stage, progress: progress)
        return .transferred(transfer, byteCount: progress.byteCount)
      } catch {
        let outlook = await driver.outlook(afterAttempt: transfer.attempt, error: error)
        return .transferFailed(
          transfer, byteCount: progress.byteCount, error: error, outlook: outlook)
      }
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
