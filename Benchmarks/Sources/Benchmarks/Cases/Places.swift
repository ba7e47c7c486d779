import CFloors
import Foundation
import Tandem

/// A row of the table on which databases are measured, decoded and encoded by hand.
struct Place: DatabaseRecord, Sendable {
  static let columnNames = ["id", "name", "population", "latitude"]
  static let creation: SQL =
    "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, population INTEGER, latitude REAL)"

  var id: Int64
  var name: String
  var population: Int64
  var latitude: Double

  /// The place with this number, the same in every run.
  init(number: Int) {
    id = Int64(number)
    name = "Place number \(number)"
    population = Int64(number) * 7_919 % 1_000_003
    latitude = Double(number % 180) - 89.63
  }

  init(row: inout RowDecoder) throws {
    id = try row.next()
    name = try row.next()
    population = try row.next()
    latitude = try row.next()
  }

  func encode(to row: inout RowEncoder) throws {
    try row.append(id)
    try row.append(name)
    try row.append(population)
    try row.append(latitude)
  }
}

/// The same, decoded and encoded by the compiler's conformance.
struct CodablePlace: Codable, DatabaseRecord, Sendable {
  static let tableName = "place"

  var id: Int64
  var name: String
  var population: Int64
  var latitude: Double
}

/// The same with a text as key, like those that devices draw at random.
struct KeyedPlace: DatabaseRecord, Sendable {
  static let tableName = "place"
  static let columnNames = Place.columnNames
  static let creation: SQL =
    "CREATE TABLE place (id TEXT PRIMARY KEY, name TEXT, population INTEGER, latitude REAL)"

  var id: String
  var place: Place

  /// The place with this number, the same in every run. Keys of consecutive places are far apart.
  init(number: Int) {
    place = Place(number: number)
    let bits = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    id = [bits, bits &* 31 &+ 7].map { bits in
      let digits = String(bits, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }.joined()
  }

  init(row: inout RowDecoder) throws {
    place = Place(number: 0)
    id = try row.next()
    place.name = try row.next()
    place.population = try row.next()
    place.latitude = try row.next()
  }

  func encode(to row: inout RowEncoder) throws {
    try row.append(id)
    try row.append(place.name)
    try row.append(place.population)
    try row.append(place.latitude)
  }
}

/// A database by SQLite's C API.
final class FloorDatabase {
  private let database: OpaquePointer

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// Opens a file, with the table `place`.
  init(_ path: String) throws {
    guard let database = floor_database_open(path) else {
      throw Failure(description: "cannot open \(path)")
    }
    self.database = database
  }

  deinit { floor_database_close(database) }

  func insert(_ places: FloorPlaces) throws -> Int {
    try checked(floor_database_insert(database, places.rows, places.rows.count))
  }

  func update(_ ids: [Int64], population: Int64) throws -> Int {
    try checked(floor_database_update(database, ids, ids.count, population))
  }

  /// Sets the population of places whose ids may be texts, and returns how many changed.
  func update(_ places: FloorPlaces, population: Int64) throws -> Int {
    try checked(floor_database_update_rows(database, places.rows, places.rows.count, population))
  }

  func read() throws -> Int { try checked(floor_database_read(database)) }

  private func checked(_ count: Int) throws -> Int {
    guard count >= 0 else { throw Failure(description: "the floor in C failed") }
    return count
  }
}

/// Places as C takes them.
final class FloorPlaces {
  let rows: [floor_place]

  init(_ places: [Place]) { rows = places.map { FloorPlaces.row($0, key: nil) } }

  init(_ places: [KeyedPlace]) { rows = places.map { FloorPlaces.row($0.place, key: $0.id) } }

  private static func row(_ place: Place, key: String?) -> floor_place {
    floor_place(
      id: place.id, key: key.map { UnsafePointer(strdup($0)) }, name: strdup(place.name),
      name_length: place.name.utf8.count, population: place.population, latitude: place.latitude)
  }

  deinit {
    for row in rows {
      free(UnsafeMutablePointer(mutating: row.name))
      free(UnsafeMutablePointer(mutating: row.key))
    }
  }
}

extension TemporaryFolder {
  /// Makes a database of so many places by SQLite's C API, and returns its path.
  func makePlaces(_ name: String, count: Int) throws -> String {
    _ = try FloorDatabase(path(name)).insert(FloorPlaces((0..<count).map(Place.init(number:))))
    return path(name)
  }
}
