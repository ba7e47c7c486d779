/// Makes a destination equal to a source, one way, as often as it is asked to.
///
/// At most one run is under way and at most one waits for it to end. Whoever calls ``run()`` is
/// answered by the first run that starts after the call, and by that run alone: a run that failed is
/// reported to those who waited for it, whatever the next one does.
///
/// ```swift
/// let mirror = OneWayMirror(PhotoProcessor())
/// let report = try await mirror.run()
/// print("\(report.transferred.count) new, \(report.removed.count) gone")
/// ```
///
/// Nothing of a run outlives it, and it lives no longer than somebody wants it: when the last caller
/// who waits for a run is cancelled, so is the run. The mirror may be used from any task.
public actor OneWayMirror<Processor: MirrorProcessor> {
  /// How a run went.
  public typealias Report = MirrorReport<Processor.Item.ID>

  /// What performs the steps of each run.
  public nonisolated let processor: Processor
  /// The options of the runs that start from now on.
  public private(set) var options: MirrorOptions
  private let clock: any Clock<Duration>
  private var random: any RandomNumberGenerator & Sendable
  private var requests = MirrorRequests()
  private var currentRun: Task<Void, Never>?
  /// The highest priority of those who asked since the last run started; they wait for the next one.
  private var requestedPriority: TaskPriority?
  private var callers: [Int: AsyncStream<Report>.Continuation] = [:]
  /// How many calls of ``run()`` have been taken up so far.
  private(set) var callerCount = 0
  private nonisolated let board: MirrorPhaseBoard

  /// A mirror that has not run yet.
  ///
  /// - Parameters:
  ///   - processor: What performs the steps.
  ///   - options: The options of the first run.
  ///   - clock: What timeouts and the waiting between attempts are measured by.
  ///   - random: Where the chance in that waiting is drawn from.
  public init(
    _ processor: Processor, options: MirrorOptions = MirrorOptions(),
    clock: any Clock<Duration> = ContinuousClock(),
    random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    self.init(
      processor, options: options, clock: clock, random: random, board: MirrorPhaseBoard())
  }

  /// A mirror that shows its phases on `board`.
  init(
    _ processor: Processor, options: MirrorOptions, clock: any Clock<Duration>,
    random: any RandomNumberGenerator & Sendable, board: MirrorPhaseBoard
  ) {
    self.processor = processor
    self.options = options
    self.clock = clock
    self.random = random
    self.board = board
  }

  /// Sets the options of the runs that start from now on; the one under way keeps its own.
  public func setOptions(_ options: MirrorOptions) { self.options = options }

  /// Waits for the first run that starts from now on, and returns its report.
  ///
  /// A run that is under way is let finish first. Transfers that failed without ending the run are in
  /// the report, and are no error.
  ///
  /// If the calling task is cancelled, the call returns; if nobody else wants the run, it is
  /// cancelled, and the call returns when it has ended. Do not call this in a step of the same
  /// mirror: it would wait for itself. ``requestRun()`` is for that.
  ///
  /// - Throws: ``MirrorRunError`` if the run ended early, by an error or by ``cancelCurrentRun()``;
  ///   `CancellationError` if the calling task was cancelled.
  @discardableResult
  public func run() async throws -> Report {
    try Task.checkCancellation()
    callerCount += 1
    let caller = callerCount
    let (answers, continuation) = AsyncStream<Report>.makeStream(
      bufferingPolicy: .bufferingNewest(1))
    callers[caller] = continuation
    request(.requested(caller: caller))
    for await report in answers {
      if let failure = report.interruption { throw MirrorRunError(failure, report: report) }
      return report
    }
    await forget(caller)
    throw CancellationError()
  }

  /// Asks for a run without waiting for it; ``MirrorProcessor/end(_:)`` is told how it went.
  ///
  /// Calls during a run make one further run, however many they are.
  public func requestRun() { request(.requestedUnattended) }

  /// Cancels the run that is under way, transfers in flight included; does nothing if there is none.
  ///
  /// The run then ends early, and its callers are told so by ``MirrorRunError``. A run that waits,
  /// whether it was asked for before or after this call, starts when this one has ended.
  public func cancelCurrentRun() { perform(requests.handle(.runCancelled)) }

  /// What the mirror is doing.
  public nonisolated var phase: MirrorPhase { board.phase }

  /// What the mirror is doing, starting with the phase it is in.
  ///
  /// A slow reader misses phases, but never the latest one. The sequence ends with the mirror.
  public nonisolated func phases() -> AsyncStream<MirrorPhase> { board.phases() }
}

// MARK: Running

extension OneWayMirror {
  private func perform(_ actions: [MirrorRequests.Action]) {
    for action in actions {
      switch action {
      case .startRun: startRun()
      case .cancelRun: currentRun?.cancel()
      case .awaitRun: break
      }
    }
  }

  private func request(_ event: MirrorRequests.Event) {
    requestedPriority = max(requestedPriority ?? Task.currentPriority, Task.currentPriority)
    perform(requests.handle(event))
  }

  private func startRun() {
    defer { requestedPriority = nil }
    let steps = MirrorProcessorSteps(processor: processor)
    let (options, clock, board) = (options, clock, board)
    currentRun = Task(priority: requestedPriority) {
      let report = await steps.run(
        options, clock: clock, chance: { await self.drawChance() },
        publish: { board.publish($0) })
      endRun(report)
    }
  }

  private func endRun(_ report: Report) {
    let (callers, actions) = requests.endRun()
    currentRun = nil
    if !requests.isRunning { board.publish(.idle) }
    for caller in callers { self.callers.removeValue(forKey: caller)?.yield(report) }
    perform(actions)
  }

  private func forget(_ caller: Int) async {
    callers[caller] = nil
    let run = currentRun
    let actions = requests.handle(.callerCancelled(caller))
    perform(actions)
    if actions.contains(.awaitRun) { await run?.value }
  }

  private func drawChance() -> Double { Double.random(in: 0...1, using: &random) }
}
