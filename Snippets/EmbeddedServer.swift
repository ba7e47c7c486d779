import Foundation
import Tandem
import TandemServer

let folder = NSTemporaryDirectory() + "server-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

// snippet.public
/// A server that other machines reach, with access tokens and TLS.
func publicServer(folder: String, log: @escaping @Sendable (ServerEvent) -> Void) throws
  -> HTTPServer
{
  let service = try SyncService(
    spacesIn: "\(folder)/spaces", tokens: "\(folder)/tokens", log: log)
  let identity = HTTPServer.Identity(
    certificate: Array(try Data(contentsOf: URL(filePath: "\(folder)/cert.pem"))),
    key: Array(try Data(contentsOf: URL(filePath: "\(folder)/key.pem"))))
  let socket = try ListeningSocket(host: "0.0.0.0", port: 7420, allowsOthers: true)
  return try HTTPServer(socket, identity: identity, responder: service, log: log)
}
// snippet.end

// snippet.responder
/// The program behind the server: an address of its own, and the spaces.
struct Site: HTTPResponder {
  let service: SyncService

  func admission(of head: ServedRequestHead) -> HTTPAdmission {
    head.path == "/about" ? .accepted(client: nil) : service.admission(of: head)
  }

  func answer(_ request: ServedRequest) async -> HTTPAnswer {
    guard request.head.path == "/about" else { return await service.answer(request) }
    return HTTPAnswer("The notes of our team\n")
  }

  func answer(to trouble: ServerTrouble) -> HTTPAnswer { service.answer(to: trouble) }

  // Without this, no replica is notified of the commits of others.
  func run() async { await service.run() }
}
// snippet.end

// snippet.events
// The log is called on the server's thread, and must not wait. A task of the program reads the events.
let (events, event) = AsyncStream<ServerEvent>.makeStream(bufferingPolicy: .bufferingNewest(1_000))
let logging = Task {
  for await event in events where event.level <= .warning { print(event.level, event.message) }
}
// snippet.end

// snippet.serve
let service = try SyncService(spacesIn: "\(folder)/spaces") { event.yield($0) }
var limits = HTTPServerLimits()
limits.maxConnectionCount = 500
let socket = try ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false)
let server = try HTTPServer(socket, limits: limits, responder: Site(service: service)) {
  event.yield($0)
}
let serving = Task { await server.run() }
// snippet.end

let answer = try await SystemHTTPClient().response(
  to: HTTPRequest(url: "\(server.url)/about"), maxBodyByteCount: 1_000)
precondition(String(decoding: answer.body, as: UTF8.self) == "The notes of our team\n")

// snippet.follow
// A replica in this process or any other one. Its run follows the commits of others.
let space = try SyncSpace.server(server.url, space: "notes")
let database = try await Database.open(path: "\(folder)/notes.db")
try database.write { transaction in
  try transaction.execute("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT)")
}
let replica = DatabaseReplica(database)
try await replica.attach([AttachedTable("note")], to: space)
let running = Task { try await replica.run(with: space) }
// snippet.end

let other = try await Database.open(path: "\(folder)/other.db")
try other.write { transaction in
  try transaction.execute("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT)")
  try transaction.execute("INSERT INTO note VALUES ('n', 'Plan')")
}
let otherReplica = DatabaseReplica(other)
try await otherReplica.attach([AttachedTable("note")], to: space)
try await otherReplica.sync(with: space)
for try await rows in LiveQuery(table: "note").values(in: database) where !rows.isEmpty { break }
running.cancel()
_ = await running.result

// snippet.stop
// Requests are answered, and streams end. Then nobody uses the files of the spaces.
serving.cancel()
await serving.value
event.finish()
await logging.value
// snippet.end
