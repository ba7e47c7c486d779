import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Typed records in the forms that a mirror writes")
struct RecordFormsTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
  }

  private struct Address: Codable, Equatable {
    var street: String
    var since: Date?
  }

  private struct Place: Codable, Identifiable, DatabaseRecord, Equatable {
    var id: UUID
    var tags: [String]
    var address: Address?
    var founded: Date
    var page: URL?
    var price: Decimal
  }

  private static let schema: SQL =
    "CREATE TABLE place (id TEXT PRIMARY KEY, tags TEXT, address TEXT, founded TEXT, page TEXT, price REAL)"

  /// A row as a mirror writes it.
  private static let row: SQL = """
    INSERT INTO place VALUES ('f81d4fae-7dec-11d0-a765-00a0c91e6bf6', '["a","b"]',
      '{"since":"2024-05-01T12:00:00Z","street":"Main"}', '2024-05-01T12:00:00.5Z', 'https://example.org/a', 0.1)
    """

  @Test("what a mirror wrote is read, and what is written is what the mirror would write")
  func mirrored() throws {
    try database.write { transaction in
      try transaction.execute(Self.schema)
      try transaction.execute(Self.row)
      let before: [Record] = try transaction.fetchAll("SELECT * FROM place")
      let place = try #require(try transaction.fetchOne(Place.self, "WHERE price < 1"))
      #expect(place.tags == ["a", "b"] && place.address?.street == "Main")
      #expect(place.address?.since == Date(timeIntervalSince1970: 1_714_564_800))
      #expect(place.founded == Date(timeIntervalSince1970: 1_714_564_800.5))
      #expect(
        place.page == URL(string: "https://example.org/a") && place.price == Decimal(string: "0.1"))
      // The key in lower case is found.
      #expect(try transaction.update(place))
      #expect(try transaction.fetchAll("SELECT * FROM place") == before)
      #expect(try transaction.delete(place))
      try transaction.insert(place)
      #expect(try transaction.fetchAll("SELECT * FROM place") == before)
      try transaction.upsert(place)
      #expect(try transaction.fetchAll(Place.self, "WHERE id = \(encoding: place.id)") == [place])
      #expect(
        try transaction.fetchAll(Place.self, "WHERE founded < \(encoding: Date())") == [place])
    }
  }

  @Test("a record chooses the forms of its dates and UUIDs")
  func choices() throws {
    struct Event: Codable, Identifiable, DatabaseRecord, Equatable {
      static let recordCoding = RecordCoding(dates: .secondsSince1970, uuids: .uppercase)
      var id: UUID
      var time: Date
      var times: [Date]
    }
    let date = Date(timeIntervalSince1970: 1_714_564_800)
    let event = Event(id: UUID(), time: date, times: [date])
    try database.write { transaction in
      try transaction.execute("CREATE TABLE event (id TEXT PRIMARY KEY, time INTEGER, times TEXT)")
      try transaction.insert(event)
      let records: [Record] = try transaction.fetchAll("SELECT * FROM event")
      #expect(
        records == [
          ["id": .text(event.id.uuidString), "time": 1_714_564_800, "times": "[1714564800]"]
        ])
      #expect(try transaction.fetchAll(Event.self) == [event])
    }
  }

  @Test(
    "a value that its property cannot hold is an error that names table, column and key",
    arguments: [
      ("tags", "'[1]'", "[0]: 1 is no String"), ("tags", "'a'", "\"a\" is no "),
      ("tags", "NULL", "null is no "),
      ("tags", "x'01'", "no element String"), ("address", "'{}'", "no field street"),
      ("founded", "'2024-05-01'", "with an offset"),
      ("founded", "1.5", "the type takes a date such as"),
      ("page", "''", "is no URL"), ("price", "'12x'", "is no "), ("price", "x'00'", "is no "),
    ])
  func mismatches(column: String, value: String, reason: String) throws {
    try database.write { transaction in
      try transaction.execute(Self.schema)
      try transaction.execute(Self.row)
      try transaction.execute(SQL(text: "UPDATE place SET \(column) = \(value)"))
      let error = try databaseError { _ = try transaction.fetchAll(Place.self) }
      #expect(error.code == .mismatch)
      #expect(error.message.contains("column \(column) of table place cannot be decoded: "))
      #expect(error.message.contains(reason), "\(error.message)")
      #expect(
        error.message.hasSuffix(", in the row with id \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""))
    }
  }

  @Test("a number that its property cannot hold names the row as well")
  func numbers() throws {
    struct Place: Codable, Identifiable, DatabaseRecord {
      var id: Int
      var height: Int
    }
    try database.write { transaction in
      try transaction.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, height)")
      try transaction.execute("INSERT INTO place VALUES (1, 2), (7, 1.5)")
      let error = try databaseError { _ = try transaction.fetchAll(Place.self) }
      #expect(
        error.message
          == "column height of table place holds 1.5, which is no Int, in the row with id 7")
    }
  }

  private struct Named: DatabaseRecord, Equatable {
    static let tableName = "t"
    static let columnNames = ["id", "tags", "day"]
    static let recordCoding = RecordCoding(dates: .sqliteText)
    var id: Int
    var tags: [String]
    var day: Date

    init(id: Int, tags: [String], day: Date) { (self.id, self.tags, self.day) = (id, tags, day) }

    init(row: inout RowDecoder) throws {
      id = try row.next()
      tags = try row.next(decoding: [String].self)
      day = try row[decoding: "DAY"]
    }

    func encode(to row: inout RowEncoder) throws {
      try row.append(id)
      try row.append(encoding: tags)
      try row.append(encoding: day)
    }
  }

  @Test("a type that takes its columns itself takes them by name too, and any Codable value")
  func handWritten() throws {
    let value = Named(id: 3, tags: ["x"], day: Date(timeIntervalSince1970: 1_714_564_800))
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (day TEXT, id INTEGER PRIMARY KEY, tags TEXT)")
      try transaction.insert(value)
      #expect(try transaction.fetchAll(Named.self) == [value])
      #expect(try transaction.fetchValue("SELECT day FROM t") == "2024-05-01 12:00:00")
      try transaction.execute("UPDATE t SET tags = 'x'")
      let error = try databaseError { _ = try transaction.fetchAll(Named.self) }
      #expect(
        error.message.contains("column tags of table t")
          && error.message.hasSuffix("in the row with id 3"))
    }
  }

  private struct ByName: RowDecodable, Equatable {
    static let columnNames: [String] = []
    var name: String
    var count: Int?

    init(name: String, count: Int?) { (self.name, self.count) = (name, count) }

    init(row: inout RowDecoder) throws {
      name = try row["name"]
      count = try row["Count"]
    }
  }

  @Test("row[\"name\"] finds a column by its name, whatever the order, or names those there are")
  func byName() throws {
    try database.read { transaction in
      let rows: [ByName] = try transaction.fetchAll(
        "SELECT 2 AS count, 'a' AS name UNION ALL SELECT NULL, 'b'")
      #expect(rows == [ByName(name: "a", count: 2), ByName(name: "b", count: nil)])
      let missing = try databaseError {
        _ = try transaction.fetchAll("SELECT 1 AS name2", as: ByName.self)
      }
      #expect(
        missing.code == .mismatch && missing.message.contains("a column name, but there are: name2")
      )
      let wrong = try databaseError {
        _ = try transaction.fetchAll("SELECT 1 AS name", as: ByName.self)
      }
      #expect(wrong.message.contains("column name holds 1, which is no String"))
    }
  }

  /// Writes into nested containers, one of them only at times.
  private struct Nesting: Codable, DatabaseRecord, Equatable {
    static let tableName = "t"
    var id: Int
    var x: Int
    var y: [Int]

    enum CodingKeys: CodingKey { case id, point, list }
    enum PointKeys: CodingKey { case x }

    init(id: Int, x: Int, y: [Int]) { (self.id, self.x, self.y) = (id, x, y) }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(Int.self, forKey: .id)
      let point = try container.nestedContainer(keyedBy: PointKeys.self, forKey: .point)
      x = try point.decode(Int.self, forKey: .x)
      y = []
      guard try !container.decodeNil(forKey: .list) else { return }
      var list = try container.nestedUnkeyedContainer(forKey: .list)
      while !list.isAtEnd { y.append(try list.decode(Int.self)) }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      var point = container.nestedContainer(keyedBy: PointKeys.self, forKey: .point)
      try point.encode(x, forKey: .x)
      guard !y.isEmpty else { return }
      var list = container.nestedUnkeyedContainer(forKey: .list)
      for number in y { try list.encode(number) }
    }
  }

  @Test("a type that writes into nested containers is stored as JSON, column by column")
  func nestedContainers() throws {
    let values = [1, 2, 3, 4].map { Nesting(id: $0, x: -$0, y: $0 == 3 ? [] : [$0, 9]) }
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, list TEXT, point TEXT)")
      try transaction.insert(contentsOf: values)
      #expect(try transaction.fetchAll(Nesting.self) == values)
      #expect(try transaction.fetchValue("SELECT point FROM t WHERE id = 2") == "{\"x\":-2}")
      #expect(try transaction.fetchValue("SELECT list FROM t WHERE id = 4") == "[4,9]")
    }
  }

  @Test("a parameter that no field can hold makes the statement an error")
  func unstorableParameter() throws {
    try database.read { transaction in
      let error = try databaseError {
        _ = try transaction.fetchAll("SELECT \(encoding: Decimal.nan) AS name", as: ByName.self)
      }
      #expect(error.code == .mismatch && error.message.contains("NaN"))
    }
  }
}
