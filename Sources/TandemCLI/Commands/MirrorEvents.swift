import Tandem

/// The events of a run as JSON, one object per line.
struct MirrorEvents {
  /// Writes what the mirror is doing.
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

  /// Writes what failed, and how the run ended.
  func write(
    _ report: MirrorReport<RecordKey>, _ outcome: DatabaseMirror.Outcome?, contentCount: Int
  ) throws {
    try writeFailures(report)
    let difference = outcome?.difference ?? SetDifference()
    try write([
      "event": "end", "ok": .integer(report.isComplete ? 1 : 0),
      "inserted": .integer(Int64(difference.inserted.count)),
      "updated": .integer(Int64(difference.updated.count)),
      "deleted": .integer(Int64(difference.deleted.count)),
      "transferred": .integer(Int64(contentCount)),
      "skipped": .integer(Int64(report.skippedCount)),
      "failed": .integer(Int64(report.failures.count)),
      "bytes": .integer(Int64(report.byteCount)),
    ])
  }

  /// Writes what failed, what a run would do, and whether it could be found out.
  func write(_ report: MirrorReport<RecordKey>, _ rehearsal: ContentRehearsal?) throws {
    try writeFailures(report)
    for transfer in rehearsal?.transfers ?? [] {
      try write([
        "event": "would_fetch", "stage": .text(transfer.stage.name), "key": .text("\(transfer.id)"),
        "url": .text(transfer.url), "file": .text(transfer.path),
      ])
    }
    for path in rehearsal?.removedPaths ?? [] {
      try write(["event": "would_remove", "file": .text(path)])
    }
    let difference = rehearsal?.outcome.difference ?? SetDifference()
    try write([
      "event": "end", "ok": report.interruption == nil ? 1 : 0, "dry_run": 1,
      "inserted": .integer(Int64(difference.inserted.count)),
      "updated": .integer(Int64(difference.updated.count)),
      "deleted": .integer(Int64(difference.deleted.count)),
      "would_fetch": .integer(Int64(rehearsal?.transfers.count ?? 0)),
      "would_remove": .integer(Int64(rehearsal?.removedPaths.count ?? 0)),
      "skipped": .integer(Int64(report.skippedCount)),
    ])
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
