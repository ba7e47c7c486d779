import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("What a commit tells whoever begins to watch, or changes its mind", .timeLimit(.minutes(30)))
struct LiveInterestTests {
  let folder: TemporaryFolder
  static let schema = "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)"

  init() throws { folder = try TemporaryFolder() }

  @Test("a DELETE without WHERE that was compiled while nobody watched is noticed")
  func compiledBefore() async throws {
    let database = try await folder.database(Self.schema)
    let empty = { try await database.write { _ = try $0.execute("DELETE FROM place") } }
    try await empty()
    for _ in 0..<2 {
      try await database.run("INSERT INTO place VALUES (1, 'a'), (2, 'b')")
      var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
      #expect(try await iterator.next()?.inserted.count == 2)
      try await empty()
      #expect(try await iterator.next()?.deleted.count == 2)
    }
  }

  @Test("what was committed while a query was planned anew is not lost")
  func changedInterests() async throws {
    let database = try await folder.database(
      Self.schema, "CREATE TABLE other (id INTEGER PRIMARY KEY)")
    let feed = try await database.changeFeed()
    let subscription = feed.subscribe()
    defer { feed.unsubscribe(subscription) }
    let snapshot = {
      try database.read { try feed.beginSnapshot($0.connection, for: subscription) }
    }
    feed.setInterests([TableInterest(table: "place", key: .rowid)], of: subscription)
    #expect(try snapshot().isUnknown)
    // Nobody is interested in this yet, though the plan that comes next would have been.
    try await database.run("INSERT INTO other VALUES (1)")
    let interest = TableInterest(table: "other", key: .rowid)
    feed.setInterests([interest], of: subscription)
    #expect(try snapshot().isUnknown)
    feed.setInterests([interest], of: subscription)
    #expect(try snapshot().isEmpty)
  }

  @Test("a query follows its table through changes of the schema and rows, one right after another")
  func migrations() async throws {
    let database = try await folder.database(Self.schema)
    try await database.run("INSERT INTO place VALUES (1, 'a'), (2, 'b')")
    let following = Task {
      var rows: [FieldValue: Record] = [:]
      for try await difference in LiveQuery(table: "place").differences(in: database) {
        rows = try #require(difference.applying(to: rows, identifiedBy: { $0["id"] }))
        if rows[2]?["name"] == "end" { break }
      }
      return rows
    }
    for number in 0..<100 {
      try await database.run("ALTER TABLE place ADD COLUMN c\(number)")
      try await database.run("UPDATE place SET name = '\(number)' WHERE id = 1")
    }
    try await database.run("UPDATE place SET name = 'end' WHERE id = 2")
    #expect(try await following.value[1]?["name"] == "99")
  }
}
