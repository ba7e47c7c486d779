import Foundation
import Tandem

/// Two copies of a database, as on two devices.
func copy(_ name: String) async throws -> Database {
  let database = try Database(path: name)
  try await database.write { transaction in
    try transaction.execute(
      "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER NOT NULL DEFAULT 0)")
  }
  return database
}
let folder = NSTemporaryDirectory() + "notes-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }
let phone = try await copy("\(folder)/phone.db")
let laptop = try await copy("\(folder)/laptop.db")

// snippet.synchronize
// A file that all copies share. Later, the same program can use a server instead.
let space = try await SyncSpace.file("\(folder)/shared.space", creates: true)

// Attach the tables once. The counter adds the likes of all copies.
let table = AttachedTable("note", policies: ["likes": .counter])
let phoneReplica = DatabaseReplica(phone)
try await phoneReplica.attach([table], to: space)
let laptopReplica = DatabaseReplica(laptop)
try await laptopReplica.attach([table], to: space)

// Write as always, offline too, from any program.
try phone.write { try $0.execute("INSERT INTO note VALUES ('n1', 'Plan', 5)") }
try await phoneReplica.sync(with: space)
let report = try await laptopReplica.sync(with: space)
print(report.pulledCount)  // 1
// snippet.end

// snippet.conflicts
// Both change the same note.
try phone.write { try $0.execute("UPDATE note SET title = 'Big plan', likes = likes + 1") }
try laptop.write { try $0.execute("UPDATE note SET title = 'Long plan', likes = likes + 1") }
try await phoneReplica.sync(with: space)
try await laptopReplica.sync(with: space)

for conflict in try await laptopReplica.keptEdits(.conflicts) {
  print(conflict.base?["title"] ?? "–", conflict.local?["title"] ?? "–")  // "Plan" "Long plan"
  print(conflict.remote?["title"] ?? "–")  // "Big plan"
  try await laptopReplica.resolve(.one(conflict.id), by: .fields(["title": "Big, long plan"]))
}
try await laptopReplica.sync(with: space)
try await phoneReplica.sync(with: space)
print(try phone.read { try $0.fetchAll("SELECT title, likes FROM note") as [Record] })
// title "Big, long plan", likes 7
// snippet.end

// snippet.run
// Keep the file in step for as long as the task lives, and show its condition.
try await withThrowingTaskGroup(of: Void.self) { group in
  group.addTask { try await phoneReplica.run(with: space) }
  for try await status in phoneReplica.statusUpdates {
    print(status.state, status.pendingCount, status.conflictCount)  // upToDate 0 0
    if status.state == .upToDate { break }
  }
  group.cancelAll()
}
// snippet.end
