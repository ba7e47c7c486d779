import Synchronization
import Tandem

extension MirrorCommand.Options {
  /// Mirrors repeatedly. A run that fails is reported, and the next one follows.
  func repeatRuns(every pause: Duration) async throws -> Int32 {
    // The first run begins once signals are handled.
    let (beginnings, begin) = AsyncStream.makeStream(of: Void.self)
    let repeating = Task {
      for await _ in beginnings {}
      var count = (runs: 0, failures: 0)
      let display = MirrorDisplay(showsPhases: printsEvents)
      var runs = mirror.runs(
        from: source, intoFileAt: path, every: pause, list: list,
        isConditional: !isUnconditional, progress: { display.show($0) }
      ).makeAsyncIterator()
      while let isDone = try await isDone(display, { await runs.next() }) {
        count.runs += 1
        if !isDone { count.failures += 1 }
      }
      return count
    }
    let interruption = Interruption { _ in repeating.cancel() }
    defer { interruption.end() }
    begin.finish()
    let count = try await repeating.value
    guard !isQuiet, !isJSON else { return 0 }
    let times = count.runs == 1 ? "once" : "\(count.runs) times"
    let text = "mirrored \(times), \(count.failures) of them with errors\n"
    try OutputStream.write(Array(text.utf8), to: STDOUT_FILENO)
    return 0
  }

  /// Mirrors once, shows the progress, and prints the report; returns the exit status.
  func run() async throws -> Int32 {
    let display = MirrorDisplay(showsPhases: printsEvents)
    let isDone = try await isDone(display) {
      do {
        return try await mirror.run(
          from: source, intoFileAt: path, list: list, isConditional: !isUnconditional,
          progress: { display.show($0) })
      } catch let error as DatabaseMirror.RunError {
        return error.report
      }
    }
    return isDone == true ? 0 : 1
  }

  /// Shows the progress of a run, and prints its report; returns true if everything was done, and `nil` if there
  /// was no run.
  ///
  /// Failures are printed first, even if nobody reads standard output.
  private func isDone(
    _ display: MirrorDisplay, _ run: () async throws -> DatabaseMirror.Report?
  ) async throws -> Bool? {
    let events = printsEvents ? MirrorEvents() : nil
    let stages = display.begin()
    let showing = Task { try await show(stages, events) }
    let ended = await Result { try await run() }
    display.end()
    let shown = await showing.result
    guard let report = try ended.get() else {
      try shown.get()
      return nil
    }
    printFailures(report.run)
    let isDone = mirror.isDryRun ? report.run.interruption == nil : report.run.isComplete
    do {
      try shown.get()
      if let events {
        try events.write(report, isDryRun: mirror.isDryRun)
      } else if !isQuiet {
        try print(report)
      }
    } catch var error as OutputError where !isDone {
      error.followsFailure = true
      throw error
    } catch {
      guard !mirror.isDryRun, var error = error as? OutputError else { throw error }
      error.consequence = "; the table equals the list nevertheless"
      throw error
    }
    return isDone
  }

  /// True if the output is one JSON object for each event, and not one for the difference.
  private var printsEvents: Bool { isJSON && !isQuiet && !mirror.contents.isEmpty }

  /// Shows the progress until it ends.
  private func show(
    _ stages: AsyncStream<DatabaseMirror.Progress>, _ events: MirrorEvents?
  ) async throws {
    var bar: (label: String, bar: ProgressBar)?
    defer { bar?.bar.finish() }
    func draw(_ label: String, _ done: Int, of total: Int?, _ unit: String, _ detail: String = "") {
      if bar?.label != label {
        bar?.bar.finish()
        bar = (label, ProgressBar(label, isQuiet: isQuiet))
      }
      bar?.bar.update(done, of: total, unit: unit, detail: detail)
    }
    /// Shows that a phase without figures lasts, as while a server prepares the list.
    func draw(lasting text: String) {
      if bar?.label != text {
        bar?.bar.finish()
        bar = (text, ProgressBar("mirror", isQuiet: isQuiet))
      }
      bar?.bar.update(share: nil, detail: text)
    }
    var last: MirrorPhase?
    for await stage in stages {
      switch stage {
      case .reading(let byteCount, let total): draw("reading", byteCount, of: total, "bytes")
      case .writing(let count, let total): draw("writing", count, of: total, "changes")
      case .running(let phase):
        if phase != last { try events?.write(phase) }
        last = phase
        guard events == nil else { continue }
        switch phase {
        case .listing: draw(lasting: "waiting for the list")
        case .comparing: draw(lasting: "comparing")
        case .transferring(let progress):
          draw(
            progress.stage?.name ?? "content", progress.doneCount, of: progress.totalCount, "items",
            detail(progress))
        case .idle, .removing, .ending: break
        }
      }
    }
  }

  private func detail(_ progress: MirrorProgress) -> String {
    var parts = [Quantity.bytes(Double(progress.byteCount))]
    if let rate = progress.bytesPerSecond { parts.append("\(Quantity.bytes(rate))/s") }
    if let remaining = progress.remaining {
      parts.append("\(Quantity.duration(remaining)) left")
    }
    return ", " + parts.joined(separator: ", ")
  }
}

/// Passes the progress of one run after the other to the task that shows it, which sees the latest.
private final class MirrorDisplay: Sendable {
  private let showsPhases: Bool
  private let continuation = Mutex<AsyncStream<DatabaseMirror.Progress>.Continuation?>(nil)

  /// - Parameter showsPhases: True if nothing but phases is shown.
  init(showsPhases: Bool) { self.showsPhases = showsPhases }

  /// The progress of a run that begins now.
  func begin() -> AsyncStream<DatabaseMirror.Progress> {
    let (stages, continuation) = AsyncStream.makeStream(
      of: DatabaseMirror.Progress.self, bufferingPolicy: .bufferingNewest(1))
    self.continuation.withLock { $0 = continuation }
    return stages
  }

  func show(_ progress: DatabaseMirror.Progress) {
    if showsPhases, case .running = progress {} else if showsPhases { return }
    _ = continuation.withLock { $0 }?.yield(progress)
  }

  func end() { continuation.withLock { $0.take() }?.finish() }
}

extension Result where Failure == any Error {
  /// The result of asynchronous work.
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
