import TandemRecords
import TandemSpace
import TandemSync

/// Commits rows to a new space in a file, by some writers at the same time, and prints the number of
/// commits that were accepted. `make bench` measures it.
///
/// usage: SpaceWriters FILE WRITERS COMMITS
@main
enum SpaceWriters {
  static func main() async throws {
    guard CommandLine.arguments.count == 4, let writerCount = Int(CommandLine.arguments[2]),
      let commitCount = Int(CommandLine.arguments[3])
    else { preconditionFailure("usage: SpaceWriters FILE WRITERS COMMITS") }
    let store = try await SQLiteSpaceStore.open(path: CommandLine.arguments[1], creates: true)
    _ = try await store.declare([
      SpaceTable(
        name: "place", columns: ["name", "population", "latitude"], keyColumns: ["id"],
        granularity: .field)
    ])
    let base = try await store.state().head
    let acceptedCount = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<writerCount {
        group.addTask { try await write(commitCount, to: store, base) }
      }
      var acceptedCount = 0
      for try await count in group { acceptedCount += count }
      return acceptedCount
    }
    await store.close()
    print(acceptedCount)
  }

  /// Makes commits one after the other; returns the number of those that were accepted.
  private static func write(
    _ count: Int, to store: SQLiteSpaceStore, _ base: SpaceRevision
  ) async throws -> Int {
    var generator = SystemRandomNumberGenerator()
    let replica = SyncToken.random(using: &generator)
    var acceptedCount = 0
    for sequence in 1...count {
      let id = SyncToken.random(using: &generator)
      let fields: Record = ["name": "Place number 7", "population": 55_433, "latitude": -82.63]
      let change = SyncChange(
        key: SyncKey(table: "place", id: [.text(id.description)]), verb: .insert(fields))
      let outcome = try await store.commit(
        SyncCommit(replica: replica, sequence: sequence, id: id, base: base, changes: [change]))
      if case .accepted = outcome { acceptedCount += 1 }
    }
    return acceptedCount
  }
}
