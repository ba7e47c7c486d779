import Synchronization
import TandemRecords
import TandemSpace
import TandemSync
import TestPostgreSQL
import TestRandom
import Testing

@testable import TandemPostgreSQL

/// A node: a store of one space with connections of its own.
struct Node {
  let database: PostgreSQLDatabase
  let store: PostgreSQLSpaceStore

  init(_ address: String, name: String = "space") async throws {
    database = try await PostgreSQLDatabase.open(
      address: address, creates: true, maxConnectionCount: 4, maxWait: .seconds(3_600))
    store = try #require(
      try await PostgreSQLSpaceStore.open(database, name: name, creates: true))
    _ = try await store.declare([
      SpaceTable(name: "t", columns: ["a", "b"], keyColumns: ["id"], granularity: .field)
    ])
  }

  func close() async { await database.close() }
}

/// Whether all writers have ended.
private final class End: Sendable {
  let isReached = Atomic(false)
}

/// Makes the commits of one replica.
struct Replica {
  let id: SyncToken
  var sequence = 0
  private var generator: SplitMix64

  init(seed: Int) {
    generator = SplitMix64(seed: seed)
    id = SyncToken.random(using: &generator)
  }

  mutating func commit(_ base: SpaceRevision, _ changes: [SyncChange]) -> SyncCommit {
    sequence += 1
    return SyncCommit(
      replica: id, sequence: sequence, id: SyncToken.random(using: &generator), base: base,
      changes: changes)
  }
}

func change(_ id: Int, _ verb: SyncChange.Verb) -> SyncChange {
  SyncChange(key: SyncKey(table: "t", id: [.integer(Int64(id))]), verb: verb)
}

extension SyncOutcome {
  func accepted() throws -> SpaceRevision {
    guard case .accepted(let revision, _) = self else { throw NotAccepted(outcome: self) }
    return revision
  }
}

struct NotAccepted: Error { let outcome: SyncOutcome }

/// Sends a commit until the space has answered it.
private func push(_ commit: SyncCommit, to store: PostgreSQLSpaceStore) async throws -> (
  outcome: SyncOutcome, refusals: Int
) {
  var refusals = 0
  while true {
    do {
      return (try await store.commit(commit), refusals)
    } catch let refusal as SyncRequestError {
      #expect(refusal.code == .unavailable)
      refusals += 1
      guard refusals < 1_000 else { throw refusal }
    }
  }
}

@Suite("Spaces on PostgreSQL", .timeLimit(.minutes(20))) struct PostgreSQLSpaceStoreTests {
  @Test("A commit through one node ends the wait of another one", .timeLimit(.minutes(20)))
  func hints() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let (first, second) = (try await Node(address), try await Node(address))
    var replica = Replica(seed: 1)
    var head = try await first.store.state().head
    for round in 0..<20 {
      let (known, waits) = (head, round % 2 == 0 ? second.store : first.store)
      async let other = waits.waitForCommit(after: known)
      let writer = round % 2 == 0 ? first.store : second.store
      head = try await writer.commit(
        replica.commit(known, [change(round, .insert(["a": 1]))])
      ).accepted()
      #expect(try await other == head)
    }
    await first.close()
    await second.close()
  }

  @Test(
    "A commit that its node announces to nobody ends the wait of another one",
    .timeLimit(.minutes(20)))
  func lostHints() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let (silent, other) = (try await Node(address), try await Node(address))
    silent.database.endHints()
    var replica = Replica(seed: 1)
    var head = try await other.store.state().head
    for round in 0..<3 {
      let known = head
      async let seen = other.store.waitForCommit(after: known)
      head = try await silent.store.commit(
        replica.commit(known, [change(round, .insert(["a": 1]))])
      ).accepted()
      #expect(try await seen == head)
    }
    await silent.close()
    await other.close()
  }

  @Test(
    "Writers on three nodes and readers of pages see versions without gaps, each once",
    .timeLimit(.minutes(20)))
  func order() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    var nodes: [Node] = []
    for _ in 0..<3 { nodes.append(try await Node(address)) }
    let start = try await nodes[0].store.state().head
    let rounds = 25
    let end = End()
    let nodesInUse = nodes
    let versions = try await withThrowingTaskGroup(of: [Int].self) { group in
      for reader in 0..<3 {
        group.addTask {
          var base = start
          var seen: Set<Int> = []
          while true {
            let last = end.isReached.load(ordering: .relaxed)
            let answer = try await nodesInUse[reader].store.page(
              SyncPull(replica: nil, since: base))
            guard case .page(let page) = answer else { return [] }
            // All writers insert one record in each commit, so that each version is in the page once.
            #expect(
              page.changes.map(\.version)
                == Array(base.version..<page.revision.version).map { $0 + 1 })
            for change in page.changes { #expect(seen.insert(change.version).inserted) }
            base = page.revision
            if last { return [] }
          }
        }
      }
      try await withThrowingTaskGroup(of: Void.self) { writers in
        for writer in 0..<6 {
          writers.addTask {
            let store = nodesInUse[writer % 3].store
            var replica = Replica(seed: writer)
            for round in 0..<rounds {
              let base = try await store.state().head
              let insert = change(writer * 1_000 + round, .insert(["a": 1]))
              let commit = replica.commit(base, [insert])
              let outcome = try await push(commit, to: store).outcome
              _ = try outcome.accepted()
              // A repeat through another node gets the same answer.
              let other = nodesInUse[(writer + 1) % 3].store
              #expect(try await push(commit, to: other).outcome == outcome)
            }
          }
        }
        try await writers.waitForAll()
      }
      end.isReached.store(true, ordering: .relaxed)
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(versions.isEmpty)
    #expect(try await nodes[0].store.state().head.version == 6 * rounds)
    for node in nodes { await node.close() }
  }

  @Test("A node ends at once while a request and its hints wait for a server that is silent")
  func unreachable() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let proxy = try TestProxy(to: cluster.socket)
    defer { proxy.close() }
    let name = address.split(separator: "=").last.map(String.init) ?? ""
    let node = try await Node(
      cluster.address(of: name, through: proxy.folder) + " connect_timeout=3600")
    var replica = Replica(seed: 1)
    let base = try await node.store.state().head
    _ = try await node.store.commit(replica.commit(base, [])).accepted()
    proxy.stall()
    let request = Task { try await node.store.state() }
    await proxy.waitForStalledClients(2)
    request.cancel()
    await #expect(throws: CancellationError.self) { try await request.value }
    await node.close()
  }

  @Test(
    "A connection that breaks around a commit leaves no doubt: the repeated bytes get the outcome",
    .timeLimit(.minutes(20)))
  func cuts() async throws {
    let cluster = try TestCluster.shared.get()
    let proxy = try TestProxy(to: cluster.socket)
    let database = try cluster.makeDatabase()
    let address = database.replacing(
      cluster.socket.replacing("/.s.PGSQL.5432", with: ""), with: proxy.folder)
    let node = try await Node(address)
    var replica = Replica(seed: 1)
    var base = try await node.store.state().head
    base = try await node.store.commit(replica.commit(base, [change(1, .insert(["a": 0]))]))
      .accepted()
    var refusals = 0
    var round = 0
    // Each refusal left the outcome of the commit unknown.
    while refusals < 200 {
      if round % 2 == 0 {
        // COMMIT is in the second message.
        proxy.cut(.afterServer, atMessage: 2)
      } else {
        proxy.cut(round / 2 % 2 == 0 ? .beforeServer : .afterServer, atMessage: 1 + round / 4 % 3)
      }
      let commit = replica.commit(base, [change(1, .add(["a": 1]))])
      let (outcome, count) = try await push(commit, to: node.store)
      refusals += count
      base = try outcome.accepted()
      #expect(base.version == round + 2)
      round += 1
    }
    let page = try await node.store.page(SyncPull(replica: nil, since: nil))
    guard case .page(let page) = page else { throw CancellationError() }
    #expect(page.changes.map(\.fields) == [["a": .integer(Int64(round))]])
    await node.close()
    proxy.close()
  }

  @Test(
    "What was acknowledged survives a crash of the server, and the node goes on",
    .timeLimit(.minutes(20)))
  func crash() async throws {
    let cluster = try TestCluster(isDurable: true)
    let node = try await Node(try cluster.makeDatabase())
    var replica = Replica(seed: 1)
    var head = try await node.store.state().head
    for round in 0..<5 {
      let commit = replica.commit(head, [change(round, .insert(["a": 1]))])
      let outcome = try await node.store.commit(commit)
      head = try outcome.accepted()
      try cluster.kill()
      let refusal = await #expect(throws: SyncRequestError.self) {
        try await node.store.state()
      }
      #expect(refusal?.code == .unavailable)
      try cluster.start()
      #expect(try await node.store.state().head == head)
      #expect(try await node.store.commit(commit) == outcome)
    }
    await node.close()
  }

  @Test(
    "A database without the schema, of another format, and an address with a password are refused")
  func schema() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    func code(_ address: String, creates: Bool = false) async -> PostgreSQLError.Code? {
      let error = await #expect(throws: PostgreSQLError.self) {
        try await PostgreSQLDatabase.open(address: address, creates: creates)
      }
      return error?.code
    }
    #expect(await code(address) == .schema)
    try cluster.run(PostgreSQLSchema.sql, at: address)
    await (try PostgreSQLDatabase.open(address: address, creates: true)).close()
    // An earlier and a newer version.
    for format in [2, 4] {
      try cluster.run("UPDATE tandem.meta SET format = \(format)", at: address)
      #expect(await code(address, creates: true) == .schema)
    }
    #expect(await code("host=/nowhere") == .connection)
    #expect(throws: PostgreSQLError.self) {
      try PostgreSQLDatabase.check(address: "postgresql://u:secret@h/d")
    }
    #expect(throws: PostgreSQLError.self) { try PostgreSQLDatabase.check(address: "x=1") }
    try PostgreSQLDatabase.check(address: "service=x")
  }

  /// The commits of a replica each, which share a transaction, and the number of round trips that it takes.
  private func roundTrips(
    _ changes: [[SyncChange]], _ node: Node, _ tables: [SpaceTable], firstSeed: Int
  ) async throws -> (outcomes: [SyncOutcome], count: Int) {
    _ = try await node.store.declare(tables)
    let head = try await node.store.state().head
    let entries = changes.enumerated().map { seed, changes in
      var replica = Replica(seed: firstSeed + seed)
      return CommitQueue.Entry(commit: replica.commit(head, changes), account: nil)
    }
    let space = node.store.space
    return try await node.database.run { connection in
      let before = connection.exchangeCount
      let rows = PostgreSQLSpaceConnection(connection, space: space, place: "space", writes: true)
      var generator = SplitMix64(seed: 1)
      let outcomes = try SpaceTables(rows).answer(entries, at: 0, using: &generator)
      try rows.commit()
      return (try outcomes.map { try $0.get() }, connection.exchangeCount - before)
    }
  }

  @Test("A batch takes two round trips, and two more for each commit with constraints")
  func roundTrips() async throws {
    let node = try await Node(try TestCluster.shared.get().makeDatabase())
    let plain = try await roundTrips(
      (0..<40).map { id in (0..<5).map { change(id * 5 + $0, .insert(["a": 1])) } }, node, [],
      firstSeed: 100)
    #expect(plain.outcomes.allSatisfy { (try? $0.accepted()) != nil })
    #expect(plain.count == 2)
    let tables = [
      SpaceTable(
        name: "child", columns: ["p", "u"], keyColumns: ["id"], granularity: .field,
        constraints: [
          .unique([ComparedColumn("u")]),
          .reference(["p"], to: "parent", [ComparedColumn("id")]),
        ]),
      SpaceTable(
        name: "parent", columns: ["n"], keyColumns: ["id"], granularity: .field, constraints: []),
    ]
    func insert(_ table: String, _ id: Int, _ fields: Record) -> SyncChange {
      SyncChange(key: SyncKey(table: table, id: [.integer(Int64(id))]), verb: .insert(fields))
    }
    let children = (0..<10).map { commit in
      [insert("parent", commit, ["n": 1])]
        + (0..<50).map {
          insert(
            "child", commit * 50 + $0,
            ["p": .integer(Int64(commit)), "u": .integer(Int64(commit * 50 + $0))])
        }
    }
    let some = try await roundTrips(children, node, tables, firstSeed: 200)
    #expect(some.outcomes.allSatisfy { (try? $0.accepted()) != nil })
    #expect(some.count <= 2 + 3 * 10, "\(some.count)")
    // A parent with more children than are read ahead.
    let removal = SyncChange(key: SyncKey(table: "parent", id: [1]), verb: .delete)
    let doubled = insert("child", 1_000, ["p": 1, "u": 7])
    let refused = try await roundTrips([[removal], [doubled]], node, [], firstSeed: 300)
    guard case .refused(let needed) = refused.outcomes[0] else {
      throw NotAccepted(outcome: refused.outcomes[0])
    }
    #expect(needed.map(\.reason) == [.needed])
    guard case .refused(let objections) = refused.outcomes[1] else {
      throw NotAccepted(outcome: refused.outcomes[1])
    }
    #expect(objections.map(\.reason) == [.taken])
    // What the first commit of a batch takes, the second one cannot take.
    let rivals = try await roundTrips(
      (0..<2).map { [insert("child", 2_000 + $0, ["u": 9_000])] }, node, [], firstSeed: 400)
    _ = try rivals.outcomes[0].accepted()
    guard case .conflict(let taken) = rivals.outcomes[1] else {
      throw NotAccepted(outcome: rivals.outcomes[1])
    }
    #expect(taken.map(\.reason) == [.taken])
    await node.close()
  }

  @Test("Commits of a group that the server refuses do not take the others with them")
  func group() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let node = try await Node(address)
    try cluster.run(
      """
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'failed'; END $$;
      CREATE TRIGGER failing BEFORE INSERT ON tandem.record FOR EACH ROW
        WHEN (new.id = '[7]') EXECUTE FUNCTION fail();
      """, at: address)
    let head = try await node.store.state().head
    let results = await withTaskGroup(of: (Int, Result<SyncOutcome, any Error>).self) { group in
      for id in 0..<20 {
        group.addTask {
          var replica = Replica(seed: id)
          let commit = replica.commit(head, [change(id, .insert(["a": 1]))])
          do {
            return (id, .success(try await node.store.commit(commit)))
          } catch {
            return (id, .failure(error))
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
    for id in 0..<20 {
      #expect((try? results[id]?.get().accepted()) != nil || id == 7)
    }
    #expect(throws: PostgreSQLError.self) { try results[7]?.get() }
    #expect(try await node.store.state().head.version == 19)
    await node.close()
  }
}
