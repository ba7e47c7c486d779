import Synchronization
import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

@testable import TandemLiveQueries

@Suite("Runs of equal queries", .timeLimit(.minutes(20)))
struct SharedEvaluationTests {
  let folder: TemporaryFolder
  static let query = LiveQuery("SELECT id, name FROM place", key: "id")

  init() throws { folder = try TemporaryFolder() }

  private func database(_ statements: String...) async throws -> Database {
    let database = try await folder.database(
      "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)",
      "INSERT INTO place VALUES (1, 'Büsingen'), (2, 'Baarle')")
    for sql in statements { try await database.run(sql) }
    return database
  }

  private func run(_ statements: [String], in database: Database) async throws {
    try await database.write { transaction in
      for sql in statements { try transaction.connection.execute(sql) }
    }
  }

  /// The number of evaluations in progress.
  private func evaluationCount(in database: Database) async throws -> Int {
    try await database.changeFeed().withSharedObjects { $0.count }
  }

  // MARK: Sharing

  @Test("share one evaluation per kind of result and delivery, and the last one ends it")
  func sharing() async throws {
    let database = try await database()
    do {
      var first = Self.query.differences(in: database).makeAsyncIterator()
      var second = Self.query.map(\.values.count).differences(in: database).makeAsyncIterator()
      _ = try await (first.next(), second.next())
      #expect(try await evaluationCount(in: database) == 1)
      var list = Self.query.listDifferences(in: database).makeAsyncIterator()
      var values = Self.query.values(in: database).makeAsyncIterator()
      _ = try await (list.next(), values.next())
      #expect(try await evaluationCount(in: database) == 2)
      var each = Self.query.differences(in: database, delivery: .everyCommit).makeAsyncIterator()
      _ = try await each.next()
      #expect(try await evaluationCount(in: database) == 3)
    }
    #expect(try await comesToHold { try await evaluationCount(in: database) == 0 })
    #expect(try await comesToHold { try await database.changeFeed().isIdle })
  }

  @Test("are those with the same bytes: another form, value or key makes another query")
  func identity() throws {
    let composed = "SELECT id FROM t WHERE name = 'é'"
    let decomposed = "SELECT id FROM t WHERE name = 'e\u{301}'"
    let definitions: [QueryDefinition] = [
      .table("t"), .table("T"), .query(SQL(text: composed), key: ["id"]),
      .query(SQL(text: decomposed), key: ["id"]), .query(SQL(text: composed), key: ["id", "name"]),
      .query("SELECT id FROM t WHERE v = \(1)", key: ["id"]),
      .query("SELECT id FROM t WHERE v = \(1.0)", key: ["id"]),
      .query("SELECT id FROM t WHERE v = \("1")", key: ["id"]),
      .records(RecordTable(type: "T", name: "t", columns: ["a", "b"], key: ["c"]), ""),
      .records(RecordTable(type: "T", name: "t", columns: ["b"], key: ["a", "c"]), ""),
    ]
    let identities = definitions.compactMap(\.identity)
    #expect(Set(identities).count == definitions.count)
    #expect(identities == definitions.compactMap(\.identity))
    let unstorable: SQL = "SELECT id FROM t WHERE v = \(UInt64.max)"
    #expect(QueryDefinition.query(unstorable, key: ["id"]).identity == nil)
  }

  @Test("one that needs no rows at the start gets the same changes, and others still get all rows")
  func changesToCome() async throws {
    let database = try await database()
    var toCome = Self.query.futureDifferences(in: database).makeAsyncIterator()
    #expect(try await toCome.next()?.isEmpty == true)
    var all = Self.query.differences(in: database).makeAsyncIterator()
    #expect(try await all.next()?.inserted.count == 2)
    var late = Self.query.futureDifferences(in: database).makeAsyncIterator()
    #expect(try await late.next()?.isEmpty == true)
    #expect(try await evaluationCount(in: database) == 1)
    try await database.run("UPDATE place SET name = 'Campione' WHERE id = 2")
    for difference in [try await toCome.next(), try await all.next(), try await late.next()] {
      #expect(difference?.count == 1)
      #expect(difference?.updated.map { $0.old["name"] } == [.text("Baarle")])
      #expect(difference?.updated.map { $0.new["name"] } == [.text("Campione")])
    }
  }

  @Test("1,000 of them read the rows once at the start, and once for each commit")
  func readsOnce() async throws {
    let database = try await database()
    let deletedCount = Shared(0)
    let query = LiveQuery("SELECT id, max(name) AS name FROM place GROUP BY id", key: "id")
    let counts = Shared<[Int]>([])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<1_000 {
        group.addTask {
          var iterator = query.differences(in: database).makeAsyncIterator()
          let first = try await iterator.next()?.inserted.count ?? 0
          counts.value.withLock { $0.append(first) }
          var deleted = 0
          while deleted == 0, let next = try await iterator.next() { deleted = next.deleted.count }
          deletedCount.value.withLock { [deleted] in $0 += deleted }
        }
      }
      while counts.value.withLock({ $0.count }) < 1_000 { await Task.yield() }
      #expect(try await evaluationCount(in: database) == 1)
      try await database.run("DELETE FROM place WHERE id = 1")
      try await group.waitForAll()
    }
    #expect(counts.value.withLock { Set($0) } == [2])
    #expect(deletedCount.value.withLock { $0 } == 1_000)
  }

  // MARK: Joining

  @Test("a later one begins with the rows as they are, in the order of their keys")
  func joining() async throws {
    let database = try await database()
    var first = Self.query.differences(in: database).makeAsyncIterator()
    _ = try await first.next()
    try await database.run(
      "DELETE FROM place WHERE id = 1", "INSERT INTO place VALUES (7, 'g'), (5, 'e')")
    // The first one has not asked since.
    var second = Self.query.differences(in: database).makeAsyncIterator()
    let start = try #require(try await second.next())
    #expect(start.inserted.map { $0["id"] } == [2, 5, 7] && start.count == 3)
    let change = try #require(try await first.next())
    #expect(change.inserted.map { $0["id"] } == [5, 7])
    #expect(change.deleted.map { $0["id"] } == [1])
    var list = Self.query.values(in: database).makeAsyncIterator()
    _ = try await list.next()
    try await database.run("DELETE FROM place WHERE id = 2")
    var other = Self.query.values(in: database).makeAsyncIterator()
    #expect(try await other.next()?.map { $0["id"] } == [5, 7])
    #expect(try await list.next()?.map { $0["id"] } == [5, 7])
  }

  @Test("a later one sees what another program committed before it began")
  func joiningAfterOthers() async throws {
    let database = try await database()
    let other = try folder.otherConnection()
    var first = Self.query.differences(in: database).makeAsyncIterator()
    _ = try await first.next()
    for id in 10..<20 {
      try other.execute("INSERT INTO place VALUES (\(id), 'x')")
      var second = Self.query.differences(in: database).makeAsyncIterator()
      #expect(try await second.next()?.inserted.count == id - 7)
    }
  }

  @Test("each starts from its own elements")
  func startingPoints() async throws {
    let database = try await database()
    let known: [Record] = [["id": 1, "name": "old"], ["id": 9, "name": "gone"]]
    var plain = Self.query.differences(in: database).makeAsyncIterator()
    var started = Self.query.differences(in: database, startingFrom: known).makeAsyncIterator()
    #expect(try await plain.next()?.inserted.count == 2)
    let first = try #require(try await started.next())
    #expect(first.updated.map { $0.old["name"] } == ["old"])
    #expect(first.inserted.map { $0["id"] } == [2] && first.deleted.map { $0["id"] } == [9])
  }

  // MARK: Pace

  @Test("one that does not read holds no other back, and gets everything as one", arguments: 0..<8)
  func slowReader(_ seed: UInt64) async throws {
    let database = try await database()
    let isList = seed % 2 == 1
    let sets = Self.query.differences(in: database)
    let lists = LiveQuery("SELECT id, name FROM place ORDER BY name", key: "id")
      .listDifferences(in: database)
    var slowSet = sets.makeAsyncIterator()
    var quickSet = sets.makeAsyncIterator()
    var slowList = lists.makeAsyncIterator()
    var quickList = lists.makeAsyncIterator()
    _ = try await (slowSet.next(), quickSet.next(), slowList.next(), quickList.next())
    var world = SlowReaderWorld(seed: seed)
    let before = world.rows
    for _ in 0..<30 {
      try await run(world.statements(), in: database)
      if isList { _ = try await quickList.next() } else { _ = try await quickSet.next() }
    }
    let expected = world.rows
    if isList {
      let old = SlowReaderWorld.list(before)
      let difference = try #require(try await slowList.next())
      #expect(difference.applying(to: old) == SlowReaderWorld.list(expected))
      let direct = ListDifference(
        from: old, to: SlowReaderWorld.list(expected), identifiedBy: { $0["id"] })
      #expect(difference.moves.count == direct.moves.count && difference.count == direct.count)
    } else {
      let old = Dictionary(
        uniqueKeysWithValues: before.map { ($0, SlowReaderWorld.record($0, $1)) })
      let difference = try #require(try await slowSet.next())
      let applied = try #require(
        difference.applying(to: old) { record in
          guard case .integer(let id) = record["id"] else { return -1 }
          return Int(id)
        })
      #expect(applied.mapValues { $0["name"] } == expected.mapValues { .text($0) })
      #expect(difference.updated.allSatisfy { $0.old != $0.new })
      for records in [difference.inserted, difference.deleted, difference.updated.map(\.new)] {
        #expect(records.map { $0["id"] } == records.map { $0["id"] }.sorted())
      }
    }
  }

  @Test("one that asks after a commit gets that commit too, though a change waits for it")
  func fresh() async throws {
    let database = try await database()
    var quick = Self.query.differences(in: database).makeAsyncIterator()
    var slow = Self.query.differences(in: database).makeAsyncIterator()
    _ = try await (quick.next(), slow.next())
    for id in stride(from: 10, to: 400, by: 2) {
      try await database.run("INSERT INTO place VALUES (\(id), 'a')")
      #expect(try await quick.next()?.inserted.count == (id == 10 ? 1 : 2))
      try await database.run("INSERT INTO place VALUES (\(id + 1), 'b')")
      #expect(try await slow.next()?.inserted.count == 2)
    }
  }

  @Test("changes that end where they began are not delivered, even to one that is behind")
  func thereAndBack() async throws {
    let database = try await database()
    var quick = Self.query.differences(in: database).makeAsyncIterator()
    var slow = Self.query.differences(in: database).makeAsyncIterator()
    _ = try await (quick.next(), slow.next())
    for statement in ["UPDATE place SET name = 'x'", "DELETE FROM place WHERE id = 1"] {
      try await database.run(statement)
      _ = try await quick.next()
    }
    try await database.run("INSERT OR REPLACE INTO place VALUES (1, 'Büsingen'), (2, 'Baarle')")
    _ = try await quick.next()
    try await database.run("INSERT INTO place VALUES (3, 'c')")
    let difference = try #require(try await slow.next())
    #expect(difference.count == 1 && difference.inserted.map { $0["id"] } == [3])
  }

  @Test("with every commit, each gets every one, at its own pace")
  func everyCommit() async throws {
    let database = try await database()
    let sequence = Self.query.differences(in: database, delivery: .everyCommit)
    var quick = sequence.makeAsyncIterator()
    var slow = sequence.makeAsyncIterator()
    _ = try await (quick.next(), slow.next())
    for id in 10..<30 {
      try await database.run("INSERT INTO place VALUES (\(id), 'a')")
      #expect(try await quick.next()?.inserted.map { $0["id"] } == [.integer(Int64(id))])
    }
    for id in 10..<30 {
      #expect(try await slow.next()?.inserted.map { $0["id"] } == [.integer(Int64(id))])
    }
  }

  // MARK: Ending

  @Test("one that is cancelled while it waits leaves the others their change")
  func cancellation() async throws {
    let database = try await database()
    for round in 0..<100 {
      var kept = Self.query.differences(in: database).makeAsyncIterator()
      _ = try await kept.next()
      let (started, start) = AsyncStream<Void>.makeStream()
      let cancelled = Task {
        var iterator = Self.query.differences(in: database).makeAsyncIterator()
        _ = try await iterator.next()
        start.finish()
        return try await iterator.next()
      }
      for await _ in started {}
      cancelled.cancel()
      try await database.run("UPDATE place SET name = '\(round)' WHERE id = 1")
      #expect(try await kept.next()?.updated.count == 1)
      _ = try await cancelled.value
    }
  }

  @Test(
    "an error of the query reaches all of them, after the changes before it; then one begins anew")
  func failure() async throws {
    let database = try await database()
    let query = LiveQuery("SELECT name, id FROM place", key: "name")
    var first = query.differences(in: database).makeAsyncIterator()
    var second = query.differences(in: database).makeAsyncIterator()
    _ = try await (first.next(), second.next())
    try await database.run("INSERT INTO place VALUES (3, 'c')")
    #expect(try await first.next()?.inserted.count == 1)
    try await database.run("INSERT INTO place VALUES (4, 'c')")
    await #expect(throws: DatabaseError.self) { try await first.next() }
    #expect(try await second.next()?.inserted.count == 1)
    await #expect(throws: DatabaseError.self) { try await second.next() }
    try await database.run("DELETE FROM place WHERE id = 4")
    var third = query.differences(in: database).makeAsyncIterator()
    #expect(try await third.next()?.inserted.count == 3)
  }

  @Test("an error of one consumer's elements ends that one only")
  func failureOfOne() async throws {
    struct Refusal: Error {}
    let database = try await database()
    var good = Self.query.differences(in: database).makeAsyncIterator()
    var bad = Self.query.map { record -> Int in
      if record["name"] == "bad" { throw Refusal() }
      return 0
    }.differences(in: database).makeAsyncIterator()
    _ = try await (good.next(), bad.next())
    try await database.run("INSERT INTO place VALUES (3, 'bad')")
    await #expect(throws: Refusal.self) { try await bad.next() }
    #expect(try await bad.next() == nil)
    #expect(try await good.next()?.inserted.count == 1)
    try await database.run("DELETE FROM place WHERE id = 3")
    #expect(try await good.next()?.deleted.count == 1)
  }

  @Test("that begin, read and end at any time get differences that fit", arguments: 1...4)
  func anyOrder(_ seed: UInt64) async throws {
    let database = try await database()
    let readerCount = 8
    let finishedCount = Shared(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for reader in 0..<readerCount {
        group.addTask {
          for round in 0..<4 {
            try await follow(database, isList: reader % 2 == 0, count: 1 + (reader + round) % 5)
          }
          finishedCount.value.withLock { $0 += 1 }
        }
      }
      var world = SlowReaderWorld(seed: seed)
      while finishedCount.value.withLock({ $0 }) < readerCount {
        try await run(world.statements(), in: database)
      }
      try await group.waitForAll()
    }
    #expect(try await comesToHold { try await evaluationCount(in: database) == 0 })
  }

  /// Follows the table for some elements.
  private func follow(_ database: Database, isList: Bool, count: Int) async throws {
    let key = { (record: Record) in RecordKey([record["id"]]) }
    var remaining = count
    if isList {
      var rows: [Record] = []
      for try await difference in Self.query.listDifferences(in: database) {
        rows = try #require(difference.applying(to: rows))
        #expect(rows.map(key) == rows.map(key).sorted())
        remaining -= 1
        if remaining == 0 { break }
      }
    } else {
      var rows: [RecordKey: Record] = [:]
      for try await difference in Self.query.differences(in: database) {
        rows = try #require(difference.applying(to: rows, identifiedBy: key))
        remaining -= 1
        if remaining == 0 { break }
        await Task.yield()
      }
    }
  }
}

/// A value that several tasks share.
private final class Shared<Value: Sendable>: Sendable {
  let value: Mutex<Value>

  init(_ value: Value) { self.value = Mutex(value) }
}

/// A table with random changes that always change it.
private struct SlowReaderWorld {
  var random: SplitMix64
  var rows: [Int: String] = [1: "Büsingen", 2: "Baarle"]
  private var number = 0

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  /// The statements of one transaction.
  mutating func statements() -> [String] {
    number += 1
    let id = Int.random(in: 1...8, using: &random)
    let other = Int.random(in: 1...8, using: &random)
    let name = "\(Int.random(in: 0..<20, using: &random)) \(number)"
    if rows[id] == nil || Bool.random(using: &random) {
      rows[id] = name
      return ["INSERT OR REPLACE INTO place VALUES (\(id), '\(name)')"]
    }
    rows[id] = nil
    rows[other] = name
    return [
      "DELETE FROM place WHERE id = \(id)",
      "INSERT OR REPLACE INTO place VALUES (\(other), '\(name)')",
    ]
  }

  static func record(_ id: Int, _ name: String) -> Record {
    ["id": .integer(Int64(id)), "name": .text(name)]
  }

  static func list(_ rows: [Int: String]) -> [Record] {
    rows.sorted { FieldValue.text($0.value) < .text($1.value) }.map { record($0.key, $0.value) }
  }
}
