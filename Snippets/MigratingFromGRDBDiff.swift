// snippet.hide
import Tandem

// snippet.show
struct Place: Codable, Identifiable, Equatable, DatabaseRecord {
  var id: Int64
  var name: String
  var isFavorite: Bool
}

@MainActor final class Pin {
  var title: String
  init(_ place: Place) { title = place.name }
}

@MainActor func migrate() async throws {
  let database = try Database(path: ":memory:")
  try await database.write { transaction in
    try transaction.execute(
      "CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, isFavorite BOOLEAN)")
    try transaction.insert(Place(id: 1, name: "Paris", isFavorite: true))
  }

  // snippet.observing
  let favorites = LiveQuery(Place.self, "WHERE isFavorite")
  for try await difference in favorites.differences(in: database) {
    print(difference.inserted, difference.updated, difference.deleted)
    break  // Without this, the loop continues until the task is cancelled.
  }
  // snippet.end

  // snippet.starting
  let shown = [Place(id: 2, name: "Lyon", isFavorite: true)]
  for try await difference in favorites.differences(in: database, startingFrom: shown) {
    print(difference.inserted.map(\.name), difference.deleted.map(\.name))  // ["Paris"] ["Lyon"]
    break
  }
  // snippet.end

  // snippet.reusing
  var pins = SetPresenter<Place, Pin>()
  for try await difference in favorites.differences(in: database) {
    let changes = pins.present(
      difference, onInsert: { Pin($0) }, onUpdate: { pin, place in pin.title = place.name })
    print(changes.inserted.map(\.title))  // ["Paris"]
    break
  }
  // snippet.end

  // snippet.values
  var differ = SetDiffer<Place, Place, Place.ID>()
  for try await places in favorites.values(in: database) {
    let difference = try differ.difference(to: places)
    print(difference.inserted.count)  // 1
    break
  }
  // snippet.end

  // snippet.lists
  for try await difference in LiveQuery(Place.self, "ORDER BY name").listDifferences(in: database) {
    for batch in difference.batches { print(batch) }
    break
  }
  // snippet.end
}

try await migrate()
