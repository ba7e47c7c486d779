import Foundation
import Tandem

/// A place as the server sends it, and as the table has it.
struct Place: Codable, Identifiable, DatabaseRecord, Equatable {
  var id: UUID
  var name: String
  var tags: [String]
  var founded: Date
  var page: URL?
}

let json = """
  [{"id": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "name": "Oslo", "tags": ["capital", "port"],
    "founded": "1814-05-17T12:00:00Z", "page": "https://oslo.example"}]
  """

// A list as values of a type.
let places = try RecordReader.read([Place].self, in: json, format: .json)
print(places[0].tags)  // ["capital", "port"]

// The table that a mirror of the same list writes has the same values.
let database = try Database(path: ":memory:")
let mirror = DatabaseMirror(table: "place", key: ["id"])
_ = try mirror.run(RecordReader.records(in: json, format: .json), into: database)
try database.write { transaction in
  var place = try transaction.fetchAll(Place.self, "WHERE id = \(encoding: places[0].id)")[0]
  print(place == places[0])  // true
  place.tags.append("harbour")
  print(try transaction.update(place))  // true
  print(try transaction.fetchValue("SELECT tags FROM place", as: String.self) ?? "")
  // ["capital","port","harbour"]
}

// A value that its property cannot hold names the record and the field.
do {
  let wrong = json.replacingOccurrences(of: "1814-05-17T12:00:00Z", with: "1814")
  _ = try RecordReader.read([Place].self, in: wrong, format: .json)
} catch {
  print(error)
  // record 1: founded: "1814" is no Date; the type takes a date such as 2024-05-01T12:00:00Z, …
}
