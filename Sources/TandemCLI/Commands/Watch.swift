import Tandem

/// One run of `tandem watch`: what to watch, and what to show of it.
struct Watch: Sendable {
  let database: Database
  let query: LiveQuery<Record>
  let explanation: LiveQueryExplanation
  /// How the file is written, in SQLite's words.
  let journalMode: String?
  let isList: Bool
  let isJSON: Bool
  let showsInitial: Bool
  let isQuiet: Bool
  /// After how many differences to end.
  let limit: Int

  /// Shows differences until there were enough or the task is cancelled; returns a summary.
  func run() async throws -> String {
    let output = WatchOutput(key: explanation.key, isJSON: isJSON)
    do {
      if isList {
        try await show(query.listDifferences(in: database), output) { try output.write($0) }
      } else {
        try await show(query.differences(in: database), output) { try output.write($0) }
      }
    } catch let error as OutputError where error.isCancellation {
      // Its reader had stalled when it was to end.
    }
    return output.summary
  }

  private func show<Difference: Sendable>(
    _ differences: LiveSequence<Difference>, _ output: WatchOutput,
    write: (Difference) throws -> Void
  ) async throws {
    var isFirst = true
    for try await difference in differences {
      // From here on, nothing that is committed goes unseen.
      if isFirst { greet() }
      if !isFirst || showsInitial { try write(difference) }
      isFirst = false
      if output.differenceCount == limit { break }
    }
  }

  private func greet() {
    guard !isQuiet else { return }
    TandemCLI.report("watching \(database.path); the query \(explanation)")
    guard let journalMode, journalMode != "wal" else { return }
    TandemCLI.report(
      "its journal mode is \(journalMode): while rows are read, programs that write to it find it "
        + "locked; PRAGMA journal_mode=WAL ends that")
  }
}
