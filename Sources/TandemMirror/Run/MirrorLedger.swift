/// What a run has found and done so far, from which its report is made.
struct MirrorLedger<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  typealias Transfer = MirrorTransferQueue.Transfer

  /// What the attempts at a transfer have come to that is not done yet.
  private struct Attempts {
    var byteCount = 0
    var error: (any Error)?
  }

  private(set) var report = MirrorReport<Item.ID>()
  /// What is to be removed.
  private(set) var removals: [Item.ID] = []
  /// What is to be transferred, by the numbers that transfers have.
  private(set) var items: [Item] = []
  private let stages: [MirrorStageOptions]
  /// How many stages of each item are done, or need not be any more.
  private var settledStageCounts: [Int] = []
  private var attempts: [Int: Attempts] = [:]

  init(stages: [MirrorStageOptions]) { self.stages = stages }

  /// Takes the plan; it is the whole work left to do.
  mutating func record(_ plan: MirrorPlan<Item>) {
    report.sourceCount = plan.sourceCount
    report.localCount = plan.localCount
    report.skippedCount = plan.skippedCount
    report.duplicates = plan.duplicates
    removals = plan.removals
    setItems(plan.transfers)
  }

  /// Takes the processor's answer which of the planned items to transfer; the others are skipped.
  mutating func record(prepared: [Item]) throws(MirrorError) {
    var planned = Set(items.map(\.id))
    for item in prepared where planned.remove(item.id) == nil {
      throw MirrorError(
        .unplannedElement,
        "prepare(_:) answered with item \(item.id), which it was not given, or twice; "
          + "answer with some of the given items, each once")
    }
    report.skippedCount += planned.count
    setItems(prepared)
  }

  private mutating func setItems(_ items: [Item]) {
    self.items = items
    settledStageCounts = Array(repeating: 0, count: items.count)
  }

  /// Takes the outcome of an attempt.
  mutating func record(_ transfer: Transfer, byteCount: Int, error: (any Error)?) {
    let byteCount = byteCount &+ (attempts[transfer.item]?.byteCount ?? 0)
    if let error {
      attempts[transfer.item] = Attempts(byteCount: byteCount, error: error)
      return
    }
    attempts[transfer.item] = nil
    settledStageCounts[transfer.item] += 1
    report.transferred.append(
      MirrorTransferReport(
        id: items[transfer.item].id, stage: stages[transfer.stage].stage,
        attemptCount: transfer.attempt, byteCount: byteCount))
  }

  /// Takes the last recorded error of a transfer as its outcome.
  mutating func recordFailure(_ transfer: Transfer, stopsRun: Bool) {
    guard let attempts = attempts.removeValue(forKey: transfer.item), let error = attempts.error
    else { preconditionFailure("A transfer fails only with an error") }
    let stage = stages[transfer.stage]
    let failure = MirrorFailure(
      step: .transfer, id: items[transfer.item].id, stage: stage.stage,
      attemptCount: transfer.attempt, byteCount: attempts.byteCount, error: error)
    report.failures.append(failure)
    if stopsRun { report.interruption = failure }
    settledStageCounts[transfer.item] += stage.errorPolicy == .continue ? 1 : stages.count
  }

  /// Takes the error of a step other than a transfer.
  ///
  /// - Parameter isCancelled: Whether the run is; then its cancellation is what ends it.
  mutating func recordFailure(_ step: MirrorStep, _ error: any Error, isCancelled: Bool) {
    if isCancelled, error is CancellationError { return }
    let failure = MirrorFailure<Item.ID>(step: step, error: error)
    report.failures.append(failure)
    if !isCancelled, report.interruption == nil { report.interruption = failure }
  }

  mutating func recordCancellation(during step: MirrorStep) {
    report.interruption = MirrorFailure(step: step, error: CancellationError())
  }

  mutating func recordRemoval() {
    report.removed = removals
    removals = []
  }

  /// Enters what has been left undone: nothing follows but the end.
  mutating func close() {
    report.unremoved = removals
    report.untransferred = zip(items, settledStageCounts).compactMap { item, count in
      count < stages.count ? item.id : nil
    }
  }
}
