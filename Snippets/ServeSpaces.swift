import Foundation
import Tandem
import TandemServer

let folder = NSTemporaryDirectory() + "server-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }
let database = try Database(path: "\(folder)/notes.db")
try database.write { transaction in
  try transaction.execute("CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)")
}

// snippet.serve
// Serve the spaces of a directory to the programs of this machine.
let service = try SyncService(spacesIn: "\(folder)/spaces")
let socket = try ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false)
let server = try HTTPServer(socket, responder: service)
try await withThrowingTaskGroup(of: Void.self) { group in
  group.addTask { await server.run() }

  // A replica reaches them by the address, in this process or in any other one.
  let space = try SyncSpace.server(server.url, space: "notes")
  let replica = DatabaseReplica(database)
  try await replica.attach([AttachedTable("note")], to: space)
  print(try await replica.sync(with: space).pushedCount)  // 0

  // Cancelling the tasks ends the server in order: requests are answered, streams end.
  group.cancelAll()
}
// snippet.end
