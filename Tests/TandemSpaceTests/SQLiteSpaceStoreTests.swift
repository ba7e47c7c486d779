import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import TestRandom
import Testing

@testable import TandemPostgreSQL

@Suite(.onBothStores) struct SQLiteSpaceStoreTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path(of: "space.tandem") }

  init() throws { folder = try TemporaryFolder() }

  private func store(creates: Bool = true) async throws -> any SpaceStore {
    let store: any SpaceStore
    switch TestStore.current {
    case .sqlite: store = try await SQLiteSpaceStore.open(path: path, creates: creates)
    case .postgreSQL:
      // A node of its own.
      let database = try await PostgreSQLDatabase.open(
        address: try TestStore.address.get(), creates: false)
      store = try #require(
        try await PostgreSQLSpaceStore.open(database, name: path, creates: creates))
    }
    _ = try await store.declare([
      SpaceTable(name: "t", columns: ["a", "b"], keyColumns: ["id"], granularity: .field)
    ])
    return store
  }

  private func close(_ store: any SpaceStore) async {
    await (store as? SQLiteSpaceStore)?.close()
    await (store as? PostgreSQLSpaceStore)?.database.close()
  }

  @Test("Commits of many tasks are all answered, each as one version, and none is lost or doubled")
  func manyWriters() async throws {
    let store = try await store()
    let start = try await store.state().head
    let rounds = 12
    let versions = try await withThrowingTaskGroup(of: [Int].self) { group in
      for writer in 0..<40 {
        group.addTask {
          var replica = TestReplica(seed: writer)
          var versions: [Int] = []
          let insert = change(.integer(Int64(writer)), .insert(["a": 0]))
          var base = try await store.commit(replica.commit(start, [insert])).accepted()
          for _ in 0..<rounds {
            let add = change(.integer(Int64(writer)), .add(["a": 1]))
            let commit = replica.commit(base, [add])
            base = try await store.commit(commit).accepted()
            // A repeated commit changes nothing.
            #expect(try await store.commit(commit).accepted() == base)
            versions.append(base.version)
          }
          return versions
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(versions).count == 40 * rounds)
    #expect(try await store.state().head.version == 40 * (rounds + 1))
    let answer = try await store.page(SyncPull(replica: nil, since: nil))
    guard case .page(let page) = answer else { throw GoneInTest() }
    #expect(page.changes.count == 40)
    #expect(page.changes.allSatisfy { $0.fields?["a"] == .integer(Int64(rounds)) })
    await close(store)
  }

  @Test("Commits up to any age are kept, and all are forgotten without one", .onlyOnSQLite)
  func forgottenByAge() async throws {
    let store = try await store()
    var replica = TestReplica(seed: 1)
    let start = try await store.state().head
    let insert = change(1, .insert(["a": 0]))
    _ = try await store.commit(replica.commit(start, [insert])).accepted()
    await close(store)
    for age in [Duration.seconds(Int64.max), .seconds(3_600)] {
      #expect(try await SyncSpace.forgetHistory(ofFileAt: path, olderThan: age) == 0)
    }
    #expect(try await SyncSpace.forgetHistory(ofFileAt: path, olderThan: nil) == 1)
  }

  @Test("A cancelled task neither loses the turn to write nor fails the commits of others")
  func cancellation() async throws {
    let store = try await store()
    let start = try await store.state().head
    for round in 0..<30 {
      let tasks = (0..<6).map { writer in
        Task {
          var replica = TestReplica(seed: round * 6 + writer)
          return try await store.commit(replica.commit(start, [])).accepted()
        }
      }
      for writer in 0..<6 where (writer + round) % 2 == 0 { tasks[writer].cancel() }
      for (writer, task) in tasks.enumerated() {
        let result = await task.result
        if (writer + round) % 2 == 1 {
          #expect(throws: Never.self) { try result.get() }
        }
      }
    }
    var replica = TestReplica(seed: 1_000)
    _ = try await store.commit(replica.commit(start, [])).accepted()
    await close(store)
  }

  @Test("An error of one commit of a group undoes that commit alone", .onlyOnSQLite)
  func savepoints() throws {
    let space = try TestSpace()
    var first = TestReplica(seed: 1)
    var second = TestReplica(seed: 2)
    let head = try space.head
    _ = try space.commit(second.commit(head, [change(2, .insert(["a": 1]))])).accepted()
    try space.connection.execute(
      """
      CREATE TRIGGER failing BEFORE UPDATE ON record WHEN new.id = '[2]'
        BEGIN SELECT RAISE(ABORT, 'failed'); END
      """)
    let base = try space.head
    let results = try space.run { space, generator in
      try [
        first.commit(base, [change(1, .insert(["a": 1]))]),
        // The first change of this one is written before the second one fails.
        second.commit(base, [change(3, .insert(["a": 1])), change(2, .update(["a": 2]))]),
        first.commit(base, [change(4, .insert(["a": 1]))]),
      ].map { commit in
        let entry = CommitQueue.Entry(commit: commit, account: nil)
        return try space.answer(entry, at: 0, using: &generator)
      }
    }
    #expect((try? results[0].get().accepted().version) == 2)
    #expect(throws: DatabaseError.self) { try results[1].get() }
    #expect((try? results[2].get().accepted().version) == 3)
    #expect(try space.changes(since: base).changes.map(\.key.id) == [[1], [4]])
  }

  @Test("A space is the same when it is opened again, and by two programs at a time")
  func reopening() async throws {
    let first = try await store()
    var replica = TestReplica(seed: 1)
    let start = try await first.state().head
    let insert = replica.commit(start, [change(1, .insert(["a": 1]))])
    let outcome = try await first.commit(insert)
    let second = try await store(creates: false)
    let state = try await first.state()
    #expect(try await second.state() == state)
    #expect(try await second.commit(insert) == outcome)
    let update = replica.commit(try outcome.accepted(), [change(1, .update(["a": 2]))])
    let updated = try await second.commit(update).accepted()
    #expect(try await first.state().head == updated)
    await close(first)
    await close(second)
    let third = try await store(creates: false)
    #expect(try await third.state().head == updated)
    await close(third)
  }

  @Test(
    "Waiting for a commit ends with one of this program or of another, or when it is cancelled",
    .timeLimit(.minutes(20)))
  func waiting() async throws {
    let first = try await store()
    let second = try await store(creates: false)
    var replica = TestReplica(seed: 1)
    var head = try await first.state().head
    for round in 0..<6 {
      let known = head
      async let own = first.waitForCommit(after: known)
      async let other = second.waitForCommit(after: known)
      let writer = round.isMultiple(of: 2) ? first : second
      head = try await writer.commit(replica.commit(known, [])).accepted()
      #expect(try await (own, other) == (head, head))
      // A commit that came before the call ends the wait, too.
      #expect(try await first.waitForCommit(after: known) == head)
    }
    let waiting = Task { [head] in try await second.waitForCommit(after: head) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    await close(first)
    await close(second)
  }

  @Test(
    "A space with a trigger or a view in its file, whose SQL would run for each reader, is refused",
    .onlyOnSQLite,
    arguments: [
      "TRIGGER found AFTER INSERT ON record BEGIN DELETE FROM history; END",
      "VIEW found AS SELECT * FROM record",
    ])
  func foreignPrograms(definition: String) async throws {
    await close(try await store())
    try DatabaseConnection(path: path).execute("CREATE \(definition)")
    let error = await #expect(throws: SpaceError.self) {
      try await SQLiteSpaceStore.open(path: path, creates: false)
    }
    #expect(error?.code == .notASpace && error?.description.contains("\"found\"") == true)
  }

  @Test(
    "Opening refuses a missing file unless it may create one, and another database always",
    .onlyOnSQLite)
  func otherFiles() async throws {
    await #expect(throws: DatabaseError.self) {
      try await SQLiteSpaceStore.open(path: path, creates: false)
    }
    let other = folder.path(of: "other.db")
    do {
      let connection = try DatabaseConnection(path: other)
      try connection.execute("PRAGMA journal_mode=DELETE")
      try connection.execute("CREATE TABLE t (a)")
    }
    let bytes = folder.bytes(of: "other.db")
    for creates in [true, false] {
      await #expect(throws: SpaceError.self) {
        try await SQLiteSpaceStore.open(path: other, creates: creates)
      }
    }
    #expect(folder.bytes(of: "other.db") == bytes)
  }
}
