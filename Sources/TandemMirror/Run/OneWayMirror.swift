internal import Synchronization

/// Makes a destination equal to a source, one way, each time a run is requested.
///
/// At most one run is in progress, and at most one waits for it to end. Each call of ``run()``
/// returns the outcome of the first run that starts after the call, and of that run alone: the
/// failure of a run is reported to those who waited for it, whatever the next run does.
///
/// <!-- Snippets/OneWayMirror.swift running -->
/// ```swift
/// let mirror = OneWayMirror(processor)
/// let report = try await mirror.run()
/// print(report.transferred.map(\.id), report.removed)  // [3, 4] [1]
/// ```
///
/// A run leaves no task behind. It is cancelled when the last caller that waits for it is cancelled,
/// unless ``requestRun()`` requested it too. The mirror may be used from any task.
public actor OneWayMirror<Item: Identifiable & Sendable> where Item.ID: Sendable {
  /// The options of the runs.
  public nonisolated let options: MirrorOptions
  private let perform:
    @Sendable (_ publish: @escaping @Sendable (MirrorPhase) -> Void) async -> MirrorReport<Item.ID>
  /// Any thread may publish and read phases without waiting for the actor: switching to it for each
  /// transfer would cost more than a small transfer does.
  private nonisolated let observed = Mutex(ObservedPhase())
  private nonisolated let published: @Sendable (MirrorPhase) -> Void

  private var requests = MirrorRequests()
  private var callers: [Int: AsyncStream<MirrorReport<Item.ID>>.Continuation] = [:]
  private var currentRun: Task<Void, Never>?
  /// The number of runs that have started.
  private var runCount = 0
  /// The highest priority of the requests since the last run started: that of the next run.
  private var requestedPriority: TaskPriority?
  /// The number of calls of ``run()`` so far.
  private(set) var callerCount = 0

  /// A mirror of two sides in any order. A run holds all local identities in memory, and those of
  /// new items.
  @inlinable
  public init(_ processor: MirrorProcessor<Item>, options: MirrorOptions = MirrorOptions()) {
    self.init(processor, planner: .unsorted, options: options)
  }

  /// A mirror of two sides that both ascend by identity. A run hashes no identity, and holds no
  /// more than a page of each side in memory. It reads both sides in step.
  ///
  /// A side that does not ascend ends the run with ``MirrorError/Code/unsortedList``.
  @inlinable
  public init(
    sorted processor: MirrorProcessor<Item>, options: MirrorOptions = MirrorOptions()
  ) where Item.ID: Comparable {
    self.init(processor, planner: .sorted, options: options)
  }

  /// A mirror whose runs take time by `clock` and draw the random part of their delays by `chance`.
  /// It calls `published` with each phase, in order, before its observers get it.
  @usableFromInline
  init(
    _ processor: MirrorProcessor<Item>, planner: MirrorPlanner<Item>, options: MirrorOptions,
    clock: any Clock<Duration> = ContinuousClock(),
    chance: @escaping @Sendable () async -> Double = { .random(in: 0...1) },
    published: @escaping @Sendable (MirrorPhase) -> Void = { _ in }
  ) {
    self.options = options
    perform = { publish in
      await processor.run(options, clock: clock, chance: chance, publish: publish) { listed in
        var planner = planner
        return try await planner.plan(processor, listed: listed)
      }
    }
    self.published = published
  }

  deinit { observed.withLock { for observer in $0.observers { observer.finish() } } }

  /// Waits for the first run that starts from now on, and returns its report.
  ///
  /// A run in progress finishes first. Failed transfers that did not end the run are in the report
  /// and are not thrown. If the calling task is cancelled and nobody else wants the run, the run is
  /// cancelled, and the call returns when it has ended.
  ///
  /// A step of this mirror must not call this method, nor may a task that it started while the run
  /// is in progress: it would wait for its own run to end. A step may call ``requestRun()``.
  ///
  /// - Throws: ``MirrorError/Code/nestedRun`` in a step of a run in progress; ``MirrorRunError`` if
  ///   the run ended early, by an error or by ``cancelCurrentRun()``; `CancellationError` if the
  ///   calling task was cancelled.
  @discardableResult
  public func run() async throws -> MirrorReport<Item.ID> {
    try Task.checkCancellation()
    if currentRun != nil, MirrorStepTask.runs[ObjectIdentifier(self)] == runCount {
      throw MirrorError(
        .nestedRun,
        "run() was called in a step of the run in progress, which it would wait for; call "
          + "requestRun(), which does not wait")
    }
    callerCount += 1
    let caller = callerCount
    let (reports, answer) = AsyncStream<MirrorReport<Item.ID>>.makeStream()
    callers[caller] = answer
    request(by: caller)
    for await report in reports {
      if let failure = report.interruption { throw MirrorRunError(failure, report: report) }
      return report
    }
    callers[caller] = nil
    if requests.forget(caller) {
      currentRun?.cancel()
      await currentRun?.value
    }
    throw CancellationError()
  }

  /// Requests a run without waiting for it. ``MirrorProcessor/end`` receives its report.
  ///
  /// All requests during a run lead to one further run.
  public func requestRun() { request(by: nil) }

  /// Cancels the run in progress, including its transfers; does nothing if there is none.
  ///
  /// The run ends early, and its callers get a ``MirrorRunError``. A run that waits, or is
  /// requested later, starts when this one has ended.
  public func cancelCurrentRun() { currentRun?.cancel() }

  private func request(by caller: Int?) {
    requestedPriority = max(requestedPriority ?? Task.currentPriority, Task.currentPriority)
    if requests.request(by: caller) { startRun() }
  }

  private func startRun() {
    runCount += 1
    // From here on, whoever asks for the phase sees that a run is in progress.
    publish(.listing)
    var runs = MirrorStepTask.runs
    runs[ObjectIdentifier(self)] = runCount
    currentRun = Task(priority: requestedPriority) { [runs, perform] in
      endRun(await MirrorStepTask.$runs.withValue(runs) { await perform { self.publish($0) } })
    }
    requestedPriority = nil
  }

  private func endRun(_ report: MirrorReport<Item.ID>) {
    let answered = requests.endRun()
    currentRun = nil
    if !requests.isRunning { publish(.idle) }
    for caller in answered { callers.removeValue(forKey: caller)?.yield(report) }
    if requests.isRunning { startRun() }
  }
}

/// The runs of mirrors in whose steps a task is: the number of the run, by the mirror. A step of one
/// mirror may run another one.
private enum MirrorStepTask {
  @TaskLocal static var runs: [ObjectIdentifier: Int] = [:]
}

// MARK: - Phases

private struct ObservedPhase {
  var phase = MirrorPhase.idle
  var observers: [AsyncStream<MirrorPhase>.Continuation] = []
}

extension OneWayMirror {
  /// The current phase.
  public nonisolated var phase: MirrorPhase { observed.withLock { $0.phase } }

  /// The phases from the current one on.
  ///
  /// A slow reader misses phases, but never the latest one. The sequence ends with the mirror.
  public nonisolated func phases() -> AsyncStream<MirrorPhase> {
    let (phases, observer) = AsyncStream<MirrorPhase>.makeStream(
      bufferingPolicy: .bufferingNewest(1))
    observed.withLock {
      observer.yield($0.phase)
      $0.observers.append(observer)
    }
    return phases
  }

  /// Publishes a phase, unless it equals the latest one.
  private nonisolated func publish(_ phase: MirrorPhase) {
    observed.withLock { state in
      guard phase != state.phase else { return }
      state.phase = phase
      published(phase)
      state.observers.removeAll {
        if case .terminated = $0.yield(phase) { true } else { false }
      }
    }
  }
}
