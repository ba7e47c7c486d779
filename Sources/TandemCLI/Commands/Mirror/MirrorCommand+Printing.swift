import Tandem

extension MirrorCommand.Options {
  /// Prints the changes of the table, and the files that were fetched and removed.
  func print(_ report: DatabaseMirror.Report) throws {
    let output = OutputStream(descriptor: STDOUT_FILENO)
    let isPrinted = report.outcome != nil || mirror.contents.isEmpty || mirror.isDryRun
    if isPrinted, report.run.interruption == nil {
      let outcome = report.outcome ?? DatabaseMirror.Outcome()
      if isJSON {
        try output.write { RecordWriter.appendJSON(outcome.difference, to: &$0) }
        try output.write("\n")
      } else {
        try print(outcome, to: output)
      }
    }
    if !mirror.contents.isEmpty {
      if !mirror.isDryRun {
        try printSummary(report, to: output)
      } else if report.run.interruption == nil {
        try printPlan(report, to: output)
      }
    }
    try output.flush()
  }

  private func print(_ outcome: DatabaseMirror.Outcome, to output: OutputStream) throws {
    let text = DifferenceText(key: mirror.key, terminal: .output)
    let changes = outcome.changes
    for change in changes.prefix(maxLineCount) { try output.write(text.line(change)) }
    if changes.count > maxLineCount {
      try output.write(
        "… and \(changes.count - maxLineCount) more changes (show them with --all or --json)\n")
    }
    let verb = mirror.isDryRun ? "would be " : ""
    let types = outcome.decidedTypes.joined(separator: ", ")
    let created =
      outcome.createsTable
      ? "; table \(mirror.table) \(verb)created\(types.isEmpty ? "" : " (\(types))")" : ""
    let addedColumns =
      types.isEmpty ? outcome.addedColumns.joined(separator: ", ") : types
    let added =
      outcome.addedColumns.isEmpty ? "" : "; columns \(verb)added: \(addedColumns)"
    let widened =
      outcome.widenedColumns.isEmpty
      ? "" : "; columns \(verb)widened: \(outcome.widenedColumns.joined(separator: ", "))"
    let prefix = mirror.isDryRun ? "dry run: " : ""
    let missing =
      outcome.lacksTable && !mirror.mirrorGuard.allowsEmptySource
      ? "; the list has no records, so table \(mirror.table) \(mirror.isDryRun ? "would not be" : "was not") created"
      : ""
    let summary = "\(prefix)\(changes)\(created)\(widened)\(added)\(missing)"
    try output.write("\(summary.escapingControls())\n")
  }

  /// Prints the contents that a run would fetch, and the files that it would remove.
  private func printPlan(_ report: DatabaseMirror.Report, to output: OutputStream) throws {
    let fetches = report.contents.map { "fetch \($0.url) as \($0.path)" }
    let lines = fetches + report.removedPaths.map { "remove \($0)" }
    for line in lines.prefix(maxLineCount) { try output.write("\(line.escapingControls())\n") }
    if lines.count > maxLineCount {
      try output.write(
        "… and \(lines.count - maxLineCount) more files (show them with --all or --json)\n")
    }
    try output.write(
      "dry run: \(Quantity.count(fetches.count, "content")) would be fetched, "
        + "\(Quantity.count(report.removedPaths.count, "file")) removed, "
        + "\(Quantity.count(report.run.skippedCount, "item")) up to date\n")
  }

  /// Prints the counts of a run, unless it ended before it fetched anything.
  private func printSummary(_ report: DatabaseMirror.Report, to output: OutputStream) throws {
    let run = report.run
    let first: [MirrorStep] = [.begin, .localIDs, .list, .compare, .prepare]
    if let step = run.interruption?.step, first.contains(step) { return }
    var parts = [
      "\(Quantity.count(report.contents.count, "content")) fetched "
        + "(\(Quantity.bytes(Double(run.byteCount))) received)",
      "\(Quantity.count(run.skippedCount, "item")) up to date",
    ]
    if !report.removedPaths.isEmpty {
      parts.append("\(Quantity.count(report.removedPaths.count, "file")) removed")
    }
    if !run.failures.isEmpty { parts.append("\(run.failures.count) failed") }
    if !run.unremoved.isEmpty { parts.append("\(run.unremoved.count) not deleted") }
    try output.write(parts.joined(separator: ", ") + "\n")
  }

  private var maxLineCount: Int { showsAll ? .max : MirrorCommand.maxLineCount }
}

// MARK: - Failures

extension MirrorCommand.Options {
  func printFailures(_ run: MirrorReport<RecordKey>) {
    // A failure is one line: keys and addresses of a server may have line feeds.
    for failure in run.allFailures {
      TandemCLI.report(message(failure, of: run).escapingControls())
    }
    if run.interruption?.step == .transfer, !mirror.isDryRun {
      TandemCLI.report("\(path): the run ended early and did not change the table")
    }
  }

  /// The failure, with the option that allows the rejected run, if there is one.
  private func message(
    _ failure: MirrorFailure<RecordKey>, of run: MirrorReport<RecordKey>
  ) -> String {
    switch failure.error {
    case let error as MirrorError where failure.id == nil:
      "\(path): \(error); "
        + (run.transferred.isEmpty ? "nothing was changed" : "the table was not changed")
    case let error as RecordError where failure.id == nil:
      "\(SourceError(source: source, error: error))"
    case let error as DatabaseError where failure.id == nil: "\(error)"
    case let error as TransportError where failure.id == nil: "\(error)\(error.advice(for: nil))"
    case let error as TransportError: "\(failure)\(error.advice(for: failure.stage))"
    default: "\(failure)"
    }
  }
}

extension MirrorReport {
  /// All failures, including the one that ended the run. A cancellation is not a failure.
  var allFailures: [MirrorFailure<ID>] {
    guard let interruption, !interruption.isCancellation,
      !failures.contains(where: { $0.step == interruption.step && $0.id == interruption.id })
    else { return failures }
    return failures + [interruption]
  }
}
