/// The order of the steps and transfers of one run: a state machine without clock, items or I/O.
/// ``MirrorRunDriver`` performs its actions and reports their outcome as events.
///
/// In every order of events, ``Action/begin`` occurs exactly once, then ``Action/end(_:)`` exactly
/// once, and only ``Action/publish(_:)`` follows it.
struct MirrorRun: Hashable, Sendable {
  typealias Transfer = MirrorTransferQueue.Transfer

  /// An event of the run.
  enum Event: Hashable, Sendable {
    case started
    case begun
    case compared(removalCount: Int)
    case prepared(itemCount: Int)
    case transferred(Transfer)
    case transferFailed(Transfer, TransferFailure)
    case retryDue(Transfer)
    case removed
    /// The current step has thrown.
    case stepFailed
    /// The run was cancelled: the current step or the current transfers end soon. A run may be
    /// cancelled before it has started.
    case cancelled
    case ended
  }

  /// The outlook of a failed transfer.
  enum TransferFailure: Hashable, Sendable {
    case transient(retryAfter: Duration)
    case final
    /// The transfer failed because the run is ending.
    case cancelled
  }

  /// A task of the driver.
  enum Action: Hashable, Sendable {
    case publish(MirrorPhase)
    case begin
    case compare
    case prepare
    case transfer(Transfer)
    case retry(Transfer, after: Duration)
    case recordFailure(Transfer, stopsRun: Bool)
    case cancelTransfers
    case remove
    case end(Ending)
  }

  /// The outcome of all steps before the last one.
  enum Ending: Hashable, Sendable {
    case completed
    /// A step failed, or a transfer that stops the run.
    case failed
    /// The run was cancelled before this step was done.
    case cancelled(MirrorStep)
  }

  private enum State: Hashable, Sendable {
    case ready
    case running(MirrorStep)
    case transferring
    case ended
  }

  private let stages: [MirrorStageOptions]
  private let stageOrder: MirrorStageOrder
  private let removal: MirrorRemoval
  private let maxTransferCount: Int
  private let isDryRun: Bool
  private var state = State.ready
  private var queue: MirrorTransferQueue
  private var isCancelled = false
  /// True once a transfer has failed that stops the run.
  private var isStopped = false
  private var removalCount = 0

  /// A run that has not started.
  init(_ options: MirrorOptions) {
    stages = options.distinctStages
    stageOrder = options.stageOrder
    removal = options.removal
    maxTransferCount = options.maxTransferCount
    isDryRun = options.isDryRun
    queue = MirrorTransferQueue(itemCount: 0, errorPolicies: [], order: .itemByItem)
  }

  /// True once ``Action/end(_:)`` has been performed.
  var isEnded: Bool { state == .ended }

  /// The actions that follow from an event, in order.
  mutating func handle(_ event: Event) -> [Action] {
    switch state {
    case .ready:
      if event == .cancelled {
        // The task may be cancelled before it runs. The run still begins, and then ends.
        isCancelled = true
        return []
      }
      precondition(event == .started, "A run is started before anything else happens in it")
      state = .running(.begin)
      return [.publish(.listing), .begin]
    case .running(let step):
      return handle(event, during: step)
    case .transferring:
      return handleDuringTransfers(event)
    case .ended:
      return []  // A cancellation may arrive late.
    }
  }

  private mutating func handle(_ event: Event, during step: MirrorStep) -> [Action] {
    switch (step, event) {
    case (.end, .cancelled):
      return []  // Nothing is left to cancel.
    case (_, .cancelled):
      isCancelled = true
      return []  // The step ends soon.
    case (.end, .ended):
      state = .ended
      return []
    case (_, .stepFailed):
      return end(isCancelled ? .cancelled(step) : .failed)
    case (.begin, .begun):
      return go(to: .list)
    case (.list, .compared(let count)):
      removalCount = count
      return go(to: .prepare)
    case (.prepare, .prepared) where isDryRun:
      return end(isCancelled ? .cancelled(.transfer) : .completed)
    case (.prepare, .prepared(let count)):
      queue = MirrorTransferQueue(
        itemCount: count, errorPolicies: stages.map(\.errorPolicy), order: stageOrder,
        maxInFlightCount: maxTransferCount)
      return removal == .first && removalCount > 0 ? go(to: .remove) : transfer()
    case (.remove, .removed):
      removalCount = 0
      return removal == .first ? transfer() : end(.completed)
    default:
      preconditionFailure("\(event) cannot happen during \(step): no action leads to it")
    }
  }

  private mutating func handleDuringTransfers(_ event: Event) -> [Action] {
    switch event {
    case .cancelled:
      isCancelled = true
      queue.stop()
      return nextActions()
    case .transferred(let transfer):
      queue.finish(transfer, isFailed: false)
      return [publishProgress()] + nextActions()
    case .transferFailed(let transfer, .transient(let delay)) where !queue.isStopped:
      return [.retry(transfer, after: delay)]
    case .transferFailed(_, .cancelled) where queue.isStopped:
      queue.abandon()
      return nextActions()
    case .retryDue(var transfer) where !queue.isStopped:
      transfer.attempt += 1
      return [.transfer(transfer)]
    case .transferFailed(let transfer, _), .retryDue(let transfer):
      return fail(transfer)
    case .started, .begun, .compared, .prepared, .removed, .stepFailed, .ended:
      preconditionFailure("\(event) cannot happen during transfers: no such step is under way")
    }
  }

  /// Takes a failure after which no further attempt follows.
  private mutating func fail(_ transfer: Transfer) -> [Action] {
    let wasStopped = queue.isStopped
    queue.finish(transfer, isFailed: true)
    let stopsRun = queue.isStopped && !wasStopped
    if stopsRun { isStopped = true }
    return [.recordFailure(transfer, stopsRun: stopsRun)] + (stopsRun ? [.cancelTransfers] : [])
      + [publishProgress()] + nextActions()
  }

  private mutating func transfer() -> [Action] {
    state = .transferring
    if isCancelled { queue.stop() }
    return (queue.totalCount > 0 && !isCancelled ? [publishProgress()] : []) + nextActions()
  }

  /// Starts as many transfers as possible; if all are done, goes on to the next step.
  private mutating func nextActions() -> [Action] {
    var actions: [Action] = []
    if queue.endStage() { actions.append(publishProgress()) }
    while let transfer = queue.start() { actions.append(.transfer(transfer)) }
    return queue.isFinished ? actions + finishTransfers() : actions
  }

  private mutating func finishTransfers() -> [Action] {
    if isStopped { return end(.failed) }
    if isCancelled, !queue.isDone || queue.isCutShort { return end(.cancelled(.transfer)) }
    let keepsAll = removal == .lastIfNothingFailed && queue.hasFailures
    return removalCount > 0 && !keepsAll ? go(to: .remove) : end(.completed)
  }

  /// Begins a step, unless the run was cancelled before.
  private mutating func go(to step: MirrorStep) -> [Action] {
    if isCancelled { return end(.cancelled(step)) }
    state = .running(step)
    switch step {
    case .list: return [.compare]
    case .prepare: return [.prepare]
    case .remove: return [.publish(.removing(count: removalCount)), .remove]
    case .begin, .localIDs, .compare, .transfer, .end:
      preconditionFailure("\(step) does not begin by itself")
    }
  }

  private mutating func end(_ ending: Ending) -> [Action] {
    state = .running(.end)
    return [.publish(.ending), .end(ending)]
  }

  private func publishProgress() -> Action {
    let stage: MirrorStage? =
      stageOrder == .stageByStage && queue.stage < stages.count ? stages[queue.stage].stage : nil
    return .publish(
      .transferring(
        MirrorProgress(
          stage: stage, doneCount: queue.doneCount, failedCount: queue.failedCount,
          totalCount: queue.totalCount)))
  }
}
