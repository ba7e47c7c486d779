// snippet.imports
import Foundation
import Tandem
import TandemServer

let folder = NSTemporaryDirectory() + "groceries-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
print(folder)
// snippet.hide
defer { try? FileManager.default.removeItem(atPath: folder) }

// snippet.show
// snippet.item
struct Item: Codable, Equatable, DatabaseRecord {
  var id = UUID().uuidString
  var title: String
  var count = 1
}

func list(_ path: String) async throws -> Database {
  let database = try Database(path: path)
  try await database.write { transaction in
    try transaction.execute(
      """
      CREATE TABLE IF NOT EXISTS item (
        id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, count INTEGER NOT NULL)
      """)
  }
  return database
}
// snippet.end

// snippet.write
let phone = try await list("\(folder)/phone.db")
try phone.write { try $0.insert(Item(id: "milk", title: "Milk")) }
// snippet.end

// snippet.live
let items = LiveQuery(Item.self, "ORDER BY title")
for try await rows in items.values(in: phone) {
  print(rows.map(\.title))  // ["Milk"], then ["Bread", "Milk"]
  if rows.count == 2 { break }
  try phone.write { try $0.insert(Item(id: "bread", title: "Bread")) }
}
// snippet.end

// snippet.server
let service = try SyncService(spacesIn: "\(folder)/spaces")
let socket = try ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false)
let server = try HTTPServer(socket, responder: service)
let serving = Task { await server.run() }
// snippet.end

// snippet.attach
let space = try SyncSpace.server(server.url, space: "groceries")
let shared = AttachedTable("item", policies: ["count": .counter])

let phoneReplica = DatabaseReplica(phone)
try await phoneReplica.attach([shared], to: space)
try await phoneReplica.sync(with: space)

let laptop = try await list("\(folder)/laptop.db")
let laptopReplica = DatabaseReplica(laptop)
try await laptopReplica.attach([shared], to: space)
try await laptopReplica.sync(with: space)
let titles = try laptop.read { try $0.fetchAll(Item.self, "ORDER BY title") }.map(\.title)
print(titles)  // ["Bread", "Milk"]
// snippet.hide
precondition(titles == ["Bread", "Milk"])
// snippet.show
// snippet.end

// snippet.conflict
try phone.write { transaction in
  try transaction.execute("UPDATE item SET title = 'Oat milk', count = count + 1 WHERE id = 'milk'")
}
try laptop.write { transaction in
  try transaction.execute("UPDATE item SET title = 'Soy milk', count = count + 2 WHERE id = 'milk'")
}
try await phoneReplica.sync(with: space)
try await laptopReplica.sync(with: space)

let conflicts = try await laptopReplica.keptEdits(.conflicts)
for conflict in conflicts {
  print(conflict.base?["title"] ?? "–")  // "Milk"
  print(conflict.local?["title"] ?? "–", conflict.remote?["title"] ?? "–")  // "Soy milk" "Oat milk"
  try await laptopReplica.resolve(.one(conflict.id), by: .fields(["title": "Oat and soy milk"]))
}
// snippet.hide
precondition(conflicts.map(\.fields) == [["title"]])
precondition(conflicts.map { $0.local?["title"] } == ["Soy milk"])
precondition(conflicts.map { $0.remote?["title"] } == ["Oat milk"])
// snippet.show
// snippet.end

// snippet.run
try await withThrowingTaskGroup(of: Void.self) { group in
  group.addTask { try await phoneReplica.run(with: space) }
  group.addTask { try await laptopReplica.run(with: space) }
  for try await rows in items.values(in: phone) {
    guard let milk = rows.first(where: { $0.title == "Oat and soy milk" }) else { continue }
    print(milk.count)  // 4
    // snippet.hide
    precondition(milk.count == 4)
    // snippet.show
    break
  }
  group.cancelAll()
}
// snippet.end

// snippet.stop
serving.cancel()
await serving.value
// snippet.end
