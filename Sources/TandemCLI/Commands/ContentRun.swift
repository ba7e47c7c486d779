import Tandem

/// One run of `tandem mirror` with contents.
struct ContentRun {
  let options: MirrorCommand.Options
  let contents: ContentOptions
  let events: MirrorEvents?

  init(_ options: MirrorCommand.Options, _ contents: ContentOptions) {
    self.options = options
    self.contents = contents
    let isWanted = options.arguments.has("json") && !options.arguments.has("quiet")
    events = isWanted ? MirrorEvents() : nil
  }

  /// Mirrors, shows how far it is, and prints what was done; returns the exit status.
  ///
  /// What failed is said first, whether or not anybody takes the rest.
  func run() async throws -> Int32 {
    let processor = ContentMirror(
      options.source, listOptions: options.list, mirror: options.mirror,
      databasePath: options.path, directoryPath: contents.directory, contents: contents.contents,
      isConditional: !options.isUnconditional, client: try client())
    let mirror = OneWayMirror(processor, options: mirrorOptions)
    let phases = mirror.phases()
    let showing = Task { try await show(phases) }
    let ended = await Self.report(of: mirror)
    showing.cancel()
    let shown = await showing.result
    let report = try ended.get()
    printFailures(report)
    let isDone = options.mirror.isDryRun ? report.interruption == nil : report.isComplete
    do {
      try shown.get()
      try print(report, processor)
    } catch var error as OutputError where !isDone {
      error.followsFailure = true
      throw error
    } catch {
      throw options.mirror.isDryRun ? error : MirrorCommand.Options.done(error)
    }
    return isDone ? 0 : 1
  }

  /// A client with a connection for each transfer, so that none waits for another's.
  private func client() throws -> SystemHTTPClient {
    var clientOptions = HTTPClientOptions()
    clientOptions.maxConnectionCountPerHost = max(
      clientOptions.maxConnectionCountPerHost, mirrorOptions.maxTransferCount)
    return try SystemHTTPClient(options: clientOptions)
  }

  /// The report of a run, however it ended; an error if it was given up.
  private static func report(
    of mirror: OneWayMirror<ContentMirror>
  ) async -> Result<MirrorReport<RecordKey>, any Error> {
    do {
      return .success(try await mirror.run())
    } catch let error as MirrorRunError<RecordKey> {
      return .success(error.report)
    } catch {
      return .failure(error)
    }
  }

  private var mirrorOptions: MirrorOptions {
    let stages = contents.contents.map {
      MirrorStageOptions($0.stage, errorPolicy: contents.policy, timeout: contents.timeout)
    }
    return MirrorOptions(
      stages: stages, concurrency: contents.concurrency,
      mirrorGuard: options.mirror.mirrorGuard, retry: options.retry,
      isDryRun: options.mirror.isDryRun)
  }

  /// Shows phases until the task is cancelled.
  private func show(_ phases: AsyncStream<MirrorPhase>) async throws {
    var bar: (label: String, bar: ProgressBar)?
    defer { bar?.bar.finish() }
    for await phase in phases {
      try events?.write(phase)
      guard events == nil, case .transferring(let progress) = phase else { continue }
      let label = progress.stage?.name ?? "content"
      if bar?.label != label {
        bar?.bar.finish()
        bar = (label, ProgressBar(label, isQuiet: options.arguments.has("quiet")))
      }
      bar?.bar.update(
        progress.doneCount, of: progress.totalCount, unit: "items", detail: detail(progress))
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

// MARK: - What is printed

extension ContentRun {
  private func print(_ report: MirrorReport<RecordKey>, _ processor: ContentMirror) throws {
    if options.mirror.isDryRun { return try print(report, processor.rehearsal) }
    let (outcome, contentCount) = (processor.outcome, processor.contentCount)
    if let events {
      try events.write(report, outcome, contentCount: contentCount)
    } else {
      if let outcome { try options.print(outcome) }
      if !options.arguments.has("quiet") { try printSummary(report, contentCount: contentCount) }
    }
  }

  private func printFailures(_ report: MirrorReport<RecordKey>) {
    for failure in report.allFailures { TandemCLI.report(message(failure)) }
    if report.interruption?.step == .transfer, !options.mirror.isDryRun {
      TandemCLI.report("\(options.path): the run ended early; its rows are as they were")
    }
  }

  private func printSummary(_ report: MirrorReport<RecordKey>, contentCount: Int) throws {
    var parts = [
      "\(contentCount) contents fetched (\(Quantity.bytes(Double(report.byteCount))) received)",
      "\(report.skippedCount) items up to date",
    ]
    if !report.failures.isEmpty { parts.append("\(report.failures.count) failed") }
    if !report.unremoved.isEmpty { parts.append("\(report.unremoved.count) not deleted") }
    let output = OutputStream(descriptor: STDOUT_FILENO)
    try output.write(parts.joined(separator: ", ") + "\n")
    try output.flush()
  }

  /// What failed, with the option that would allow it, if it was refused.
  private func message(_ failure: MirrorFailure<RecordKey>) -> String {
    switch failure.error {
    case let error as MirrorError where failure.id == nil:
      "\(MirrorRefusal(path: options.path, error: error))"
    case let error as RecordError: "\(SourceError(source: options.source, error: error))"
    case let error as TransportError where failure.id == nil:
      "\(ListRefusal(error: error))"
    case let error as TransportError: "\(failure)\(error.advice(for: failure.stage))"
    default: "\(failure)"
    }
  }
}

extension MirrorReport {
  /// What failed, and what ended the run if that is not among it; a cancellation is no failure.
  var allFailures: [MirrorFailure<ID>] {
    guard let interruption, !interruption.isCancellation,
      !failures.contains(where: { $0.step == interruption.step && $0.id == interruption.id })
    else { return failures }
    return failures + [interruption]
  }
}
