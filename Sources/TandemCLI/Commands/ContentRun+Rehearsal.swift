import Tandem

extension ContentRun {
  /// Prints what a run would do; nothing, if the server says that the list did not change. Of a run that
  /// ended early, only events tell.
  func print(_ report: MirrorReport<RecordKey>, _ rehearsal: ContentRehearsal?) throws {
    if let events { return try events.write(report, rehearsal) }
    guard !options.arguments.has("quiet"), report.interruption == nil else { return }
    try options.print(rehearsal?.outcome ?? DatabaseMirror.Outcome())
    let fetches = (rehearsal?.transfers ?? []).map { "fetch \($0.url) as \($0.path)" }
    let removals = (rehearsal?.removedPaths ?? []).map { "remove \($0)" }
    let limit = options.arguments.has("all") ? Int.max : MirrorCommand.maxLineCount
    let output = OutputStream(descriptor: STDOUT_FILENO)
    let lines = fetches + removals
    for line in lines.prefix(limit) { try output.write("\(line.escapingControls())\n") }
    if lines.count > limit {
      try output.write("… and \(lines.count - limit) more files (show them with --all or --json)\n")
    }
    try output.write(
      "dry run: \(fetches.count) contents would be asked for, \(removals.count) files removed, "
        + "\(report.skippedCount) items are up to date\n")
    try output.flush()
  }
}
