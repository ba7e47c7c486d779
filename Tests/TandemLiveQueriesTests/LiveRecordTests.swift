import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Live queries of records", .timeLimit(.minutes(20)))
struct LiveRecordTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  static let schema = "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, rank INT)"
  static let insertion = "INSERT INTO place VALUES (1, 'Büsingen', 3), (2, 'Baarle', 1)"

  /// What a `Codable` structure needs.
  struct Place: Codable, Identifiable, Equatable, DatabaseRecord {
    var id: Int64
    var name: String
  }

  /// One that says itself how it is stored; neither `Equatable` nor `Identifiable`, and without its key.
  struct Rank: DatabaseRecord, Sendable {
    static let tableName = "place"
    static let columnNames = ["rank"]
    var rank: Int64

    init(row: inout RowDecoder) throws { rank = try row.next() }
    func encode(to row: inout RowEncoder) throws { try row.append(rank) }
  }

  @Test("a query of a record type reads and follows its whole table")
  func wholeTable() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let query = LiveQuery(Place.self)
    var iterator = query.differences(in: database).makeAsyncIterator()
    let places = [Place(id: 1, name: "Büsingen"), Place(id: 2, name: "Baarle")]
    #expect(try await iterator.next() == SetDifference(inserted: places))
    try await database.write { try $0.insert(Place(id: 3, name: "Llívia")) }
    #expect(try await iterator.next()?.inserted == [Place(id: 3, name: "Llívia")])
    #expect(try await query.explanation(in: database).isListIncremental)
  }

  @Test("clauses leave some records, in their order", arguments: [false, true])
  func clauses(isWhole: Bool) async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let sql: SQL =
      isWhole
      ? "SELECT id, name FROM place WHERE rank < \(9) ORDER BY name DESC LIMIT \(1)"
      : "WHERE rank < \(9) ORDER BY name DESC LIMIT \(1)"
    let query = LiveQuery(Place.self, sql)
    #expect(try await query.explanation(in: database).isListIncremental)
    var iterator = query.values(in: database).makeAsyncIterator()
    #expect(try await iterator.next() == [Place(id: 1, name: "Büsingen")])
    try await database.run("UPDATE place SET name = 'Zug' WHERE id = 2")
    #expect(try await iterator.next() == [Place(id: 2, name: "Zug")])
  }

  @Test("a key that the type does not take is read all the same")
  func missingKey() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let query = LiveQuery(Rank.self, "ORDER BY rank")
    let explanation = try await query.explanation(in: database)
    #expect(explanation.columns == ["rank", "id"] && explanation.key == ["id"])
    var iterator = query.values(in: database).makeAsyncIterator()
    #expect(try await iterator.next()?.map(\.rank) == [1, 3])
  }

  struct Note: Codable, DatabaseRecord {
    static let keyColumnNames = ["rowid"]
    var text: String
  }

  @Test("a table without a key is followed by rowid")
  func rowid() async throws {
    let database = try await folder.database(
      "CREATE TABLE note (text TEXT)", "INSERT INTO note VALUES ('a'), ('b')")
    var iterator = LiveQuery(Note.self).listDifferences(in: database).makeAsyncIterator()
    #expect(try await iterator.next()?.insertions.map(\.element.text) == ["a", "b"])
    try await database.run("UPDATE note SET text = 'c' WHERE rowid = 1")
    #expect(try await iterator.next()?.updates.map(\.new.text) == ["c"])
  }

  struct Odd: Codable, DatabaseRecord {
    static let tableName = "place"
    static let keyColumnNames = ["code"]
    var name: String
  }

  struct Gone: Codable, DatabaseRecord { var id: Int64 }

  @Test("a key or table that is not there is an error at the start that says so")
  func mistakes() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    func message<Element>(_ query: LiveQuery<Element>) async throws -> String {
      var iterator = query.values(in: database).makeAsyncIterator()
      return try await #require(throws: DatabaseError.self) { try await iterator.next() }.message
    }
    #expect(try await message(LiveQuery(Odd.self)).contains("key column code"))
    #expect(try await message(LiveQuery(Gone.self)).contains("no such table"))
    #expect(
      try await message(LiveQuery(Place.self, "SELECT name FROM place")).contains("no column id"))
  }

  struct NameCount: Codable, RowDecodable, Equatable {
    var name: String
    var count: Int
  }

  @Test("rows of any query are decoded to a Codable type")
  func aggregate() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let query = LiveQuery(
      "SELECT name, count(*) AS count FROM place GROUP BY name", as: NameCount.self, key: "name")
    var iterator = query.differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next()?.inserted.count == 2)
    try await database.run("INSERT INTO place VALUES (3, 'Baarle', 1)")
    #expect(try await iterator.next()?.updated.map(\.new) == [NameCount(name: "Baarle", count: 2)])
  }

  @Test("a row that cannot be decoded ends the sequence with an error")
  func mismatch() async throws {
    let database = try await folder.database(Self.schema, "INSERT INTO place VALUES (1, NULL, 3)")
    var iterator = LiveQuery(Place.self).differences(in: database).makeAsyncIterator()
    let error = try await #require(throws: DatabaseError.self) { try await iterator.next() }
    #expect(error.code == .mismatch)
    #expect(try await iterator.next() == nil)
  }

  /// Its whole numbers are stored as integers, by the affinity of the column.
  struct Score: Codable, DatabaseRecord {
    var id: String
    var points: Double
  }

  @Test("records to start from are compared by what they store")
  func startingFrom() async throws {
    let database = try await folder.database(Self.schema, Self.insertion)
    let start = [Place(id: 2, name: "?"), Place(id: 3, name: "!"), Place(id: 1, name: "Büsingen")]
    var iterator = LiveQuery(Place.self).differences(in: database, startingFrom: start)
      .makeAsyncIterator()
    #expect(
      try await iterator.next()
        == SetDifference(
          updated: [.init(old: start[0], new: Place(id: 2, name: "Baarle"))], deleted: [start[1]]))
    let twice = LiveQuery(Place.self).differences(in: database, startingFrom: [start[0], start[0]])
    var failing = twice.makeAsyncIterator()
    await #expect(throws: IdentityViolation.self) { try await failing.next() }
  }

  @Test("records whose columns keep them in another form do not count as changed")
  func startingFromAffinity() async throws {
    let database = try await folder.database(
      "CREATE TABLE score (id TEXT PRIMARY KEY, points NUMERIC)")
    let start = [Score(id: "a", points: 1), Score(id: "b", points: 2.5)]
    try await database.write { try $0.insert(contentsOf: start) }
    let integerCount = try await database.read { transaction in
      try transaction.connection.integer(
        "SELECT count(*) FROM score WHERE typeof(points) = 'integer'")
    }
    #expect(integerCount == 1)
    var iterator = LiveQuery(Score.self).differences(in: database, startingFrom: start)
      .makeAsyncIterator()
    #expect(try await iterator.next()?.isEmpty == true)
  }
}
