import Foundation
import Tandem

let folder = NSTemporaryDirectory() + "schema-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

// snippet.migrations
let first = DatabaseMigration("create notes") { transaction in
  try transaction.execute("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT)")
}
let second = DatabaseMigration("add the day") { transaction in
  try transaction.execute("ALTER TABLE note ADD COLUMN day TEXT NOT NULL DEFAULT 'today'")
}
// snippet.end

let space = try await SyncSpace.file("\(folder)/shared.space", creates: true)
let phone = try await Database.open(path: "\(folder)/phone.db")
let laptop = try await Database.open(path: "\(folder)/laptop.db")
let phoneReplica = DatabaseReplica(phone)
let laptopReplica = DatabaseReplica(laptop)
for (database, replica) in [(phone, phoneReplica), (laptop, laptopReplica)] {
  try database.migrate([first])
  try await replica.attach([AttachedTable("note")], to: space)
  try await replica.sync(with: space)
}

func notes(_ database: Database) throws -> [Record] {
  try database.read { try $0.fetchAll("SELECT * FROM note ORDER BY id") }
}

// snippet.add
// The phone gets the new version of the program. The laptop has the former one.
try phone.migrate([first, second])
try phone.write { transaction in
  try transaction.execute("INSERT INTO note VALUES ('n1', 'Plan', 'Monday')")
}
try await phoneReplica.sync(with: space)
try await laptopReplica.sync(with: space)
print(try notes(laptop).count)  // 1: the laptop has the row, without the column

// The laptop edits the row. The value that it cannot show stays as it is.
try laptop.write { try $0.execute("UPDATE note SET title = 'Big plan'") }
try await laptopReplica.sync(with: space)

// Later, the laptop gets the new version too, and the value with it.
try laptop.migrate([first, second])
try await laptopReplica.sync(with: space)
print(try notes(laptop))  // title "Big plan", day "Monday"
// snippet.end
try await phoneReplica.sync(with: space)
for rows in [try notes(phone), try notes(laptop)] {
  precondition(rows == [["id": "n1", "title": "Big plan", "day": "Monday"]])
}

// snippet.pause
// Another program drops the column: a framework, or the shell of SQLite.
try await laptopReplica.beginSchemaChange()
let other = try await Database.open(path: laptop.path)
try other.write { try $0.execute("ALTER TABLE note DROP COLUMN day") }
try other.close()
print(try await laptopReplica.status().state)  // blocked: the file is paused
try await laptopReplica.endSchemaChange()

// Only this file has lost the column. The space and the phone keep it.
try await laptopReplica.sync(with: space)
print(try await laptopReplica.status().tables[0].columns)  // ["title"]
// snippet.end
let table = try await laptopReplica.status().tables[0]
precondition(table.columns == ["title"])
try await phoneReplica.sync(with: space)
let days = try notes(phone).map { $0["day"] }
precondition(days == ["Monday"])

// snippet.broken
// A change that Tandem cannot follow: the table has another name.
try phone.write { try $0.execute("ALTER TABLE note RENAME TO memo") }
do {
  try await phoneReplica.sync(with: space)
} catch let error as ReplicaError where error.code == .schema {
  print(error.message)
}
// Nothing was sent. With the former name, the file is in step again.
try phone.write { try $0.execute("ALTER TABLE memo RENAME TO note") }
try await phoneReplica.sync(with: space)
// snippet.end
let status = try await phoneReplica.status()
precondition(status.state == .upToDate)
