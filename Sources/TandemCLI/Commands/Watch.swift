import Tandem

/// One run of `tandem watch`: what to watch, and what to show of it.
struct Watch: Sendable {
  let database: Database
  let query: LiveQuery<Record>
  let explanation: LiveQueryExplanation
  let isList: Bool
  let isJSON: Bool
  let showsInitial: Bool
  let isQuiet: Bool
  /// After how many differences to end.
  let limit: Int

  /// Shows differences until there were enough or the task is cancelled; returns a summary.
  func run() async throws -> String {
    let output = WatchOutput(key: explanation.key, isJSON: isJSON)
    if isList {
      try await show(query.listDifferences(in: database), output) { try output.write($0) }
    } else {
      try await show(query.differences(in: database), output) { try output.write($0) }
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
      if isFirst { try await greet() }
      if !isFirst || showsInitial { try write(difference) }
      isFirst = false
      if output.differenceCount == limit { break }
    }
  }

  private func greet() async throws {
    guard !isQuiet else { return }
    TandemCLI.report("watching \(database.path); the query \(explanation)")
    let mode = try await database.read { try $0.fetchValue("PRAGMA journal_mode", as: String.self) }
    guard let mode, mode != "wal" else { return }
    TandemCLI.report(
      "its journal mode is \(mode): while rows are read, programs that write to it find it locked; "
        + "PRAGMA journal_mode=WAL ends that")
  }
}
