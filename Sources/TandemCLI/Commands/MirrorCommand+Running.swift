import Tandem

extension MirrorCommand.Options {
  /// Mirrors once and prints what was done; returns the exit status.
  func runOnce() async throws -> Int32 {
    if let contents { return try await ContentRun(self, contents).run() }
    let outcome = try await outcome()
    do {
      try print(outcome)
    } catch {
      throw mirror.isDryRun ? error : Self.done(error)
    }
    return 0
  }

  /// An error of printing what was done: that stays done.
  static func done(_ error: any Error) -> any Error {
    guard var error = error as? OutputError else { return error }
    error.consequence = "; the table equals the list all the same"
    return error
  }

  /// Mirrors again and again; a run that fails is reported and followed by the next.
  func watch(every interval: Duration) async throws -> Int32 {
    // No run begins before a signal is an event, not the end.
    let (beginnings, begin) = AsyncStream.makeStream(of: Void.self)
    let watching = Task {
      for await _ in beginnings {}
      var count = (runs: 0, failures: 0)
      while !Task.isCancelled {
        let isDone = try await runReportingErrors()
        // A run that was cut short by the end of watching is no run.
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
    guard !arguments.has("quiet"), !arguments.has("json") else { return 0 }
    let text = "mirrored \(count.runs) times, \(count.failures) of them with errors\n"
    try OutputStream.write(Array(text.utf8), to: STDOUT_FILENO)
    return 0
  }

  /// Mirrors once, and says what went wrong; returns whether nothing did.
  private func runReportingErrors() async throws -> Bool {
    do {
      return try await runOnce() == 0
    } catch let error as OutputError {
      throw error
    } catch {
      if !Task.isCancelled { TandemCLI.report("\(error)") }
      return false
    }
  }

  /// Mirrors the list into the file.
  ///
  /// Opening a file for writing creates it, or turns on write-ahead logging, before the first row is
  /// written. So where either is still to come, a rehearsal finds out whether there is any use.
  func outcome() async throws -> DatabaseMirror.Outcome {
    let exists = access(path, F_OK) == 0
    let reader = try DatabaseConnection(
      path: exists ? path : ":memory:", access: exists ? .readOnly : .readWriteCreate)
    guard let (records, origin) = try await newList(for: reader) else {
      return DatabaseMirror.Outcome()
    }
    if try mirror.isDryRun || !exists || !reader.hasWriteAheadLog() {
      var rehearsal = mirror
      rehearsal.isDryRun = true
      let outcome = try run(rehearsal, records, into: reader, origin: origin)
      if mirror.isDryRun || outcome.isUpToDate { return outcome }
    }
    return try run(mirror, records, into: DatabaseConnection(path: path), origin: origin)
  }

  /// The list, or `nil` if the server says that the table still is what it would send.
  private func newList(
    for connection: DatabaseConnection
  ) async throws -> (records: [Record], origin: MirrorOrigin?)? {
    guard case .url(let url) = source else { return try await list(nil).map { ($0.records, nil) } }
    func known() throws -> RecordListValidators? {
      try mirror.validators(for: url, options: self.list, in: connection)
    }
    let validators = isUnconditional ? nil : try known()
    var answer = try await list(validators)
    if answer == nil, try known() != validators {
      // The table was changed while the server was asked.
      answer = try await list(nil)
    }
    return answer.map {
      ($0.records, MirrorOrigin(url: url, options: self.list, validators: $0.validators))
    }
  }

  private func list(
    _ validators: RecordListValidators?
  ) async throws -> (records: [Record], validators: RecordListValidators)? {
    let bar = ProgressBar("reading", isQuiet: arguments.has("quiet"))
    defer { bar.finish() }
    do {
      var options = self.list
      options.validators = validators
      let list = try await source.list(
        options, client: try SystemHTTPClient(),
        progress: { bar.update($0, of: $1, unit: "bytes") })
      guard case .records(let records, let validators, _) = list else { return nil }
      return (records, validators)
    } catch let error as RecordError {
      throw SourceError(source: source, error: error)
    } catch let error as TransportError {
      throw ListRefusal(error: error)
    }
  }

  private func run(
    _ mirror: DatabaseMirror, _ records: [Record], into connection: DatabaseConnection,
    origin: MirrorOrigin?
  ) throws -> DatabaseMirror.Outcome {
    let bar = ProgressBar("writing", isQuiet: arguments.has("quiet"))
    defer { bar.finish() }
    do {
      return try mirror.run(
        records, into: connection, origin: origin,
        progress: { bar.update($0, of: $1, unit: "changes") })
    } catch let error as RecordError {
      throw SourceError(source: source, error: error)
    } catch let error as MirrorError {
      throw MirrorRefusal(path: path, error: error)
    }
  }
}

extension DatabaseConnection {
  /// Whether the file is one with write-ahead logging.
  fileprivate func hasWriteAheadLog() throws(DatabaseError) -> Bool {
    let statement = try prepare("PRAGMA journal_mode")
    guard try statement.step() else { return false }
    return try statement.value(at: 0) == "wal"
  }
}

/// A refusal, with the option that would allow the run.
struct MirrorRefusal: Error, CustomStringConvertible {
  var path: String
  var error: MirrorError

  var description: String {
    let option: String
    switch error.code {
    case .emptySource: option = " with --allow-empty"
    case .tooManyDeletions: option = error.deletionCount.map { " with --max-deletes \($0)" } ?? ""
    default: option = ""
    }
    return "\(path): \(error)\(option); nothing was changed"
  }
}
