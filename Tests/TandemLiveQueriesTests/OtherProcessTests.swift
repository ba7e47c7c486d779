import Foundation
import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Changes by other processes", .timeLimit(.minutes(20)))
struct OtherProcessTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Runs statements in SQLite's own shell, which waits for locks: whoever watches the file reads it.
  func shell(_ sql: String) throws {
    let shell = try TestProgram([
      "sqlite3", "-cmd", ".timeout 3600000", folder.path(of: "test.db"), sql,
    ])
    #expect(shell.waitUntilEnd() == 0)
  }

  static let schema = "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)"

  @Test("what the sqlite3 shell writes is delivered as differences", arguments: [false, true])
  func shellWrites(isTracked: Bool) async throws {
    let database = try await folder.database(Self.schema)
    if isTracked { _ = try await database.track(table: "place") }
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next() == SetDifference())
    try shell("INSERT INTO place VALUES (1, 'Büsingen'), (2, 'Baarle')")
    #expect(try await iterator.next()?.inserted.count == 2)
    try shell("REPLACE INTO place VALUES (1, 'Jungholz'); DELETE FROM place WHERE id = 2")
    var total = try #require(try await iterator.next())
    // The shell commits twice, which may arrive as two.
    if total.count == 1 { total.deleted += try #require(try await iterator.next()).deleted }
    #expect(total.updated.map(\.new) == [["id": 1, "name": "Jungholz"]])
    #expect(total.deleted == [["id": 2, "name": "Baarle"]])
  }

  @Test("a file that is only read, with a rollback journal, is watched without changing it")
  func readOnly() async throws {
    try shell("PRAGMA journal_mode=DELETE; \(Self.schema)")
    let database = try Database(
      path: folder.path(of: "test.db"), configuration: DatabaseConfiguration(access: .readOnly))
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next() == SetDifference())
    try shell("INSERT INTO place VALUES (1, 'Büsingen')")
    #expect(try await iterator.next()?.inserted.count == 1)
    try shell("PRAGMA journal_mode=WAL; DELETE FROM place")
    #expect(try await iterator.next()?.deleted.count == 1)
    try shell("INSERT INTO place VALUES (2, 'Baarle')")
    #expect(try await iterator.next()?.inserted.count == 1)
  }

  @Test("commits of this process are not taken for those of another")
  func ownCommits() async throws {
    let database = try await folder.database(Self.schema)
    let feed = try await database.changeFeed()
    let subscription = feed.subscribe()
    defer { feed.unsubscribe(subscription) }
    let interest = TableInterest(table: "place", key: .rowid)
    feed.setInterests([interest], of: subscription)
    let snapshot = {
      try database.read { try feed.beginSnapshot($0.connection, for: subscription) }
    }
    #expect(try snapshot().isUnknown)
    for id in 1...50 {
      try await database.run("INSERT INTO place VALUES (\(id), 'x')")
      let changes = try snapshot()
      #expect(!changes.isUnknown)
      #expect(changes.touched[interest]?.keys == [RecordKey(.integer(Int64(id)))])
    }
    try folder.otherConnection().execute("DELETE FROM place WHERE id = 1")
    #expect(try snapshot().isUnknown)
    #expect(try snapshot().isEmpty)
  }

  @Test("commits of two threads and of another connection never tear a transfer apart")
  func transfers() async throws {
    let database = try await folder.database(
      "CREATE TABLE account (id INTEGER PRIMARY KEY, amount INT)",
      "INSERT INTO account VALUES (1, 500), (2, 500), (3, 500)")
    try await database.withWriter { try $0.execute("PRAGMA synchronous=OFF") }
    let path = folder.path(of: "test.db")
    let transferCount = 300
    let transfer =
      "UPDATE account SET amount = amount + CASE id WHEN 1 THEN 1 WHEN 2 THEN -1 ELSE 0 END"
    let back =
      "UPDATE account SET amount = amount + CASE id WHEN 2 THEN 1 WHEN 3 THEN -1 ELSE 0 END"
    try await withThrowingTaskGroup(of: Void.self) { group in
      for sql in [transfer, back] {
        group.addTask { for _ in 0..<transferCount { try await database.run(sql) } }
      }
      group.addTask {
        let other = try DatabaseConnection(path: path, busyTimeout: patience)
        try other.execute("PRAGMA synchronous=OFF")
        for _ in 0..<transferCount / 10 { try other.execute(transfer) }
      }
      for _ in 0..<20 {
        group.addTask {
          var rows: [FieldValue: Record] = [:]
          let last: Record = ["id": 3, "amount": .integer(Int64(500 - transferCount))]
          let first: Record = [
            "id": 1, "amount": .integer(Int64(500 + transferCount + transferCount / 10)),
          ]
          for try await difference in LiveQuery(table: "account").differences(in: database) {
            rows = try #require(difference.applying(to: rows, identifiedBy: { $0["id"] }))
            let amounts = rows.values.map { $0["amount"].description }
            #expect(amounts.compactMap(Int.init).reduce(0, +) == 1_500)
            if rows[1] == first, rows[3] == last { break }
          }
        }
      }
      try await group.waitForAll()
    }
  }
}
