import Foundation
import Tandem

let folder = NSTemporaryDirectory() + "functions-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

// snippet.functions
var configuration = DatabaseConfiguration()
configuration.functions = [
  // Indexes may use a function only if equal arguments always give equal results.
  DatabaseFunction("initials", isDeterministic: true) { (name: String) in
    String(name.split(separator: " ").compactMap(\.first))
  },
  DatabaseFunction("uuid") { UUID().uuidString.lowercased() },
]
configuration.collations = [
  DatabaseCollation("unicase") { first, second in
    let (first, second) = (first.lowercased(), second.lowercased())
    return first < second ? -1 : first == second ? 0 : 1
  }
]
let database = try Database(path: "\(folder)/people.db", configuration: configuration)
// snippet.end

let initials = try database.write { transaction in
  try transaction.execute(
    """
    CREATE TABLE person (
      id TEXT PRIMARY KEY NOT NULL DEFAULT (uuid()), name TEXT NOT NULL COLLATE unicase)
    """)
  try transaction.execute("INSERT INTO person (name) VALUES ('Grace Hopper'), ('ada lovelace')")
  return try transaction.fetchValues(
    "SELECT initials(name) FROM person ORDER BY name", as: String.self)
}
print(initials)  // ["al", "GH"]
precondition(initials == ["al", "GH"])
