import Tandem

extension MirrorCommand.Options {
  /// Mirrors repeatedly. A run that fails is reported, and the next one follows.
  func watch(every interval: Duration) async throws -> Int32 {
    // The first run begins once signals are handled.
    let (beginnings, begin) = AsyncStream.makeStream(of: Void.self)
    let watching = Task {
      for await _ in beginnings {}
      var count = (runs: 0, failures: 0)
      while !Task.isCancelled {
        let isDone = try await runReportingErrors()
        // A run that was cancelled does not count.
        if Task.isCancelled, !isDone { break }
        count.runs += 1
        if !isDone { count.failures += 1 }
        try? await Task.sleep(for: interval)
      }
      return count
    }
    let interruption = Interruption { watching.cancel() }
    defer { interruption.end() }
    begin.finish()
    let count = try await watching.value
    guard !isQuiet, !isJSON else { return 0 }
    let text = "mirrored \(count.runs) times, \(count.failures) of them with errors\n"
    try OutputStream.write(Array(text.utf8), to: STDOUT_FILENO)
    return 0
  }

  /// Mirrors once, and reports errors; returns true if there were none.
  private func runReportingErrors() async throws -> Bool {
    do {
      return try await run() == 0
    } catch let error as OutputError {
      throw error
    } catch {
      if !Task.isCancelled { TandemCLI.report("\(error)") }
      return false
    }
  }

  /// Mirrors once, shows the progress, and prints the report; returns the exit status.
  ///
  /// Failures are printed first, even if nobody reads standard output.
  func run() async throws -> Int32 {
    let (stages, continuation) = AsyncStream.makeStream(
      of: DatabaseMirror.Progress.self, bufferingPolicy: .bufferingNewest(1))
    let events = printsEvents ? MirrorEvents() : nil
    let showing = Task { try await show(stages, events) }
    let ended = await Result { [self] in
      try await mirror.run(
        from: source, intoFileAt: path, list: list, isConditional: !isUnconditional,
        progress: { progress in
          // Only the progress bar shows the other phases.
          if events != nil, case .running = progress {} else if events != nil { return }
          continuation.yield(progress)
        })
    }
    continuation.finish()
    let shown = await showing.result
    let report: DatabaseMirror.Report
    switch ended {
    case .success(let complete): report = complete
    case .failure(let error as DatabaseMirror.RunError): report = error.report
    case .failure(let error): throw error
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
    return isDone ? 0 : 1
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
    var last: MirrorPhase?
    for await stage in stages {
      switch stage {
      case .reading(let byteCount, let total): draw("reading", byteCount, of: total, "bytes")
      case .writing(let count, let total): draw("writing", count, of: total, "changes")
      case .running(let phase):
        if phase != last { try events?.write(phase) }
        last = phase
        guard events == nil, case .transferring(let progress) = phase else { continue }
        draw(
          progress.stage?.name ?? "content", progress.doneCount, of: progress.totalCount, "items",
          detail(progress))
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

extension Result where Failure == any Error {
  /// The result of asynchronous work.
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
