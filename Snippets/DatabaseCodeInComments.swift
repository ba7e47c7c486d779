// The code that the comments of public symbols of databases show.
import Foundation
import Tandem

struct NameCount: Codable, DatabaseRecord {
  var name: String
  var count: Int
}

// snippet.record
struct Place: Codable, Identifiable, DatabaseRecord {
  var id: Int64
  var name: String
}
// snippet.end

struct Visit: Codable, DatabaseRecord {
  var time: Date
  // snippet.coding
  static let recordCoding = RecordCoding(dates: .secondsSince1970)
  // snippet.end
}

enum ByHand {
  // snippet.decodable
  struct Place: RowDecodable {
    static let columnNames = ["id", "name"]
    let id: Int64
    let name: String

    init(row: inout RowDecoder) throws {
      id = try row.next()
      name = try row.next()
    }
  }
  // snippet.end
}

struct Celsius: Equatable, Codable { var degrees: Double }
// snippet.convertible
extension Celsius: FieldValueConvertible {
  init?(fieldValue: FieldValue) {
    guard let degrees = Double(fieldValue: fieldValue) else { return nil }
    self.init(degrees: degrees)
  }
  var fieldValue: FieldValue? { degrees.fieldValue }
}
// snippet.end

enum FromJSON {
  static func places(_ text: String) throws -> Int {
    // snippet.reading
    struct Place: Codable { var id: Int, name: String, tags: [String], founded: Date? }
    let places = try RecordReader.read([Place].self, in: text, format: .json)
    // snippet.end
    return places.count
  }
}

func open() async throws -> [Place] {
  // snippet.database
  let database = try Database(path: "places.db")
  try await database.write { transaction in
    try transaction.insert(Place(id: 1, name: "Büsingen"))
  }
  let places = try await database.read { try $0.fetchAll(Place.self) }
  // snippet.end
  return places
}

func migrate(_ database: Database) async throws {
  // snippet.migrations
  try await database.migrate([
    DatabaseMigration("create places") { transaction in
      try transaction.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)")
    }
  ])
  // snippet.end
}

func read(_ name: String, in database: Database) throws {
  try database.read { transaction in
    // snippet.counts
    let names: [NameCount] = try transaction.fetchAll(
      "SELECT name, count(*) AS count FROM place GROUP BY name")
    // snippet.end
    // snippet.cursor
    try transaction.withCursor("SELECT * FROM place", as: Place.self) { cursor in
      while let place = try cursor.next() { print(place.name) }
    }
    // snippet.end
    // snippet.records
    let records: [Record] = try transaction.fetchAll("SELECT * FROM place")
    // snippet.end
    // snippet.binding
    let places: [Place] = try transaction.fetchAll("SELECT * FROM place WHERE name = \(name)")
    // snippet.end
    print(names.count, records.count, places.count)  // 1 1 1
  }
}

func read(northOf limit: Double, in transaction: borrowing ReadTransaction) throws -> [Place] {
  // snippet.where
  try transaction.fetchAll(Place.self, "WHERE latitude > \(limit) ORDER BY name")
  // snippet.end
}

struct Tagged: RowDecodable {
  static let columnNames = ["name", "tags"]
  let name: String
  let tags: [String]

  init(row: inout RowDecoder) throws {
    // snippet.column
    let name: String = try row["name"]
    // snippet.end
    // snippet.decoding
    let tags: [String] = try row[decoding: "tags"]
    // snippet.end
    (self.name, self.tags) = (name, tags)
  }
}

func compare(_ backup: Database, with database: Database) throws {
  // snippet.databases
  let comparison = DatabaseComparison(from: backup, to: database)
  let others = try comparison.forEachTable { table in
    try table.forEachChange { change in print(table.name, change) }
  }
  // snippet.end
  print(others)
}

func compare(_ draft: TableSchema, with final: TableSchema, in database: Database) throws {
  // snippet.tables
  let comparison = TableComparison(from: draft, to: final, key: ["id"])
  try database.read { transaction in
    try comparison.forEachChange(from: transaction, to: transaction) { change in print(change) }
  }
  // snippet.end
}

func show(_ inserted: [Record], _ updated: [SetDifference<Record>.Update], _ deleted: [Record]) {}

func follow(_ database: Database) async throws {
  // snippet.query
  let places = LiveQuery(table: "place")
  for try await difference in places.differences(in: database) {
    show(difference.inserted, difference.updated, difference.deleted)
  }
  // snippet.end
}

func countsByName() -> LiveQuery<NameCount> {
  // snippet.keyed
  LiveQuery(
    "SELECT name, count(*) AS count FROM place GROUP BY name", as: NameCount.self, key: "name")
  // snippet.end
}

func places(in country: String) -> LiveQuery<Place> {
  // snippet.typed
  LiveQuery(Place.self, "WHERE country = \(country) ORDER BY name")
  // snippet.end
}

func records(in country: String) -> LiveQuery<Record> {
  // snippet.untyped
  LiveQuery("SELECT id, name FROM place WHERE country = \(country)", key: "id")
  // snippet.end
}

func mirror(_ source: RecordSource, by mirror: DatabaseMirror, into database: Database) async {
  // snippet.runs
  for await report in mirror.runs(from: source, into: database, every: .seconds(60)) {
    print(report)
  }
  // snippet.end
}

let database = try Database(path: ":memory:")
try await migrate(database)
try database.write { try $0.insert(Place(id: 1, name: "Büsingen")) }
try read("Büsingen", in: database)
