import Tandem

/// Writes the events of a run as JSON, one object per line.
struct MirrorEvents {
  /// Writes the current phase.
  func write(_ phase: MirrorPhase) throws {
    switch phase {
    case .idle: return
    case .listing: try write(phase: "listing")
    case .comparing: try write(phase: "comparing")
    case .removing: try write(phase: "removing")
    case .ending: try write(phase: "ending")
    case .transferring(let progress):
      try write("progress") { json in
        json.field("stage", progress.stage?.name)
        json.field("done", progress.doneCount)
        json.field("failed", progress.failedCount)
        json.field("total", progress.totalCount)
        json.field("bytes", progress.byteCount)
        json.field(
          "remainingSeconds", progress.remaining.map { FieldValue.real($0 / .seconds(1)) })
      }
    }
  }

  /// Writes the failures and the end of a run, and for a dry run the files that it would fetch and remove.
  func write(_ report: DatabaseMirror.Report, isDryRun: Bool) throws {
    try writeFailures(report.run)
    if isDryRun {
      for content in report.contents {
        try write("wouldFetch") { json in
          json.field("stage", content.stage.name)
          json.field("key", "\(content.id)")
          json.field("url", content.url)
          json.field("file", content.path)
        }
      }
      for path in report.removedPaths {
        try write("wouldRemove") { $0.field("file", path) }
      }
    }
    let run = report.run
    let changes = report.outcome?.changes
    try write("end") { json in
      json.field("ok", isDryRun ? run.interruption == nil : run.isComplete)
      if isDryRun { json.field("dryRun", true) }
      json.field("inserted", changes?.insertedCount ?? 0)
      json.field("updated", changes?.updatedCount ?? 0)
      json.field("deleted", changes?.deletedCount ?? 0)
      if isDryRun {
        json.field("wouldFetch", report.contents.count)
        json.field("wouldRemove", report.removedPaths.count)
      } else {
        json.field("transferred", report.contents.count)
        json.field("removed", report.removedPaths.count)
      }
      json.field("skipped", run.skippedCount)
      if !isDryRun {
        json.field("failed", run.failures.count)
        json.field("bytes", run.byteCount)
      }
    }
  }

  private func writeFailures(_ report: MirrorReport<RecordKey>) throws {
    for failure in report.allFailures {
      try write("failed") { json in
        json.field("step", failure.step.rawValue)
        json.field("stage", failure.stage?.name)
        json.field("key", failure.id.map { "\($0)" })
        json.field("attempts", failure.attemptCount)
        json.field("error", LibraryNames.replaced(in: "\(failure.error)"))
      }
    }
  }

  private func write(phase name: String) throws(OutputError) {
    try write("phase") { $0.field("phase", name) }
  }

  private func write(
    _ event: String, _ body: (inout JSONWriter) -> Void
  ) throws(OutputError) {
    try OutputStream.printObject { json in
      json.field("event", event)
      body(&json)
    }
  }
}
