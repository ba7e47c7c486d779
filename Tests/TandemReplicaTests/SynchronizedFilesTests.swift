import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#endif

@Suite("Files kept in step, as an application does it", .timeLimit(.minutes(20)))
struct SynchronizedFilesTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let table = AttachedTable("note", policies: ["LIKES": .counter])

  private func space() async throws -> SyncSpace {
    try await .file(folder.path(of: "shared.space"), creates: true)
  }

  /// A file with one note, which the space has too.
  private func attached(
    _ name: String, to space: SyncSpace, _ tables: [AttachedTable] = [table]
  ) async throws -> (database: Database, replica: DatabaseReplica) {
    let database = try Database(path: folder.path(of: name))
    try await database.write { transaction in
      try transaction.execute(
        "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER NOT NULL DEFAULT 0)")
      try transaction.execute("INSERT INTO note VALUES ('n', 'old', 5)")
    }
    let replica = DatabaseReplica(database)
    try await replica.attach(tables, to: space)
    return (database, replica)
  }

  private func notes(_ database: Database) async throws -> [Record] {
    try await database.read { try $0.fetchAll("SELECT * FROM note ORDER BY id") }
  }

  @Test("A foreign key that a table gets during a synchronization does not act on what is received")
  func newForeignKey() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    try await one.sync(with: space)
    try await two.sync(with: space)
    try await a.write { try $0.execute("UPDATE note SET title = 'new'") }
    try await one.sync(with: space)
    try await two.sync(with: space) { status, _ in
      guard case .pulling = status else { return }
      _ = try? b.write {
        try $0.execute("CREATE UNIQUE INDEX title ON note (title)")
        try $0.execute(
          """
          CREATE TABLE line (
            id TEXT PRIMARY KEY, note TEXT REFERENCES note (title) ON UPDATE CASCADE)
          """)
        try $0.execute("INSERT INTO line VALUES ('1', 'old')")
      }
    }
    let lines: [Record] = try await b.read { try $0.fetchAll("SELECT * FROM line") }
    #expect(
      lines == [["id": "1", "note": "old"]], "a table that is not synchronized stays as it is")
    #expect(try await notes(b).first?["title"] == "new")
  }

  @Test("A trigger that ends the transaction does not stop a file")
  func endedTransaction() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    try await one.sync(with: space)
    try await two.sync(with: space)
    try await b.write {
      try $0.execute(
        """
        CREATE TRIGGER final BEFORE UPDATE ON note BEGIN SELECT RAISE(ROLLBACK, 'final'); END
        """)
    }
    try await a.write {
      try $0.execute("UPDATE note SET title = 'new'")
      try $0.execute("INSERT INTO note VALUES ('m', 'more', 1)")
    }
    try await one.sync(with: space)
    try await two.sync(with: space)
    #expect(try await notes(a) == notes(b))
    #expect(try await two.status().state == .upToDate)
  }

  @Test("A conflict stays open with three versions until it is resolved; counters add")
  func conflict() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    #expect(try await one.sync(with: space).pushedCount == 1)
    #expect(try await two.sync(with: space).pushedCount == 0)
    #expect(try await one.status().state == .upToDate)
    for (database, title) in [(a, "x"), (b, "y")] {
      try await database.write {
        try $0.execute("UPDATE note SET title = \(title), likes = likes + 1")
      }
    }
    #expect(try await two.status().state == .pending)
    #expect(try await two.status().pendingCount == 1)
    try await one.sync(with: space)
    let report = try await two.sync(with: space)
    #expect(report.revision == (try await space.revision()))
    #expect(report.pulledCount == 1)
    #expect(report.conflictCount == 1 && report.rejectedCount == 0)
    let conflict = try #require(try await two.keptEdits(.conflicts).first)
    #expect(conflict.table == "note" && conflict.primaryKey == ["n"])
    #expect(conflict.fields == ["title"] && conflict.resolution == .unresolved)
    #expect(conflict.base?["title"] == "old" && conflict.local?["title"] == "y")
    #expect(conflict.remote?["title"] == "x")
    #expect(try await two.status().state == .conflicts)
    // Only the field in conflict is written: the counter has moved on.
    try await two.resolve(.one(conflict.id), by: .fields(["title": "both"]))
    #expect(try await two.keptEdits(.conflicts).isEmpty)
    #expect(
      try await two.keptEdits(.conflicts, includingResolved: true).map(\.resolution) == [.chosen])
    await #expect { try await two.resolve(.one(conflict.id), by: .local) } throws: {
      ($0 as? ReplicaError)?.code == .unknownEdit
    }
    try await two.sync(with: space)
    try await one.sync(with: space)
    let expected: [Record] = [["id": "n", "title": "both", "likes": 7]]
    #expect(try await notes(a) == expected)
    #expect(try await notes(b) == expected)
    await a.close()
    await b.close()
    await space.close()
  }

  @Test("A resolution with a column that is not synchronized changes nothing")
  func unknownField() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    try await one.sync(with: space)
    try await b.write { try $0.execute("UPDATE note SET title = 'mine'") }
    try await two.sync(with: space)
    let id = try #require(try await two.keptEdits(.conflicts).first).id
    await #expect { try await two.resolve(.one(id), by: .fields(["titel": 1])) } throws: {
      ($0 as? ReplicaError)?.message.contains("synchronizes title, likes") == true
    }
    #expect(try await two.keptEdits(.conflicts).count == 1)
    await a.close()
    await b.close()
    await space.close()
  }

  @Test("Waiting for a revision ends when another file has made it")
  func upToRevision() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    try await two.sync(with: space)
    let head = try await space.revision()
    let next = SpaceRevision(epoch: head.epoch, version: head.version + 1, mark: 0)
    async let reached = two.sync(with: space, upTo: next)
    try await a.write { try $0.execute("INSERT INTO note VALUES ('m', 'new', 0)") }
    let report = try await one.sync(with: space)
    #expect(try await reached.revision == report.revision)
    #expect(try await notes(b).count == 2)
    let other = SpaceRevision(epoch: SyncToken(bits: 1), version: 1, mark: 0)
    await #expect { try await two.sync(with: space, upTo: other) } throws: {
      ($0 as? ReplicaError)?.code == .otherHistory
    }
    await a.close()
    await b.close()
    await space.close()
  }

  @Test("Statuses and conflicts are delivered as they change, while the file is kept in step")
  func sequences() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    try await one.sync(with: space)
    try await two.sync(with: space)
    try await a.write { try $0.execute("UPDATE note SET title = 'theirs'") }
    try await one.sync(with: space)
    try await b.write { try $0.execute("UPDATE note SET title = 'mine'") }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await two.run(with: space) }
      var states: [ReplicaStatus.State] = []
      for try await status in two.statusUpdates {
        states.append(status.state)
        if status.state == .conflicts { break }
      }
      #expect(states.first == .pending || states == [.conflicts])
      var isResolved = false
      for try await conflicts in two.keptEditUpdates(.conflicts) {
        if let conflict = conflicts.first {
          try await two.resolve(.one(conflict.id), by: .local)
          isResolved = true
        } else if isResolved {
          break
        }
      }
      for try await status in two.statusUpdates where status.state == .upToDate {
        break
      }
      group.cancelAll()
      await #expect(throws: CancellationError.self) { try await group.waitForAll() }
    }
    try await one.sync(with: space)
    #expect(try await notes(a).first?["title"] == "mine")
    await a.close()
    await b.close()
    await space.close()
  }

  @Test("A file sends nothing to a space that it is not attached to, not even in its first run")
  func otherSpace() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let other = try await SyncSpace.file(folder.path(of: "other.space"), creates: true)
    for policy in [EpochPolicy?.none, .union, .adoptRemote] {
      let replica = policy.map { DatabaseReplica(a, epochPolicy: $0) } ?? one
      await #expect { try await replica.sync(with: other) } throws: {
        ($0 as? ReplicaError)?.code == .otherSpace
      }
      await #expect { try await replica.run(with: other) } throws: {
        ($0 as? ReplicaError)?.code == .otherSpace
      }
    }
    #expect(try await other.revision().version == 0)
    try await one.sync(with: space)
    #expect(try await one.status().state == .upToDate)
    await #expect { try await one.sync(with: other) } throws: {
      ($0 as? ReplicaError)?.code == .otherSpace
    }
    #expect(try await one.status().state == .upToDate)
  }

  @Test("A file whose space was replaced waits for a decision, and follows it")
  func lostHistory() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    try await one.sync(with: space)
    await space.close()
    for suffix in ["", "-wal", "-shm"] { unlink(folder.path(of: "shared.space") + suffix) }
    let other = try await self.space()
    await #expect { try await one.sync(with: other) } throws: {
      ($0 as? ReplicaError)?.code == .undecided
    }
    #expect(try await one.status().state == .blocked)
    try await DatabaseReplica(a, epochPolicy: .union).sync(with: other)
    #expect(try await one.status().state == .upToDate)
    #expect(try await other.revision().version == 1)
    await a.close()
    await other.close()
  }

  @Test(
    "A column that was added, filled and dropped or renamed before it was sent takes no edit along",
    arguments: ["DROP COLUMN extra", "RENAME COLUMN extra TO more"])
  func unsentColumn(change: String) async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    try await one.sync(with: space)
    try await two.sync(with: space)
    try await two.changeSchema(by: ["ALTER TABLE note ADD COLUMN extra TEXT"])
    try await b.write { try $0.execute("UPDATE note SET title = 'precious', extra = 'kept'") }
    try await two.changeSchema(by: ["ALTER TABLE note \(change)"])
    try await two.sync(with: space)
    try await one.sync(with: space)
    #expect(try await two.keptEdits(.rejected).isEmpty)
    #expect(try await notes(a).map { $0["title"] } == ["precious"])
    #expect(try await notes(b).map { $0["title"] } == ["precious"])
    if change.hasPrefix("RENAME") { #expect(try await notes(b).map { $0["more"] } == ["kept"]) }
    // A file that gets the column gets the value.
    try await one.changeSchema(by: ["ALTER TABLE note ADD COLUMN extra TEXT"])
    try await one.sync(with: space)
    #expect(try await notes(a).map { $0["extra"] } == ["kept"])
  }

  @Test(
    "A copy that lacks a column gives its values back to a space that was restored without it",
    arguments: [EpochPolicy.union, .adoptLocal])
  func restoredBeforeColumn(policy: EpochPolicy) async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    try await one.sync(with: space)
    try await two.sync(with: space)
    let path = folder.path(of: "shared.space")
    let backup = folder.path(of: "backup.space")
    let file = try Database(path: path)
    try await file.withWriter { try $0.execute("VACUUM INTO ?", .text(backup)) }
    await file.close()
    try await one.changeSchema(by: ["ALTER TABLE note ADD COLUMN extra TEXT"])
    try await a.write { try $0.execute("INSERT INTO note VALUES ('o', 'other', 1, 'kept')") }
    try await one.sync(with: space)
    try await two.sync(with: space)
    await space.close()
    for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
    #expect(rename(backup, path) == 0)
    let restored = try await SyncSpace.file(path)
    try await DatabaseReplica(b, epochPolicy: policy).sync(with: restored)
    #expect(try await notes(b).map { $0["id"] } == ["n", "o"])
    #expect(try await two.keptEdits(.rejected).isEmpty)
    try await DatabaseReplica(a, epochPolicy: .union).sync(with: restored)
    #expect(try await notes(a).last?["extra"] == "kept")
  }

  @Test("A space whose file is moved away and back is followed again; the status has the cause")
  func movedSpace() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    try await one.sync(with: space)
    let (states, state) = AsyncStream<(SyncStatus, String)>.makeStream()
    let run = Task {
      try await one.run(with: space) {
        state.yield(($0, $1.map { "\($0)" } ?? ""))
      }
    }
    var iterator = states.makeAsyncIterator()
    func wait(for isReached: (SyncStatus) -> Bool) async -> String? {
      while let (state, cause) = await iterator.next() { if isReached(state) { return cause } }
      return nil
    }
    func isUpToDate(_ version: Int) -> (SyncStatus) -> Bool {
      { if case .upToDate(let revision) = $0 { revision.version == version } else { false } }
    }
    _ = await wait(for: isUpToDate(1))
    let (path, away) = (folder.path(of: "shared.space"), folder.path(of: "away"))
    for version in 2...3 {
      #expect(rename(path, away) == 0)
      try await a.write { try $0.execute("UPDATE note SET likes = likes + 1") }
      #expect(await wait { $0 == .offline }?.contains("shared.space") == true)
      #expect(rename(away, path) == 0)
      #expect(await wait(for: isUpToDate(version)) != nil)
    }
    run.cancel()
    await #expect(throws: CancellationError.self) { try await run.value }
    await a.close()
    await space.close()
  }

  @Test("A space whose file is replaced is read anew, and not the file that is gone")
  func replacedSpace() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    try await one.sync(with: space)
    let other = try await SyncSpace.file(folder.path(of: "other.space"), creates: true)
    let revision = try await other.revision()
    await other.close()
    #expect(rename(folder.path(of: "other.space"), folder.path(of: "shared.space")) == 0)
    // SQLite would recover the log of the former file into this one.
    for suffix in ["-wal", "-shm"] { unlink(folder.path(of: "shared.space" + suffix)) }
    // The first request finds out.
    await #expect(throws: DatabaseError.self) { try await space.revision() }
    #expect(try await space.revision() == revision)
    await a.close()
    await space.close()
  }

  @Test("Rules that are given replace those that the file keeps for the table")
  func givenRules() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space, [AttachedTable("note")])
    let (b, _) = try await attached("b.db", to: space, [AttachedTable("note")])
    let merging = ReplicaMerging(["note": TableMerging(fields: ["title": .policy(.textMerge)])])
    let two = DatabaseReplica(b, merging: merging)
    try await a.write { try $0.execute("UPDATE note SET title = 'one two three'") }
    try await one.sync(with: space)
    try await b.write { try $0.execute("UPDATE note SET title = 'one two three'") }
    try await two.sync(with: space)
    try await a.write { try $0.execute("UPDATE note SET title = 'ONE two three'") }
    try await one.sync(with: space)
    try await b.write { try $0.execute("UPDATE note SET title = 'one two THREE'") }
    try await two.sync(with: space)
    #expect(try await notes(b).first?["title"] == "ONE two THREE")
    #expect(try await two.keptEdits(.conflicts).isEmpty)
    await a.close()
    await b.close()
    await space.close()
  }

  @Test("A file that is not attached, or attached already, says so; a wrong policy is refused")
  func mistakes() async throws {
    let space = try await space()
    let database = try Database(path: folder.path(of: "a.db"))
    try await database.write { try $0.execute("CREATE TABLE note (id TEXT PRIMARY KEY, v)") }
    let replica = DatabaseReplica(database)
    func code(_ body: () async throws -> Void) async -> ReplicaError.Code? {
      do {
        try await body()
        return nil
      } catch {
        return (error as? ReplicaError)?.code
      }
    }
    #expect(await code { try await replica.sync(with: space) } == .notAttached)
    #expect(await code { _ = try await replica.status() } == .notAttached)
    #expect(await code { _ = try await replica.keptEdits(.conflicts) } == .notAttached)
    #expect(await code { _ = try await replica.keptEdits(.rejected) } == .notAttached)
    #expect(await code { try await replica.discard(.one(1)) } == .notAttached)
    #expect(await code { try await replica.detach() } == .notAttached)
    let wrong = AttachedTable("note", policies: ["w": .counter])
    #expect(await code { try await replica.attach([wrong], to: space) } == .unsuitable)
    #expect(await code { _ = try await replica.status() } == .notAttached)
    try await replica.attach([AttachedTable("note")], to: space)
    #expect(
      await code { try await replica.attach([AttachedTable("note")], to: space) }
        == .alreadyAttached)
    #expect(await code { try await replica.discard(.one(1)) } == .unknownEdit)
    #expect(await code { try await replica.retry(.one(1)) } == .unknownEdit)
    try await replica.detach()
    await database.close()
    await space.close()
  }

  @Test("A run for ever waits while the disk is full")
  func fullDisk() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let (b, two) = try await attached("b.db", to: space)
    try await one.sync(with: space)
    try await two.sync(with: space)
    try await b.write { transaction in
      let count = try transaction.connection.integer("PRAGMA page_count") ?? 1
      _ = try transaction.connection.rows("PRAGMA max_page_count = \(count)")
    }
    try await a.write {
      try $0.execute("UPDATE note SET title = \(String(repeating: "long", count: 100_000))")
    }
    let revision = try await one.sync(with: space).revision
    let statuses = AsyncStream<SyncStatus>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await two.run(with: space) { status, _ in statuses.continuation.yield(status) }
      }
      for await status in statuses.stream where status == .offline { break }
      try await b.write { transaction in
        _ = try transaction.connection.rows("PRAGMA max_page_count = 1000000")
      }
      for await status in statuses.stream where status == .upToDate(revision) { break }
      group.cancelAll()
    }
    #expect(try await notes(b) == notes(a))
    for database in [a, b] { await database.close() }
    await space.close()
  }

  @Test("A change of the schema that would clear a column in all copies is refused")
  func clearedColumn() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    let drop = "ALTER TABLE note DROP COLUMN title"
    let add = "ALTER TABLE note ADD COLUMN title TEXT"
    await #expect(throws: ReplicaError.self) { try await one.changeSchema(by: [drop, add]) }
    try await one.changeSchema(by: [drop])
    try await one.changeSchema(by: [add])
    // Its values come from another column.
    try await one.changeSchema(by: [
      "ALTER TABLE note RENAME COLUMN title TO former", add, "UPDATE note SET title = former",
      "ALTER TABLE note DROP COLUMN former",
    ])
    await a.close()
    await space.close()
  }

  @Test("A column that a change of the schema renames keeps its policy")
  func renamedCounter() async throws {
    let space = try await space()
    let (a, one) = try await attached("a.db", to: space)
    try await one.sync(with: space)
    try await one.changeSchema(by: [
      "ALTER TABLE note RENAME COLUMN title TO text",
      "ALTER TABLE note RENAME COLUMN likes TO stars",
    ])
    #expect(try await one.status().tables[0].policies == ["stars": .counter])
    #expect(try await one.status().voidPolicies.isEmpty)
    // A table that is built anew has no renamed columns.
    try await one.changeSchema(by: [
      "CREATE TABLE n (id TEXT PRIMARY KEY, text TEXT, hearts INTEGER)",
      "INSERT INTO n SELECT * FROM note", "DROP TABLE note", "ALTER TABLE n RENAME TO note",
    ])
    #expect(try await one.status().voidPolicies == ["note.stars=counter"])
    await a.close()
    await space.close()
  }
}
