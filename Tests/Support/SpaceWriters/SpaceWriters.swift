import TandemPostgreSQL
import TandemRecords
import TandemSpace
import TandemSync

/// Commits rows to new spaces, by some writers at the same time. Prints the number of commits that were accepted, and
/// the milliseconds that they took together. `make bench` measures it.
///
/// usage: SpaceWriters FILE WRITERS COMMITS
///        SpaceWriters ADDRESS WRITERS COMMITS SPACES [--without-hints]
///
/// The first one writes to a file, the second one to a PostgreSQL database, where the writers share so many spaces.
@main
enum SpaceWriters {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 4, let writerCount = Int(arguments[2]),
      let commitCount = Int(arguments[3])
    else { preconditionFailure("usage: SpaceWriters PLACE WRITERS COMMITS [SPACES]") }
    if arguments.count == 4 {
      let store = try await SQLiteSpaceStore.open(path: arguments[1], creates: true)
      try await write(commitCount, by: writerCount, to: [store])
      await store.close()
    } else {
      let database = try await PostgreSQLDatabase.open(address: arguments[1], creates: true)
      if arguments.last == "--without-hints" { database.endHints() }
      let stores = try await stores(database, count: Int(arguments[4]) ?? 1)
      try await write(commitCount, by: writerCount, to: stores)
      await database.close()
    }
  }

  /// New spaces of a database.
  private static func stores(
    _ database: PostgreSQLDatabase, count: Int
  ) async throws -> [any SpaceStore] {
    var generator = SystemRandomNumberGenerator()
    var stores: [any SpaceStore] = []
    while stores.count < count {
      let name = SyncToken.random(using: &generator).description
      if let store = try await PostgreSQLSpaceStore.open(database, name: name, creates: true) {
        stores.append(store)
      }
    }
    return stores
  }

  /// Makes so many commits by each writer, to the stores in turn.
  private static func write(
    _ commitCount: Int, by writerCount: Int, to stores: [any SpaceStore]
  ) async throws {
    var bases: [SpaceRevision] = []
    for store in stores {
      _ = try await store.declare([
        SpaceTable(
          name: "place", columns: ["name", "population", "latitude"], keyColumns: ["id"],
          granularity: .field)
      ])
      bases.append(try await store.state().head)
    }
    let start = ContinuousClock.now
    let acceptedCount = try await withThrowingTaskGroup(of: Int.self) { [bases] group in
      for writer in 0..<writerCount {
        let (store, base) = (stores[writer % stores.count], bases[writer % stores.count])
        group.addTask { try await write(commitCount, to: store, base) }
      }
      var acceptedCount = 0
      for try await count in group { acceptedCount += count }
      return acceptedCount
    }
    print(acceptedCount)
    print((ContinuousClock.now - start) / .milliseconds(1))
  }

  /// Makes commits one after the other; returns the number of those that were accepted.
  private static func write(
    _ count: Int, to store: any SpaceStore, _ base: SpaceRevision
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
