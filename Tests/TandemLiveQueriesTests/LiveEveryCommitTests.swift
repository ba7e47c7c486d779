import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Live queries that deliver every commit", .timeLimit(.minutes(20)))
struct LiveEveryCommitTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func database() async throws -> Database {
    try await folder.database("CREATE TABLE t (k INTEGER PRIMARY KEY, v INT)")
  }

  @Test(
    "a slow consumer gets each commit by itself, in each form, and the latest state if it likes")
  func eachCommit() async throws {
    let database = try await database()
    let table = LiveQuery(table: "t")
    let total = LiveQuery("SELECT 1 AS one, count(*) AS n FROM t", key: "one")
    var sets = table.differences(in: database, delivery: .everyCommit).makeAsyncIterator()
    var lists = table.listDifferences(in: database, delivery: .everyCommit).makeAsyncIterator()
    var values = total.values(in: database, delivery: .everyCommit).makeAsyncIterator()
    var latest = table.differences(in: database).makeAsyncIterator()
    _ = try await (sets.next(), lists.next(), values.next(), latest.next())
    let count = 50
    for key in 1...count {
      try await database.run("INSERT INTO t VALUES (\(key), 0)")
      // Neither of these is a commit that changes the result.
      try? await database.write { transaction in
        try transaction.execute("DELETE FROM t")
        throw CancellationError()
      }
      try await database.run("UPDATE t SET v = v WHERE k = \(key)")
    }
    for key in 1...count {
      let row: Record = ["k": .integer(Int64(key)), "v": 0]
      #expect(try await sets.next() == SetDifference(inserted: [row]))
      #expect(try await lists.next()?.insertions.map(\.element) == [row])
      #expect(try await values.next()?.map { $0["n"] } == [.integer(Int64(key))])
    }
    #expect(try await latest.next()?.inserted.count == count)
  }

  @Test("while many write and one reads at once, each difference is one commit of this process")
  func concurrentWriters() async throws {
    let database = try await database()
    let (writerCount, perWriter) = (4, 50)
    let sequence = LiveQuery(table: "t").differences(in: database, delivery: .everyCommit)
    var iterator = sequence.makeAsyncIterator()
    _ = try await iterator.next()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<writerCount {
        group.addTask {
          for number in 0..<perWriter {
            let key = writer * perWriter + number
            try await database.run(
              "INSERT INTO t VALUES (\(key), 0)", "UPDATE t SET v = v + 1 WHERE k = \(key)")
          }
        }
      }
      var keys: [FieldValue] = []
      while keys.count < writerCount * perWriter, let difference = try await iterator.next() {
        #expect(difference.inserted.map { $0["v"] } == [1] && difference.count == 1)
        keys += difference.inserted.map { $0["k"] }
      }
      #expect(Set(keys).count == writerCount * perWriter)
      try await group.waitForAll()
    }
  }

  @Test("commits of others come between, and the differences add up")
  func others() async throws {
    let database = try await database()
    let other = try folder.otherConnection()
    let key: @Sendable (Record) -> RecordKey = { RecordKey([$0["k"]]) }
    var iterator = LiveQuery(table: "t").differences(in: database, delivery: .everyCommit)
      .makeAsyncIterator()
    var rows = try #require(try await iterator.next()?.applying(to: [:], identifiedBy: key))
    for round in 0..<20 {
      try other.execute("INSERT OR REPLACE INTO t VALUES (\(round % 7), \(round))")
      try await database.run("INSERT OR REPLACE INTO t VALUES (\(round % 5), -\(round))")
    }
    try await database.run("INSERT INTO t VALUES (100, 0)")
    while rows[RecordKey([100])] == nil, let difference = try await iterator.next() {
      rows = try #require(difference.applying(to: rows, identifiedBy: key))
    }
    #expect(rows == (try freshRows("SELECT * FROM t", key: ["k"], in: other)))
  }

  @Test("a consumer that falls too far behind gets what waits for it, and then an error")
  func tooFarBehind() async throws {
    let database = try Database(path: ":memory:")
    try await database.run("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    let run = LiveRun(
      .table("t"), in: database, .everyCommit,
      state: SetState(
        deliversEmptyStart: true, SetPresentation(onUpdate: nil, decode: { $0 })))
    _ = try await run.next()
    let most = Mailbox<KeyedDifference>.maxCount
    try insert(most + 10, into: database)
    for _ in 0...most { #expect(try await run.next()?.inserted.count == 1) }
    let error = await #expect(throws: DatabaseError.self) { _ = try await run.next() }
    #expect(error?.message.contains("use the delivery .latest") == true)
    #expect(try await database.changeFeed().isIdle)
  }

  private func insert(_ count: Int, into database: Database) throws {
    for key in 1...count {
      try database.write { try $0.connection.execute("INSERT INTO t VALUES (\(key))") }
    }
  }

  @Test("an error of the query reaches the consumer, and no write")
  func failure() async throws {
    let database = try await database()
    let query = LiveQuery("SELECT v, k FROM t", key: "v")
    var iterator = query.differences(in: database, delivery: .everyCommit).makeAsyncIterator()
    _ = try await iterator.next()
    for key in 1...3 { try await database.run("INSERT INTO t VALUES (\(key), 7)") }
    #expect(try await iterator.next()?.inserted.count == 1)
    let error = await #expect(throws: DatabaseError.self) { _ = try await iterator.next() }
    #expect(error?.message.contains("two rows have the same key") == true)
  }
}
