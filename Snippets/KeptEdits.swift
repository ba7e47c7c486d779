import Foundation
import Tandem

let folder = NSTemporaryDirectory() + "tasks-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

/// Two copies of a database, as on two devices.
func copy(_ name: String) async throws -> Database {
  let database = try await Database.open(path: "\(folder)/\(name)")
  try await database.write { transaction in
    try transaction.execute(
      """
      CREATE TABLE task (
        id TEXT NOT NULL PRIMARY KEY, title TEXT, body TEXT, votes INTEGER NOT NULL DEFAULT 0,
        priority INTEGER, slug TEXT UNIQUE)
      """)
  }
  return database
}
let phone = try await copy("phone.db")
let laptop = try await copy("laptop.db")
let space = try await SyncSpace.file("\(folder)/shared.space", creates: true)

// snippet.policies
let task = AttachedTable(
  "task", policies: ["votes": .counter, "body": .text, "priority": .maximum])
// snippet.end
let phoneReplica = DatabaseReplica(phone)
try await phoneReplica.attach([task], to: space)

// snippet.merging
// The greater priority wins. An edit of the record beats a deletion; all else stays open.
let merging = ReplicaMerging([
  "task": TableMerging(
    fields: [
      "votes": .counter, "body": .policy(.textMerge), "priority": .policy(.maximum),
    ],
    record: .editBeatsDelete)
])
let laptopReplica = DatabaseReplica(laptop, merging: merging)
// snippet.end
try await laptopReplica.attach([task], to: space)

try phone.write { try $0.execute("INSERT INTO task (id, title) VALUES ('t', 'Milk')") }
try await phoneReplica.sync(with: space)
try await laptopReplica.sync(with: space)

// snippet.conflict
// Both copies change one task.
try phone.write { transaction in
  try transaction.execute("UPDATE task SET title = 'Oat milk', votes = votes + 1, priority = 2")
}
try laptop.write { transaction in
  try transaction.execute("UPDATE task SET title = 'Soy milk', votes = votes + 1, priority = 5")
}
try await phoneReplica.sync(with: space)
let report = try await laptopReplica.sync(with: space)
print(report.conflictCount)  // 1: the titles. The votes and the priority are merged.

for edit in try await laptopReplica.keptEdits(.conflicts) {
  print(edit.kind, edit.fields ?? [])  // editEdit ["title"]
  print(edit.local?["title"] ?? .null, edit.remote?["title"] ?? .null)  // "Soy milk" "Oat milk"
  // An ordinary edit of the row, which the next synchronization sends.
  try await laptopReplica.resolve(.one(edit.id), by: .fields(["title": "Oat or soy milk"]))
}
// snippet.end
precondition(report.conflictCount == 1)
try await laptopReplica.sync(with: space)
try await phoneReplica.sync(with: space)
for database in [phone, laptop] {
  let rows: [Record] = try database.read {
    try $0.fetchAll("SELECT title, votes, priority FROM task")
  }
  precondition(rows == [["title": "Oat or soy milk", "votes": 2, "priority": 5]])
}

// snippet.rejected
// The laptop adds a task with a slug that the space has given to another one meanwhile.
try phone.write { transaction in
  try transaction.execute("INSERT INTO task (id, title, slug) VALUES ('a', 'Tea', 'drink')")
}
try laptop.write { transaction in
  try transaction.execute("INSERT INTO task (id, title, slug) VALUES ('b', 'Cola', 'drink')")
}
try await phoneReplica.sync(with: space)
try await laptopReplica.sync(with: space)

for edit in try await laptopReplica.keptEdits(.rejected) {
  print(edit.kind, edit.primaryKey, edit.reason)
  // The row is made again, with another slug.
  try await laptopReplica.resolve(.one(edit.id), by: .fields(["slug": "cola"]))
}
print(try await laptopReplica.sync(with: space).rejectedCount)  // 0
// snippet.end
let slugs: [String] = try laptop.read {
  try $0.fetchValues("SELECT slug FROM task WHERE slug IS NOT NULL ORDER BY slug")
}
precondition(slugs == ["cola", "drink"])

// snippet.list
/// The open conflicts, for a view of the main actor.
@MainActor final class ConflictList {
  private(set) var conflicts: [KeptEdit] = []

  /// Keeps the list true until the task is cancelled, whichever program resolves a conflict.
  func follow(_ replica: DatabaseReplica) async throws {
    for try await conflicts in replica.keptEditUpdates(.conflicts) { self.conflicts = conflicts }
  }

  /// Takes one side of a conflict.
  func resolve(_ conflict: KeptEdit, of replica: DatabaseReplica, keepingOurs: Bool) async throws {
    try await replica.resolve(.one(conflict.id), by: keepingOurs ? .local : .remote)
  }
}
// snippet.end

// An edit of the laptop that the phone overtakes stays in the list until it is resolved.
try phone.write { try $0.execute("UPDATE task SET title = 'Green tea' WHERE id = 'a'") }
try laptop.write { try $0.execute("UPDATE task SET title = 'Black tea' WHERE id = 'a'") }
try await phoneReplica.sync(with: space)
try await laptopReplica.sync(with: space)
let list = ConflictList()
let following = Task { try await list.follow(laptopReplica) }
while list.conflicts.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
try await list.resolve(list.conflicts[0], of: laptopReplica, keepingOurs: true)
while !list.conflicts.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
following.cancel()
let titles: [String] = try laptop.read {
  try $0.fetchValues("SELECT title FROM task WHERE id = 'a'")
}
precondition(titles == ["Black tea"])
