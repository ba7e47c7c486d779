import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

struct CodableRecordTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
  }

  private enum Kind: String, Codable { case town, village }

  private struct Place: Codable, Identifiable, DatabaseRecord, Equatable {
    var id: Int64
    var name: String
    var height: Double?
    var isCapital: Bool
    var kind: Kind
    var founded: Date
    var photo: Data
    var digest: [UInt8]
    var small: UInt8
    var note: String?
  }

  private static let schema: SQL = """
    CREATE TABLE place (
      note TEXT, id INTEGER PRIMARY KEY, name TEXT, kind TEXT, height REAL, isCapital INTEGER,
      founded TEXT, photo BLOB, digest BLOB, small INTEGER, other DEFAULT 'kept')
    """

  private func place(_ id: Int64) -> Place {
    Place(
      id: id, name: "n\(id)", height: id % 2 == 0 ? nil : Double(id) / 2, isCapital: id % 3 == 0,
      kind: id % 2 == 0 ? .town : .village, founded: Date(timeIntervalSinceReferenceDate: 1.25),
      photo: id == 9 ? Data() : Data([1, 2, UInt8(truncatingIfNeeded: id)]),
      digest: [UInt8](repeating: 7, count: 3),
      small: 255, note: id % 5 == 0 ? "five" : nil)
  }

  @Test("with nothing but conformance, values of all kinds come back as they were")
  func roundTrip() throws {
    let places = (0..<50).map { place($0) }
    let (all, one, types) = try database.write { transaction in
      try transaction.execute(Self.schema)
      try transaction.insert(contentsOf: places)
      let types = try transaction.fetchOne(
        "SELECT typeof(kind) AS a, typeof(founded) AS b, typeof(photo) AS c, typeof(note) AS d "
          + "FROM place WHERE id = 1", as: Types.self)
      return (
        try transaction.fetchAll(Place.self), try transaction.fetchOne(Place.self, key: 7), types
      )
    }
    #expect(all == places)
    #expect(one == places[7])
    #expect(types == Types(a: "text", b: "text", c: "blob", d: "null"))
  }

  private struct Types: Decodable, RowDecodable, Equatable {
    var a: String
    var b: String
    var c: String
    var d: String
  }

  @Test("update, upsert and delete find the record by its id")
  func changes() throws {
    try database.write { transaction in
      try transaction.execute(Self.schema)
      try transaction.insert(place(1))
      var changed = place(1)
      changed.height = nil
      changed.name = "changed"
      #expect(try transaction.update(changed))
      #expect(try transaction.fetchAll(Place.self) == [changed])
      #expect(try transaction.update(place(2)) == false)
      try transaction.upsert(contentsOf: [place(1), place(2)])
      #expect(try transaction.fetchAll(Place.self) == [place(1), place(2)])
      #expect(try transaction.delete(place(1)))
      #expect(try transaction.delete(Place.self, key: 1) == false)
      #expect(try transaction.fetchAll(Place.self) == [place(2)])
      #expect(try transaction.fetchValue("SELECT other FROM place") == "kept")
    }
  }

  @Test("a column that is missing in a query is nil for an optional, and an error otherwise")
  func missingColumns() throws {
    struct Part: Decodable, RowDecodable, Equatable {
      var a: Int
      var b: Int?
    }
    try database.read { transaction in
      #expect(try transaction.fetchAll("SELECT 1 AS a") == [Part(a: 1, b: nil)])
      #expect(try transaction.fetchAll("SELECT 2 AS B, 1 AS A") == [Part(a: 1, b: 2)])
      let missing = try databaseError {
        _ = try transaction.fetchAll("SELECT 1 AS b", as: Part.self)
      }
      #expect(missing.code == .mismatch)
      let null = try databaseError {
        _ = try transaction.fetchAll("SELECT NULL AS a", as: Part.self)
      }
      #expect(null.message.contains("a holds null"))
      let wrong = try databaseError {
        _ = try transaction.fetchAll("SELECT 1 AS a, 'x' AS b", as: Part.self)
      }
      #expect(wrong.message.contains("\"x\""))
    }
  }

  /// Encodes other columns each time, as types with their own `encode(to:)` may.
  private struct Changeable: Codable, DatabaseRecord {
    static let tableName = "t"
    var id: Int
    var names: [String]

    struct Key: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(_ name: String) { stringValue = name }
      init?(stringValue: String) { self.init(stringValue) }
      init?(intValue: Int) { nil }
    }

    init(_ id: Int, _ names: [String]) {
      self.id = id
      self.names = names
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      id = try container.decode(Int.self, forKey: Key("id"))
      names = try ["a", "b", "c"].filter { try !container.decodeNil(forKey: Key($0)) }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(id, forKey: Key("id"))
      for name in names { try container.encode(1, forKey: Key(name)) }
    }
  }

  @Test(
    "records of one type that encode different columns are each stored exactly so",
    arguments: 0..<20)
  func changingColumns(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let records = (0..<40).map { id in
      Changeable(id, ["a", "b", "c"].filter { _ in Bool.random(using: &generator) })
    }
    let copies = try database.write { transaction in
      try transaction.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c)")
      for record in records { try transaction.insert(record) }
      return try transaction.fetchAll(Changeable.self)
    }
    #expect(copies.map(\.names) == records.map(\.names), "seed \(seed)")
  }

  /// A class as it encodes itself after its superclass: one column twice, another at times only.
  private struct Repeating: Codable, DatabaseRecord, Equatable {
    static let tableName = "t"
    var id: Int
    var a: Int
    var b: Int?

    enum CodingKeys: CodingKey { case id, a, b }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(0, forKey: .id)
      try container.encode(a, forKey: .a)
      try container.encode(id, forKey: .id)
      if let b { try container.encode(b, forKey: .b) }
    }
  }

  @Test("a column that is encoded twice does not let another keep the value of the record before")
  func repeatedColumn() throws {
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)")
      let records = [
        Repeating(id: 1, a: 1, b: 7), Repeating(id: 2, a: 2, b: nil), Repeating(id: 3, a: 3, b: 8),
      ]
      try transaction.insert(contentsOf: records)
      #expect(try transaction.fetchAll(Repeating.self) == records)
    }
  }

  /// Bytes within other types, as they encode themselves in the one way or the other.
  private struct Wrapped: Codable, DatabaseRecord, Equatable {
    struct Photo: Codable, Equatable {
      var data: Data

      init(_ data: Data) { self.data = data }

      init(from decoder: any Decoder) throws { data = try Data(from: decoder) }

      func encode(to encoder: any Encoder) throws { try data.encode(to: encoder) }
    }

    static let tableName = "t"
    var id: Int
    var photo: Photo
    var thumbnail: Data?

    init(_ id: Int, _ data: Data) { (self.id, photo, thumbnail) = (id, Photo(data), data) }

    enum CodingKeys: CodingKey { case id, photo, thumbnail }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(photo, forKey: .photo)
      // Not `encodeIfPresent`: as those write it who want a null.
      try container.encode(thumbnail, forKey: .thumbnail)
    }
  }

  @Test("no bytes are bytes too, also within an optional or another type")
  func emptyBytes() throws {
    let records = [Wrapped(1, Data([1])), Wrapped(2, Data())]
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, photo, thumbnail)")
      try transaction.insert(contentsOf: records)
      #expect(try transaction.fetchAll(Wrapped.self) == records)
      #expect(try transaction.fetchValues("SELECT hex(thumbnail) FROM t") == ["01", ""])
    }
  }

  @Test("what no column can hold is an error that says which column")
  func unsupported() throws {
    struct Nested: Codable, DatabaseRecord, Identifiable {
      static let tableName = "t"
      var id = 1
      var part: [String: Double]?
      var big: UInt64?
      var address: URL?
    }
    let relative = URL(string: "a", relativeTo: URL(string: "https://example.org"))
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, part, big, address)")
      for (record, column) in [
        (Nested(part: ["a": .nan]), "part"), (Nested(big: .max), "big"),
        (Nested(address: relative), "address"),
      ] {
        for _ in 0..<2 {
          let error = try databaseError { try transaction.insert(record) }
          #expect(error.code == .mismatch)
          #expect(error.message.contains("column \(column)"))
        }
      }
      try transaction.execute("INSERT INTO t VALUES (1, 'x', NULL, NULL)")
      let error = try databaseError { _ = try transaction.fetchAll(Nested.self) }
      #expect(error.message.contains("part"))
    }
  }

  @Test("a type that is both Codable and a DatabaseValue is stored as the latter")
  func databaseValuesFirst() throws {
    struct Celsius: Codable, DatabaseValue, Equatable {
      var degrees: Int
      init(degrees: Int) { self.degrees = degrees }
      init?(fieldValue: FieldValue) {
        guard case .text(let text) = fieldValue, let degrees = Int(text) else { return nil }
        self.degrees = degrees
      }
      var fieldValue: FieldValue? { .text("\(degrees)") }
    }
    struct Weather: Codable, Identifiable, DatabaseRecord, Equatable {
      var id: Int
      var high: Celsius
      var low: Celsius?
    }
    let days = [
      Weather(id: 1, high: Celsius(degrees: 9), low: nil),
      Weather(id: 2, high: Celsius(degrees: 8), low: Celsius(degrees: -3)),
    ]
    try database.write { transaction in
      try transaction.execute("CREATE TABLE weather (id INTEGER PRIMARY KEY, high, low)")
      try transaction.insert(contentsOf: days)
      #expect(try transaction.fetchAll(Weather.self) == days)
      #expect(try transaction.fetchValues("SELECT high FROM weather") == ["9", "8"])
    }
  }

  @Test("one statement decodes two types in turn")
  func alternatingTypes() throws {
    struct First: Decodable, RowDecodable, Equatable { var a: Int }
    struct Second: Decodable, RowDecodable, Equatable { var b: Int }
    let query: SQL = "SELECT 1 AS a, 2 AS b"
    try database.read { transaction in
      for _ in 0..<3 {
        let (first, second) = (
          try transaction.fetchOne(query, as: First.self),
          try transaction.fetchOne(query, as: Second.self)
        )
        #expect(first == First(a: 1))
        #expect(second == Second(b: 2))
      }
    }
  }

  @Test("a type with a single key, which takes no bits at all, is decoded")
  func singleKey() throws {
    struct One: Decodable, RowDecodable, Equatable { var only: Int }
    #expect(try database.read { try $0.fetchOne("SELECT 0 AS x, 5 AS only") } == One(only: 5))
  }
}
