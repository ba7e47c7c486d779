import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Live queries", .timeLimit(.minutes(20)))
struct LiveQueryTests {
  let folder: TemporaryFolder
  static let schema = "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, rank INT)"
  static let one: Record = ["id": 1, "name": "Büsingen", "rank": 3]
  static let two: Record = ["id": 2, "name": "Baarle", "rank": 1]
  static let insertion = "INSERT INTO place VALUES (1, 'Büsingen', 3), (2, 'Baarle', 1)"

  init() throws { folder = try TemporaryFolder() }

  @Test("the first difference comes even if the table is empty, then one per change")
  func tableDifferences() async throws {
    let database = try await folder.database(Self.schema)
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next() == SetDifference())
    try await database.run(Self.insertion)
    #expect(try await iterator.next() == SetDifference(inserted: [Self.one, Self.two]))
    try await database.run(
      "UPDATE place SET rank = 9 WHERE id = 1", "DELETE FROM place WHERE id = 2")
    let update = SetDifference.Update(old: Self.one, new: ["id": 1, "name": "Büsingen", "rank": 9])
    #expect(try await iterator.next() == SetDifference(updated: [update], deleted: [Self.two]))
  }

  @Test("rollbacks, savepoints undone and changes outside the query deliver nothing")
  func silence() async throws {
    let database = try await folder.database(Self.schema, "CREATE TABLE other (x)", Self.insertion)
    let query = LiveQuery("SELECT id, name FROM place WHERE rank > 2", key: "id")
    var iterator = query.differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next()?.inserted.count == 1)
    await #expect(throws: CancellationError.self) {
      try await database.write { transaction in
        try transaction.execute("DELETE FROM place")
        throw CancellationError()
      }
    }
    try await database.write { transaction in
      try? transaction.savepoint { inner in
        try inner.execute("DELETE FROM place")
        throw CancellationError()
      }
    }
    try await database.run("INSERT INTO other VALUES (1)", "UPDATE place SET rank = 2 WHERE id = 2")
    try await database.run("UPDATE place SET rank = 5 WHERE id = 1")
    // The next that arrives is the one after all those, which came before it.
    try await database.run("UPDATE place SET name = 'x' WHERE id = 1")
    let difference = try #require(try await iterator.next())
    #expect(difference.updated.map(\.new) == [["id": 1, "name": "x"]])
    #expect(difference.count == 1)
  }

  @Test("a slow consumer gets what several commits did as one difference")
  func coalescing() async throws {
    let database = try await folder.database(Self.schema)
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    _ = try await iterator.next()
    try await database.run(Self.insertion)
    try await database.run("UPDATE place SET rank = 4 WHERE id = 2")
    try await database.run("DELETE FROM place WHERE id = 1")
    #expect(
      try await iterator.next()
        == SetDifference(inserted: [["id": 2, "name": "Baarle", "rank": 4]]))
  }

  @Test("more keys than are kept for a slow consumer make the query run again, to the same effect")
  func manyKeys() async throws {
    let database = try await folder.database(Self.schema)
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    _ = try await iterator.next()
    let count = LiveQuery<Record>.maxTouchedKeyCount + 1
    try await database.run(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO place SELECT i, 'x', 0 FROM n
      """)
    #expect(try await iterator.next()?.inserted.count == count)
  }

  @Test("a first difference leads from the rows it is to start from")
  func startingFrom() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let gone: Record = ["id": 3, "name": "Llívia", "rank": 2]
    let old: Record = ["id": 2, "name": "Baarle", "rank": 7]
    var iterator = LiveQuery(table: "place")
      .differences(in: database, startingFrom: [Self.one, old, gone]).makeAsyncIterator()
    #expect(
      try await iterator.next()
        == SetDifference(updated: [.init(old: old, new: Self.two)], deleted: [gone]))
    var unchanged = LiveQuery(table: "place")
      .differences(in: database, startingFrom: [Self.two, Self.one]).makeAsyncIterator()
    #expect(try await unchanged.next() == SetDifference())
  }

  struct Place: Equatable, Identifiable {
    var id: Int64
    var name: String

    init(id: Int64, name: String) {
      self.id = id
      self.name = name
    }

    init(_ record: Record) throws {
      guard case .integer(let id) = record["id"], case .text(let name) = record["name"] else {
        throw Misfit()
      }
      self.init(id: id, name: name)
    }
  }

  struct Misfit: Error {}

  @Test("elements of any type can be made of rows, and started from")
  func typedElements() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let places = LiveQuery(table: "place").map(Place.init)
    let start = [Place(id: 1, name: "Büsingen"), Place(id: 2, name: "?"), Place(id: 3, name: "!")]
    var iterator = places.differences(in: database, startingFrom: start).makeAsyncIterator()
    #expect(
      try await iterator.next()
        == SetDifference(
          updated: [.init(old: start[1], new: Place(id: 2, name: "Baarle"))], deleted: [start[2]]))
    try await database.run("DELETE FROM place WHERE id = 1")
    #expect(try await iterator.next() == SetDifference(deleted: [start[0]]))
    try await database.run("INSERT INTO place VALUES (4, NULL, 0)")
    await #expect(throws: Misfit.self) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
  }

  @Test("values arrive whole and in the order of the query")
  func values() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let query = LiveQuery("SELECT * FROM place ORDER BY rank", key: "id")
    var iterator = query.values(in: database).makeAsyncIterator()
    #expect(try await iterator.next() == [Self.two, Self.one])
    try await database.run("UPDATE place SET rank = 5 WHERE id = 2")
    #expect(
      try await iterator.next() == [Self.one, ["id": 2, "name": "Baarle", "rank": 5]])
  }

  @Test("a list difference moves rows that change their place")
  func listDifferences() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let query = LiveQuery("SELECT id, name FROM place ORDER BY rank", key: "id")
    var iterator = query.listDifferences(in: database).makeAsyncIterator()
    let first = try #require(try await iterator.next())
    #expect(first.applying(to: [])?.map { $0["id"] } == [2, 1])
    try await database.run("UPDATE place SET rank = 5 WHERE id = 2")
    let second = try #require(try await iterator.next())
    #expect(second.moves.count == 1 && second.count == 1)
  }

  static let openOrders: [(SQL, key: String, expected: [FieldValue])] = [
    ("SELECT DISTINCT p.rank % 2 AS r, 1 AS one FROM place p ORDER BY one", "r", [0, 1]),
    ("SELECT id FROM place UNION SELECT id + 10 FROM place ORDER BY 1 DESC", "id", [12, 11, 2, 1]),
    ("SELECT id + 0 AS id FROM place UNION SELECT 9", "id", [1, 2, 9]),
    (
      "SELECT name, count(*) AS n FROM place GROUP BY name ORDER BY n", "name",
      ["Baarle", "Büsingen"]
    ),
    (
      "WITH x(i) AS (VALUES (3), (1), (2)) SELECT i, 0 AS z FROM x ORDER BY z LIMIT 2", "i", [1, 2]
    ),
    ("VALUES (3), (1)", "column1", [1, 3]),
    ("SELECT b.id FROM place a JOIN place b ON b.rank < a.rank LIMIT 5", "id", [2]),
  ]

  @Test("what an order leaves open follows the key, whatever the query", arguments: 0..<7)
  func openOrder(_ number: Int) async throws {
    let (sql, key, expected) = Self.openOrders[number]
    let database = try await folder.database(
      Self.schema, "INSERT INTO place VALUES (2, 'Baarle', 2), (1, 'Büsingen', 3)")
    var iterator = LiveQuery(sql, key: key).values(in: database).makeAsyncIterator()
    #expect(try await iterator.next()?.map { $0[key] } == expected)
  }

  @Test("cancelling the task ends the loop, and nothing more arrives")
  func cancellation() async throws {
    let database = try await folder.database(Self.schema)
    let (started, start) = AsyncStream<Void>.makeStream()
    let task = Task {
      var count = 0
      for try await _ in LiveQuery(table: "place").differences(in: database) {
        count += 1
        start.yield()
      }
      return count
    }
    for await _ in started { break }
    task.cancel()
    #expect(try await task.value == 1)
    try await database.run(Self.insertion)
  }

  @MainActor
  @Test("on the main actor, elements arrive there")
  func mainActor() async throws {
    let database = try await folder.database(Self.schema)
    var count = 0
    for try await _ in LiveQuery(table: "place").differences(in: database) {
      MainActor.assertIsolated()
      count += 1
      if count == 2 { break }
      try await database.run(Self.insertion)
    }
    #expect(count == 2)
  }

  @Test("a database that is closed ends its sequences with an error")
  func closing() async throws {
    let database = try await folder.database(Self.schema)
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    _ = try await iterator.next()
    await database.close()
    await #expect(throws: DatabaseError.self) { try await iterator.next() }
  }

  @Test("a database in memory can be watched")
  func inMemory() async throws {
    let database = try Database(path: ":memory:")
    try await database.run(Self.schema)
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next() == SetDifference())
    try await database.run(Self.insertion)
    #expect(try await iterator.next()?.inserted == [Self.one, Self.two])
  }

  @Test("a schema that changes under a query is no change of its rows")
  func schemaChange() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
    _ = try await iterator.next()
    try await database.run("ALTER TABLE place ADD COLUMN country TEXT")
    try await database.run("UPDATE place SET country = 'DE' WHERE id = 1")
    let difference = try #require(try await iterator.next())
    #expect(difference.updated.map { $0.new["country"] } == ["DE"])
    #expect(difference.count == 1)
    try await database.run("DROP TABLE place")
    await #expect(throws: DatabaseError.self) { try await iterator.next() }
  }

  static let mistakes: [(LiveQuery<Record>, String)] = [
    (LiveQuery(table: "plaice"), "no such table"),
    (LiveQuery("SELECT name FROM place", key: "id"), "no column id"),
    (LiveQuery("SELECT id FROM place"), "needs a key"),
    (LiveQuery("SELECT 1 AS id; SELECT 2", key: "id"), "more than one statement"),
    (LiveQuery("DELETE FROM place RETURNING id", key: "id"), "changes nothing"),
    (LiveQuery("SELECT id, name AS id FROM place", key: "id"), "same name"),
    (LiveQuery(SQL(text: "SELECT id FROM place WHERE id > ?"), key: "id"), "0 values for 1"),
    (LiveQuery("SELECT 1 AS id FROM place", key: "id"), "same key 1"),
    (
      LiveQuery("SELECT nullif(id, 1) AS id FROM place", key: "id"), "no value in the key column id"
    ),
    (LiveQuery("SELEKT", key: "id"), "syntax error"),
    (
      LiveQuery("SELECT id FROM place WHERE id > \(UInt64.max)", key: "id"), "cannot hold the value"
    ),
  ]

  @Test("a mistake in a query is thrown at its start, and says what it is", arguments: 0..<11)
  func mistake(_ number: Int) async throws {
    let (query, words) = Self.mistakes[number]
    let database = try await folder.database(Self.schema, Self.insertion)
    var iterator = query.differences(in: database).makeAsyncIterator()
    let error = try await #require(throws: DatabaseError.self) { try await iterator.next() }
    #expect(error.message.contains(words), "\(error)")
    #expect(try await iterator.next() == nil)
  }
}
