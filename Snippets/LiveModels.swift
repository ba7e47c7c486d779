import Tandem

struct Place: Codable, Identifiable, Equatable, DatabaseRecord {
  var id: Int64
  var name: String
}

let database = try Database(path: ":memory:")
try database.write { transaction in
  try transaction.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT)")
  try transaction.insert(Place(id: 1, name: "Büsingen"))
}

// snippet.model
@MainActor final class Screen {
  let places = LiveModel(LiveQuery(Place.self, "ORDER BY name"), in: database)
}
// snippet.end
let places = Screen().places
while places.isLoading { await Task.yield() }
print(places.elements.map(\.name))  // ["Büsingen"]

/// In the place of a `UITableView`, a `UICollectionView` or an `NSCollectionView`.
final class ListView: ListBatchView {
  func performBatch(_ changes: () -> Void) { changes() }
  func deleteElements(at offsets: [Int], inSection section: Int) { print("delete", offsets) }
  func insertElements(at offsets: [Int], inSection section: Int) { print("insert", offsets) }
  func moveElement(from origin: Int, to destination: Int, inSection section: Int) {}
  func updateElements(at offsets: [Int], inSection section: Int) { print("update", offsets) }
}

let view = ListView()
// snippet.batches
var rows: [Place] = []
let query = LiveQuery(Place.self, "ORDER BY name")
for try await difference in query.listDifferences(in: database) {
  // The data source of the view returns `rows`.
  view.animate(difference, of: rows) { rows = $0 }
  if rows.isEmpty { break }
  try database.write { try $0.execute("DELETE FROM place") }
}
// snippet.end
// insert [0], delete [0]
