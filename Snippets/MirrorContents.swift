import Foundation
import Tandem

/// A server in memory; SystemHTTPClient asks those elsewhere.
struct AlbumServer: HTTPClient {
  static let answers = [
    "http://album.example/list": #"[{"id": 1, "url": "/1.jpg"}, {"id": 2, "url": "/2.jpg"}]"#,
    "http://album.example/1.jpg": "a lake", "http://album.example/2.jpg": "a hill",
  ]

  func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream {
    let answer = Self.answers[request.url]
    let head = HTTPResponseHead(
      status: answer == nil ? 404 : 200, fields: ["Content-Type": "application/json"],
      url: request.url)
    return HTTPResponseStream(head: head, body: HTTPBody(Array((answer ?? "").utf8)))
  }
}

let folder = NSTemporaryDirectory() + "album-\(UUID().uuidString)"
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

// Files first, each whole or not there; then all rows at once; then what no row points to goes.
let processor = ContentMirror(
  .url("http://album.example/list"), mirror: DatabaseMirror(table: "photo", key: ["id"]),
  databasePath: "\(folder)/album.db", directoryPath: "\(folder)/files",
  contents: [MirroredContent(field: "url")], client: AlbumServer())
let report = try await OneWayMirror(processor).run()
print(report.transferred.count, "fetched,", report.byteCount, "bytes")  // 2 fetched, 12 bytes

let database = try DatabaseConnection(path: "\(folder)/album.db", access: .readOnly)
let rows = try database.prepare("SELECT id, url_file FROM photo ORDER BY id")
while try rows.step() { print(try rows.value(at: 0), try rows.value(at: 1)) }
