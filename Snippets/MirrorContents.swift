import Foundation
import Tandem

/// A server in memory; use SystemHTTPClient for real servers.
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

// Files first, each of them complete; then all rows at once; then files without a row are removed.
let mirror = DatabaseMirror(
  table: "photo", key: ["id"], contents: [MirroredContent(field: "url")],
  directory: "\(folder)/files")
let database = try Database(path: "\(folder)/album.db")
let report = try await mirror.run(
  from: .url("http://album.example/list"), into: database, client: AlbumServer())
print(report.contents.count, "fetched,", report.run.byteCount, "bytes")  // 2 fetched, 12 bytes

let paths = try database.read { transaction in
  try transaction.fetchValues("SELECT url_file FROM photo ORDER BY id", as: String.self)
}
print(paths)  // ["content/1.jpg", "content/2.jpg"]
