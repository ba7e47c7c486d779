/// Performs one run: the actions of ``MirrorRun``, on a processor.
///
/// The run is one task group. Steps are performed in it, transfers are its children, and it is left
/// when all of them are done: nothing of a run outlives it.
struct MirrorRunDriver<Processor: MirrorProcessor>: Sendable {
  typealias Item = Processor.Item

  let processor: Processor
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

  /// Calls a step of the processor, for no longer than it may take.
  func call<Result: Sendable>(
    _ body: @escaping @Sendable (Processor) async throws -> Result
  ) async throws -> Result {
    let processor = processor
    return try await withTimeout(options.stepTimeout, clock: clock) { try await body(processor) }
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
    let processor = processor
    try await withTimeout(stage.timeout, clock: clock) {
      try await processor.transfer(item, in: stage.stage, progress: progress)
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
  func timedPlan() async throws -> MirrorPlan<Item> {
    try await withTimeout(options.stepTimeout, clock: clock) { try await plan() }
  }
}
