import Tandem

/// The replica beside the phones: its table of places always equals the feed.
struct MirroredFeed: Sendable {
  let database: Database
  let replica: DatabaseReplica

  /// A pause that nobody notices. The feed answers most requests with "304 Not Modified".
  private static let interval = Duration.milliseconds(250)

  /// The replica in a folder, with the players of the start.
  init(in folder: String) async throws {
    database = try Database(path: "\(folder)/feed.db")
    replica = DatabaseReplica(database)
    try await Schema.create(in: database)
    try await Players.create(in: database)
  }

  /// Mirrors the feed, and synchronizes, until the task is cancelled.
  ///
  /// - Parameter report: Called with a line about each run that changed something or failed.
  func run(
    from url: String, space: SyncSpace, report: @escaping @Sendable (String) async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await replica.run(with: space) }
      group.addTask {
        // The columns "note" and "favourite" are not in the feed: they belong to the phones.
        let mirror = DatabaseMirror(table: "place", key: ["zone"])
        for await run in mirror.runs(from: .url(url), into: database, every: MirroredFeed.interval)
        {
          if run.outcome?.isUpToDate == false || run.run.interruption != nil {
            try await report("\(run)")
          }
        }
      }
      try await group.next()
      group.cancelAll()
    }
  }
}
