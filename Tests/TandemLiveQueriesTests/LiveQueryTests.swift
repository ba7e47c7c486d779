import TandemDifferences
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemLiveQueries

@Suite("Live queries", .timeLimit(.minutes(1)))
struct LiveQueryTests {
  let folder = TemporaryFolder()

  func database(_ schema: String...) async throws -> Database {
    let database = try Database(path: folder.file)
    for sql in schema { try await database.run(sql) }
    return database
  }

  @Test("the first difference comes even if the table is empty, then one per change")
  func tableDifferences() async throws {
    let database = try await database("CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)")
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next() == SetDifference())
    try await database.run("INSERT INTO place VALUES (1, 'Büsingen'), (2, 'Baarle')")
    let first: Record = ["id": 1, "name": "Büsingen"]
    let second: Record = ["id": 2, "name": "Baarle"]
    #expect(try await iterator.next() == SetDifference(inserted: [first, second]))
    try await database.run("UPDATE place SET name = 'Jungholz' WHERE id = 1", "DELETE FROM place WHERE id = 2")
    #expect(
      try await iterator.next()
        == SetDifference(
          updated: [.init(old: first, new: ["id": 1, "name": "Jungholz"])], deleted: [second]))
  }

  @Test("a change by another connection is delivered too")
  func otherConnection() async throws {
    let database = try await database("CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)")
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next() == SetDifference())
    let other = try DatabaseConnection(path: folder.file)
    try other.execute("INSERT INTO place VALUES (7, 'x')")
    #expect(try await iterator.next() == SetDifference(inserted: [["id": 7, "name": "x"]]))
    try other.execute("DELETE FROM place")
    #expect(try await iterator.next() == SetDifference(deleted: [["id": 7, "name": "x"]]))
  }
}
