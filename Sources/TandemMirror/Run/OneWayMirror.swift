/// Makes a destination equal to a source, one way, each time a run is requested.
///
/// At most one run is in progress, and at most one waits for it to end. Each call of ``run()``
/// returns the outcome of the first run that starts after the call, and of that run alone: the
/// failure of a run is reported to those who waited for it, whatever the next run does.
///
/// <!-- Snippets/OneWayMirror.swift running -->
/// ```swift
/// let mirror = OneWayMirror(AlbumProcessor(remote: remote, album: Album()))
/// let report = try await mirror.run()
/// print(report.transferred.map(\.id), report.removed)  // [3, 4] [1]
/// ```
///
/// A run leaves no task behind. It is cancelled when the last caller that waits for it is cancelled,
/// unless ``requestRun()`` requested it too. The mirror may be used from any task.
public actor OneWayMirror<Processor: MirrorProcessor> {
  /// The report of a run.
  public typealias Report = MirrorReport<Processor.Item.ID>

  private nonisolated let steps: MirrorProcessorSteps<Processor>
  /// The options of the runs that start from now on.
  public private(set) var options: MirrorOptions
  private let clock: any Clock<Duration>
  private var random: any RandomNumberGenerator & Sendable
  private var requests = MirrorRequests()
  private var currentRun: Task<Void, Never>?
  /// The number of runs that have started.
  private var runCount = 0
  /// The highest priority of the requests since the last run started: that of the next run.
  private var requestedPriority: TaskPriority?
  private var callers: [Int: AsyncStream<Report>.Continuation] = [:]
  /// The number of calls of ``run()`` so far.
  private(set) var callerCount = 0
  private nonisolated let publisher: MirrorPhasePublisher

  /// A mirror of two sides in any order. A run holds all local identities in memory, and those of
  /// new items.
  ///
  /// - Parameters:
  ///   - processor: Performs the steps of each run.
  ///   - options: The options of the first run.
  ///   - clock: Measures timeouts and the delays between attempts.
  ///   - random: Draws the random part of those delays.
  @inlinable
  public init(
    _ processor: Processor, options: MirrorOptions = MirrorOptions(),
    clock: any Clock<Duration> = ContinuousClock(),
    random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    self.init(
      MirrorProcessorSteps(processor, planner: { .unsorted }), options: options, clock: clock,
      random: random)
  }

  /// A mirror of two sides that both ascend by identity. A run hashes no identity, and holds no
  /// more than a page of each side in memory. It reads both sides in step.
  ///
  /// A side that does not ascend ends the run with ``MirrorError/Code/unsortedList``.
  ///
  /// - Parameters:
  ///   - processor: Performs the steps of each run.
  ///   - options: The options of the first run.
  ///   - clock: Measures timeouts and the delays between attempts.
  ///   - random: Draws the random part of those delays.
  @inlinable
  public init(
    sorted processor: Processor, options: MirrorOptions = MirrorOptions(),
    clock: any Clock<Duration> = ContinuousClock(),
    random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) where Processor.Item.ID: Comparable {
    self.init(
      MirrorProcessorSteps(processor, planner: { .sorted }), options: options, clock: clock,
      random: random)
  }

  /// A mirror that calls `published` with each phase, in order, before its observers get it.
  @usableFromInline
  init(
    _ steps: MirrorProcessorSteps<Processor>, options: MirrorOptions, clock: any Clock<Duration>,
    random: any RandomNumberGenerator & Sendable,
    published: @escaping @Sendable (MirrorPhase) -> Void = { _ in }
  ) {
    self.steps = steps
    self.options = options
    self.clock = clock
    self.random = random
    publisher = MirrorPhasePublisher(published: published)
  }

  /// The processor, which performs the steps of each run.
  public nonisolated var processor: Processor { steps.processor }

  /// Sets the options of the runs that start from now on; a run in progress keeps its own.
  public func setOptions(_ options: MirrorOptions) { self.options = options }

  /// Waits for the first run that starts from now on, and returns its report.
  ///
  /// A run in progress finishes first. Failed transfers that did not end the run are in the report
  /// and are not thrown. If the calling task is cancelled and nobody else wants the run, the run is
  /// cancelled, and the call returns when it has ended.
  ///
  /// A step of this mirror must not call this method, nor may a task that it started while the run
  /// is in progress: it would wait for its own run to end. A step may call ``requestRun()``.
  ///
  /// - Throws: ``MirrorError/Code/nestedRun`` in a step of a run in progress; ``MirrorRunError`` if the run ended early, by an error or by ``cancelCurrentRun()``;
  ///   `CancellationError` if the calling task was cancelled.
  @discardableResult
  public func run() async throws -> Report {
    try Task.checkCancellation()
    if currentRun != nil, MirrorStepTask.runs[ObjectIdentifier(self)] == runCount {
      throw MirrorError(
        .nestedRun,
        "run() was called in a step of the run in progress, which it would wait for; call requestRun(), "
          + "which does not wait")
    }
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

  /// Requests a run without waiting for it. ``MirrorProcessor/end(_:)`` receives its report.
  ///
  /// All requests during a run lead to one further run.
  public func requestRun() { request(.requestedUnattended) }

  /// Cancels the run in progress, including its transfers; does nothing if there is none.
  ///
  /// The run ends early, and its callers get a ``MirrorRunError``. A run that waits, or is
  /// requested later, starts when this one has ended.
  public func cancelCurrentRun() { perform(requests.handle(.runCancelled)) }

  /// The current phase.
  public nonisolated var phase: MirrorPhase { publisher.phase }

  /// The phases from the current one on.
  ///
  /// A slow reader misses phases, but never the latest one. The sequence ends with the mirror.
  public nonisolated func phases() -> AsyncStream<MirrorPhase> { publisher.phases() }
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
    let (steps, options, clock, publisher) = (steps, options, clock, publisher)
    runCount += 1
    var runs = MirrorStepTask.runs
    runs[ObjectIdentifier(self)] = runCount
    // From here on, whoever asks for the phase sees that a run is in progress.
    publisher.publish(.listing)
    currentRun = Task(priority: requestedPriority) { [runs] in
      let report = await MirrorStepTask.$runs.withValue(runs) {
        await steps.run(
          options, clock: clock, chance: { await self.drawChance() },
          publish: { publisher.publish($0) })
      }
      endRun(report)
    }
  }

  private func endRun(_ report: Report) {
    let (callers, actions) = requests.endRun()
    currentRun = nil
    if !requests.isRunning { publisher.publish(.idle) }
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

/// The runs of mirrors in whose steps a task is: the number of the run, by the mirror. A step of one
/// mirror may run another one.
private enum MirrorStepTask {
  @TaskLocal static var runs: [ObjectIdentifier: Int] = [:]
}
