/// The state of a run: its machine, the work left, its report and its progress.
///
/// A value without clock or tasks. ``MirrorRunDriver`` keeps it under one lock, because transfers
/// end and receive bytes in tasks of their own.
struct MirrorRunState<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  typealias Transfer = MirrorTransferQueue.Transfer

  /// The sum of the failed attempts at a transfer that is not settled yet.
  private struct FailedAttempts {
    var byteCount = 0
    var error: any Error
  }

  /// The machine that decides what follows. It knows counts; the items and their errors are here.
  private var run: MirrorRun
  private let stages: [MirrorStageOptions]
  /// True when nothing new begins. What is under way ends by itself.
  private var isCancelled = false

  /// The identities left to remove.
  private(set) var removals: [Item.ID] = []
  /// The items to transfer. The numbers of transfers are offsets in this array.
  private(set) var items: [Item] = []
  /// The number of stages of each item that are settled: done, failed, or skipped after a failure.
  private var settledStageCounts: [Int] = []
  /// The attempts that are repeated, by the number of the transfer. They come into the report only if the last one fails.
  private var failedAttempts: [Int: FailedAttempts] = [:]
  private(set) var report = MirrorReport<Item.ID>()

  /// The progress of the current stage; `nil` unless items are being transferred.
  private var progress: MirrorProgress?
  /// The bytes received in all stages, also by attempts that failed.
  private var byteCount = 0
  /// The bytes received and the time passed when the current stage began.
  private var stageStart = (byteCount: 0, time: Duration.zero)

  init(_ options: MirrorOptions) {
    run = MirrorRun(options)
    stages = options.distinctStages
  }

  /// True when nothing follows any more.
  var isEnded: Bool { run.isEnded }

  /// The item and the stage of a transfer.
  func subject(of transfer: Transfer) -> (item: Item, stage: MirrorStageOptions) {
    (items[transfer.item], stages[transfer.stage])
  }
}

// MARK: - Events

extension MirrorRunState {
  /// Takes an event and returns the actions that follow from it, in order. Phases in them are
  /// complete.
  ///
  /// - Parameters:
  ///   - byteCount: For the end of an attempt at a transfer, the number of bytes it received.
  ///   - error: For a failed attempt, its error.
  ///   - isCancelled: True if the run is cancelled. The run then takes the cancellation first,
  ///     since it may be the cause of the event.
  ///   - time: The time since the run began.
  mutating func handle(
    _ event: MirrorRun.Event, byteCount: Int = 0, error: (any Error)? = nil, isCancelled: Bool,
    at time: Duration
  ) -> [MirrorRun.Action] {
    switch event {
    case .transferred(let transfer):
      recordSuccess(transfer, byteCount: byteCount)
    case .transferFailed(let transfer, let failure):
      guard let error else { preconditionFailure("A transfer fails only with an error") }
      let earlier = failedAttempts[transfer.item]
      // The cancellation of a further attempt does not hide why one was needed.
      failedAttempts[transfer.item] = FailedAttempts(
        byteCount: (earlier?.byteCount ?? 0) &+ byteCount,
        error: error is CancellationError ? earlier?.error ?? error : error)
      if failure == .cancelled { recordFailureOfCancelled(transfer) }
    case .started, .begun, .compared, .prepared, .retryDue, .removed, .stepFailed, .cancelled,
      .ended:
      break
    }
    var actions: [MirrorRun.Action] = []
    if isCancelled, !self.isCancelled {
      self.isCancelled = true
      actions = run.handle(.cancelled)
    }
    return (actions + run.handle(event)).compactMap { record($0, at: time) }
  }

  /// Records what needs no work; returns the action if the driver has to perform it.
  private mutating func record(
    _ action: MirrorRun.Action, at time: Duration
  ) -> MirrorRun.Action? {
    switch action {
    case .publish(let phase):
      return .publish(complete(phase, at: time))
    case .recordFailure(let transfer, let stopsRun):
      recordFailure(transfer, stopsRun: stopsRun)
      return nil
    case .begin, .compare, .prepare, .transfer, .retry, .cancelTransfers, .remove, .end:
      return action
    }
  }

  private mutating func recordSuccess(_ transfer: Transfer, byteCount: Int) {
    let earlier = failedAttempts.removeValue(forKey: transfer.item)?.byteCount ?? 0
    settledStageCounts[transfer.item] += 1
    report.transferred.append(
      MirrorTransferReport(
        id: items[transfer.item].id, stage: stages[transfer.stage].stage,
        attemptCount: transfer.attempt, byteCount: earlier &+ byteCount))
  }

  /// Records the failure of an item whose last attempt ended with the run, unless the end of the run
  /// is its only cause.
  private mutating func recordFailureOfCancelled(_ transfer: Transfer) {
    guard let error = failedAttempts[transfer.item]?.error, !(error is CancellationError) else {
      return
    }
    recordFailure(transfer, stopsRun: false)
  }

  private mutating func recordFailure(_ transfer: Transfer, stopsRun: Bool) {
    guard let attempts = failedAttempts.removeValue(forKey: transfer.item) else {
      preconditionFailure("A transfer fails only with an error")
    }
    let stage = stages[transfer.stage]
    let failure = MirrorFailure(
      step: .transfer, id: items[transfer.item].id, stage: stage.stage,
      attemptCount: transfer.attempt, byteCount: attempts.byteCount, error: attempts.error)
    report.failures.append(failure)
    if stopsRun { report.interruption = failure }
    settledStageCounts[transfer.item] += stage.errorPolicy == .continue ? 1 : stages.count
  }
}

// MARK: - Steps

extension MirrorRunState {
  /// Takes the plan: the whole work to do.
  mutating func record(_ plan: MirrorPlan<Item>) {
    report.sourceCount = plan.sourceCount
    report.localCount = plan.localCount
    report.skippedCount = plan.skippedCount
    report.duplicates = plan.duplicates
    removals = plan.removals
    setItems(plan.transfers)
  }

  /// Takes the items that the step "prepare" returned; planned items not among them are skipped.
  ///
  /// - Throws: ``MirrorError`` if an identity is among them twice.
  mutating func record(prepared: [Item]) throws(MirrorError) {
    var seen = Set<Item.ID>(minimumCapacity: prepared.count)
    for item in prepared where !seen.insert(item.id).inserted {
      throw MirrorError(
        .duplicateElement, "prepare returned item \(item.id) twice; return each item once")
    }
    report.skippedCount += items.count { !seen.contains($0.id) }
    setItems(prepared)
  }

  private mutating func setItems(_ items: [Item]) {
    self.items = items
    settledStageCounts = Array(repeating: 0, count: items.count)
  }

  /// Takes the failure of a step other than a transfer. A cancelled step is recorded with the end.
  ///
  /// - Parameter isCancelled: True if the run is cancelled: the cancellation is then what ends the
  ///   run.
  mutating func record(_ failure: MirrorFailure<Item.ID>, isCancelled: Bool) {
    if isCancelled, failure.isCancellation { return }
    report.failures.append(failure)
    if !isCancelled, report.interruption == nil { report.interruption = failure }
  }

  mutating func recordRemoval() {
    report.removed = removals
    removals = []
  }

  /// Completes the report before the last step: the work left is not done any more.
  mutating func close(_ ending: MirrorRun.Ending) {
    if case .cancelled(let step) = ending {
      report.interruption = MirrorFailure(step: step, error: CancellationError())
    }
    report.unremoved = removals
    report.untransferred = settledStageCounts.indices
      .filter { settledStageCounts[$0] < stages.count }.map { items[$0].id }
  }
}

// MARK: - Progress

extension MirrorRunState {
  /// Counts bytes received; returns the phase to publish, if items are being transferred.
  mutating func add(byteCount: Int, at time: Duration) -> MirrorPhase? {
    self.byteCount &+= byteCount
    return progress.map { complete(.transferring($0), at: time) }
  }

  /// Adds bytes and time, which the machine does not know, to a phase.
  private mutating func complete(_ phase: MirrorPhase, at time: Duration) -> MirrorPhase {
    guard case .transferring(var progress) = phase else {
      progress = nil
      return phase
    }
    if self.progress == nil || self.progress?.stage != progress.stage {
      stageStart = (byteCount, time)
    }
    progress.byteCount = byteCount
    progress.stageByteCount = byteCount &- stageStart.byteCount
    progress.elapsed = time - stageStart.time
    self.progress = progress
    return .transferring(progress)
  }
}
