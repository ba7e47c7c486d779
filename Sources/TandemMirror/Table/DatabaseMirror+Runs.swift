internal import TandemDifferences
public import TandemHTTP
internal import TandemRecords
public import TandemSQLite

extension DatabaseMirror {
  /// The reports of runs that repeat until the task is cancelled or the loop ends.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift runs -->
  /// ```swift
  /// for await report in mirror.runs(from: source, into: database, every: .seconds(60)) {
  ///   print(report)
  /// }
  /// ```
  ///
  /// - The first run begins at once. The next one begins when the loop has asked for its report and the interval
  ///   has passed. There is one run at a time.
  /// - A run that ended early is no end of the sequence: its report has the failure as
  ///   ``MirrorReport/interruption``. After several such runs in a row, the pause doubles each time, from the
  ///   interval up to ``maxFailureInterval``. It is at least as long as the server asks for (`Retry-After`),
  ///   within the same bound. The runs themselves repeat requests as ``DatabaseMirror/retry`` and
  ///   ``RecordListOptions/retry`` say.
  /// - Cancelling the task cancels the run in progress and ends the sequence. A run that was cancelled is not
  ///   reported.
  public struct Runs: AsyncSequence, Sendable {
    /// The report of a run.
    public typealias Element = Report
    /// No iteration throws: a failed run is an element.
    public typealias Failure = Never

    /// The maximum pause after runs that ended early: 15 minutes, or the interval if that is longer.
    public static let maxFailureInterval: Duration = .seconds(900)

    fileprivate let interval: Duration
    fileprivate let clock: any Clock<Duration>
    fileprivate let run: @Sendable () async throws -> Report

    /// The runs, the first of which begins with the first call of `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(runs: self) }

    /// The state of the repetition.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
      fileprivate let runs: Runs
      /// The pause before the next run; `nil` before the first one.
      private var pause: Duration?
      private var failureCount = 0

      fileprivate init(runs: Runs) { self.runs = runs }

      /// Waits for the interval, runs once, and returns the report; `nil` if the task was cancelled.
      public mutating func next() async -> Report? {
        if let pause {
          do { try await runs.clock.sleep(for: pause) } catch { return nil }
        }
        if Task.isCancelled { return nil }
        let report = await runs.report()
        guard let failure = report.run.interruption else {
          (failureCount, pause) = (0, runs.interval)
          return report
        }
        if Task.isCancelled { return nil }
        failureCount += 1
        pause = runs.pause(afterFailure: failureCount, error: failure.error)
        return report
      }
    }
  }

  /// Makes the table equal to the list from a source again and again. See ``Runs``.
  ///
  /// - Parameters:
  ///   - source: The source of the list: a URL, or a file.
  ///   - database: The database.
  ///   - interval: The pause between the end of a run and the next one.
  ///   - listOptions: The options of the requests for the list, and of its reading.
  ///   - isConditional: False to ask for the list and for all contents without conditions, in each run.
  ///   - client: The client for all requests; by default, one for all runs.
  ///   - clock: Measures the pauses.
  ///   - progress: Called as each run proceeds, in order. It must not block.
  /// - Precondition: The source can be read again: it is not standard input.
  public func runs(
    from source: RecordSource, into database: Database, every interval: Duration,
    list listOptions: RecordListOptions = RecordListOptions(), isConditional: Bool = true,
    client: (any HTTPClient)? = nil, clock: any Clock<Duration> = ContinuousClock(),
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) -> Runs {
    runs(from: source, every: interval, client: client, clock: clock) { client in
      try await run(
        from: source, into: database, list: listOptions, isConditional: isConditional,
        client: client, progress: progress)
    }
  }

  /// The same for a database file that is named by its path, and opened for each run.
  public func runs(
    from source: RecordSource, intoFileAt path: String, every interval: Duration,
    list listOptions: RecordListOptions = RecordListOptions(), isConditional: Bool = true,
    client: (any HTTPClient)? = nil, clock: any Clock<Duration> = ContinuousClock(),
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) -> Runs {
    runs(from: source, every: interval, client: client, clock: clock) { client in
      try await run(
        from: source, intoFileAt: path, list: listOptions, isConditional: isConditional,
        client: client, progress: progress)
    }
  }

  private func runs(
    from source: RecordSource, every interval: Duration, client: (any HTTPClient)?,
    clock: any Clock<Duration>,
    _ run: @escaping @Sendable ((any HTTPClient)?) async throws -> Report
  ) -> Runs {
    if case .standardInput = source { preconditionFailure("Standard input cannot be read again") }
    // Connections stay open between runs.
    let client = Result { try client ?? defaultClient(for: source) }
    return Runs(interval: Swift.max(interval, .zero), clock: clock) { try await run(client.get()) }
  }
}

extension DatabaseMirror.Runs {
  fileprivate func report() async -> DatabaseMirror.Report {
    do {
      return try await run()
    } catch let error as DatabaseMirror.RunError {
      return error.report
    } catch {
      var report = DatabaseMirror.Report()
      report.run.interruption = MirrorFailure(step: .begin, error: error)
      return report
    }
  }

  /// The pause after so many runs in a row that ended early.
  func pause(
    afterFailure count: Int, error: any Error, chance: Double = .random(in: 0...1)
  ) -> Duration {
    let longest = Swift.max(interval, Self.maxFailureInterval)
    let policy = MirrorRetryPolicy(
      maxAttemptCount: .max, firstDelay: interval, maxDelay: longest, maxRequestedDelay: longest,
      isTransient: { _ in true })
    let delay = policy.delay(afterAttempt: count, error: error, chance: chance) ?? longest
    return Swift.max(interval, delay)
  }
}

extension DatabaseMirror.Report: CustomStringConvertible {
  /// A line such as `1 inserted, 0 updated, 2 deleted` or `unchanged`, or the failure that ended the run.
  public var description: String {
    if let interruption = run.interruption { return "\(interruption)" }
    let failures = run.failures.isEmpty ? "" : ", \(run.failures.count) failed"
    guard let changes = outcome?.changes else { return "unchanged\(failures)" }
    return "\(changes)\(failures)"
  }
}
