import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Updates of elements that can be compared", .timeLimit(.minutes(20)))
struct LiveElementTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A record narrower than its table.
  struct Name: Codable, Identifiable, Equatable, DatabaseRecord {
    static let tableName = "place"
    var id: Int64
    var name: String
  }

  /// The same, without equality.
  struct Incomparable: Codable, DatabaseRecord {
    static let tableName = "place"
    var id: Int64
    var name: String
  }

  private func database() async throws -> Database {
    try await folder.database(
      "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, visits)",
      "INSERT INTO place VALUES (1, 'Büsingen', 0), (2, 'Baarle', 0)")
  }

  @Test("a change of a row that leaves its element equal is no update")
  func equalElements() async throws {
    let database = try await database()
    let query = LiveQuery(Name.self)
    let mapped = LiveQuery("SELECT * FROM place ORDER BY visits DESC", key: "id").map { $0["name"] }
    var sets = query.differences(in: database, delivery: .everyCommit).makeAsyncIterator()
    var presented = query.differences(in: database, delivery: .everyCommit) { $0 = $1 }
      .makeAsyncIterator()
    var lists = query.listDifferences(in: database, delivery: .everyCommit).makeAsyncIterator()
    var values = mapped.values(in: database, delivery: .everyCommit).makeAsyncIterator()
    _ = try await (sets.next(), presented.next(), lists.next())
    #expect(try await values.next() == ["Büsingen", "Baarle"])
    // In the order of the values, too, nothing changes.
    try await database.run("UPDATE place SET visits = 1 WHERE id = 1")
    try await database.run("UPDATE place SET name = 'B' WHERE id = 1")
    let update = SetDifference<Name>.Update(
      old: Name(id: 1, name: "Büsingen"), new: Name(id: 1, name: "B"))
    #expect(try await sets.next() == SetDifference(updated: [update]))
    #expect(try await presented.next() == SetDifference(updated: [update]))
    let list = try await lists.next()
    #expect(list?.updates.map(\.new) == [update.new] && list?.count == 1)
    #expect(try await values.next() == ["B", "Baarle"])
    // An equal element that moves is still a change.
    var moves = mapped.listDifferences(in: database, delivery: .everyCommit).makeAsyncIterator()
    _ = try await moves.next()
    try await database.run("UPDATE place SET visits = 2 WHERE id = 2")
    let move = try await moves.next()
    #expect(move?.moves.count == 1 && move?.updates == [])
  }

  @Test("elements that cannot be compared, and records, are updated with their row")
  func rows() async throws {
    let database = try await database()
    var incomparable = LiveQuery(Incomparable.self)
      .differences(in: database, delivery: .everyCommit).makeAsyncIterator()
    var records = LiveQuery(table: "place").map { $0 }
      .differences(in: database, delivery: .everyCommit).makeAsyncIterator()
    _ = try await (incomparable.next(), records.next())
    // To SQLite, and so for records, 0 equals 0.0.
    try await database.run("UPDATE place SET visits = 0.0 WHERE id = 1")
    #expect(try await incomparable.next()?.updated.count == 1)
    let update = try await records.next()?.updated.first
    #expect(update?.old["visits"].hasSameStorage(as: 0) == true)
    #expect(update?.new["visits"].hasSameStorage(as: 0.0) == true)
  }

  @Test("onUpdate must leave the element with the identity of its row")
  func changedIdentity() async {
    await #expect(processExitsWith: .failure) {
      let database = try Database(path: ":memory:")
      try await database.run(
        "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO place VALUES (1, 'Büsingen')")
      var iterator = LiveQuery(Name.self).differences(in: database) { presented, fetched in
        presented = Name(id: 7, name: fetched.name)
      }.makeAsyncIterator()
      _ = try await iterator.next()
      try await database.run("UPDATE place SET name = 'B'")
      _ = try? await iterator.next()
    }
  }

  @Test("an object without an identity of its own is identified by its row")
  func objects() async throws {
    final class Pin: Identifiable, Sendable {
      let name: String
      init(_ name: String) { self.name = name }
    }
    let database = try await database()
    var iterator = LiveQuery(Name.self).map { Pin($0.name) }
      .differences(in: database, onUpdate: { _, _ in }).makeAsyncIterator()
    let pins = try await iterator.next()?.inserted
    try await database.run("UPDATE place SET name = 'B' WHERE id = 1")
    let update = try await iterator.next()?.updated.first
    #expect(update?.new === pins?.first)
  }
}
