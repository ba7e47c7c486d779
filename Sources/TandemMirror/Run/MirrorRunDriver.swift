/// Performs one run: the actions of ``MirrorRun``, by its steps.
///
/// The run is one task group. Steps are performed in it, transfers are its children, and it is left
/// when all of them are done: nothing of a run outlives it.
struct MirrorRunDriver<Steps: MirrorSteps>: Sendable {
  typealias Item = Steps.Item

  let steps: Steps
  let options: MirrorOptions
  let clock: any Clock<Duration>
  /// Draws a number from 0 to 1.
  let chance: @Sendable () async -> Double
  let publish: @Sendable (MirrorPhase) -> Void

  /// Runs until everything is done that follows from the start, or from the task's cancellation.
  func run() async -> MirrorReport<Item.ID> {
    let execution = MirrorExecution(self)
    await withTaskGroup { group in await execution.run(in: &group) }
    return execution.report
  }

  /// Takes a step, for no longer than it may take.
  func call<Result: Sendable>(
    _ body: @escaping @Sendable (Steps) async throws -> Result
  ) async throws -> Result {
    let steps = steps
    return try await withTimeout(options.stepTimeout, clock: clock) { try await body(steps) }
  }

  /// Calls the last step, even if the run is cancelled.
  func end(_ report: MirrorReport<Item.ID>) async throws {
    // Awaited at once, this task is no more than a shield from cancellation.
    try await Task { try await call { try await $0.end(report) } }.value
  }

  /// Makes one attempt at a transfer.
  func transfer(
    _ item: Item, _ stage: MirrorStageOptions, progress: MirrorTransferProgress
  ) async throws {
    let steps = steps
    try await withTimeout(stage.timeout, clock: clock) {
      try await steps.transfer(item, in: stage.stage, progress: progress)
    }
  }

  /// What a transfer that failed can hope for.
  func outlook(afterAttempt attempt: Int, error: any Error) async -> MirrorRun.TransferFailure {
    if Task.isCancelled { return .cancelled }
    let delay = options.retry.delay(
      afterAttempt: attempt, error: error, chance: await chance())
    return delay.map { .transient(retryAfter: $0) } ?? .final
  }

  /// Lists both sides and compares them, for no longer than that may take.
  func plan() async throws -> MirrorPlan<Item> {
    try await call { steps in
      try await steps.plan { publish(.comparing(sourceCount: $0)) }
    }
  }

  /// Why the run must not go on with this plan, or `nil` if it may.
  func refusal(of plan: MirrorPlan<Item>) -> MirrorError? {
    if options.duplicates == .refuse, let first = plan.duplicates.first {
      let others = plan.duplicates.count > 1 ? ", and \(plan.duplicates.count - 1) more" : ""
      return MirrorError(
        .duplicateElement,
        "item \(first.position) of the source has the identity \(first.id) of item "
          + "\(first.firstPosition)\(others); remove the duplicates, or keep the first of each")
    }
    return options.mirrorGuard.refusal(
      sourceCount: plan.sourceCount, existingCount: plan.localCount,
      deletionCount: plan.removals.count, lossCount: plan.lossCount)
  }
}
