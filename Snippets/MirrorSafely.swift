import Foundation
import Tandem

let folder = NSTemporaryDirectory() + "mirror-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }
let list = "\(folder)/places.json"
try Data(#"[{"id": 1, "name": "Oslo"}, {"id": 2, "name": "Rome"}]"#.utf8)
  .write(to: URL(filePath: list))

// snippet.run
let database = try await Database.open(path: "\(folder)/places.db")
let mirror = DatabaseMirror(table: "place", key: ["id"])
let source = RecordSource.file(list)  // or .url("https://example.org/places.json")
let report = try await mirror.run(from: source, into: database)
print(report)  // 2 inserted, 0 updated, 0 deleted
// snippet.end
precondition(report.outcome?.difference.inserted.count == 2)

// snippet.own
// A column of the application's own. No list ever had a field of this name.
try database.write { transaction in
  try transaction.execute("ALTER TABLE place ADD COLUMN isFavorite INTEGER NOT NULL DEFAULT 0")
  try transaction.execute("UPDATE place SET isFavorite = 1 WHERE name = 'Oslo'")
}
print(try await mirror.run(from: source, into: database))  // 0 inserted, 0 updated, 0 deleted
// snippet.end
let favorites: [String] = try database.read {
  try $0.fetchValues("SELECT name FROM place WHERE isFavorite")
}
precondition(favorites == ["Oslo"])

// snippet.broken
// The list breaks off in the middle. The table stays as it was.
try Data(#"[{"id": 1, "name": "Oslo"}, {"id": 3, "na"#.utf8).write(to: URL(filePath: list))
do {
  try await mirror.run(from: source, into: database)
} catch let error as DatabaseMirror.RunError {
  print(error.failure.step, error.failure.error)
}
// snippet.end
func checkCount() throws {
  let count: [Int] = try database.read { try $0.fetchValues("SELECT count(*) FROM place") }
  precondition(count == [2])
}
try checkCount()

// snippet.guarded
// An empty list would empty the table. That is refused, unless it is allowed.
try Data("[]".utf8).write(to: URL(filePath: list))
do {
  try await mirror.run(from: source, into: database)
} catch let error as DatabaseMirror.RunError {
  guard let refusal = error.failure.error as? MirrorError, refusal.code == .emptySource else {
    throw error
  }
  print(refusal.deletionCount ?? 0)  // 2
}

// What would a run do? A dry run writes nothing.
var rehearsal = mirror
rehearsal.isDryRun = true
rehearsal.mirrorGuard = MirrorGuard(allowsEmptySource: true)
print(try await rehearsal.run(from: source, into: database))  // 0 inserted, 0 updated, 2 deleted
// snippet.end
try checkCount()

// snippet.transaction
// The rows and the time of the last run change together, or not at all.
struct Place: Codable { var id: Int, name: String }
let places = [Place(id: 1, name: "Oslo"), Place(id: 2, name: "Roma")]
try database.write { transaction in
  try transaction.execute("CREATE TABLE IF NOT EXISTS fetched (time TEXT)")
  try mirror.run(places, in: transaction)
  try transaction.execute("INSERT INTO fetched VALUES (datetime())")
}
// snippet.end
try checkCount()
