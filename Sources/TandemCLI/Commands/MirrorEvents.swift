import Tandem

/// Writes the events of a run as JSON, one object per line.
struct MirrorEvents {
  /// Writes the current phase.
  func write(_ phase: MirrorPhase) throws {
    switch phase {
    case .idle: return
    case .listing: try write(["event": "phase", "phase": "listing"])
    case .comparing: try write(["event": "phase", "phase": "comparing"])
    case .removing: try write(["event": "phase", "phase": "removing"])
    case .ending: try write(["event": "phase", "phase": "ending"])
    case .transferring(let progress):
      try write([
        "event": "progress", "stage": progress.stage.map { .text($0.name) } ?? .null,
        "done": .integer(Int64(progress.doneCount)),
        "failed": .integer(Int64(progress.failedCount)),
        "total": .integer(Int64(progress.totalCount)),
        "bytes": .integer(Int64(progress.byteCount)),
        "remaining_seconds": progress.remaining.map { .real($0 / .seconds(1)) } ?? .null,
      ])
    }
  }

  /// Writes the failures and the end of a run, and for a dry run the files that it would fetch and remove.
  func write(_ report: DatabaseMirror.Report, isDryRun: Bool) throws {
    try writeFailures(report.run)
    let difference = report.outcome?.difference ?? SetDifference()
    var end: [(name: String, value: FieldValue)] = [("event", "end")]
    func add(_ name: String, _ count: Int) { end.append((name, .integer(Int64(count)))) }
    if isDryRun {
      for content in report.contents {
        try write([
          "event": "would_fetch", "stage": .text(content.stage.name), "key": .text("\(content.id)"),
          "url": .text(content.url), "file": .text(content.path),
        ])
      }
      for path in report.removedPaths {
        try write(["event": "would_remove", "file": .text(path)])
      }
      add("ok", report.run.interruption == nil ? 1 : 0)
      add("dry_run", 1)
    } else {
      add("ok", report.run.isComplete ? 1 : 0)
    }
    add("inserted", difference.inserted.count)
    add("updated", difference.updated.count)
    add("deleted", difference.deleted.count)
    if isDryRun {
      add("would_fetch", report.contents.count)
      add("would_remove", report.removedPaths.count)
      add("skipped", report.run.skippedCount)
    } else {
      add("transferred", report.contents.count)
      add("skipped", report.run.skippedCount)
      add("failed", report.run.failures.count)
      add("bytes", report.run.byteCount)
    }
    if let event = Record(end) { try write(event) }
  }

  private func writeFailures(_ report: MirrorReport<RecordKey>) throws {
    for failure in report.allFailures {
      try write([
        "event": "failed", "step": .text(failure.step.rawValue),
        "stage": failure.stage.map { .text($0.name) } ?? .null,
        "key": failure.id.map { .text("\($0)") } ?? .null,
        "attempts": .integer(Int64(failure.attemptCount)), "error": .text("\(failure.error)"),
      ])
    }
  }

  private func write(_ event: Record) throws {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(event, to: &bytes)
    try OutputStream.write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO)
  }
}
