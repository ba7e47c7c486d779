import Tandem

/// One run of `tandem watch`: the query, and the form of the output.
struct Watch: Sendable {
  let database: Database
  let query: LiveQuery<Record>
  let explanation: LiveQueryExplanation
  /// The journal mode, as SQLite names it.
  let journalMode: String?
  let isList: Bool
  let isJSON: Bool
  let showsInitial: Bool
  let isQuiet: Bool
  /// The number of differences after which the run ends.
  let limit: Int

  /// Shows differences up to the limit, or until the task is cancelled; returns a summary.
  func run() async throws -> String {
    let output = WatchOutput(key: explanation.key, isJSON: isJSON)
    do {
      if isList {
        try await show(query.listDifferences(in: database), output) { try output.write($0) }
      } else {
        try await show(query.differences(in: database), output) { try output.write($0) }
      }
    } catch let error as OutputError where error.isCancellation {
      // The reader of the output had stalled when the task was cancelled.
    }
    return output.summary
  }

  private func show<Difference: Sendable>(
    _ differences: LiveSequence<Difference>, _ output: WatchOutput,
    write: (Difference) throws -> Void
  ) async throws {
    var isFirst = true
    for try await difference in differences {
      // All commits from here on are observed.
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
      "its journal mode is \(journalMode): it is locked for writers while rows are read; "
        + "PRAGMA journal_mode=WAL avoids this")
  }
}
