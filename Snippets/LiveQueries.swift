import Tandem

struct Place: Codable, Identifiable, DatabaseRecord {
  var id: Int64
  var name: String
  var country: String
}

@MainActor final class Pin {
  var name: String
  init(_ place: Place) { name = place.name }
}

let database = try Database(path: ":memory:")
try database.write { transaction in
  try transaction.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, country TEXT)")
  try transaction.insert(Place(id: 1, name: "Büsingen", country: "DE"))
}

// snippet.differences
let country = "DE"
let places = LiveQuery(Place.self, "WHERE country = \(country) ORDER BY name LIMIT 20")

var pins = SetPresenter<Place, Pin>()
for try await difference in places.differences(in: database) {
  let changes = pins.present(
    difference, onInsert: { Pin($0) }, onUpdate: { pin, place in pin.name = place.name })
  print(changes.inserted.map(\.name), changes.deleted.map(\.name))
  // ["Büsingen"] [], then [] ["Büsingen"]
  if pins.presented.isEmpty { break }
  // This process or another one changes the table. The next difference has the changes.
  try database.write { try $0.execute("DELETE FROM place") }
}
// snippet.end

for try await difference in places.listDifferences(in: database) {
  // Deletions, insertions, moves and updates, to animate a list. The first one may be empty.
  print(difference.isEmpty)  // true
  break
}

print(try await places.explanation(in: database).description)
