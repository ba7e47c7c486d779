import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

@Suite("Files that a driver keeps in step through a space in a file", .timeLimit(.minutes(20)))
struct DatabaseReplicaTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func attached(_ name: String, to store: SQLiteSpaceStore) async throws -> Database {
    let database = try Database(path: folder.path(of: name))
    let tables = try await database.write { transaction in
      try transaction.execute("CREATE TABLE t (id TEXT PRIMARY KEY, v INTEGER)")
      var generator = SystemRandomNumberGenerator()
      let tables = ReplicaTables(transaction.connection)
      try tables.attach([AttachedTable("t")], to: "space", using: &generator)
      return try tables.declarations()
    }
    _ = try await store.declare(tables)
    return database
  }

  @Test("One run brings a file to the head; edits of both sides arrive")
  func settled() async throws {
    let store = try await SQLiteSpaceStore.open(
      path: folder.path(of: "space.tandem"), creates: true)
    let (a, b) = (try await attached("a.db", to: store), try await attached("b.db", to: store))
    try await a.write { _ = try $0.execute("INSERT INTO t VALUES ('a', 1)") }
    try await b.write { _ = try $0.execute("INSERT INTO t VALUES ('b', 2)") }
    for database in [a, b, a] {
      let driver = SyncDriver(DatabaseReplica(database), LocalRemote(store))
      let status = try await driver.run(until: .settled(maxFailureCount: 1))
      #expect(status == .upToDate(try await store.state().head))
    }
    for database in [a, b] {
      let ids: [String] = try await database.read {
        try $0.fetchValues("SELECT id FROM t ORDER BY id")
      }
      #expect(ids == ["a", "b"])
      #expect(try await DatabaseReplica(database).summary().isUpToDate)
      await database.close()
    }
    await store.close()
  }

  @Test("A run ends when the file is attached to another space meanwhile, and sends nothing")
  func attachedElsewhere() async throws {
    let store = try await SQLiteSpaceStore.open(
      path: folder.path(of: "space.tandem"), creates: true)
    let database = try await attached("a.db", to: store)
    let replica = DatabaseReplica(database)
    _ = try await replica.performAndReport(.look, inSpaceNamed: "space")
    try await replica.detach()
    try await database.write { transaction in
      var generator = SystemRandomNumberGenerator()
      try ReplicaTables(transaction.connection).attach(
        [AttachedTable("t")], to: "other", using: &generator)
    }
    for step in [SyncStep.look, .requirePull, .freeze] {
      let error = await #expect(throws: ReplicaError.self) {
        _ = try await replica.performAndReport(step, inSpaceNamed: "space")
      }
      #expect(error?.code == .otherSpace)
    }
    await database.close()
    await store.close()
  }

  @Test(
    "A run sends all parts of a large commit, which is one version, and counts the rows of each")
  func parts() async throws {
    let store = try await SQLiteSpaceStore.open(
      path: folder.path(of: "space.tandem"), creates: true)
    let database = try await attached("a.db", to: store)
    let space = SyncSpace(
      name: "space", remote: LocalRemote(store), head: { try await store.state().head }, end: {})
    let replica = DatabaseReplica(database, limits: SyncLimits(maxCommitChangeCount: 4))
    for count in [10, 4] {
      try await database.write { transaction in
        for number in 0..<count {
          _ = try transaction.execute("INSERT INTO t VALUES (\("\(count) \(number)"), 1)")
        }
      }
      let before = try await store.state().head.version
      #expect(try await replica.sync(with: space).pushedCount == count)
      #expect(try await store.state().head.version == before + 1)
      #expect(try await replica.summary().isUpToDate)
    }
    await database.close()
    await store.close()
  }

  @Test(
    "A file beyond the quota of its space keeps its rows and receives others, and goes on when there is room",
    arguments: [false, true])
  func quota(isKilled: Bool) async throws {
    var limits = SyncLimits()
    limits.maxSpaceRecordCount = 3
    let path = folder.path(of: "space.tandem")
    let store = try await SQLiteSpaceStore.open(path: path, creates: true, limits: limits)
    let (a, b) = (try await attached("a.db", to: store), try await attached("b.db", to: store))
    func sync(_ database: Database) async throws -> SyncStatus {
      try await SyncDriver(DatabaseReplica(database), LocalRemote(store))
        .run(until: .settled(maxFailureCount: 1))
    }
    func ids(_ database: Database) async throws -> [String] {
      try await database.read { try $0.fetchValues("SELECT id FROM t ORDER BY id") }
    }
    try await a.write { _ = try $0.execute("INSERT INTO t VALUES ('a', 1), ('b', 1)") }
    func expectUpToDate(_ databases: [Database]) async throws {
      for database in databases {
        #expect(try await sync(database) == .upToDate(try await store.state().head))
      }
    }
    try await expectUpToDate([a, b])
    try await b.write { _ = try $0.execute("INSERT INTO t VALUES ('x', 1), ('y', 1), ('z', 1)") }
    // A commit that an earlier run has frozen, and may have sent, is no obstacle either.
    if isKilled { #expect(try await DatabaseReplica(b).perform(.freeze).outbox != nil) }
    for _ in 0..<2 {
      guard case .blocked(.refused(let refusal)) = try await sync(b) else { throw Unaccepted() }
      #expect(refusal.code == .overQuota && refusal.message.contains("would have 5"))
      #expect(try await ids(b) == ["a", "b", "x", "y", "z"])
    }
    try await a.write { _ = try $0.execute("INSERT INTO t VALUES ('c', 1)") }
    try await expectUpToDate([a])
    guard case .blocked(.refused) = try await sync(b) else { throw Unaccepted() }
    #expect(try await ids(b) == ["a", "b", "c", "x", "y", "z"])
    try await b.write { _ = try $0.execute("DELETE FROM t WHERE id IN ('a', 'x', 'y')") }
    try await expectUpToDate([b, a])
    #expect(try await ids(a) == ["b", "c", "z"])
    #expect(try await ids(b) == ["b", "c", "z"])
    #expect(try await DatabaseReplica(b).keptEdits(.all).isEmpty)
    for database in [a, b] { await database.close() }
    await store.close()
  }

  private struct Unaccepted: Error {}

  @Test("The commit that was just frozen is the one in the file, until another process settles it")
  func frozenCommit() async throws {
    let store = try await SQLiteSpaceStore.open(
      path: folder.path(of: "space.tandem"), creates: true)
    let database = try await attached("a.db", to: store)
    let (replica, other) = (DatabaseReplica(database), DatabaseReplica(database))
    let driver = SyncDriver(replica, LocalRemote(store))
    try await driver.run(until: .settled(maxFailureCount: 1))
    for round in 1...2 {
      try await database.write {
        _ = try $0.execute("INSERT INTO t VALUES (\("row \(round)"), 1)")
      }
      let outbox = try #require(try await replica.perform(.freeze).outbox)
      #expect(outbox.isNew)
      #expect(try await other.perform(.look).outbox?.isNew == false)
      let stored = try await other.outbox(part: 1)
      if round == 1 {
        #expect(try await replica.outbox(part: 1) == stored)
        #expect(try await replica.outbox(part: 1) == stored)
      }
      #expect(stored?.id == outbox.commit)
      try await SyncDriver(other, LocalRemote(store)).run(until: .settled(maxFailureCount: 1))
      // Sent again, it gets the outcome that it had, which changes nothing.
      if let late = try await replica.outbox(part: 1) {
        #expect(round == 2)
        let outcome = try await store.commit(late)
        guard case .accepted(let revision, _) = outcome else { throw Unaccepted() }
        #expect(try await store.state().head == revision)
        _ = try await replica.perform(.settle(outcome, of: late.id))
      }
      try await driver.run(until: .settled(maxFailureCount: 1))
      #expect(try await replica.summary().isUpToDate)
    }
    await database.close()
    await store.close()
  }

  @Test("An edit by another connection reaches the other file while both run")
  func forever() async throws {
    let store = try await SQLiteSpaceStore.open(
      path: folder.path(of: "space.tandem"), creates: true)
    let (a, b) = (try await attached("a.db", to: store), try await attached("b.db", to: store))
    let (statuses, continuation) = AsyncStream.makeStream(of: SyncStatus.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await SyncDriver(DatabaseReplica(a), LocalRemote(store)).run(until: .forever)
      }
      group.addTask {
        let driver = SyncDriver(
          DatabaseReplica(b), LocalRemote(store),
          publish: { status, _ in continuation.yield(status) })
        try await driver.run(until: .forever)
      }
      var isWritten = false
      for await status in statuses {
        guard case .upToDate(let revision) = status else { continue }
        if revision.version > 0 { break }
        if !isWritten {
          isWritten = true
          let other = try DatabaseConnection(path: folder.path(of: "a.db"))
          try other.execute("INSERT INTO t VALUES ('new', 7)")
        }
      }
      group.cancelAll()
      while let result = await group.nextResult() {
        if case .failure(let error) = result { #expect(error is CancellationError) }
      }
    }
    let values: [Int] = try await b.read { try $0.fetchValues("SELECT v FROM t") }
    #expect(values == [7])
    await a.close()
    await b.close()
    await store.close()
  }
}
