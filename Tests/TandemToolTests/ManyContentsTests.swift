import Foundation
import Synchronization
import Tandem
import TestFolder
import TestHTTPServer
import Testing

@Suite("Ten thousand contents", .timeLimit(.minutes(20)))
struct ManyContentsTests {
  struct Item: Identifiable { var id: Int }

  struct Site {
    let url: String
    let client: any HTTPClient
    let store: FileStore

    static let count = 10_000

    static func content(_ id: Int) -> [UInt8] {
      Array("\(id) ".utf8) + [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: id % 4_096)
    }

    var processor: MirrorProcessor<Item> {
      MirrorProcessor(
        list: {
          MirrorPages(from: 0) { start in
            let end = start + 1_000
            return ((start..<end).map(Item.init), end < Self.count ? end : nil)
          }
        }, local: { MirrorPages(try store.names().compactMap { Int($0.text) }) },
        transfer: { item, _, progress in
          let request = FileRequest(FileName("\(item.id)"), url: "\(url)/\(item.id)")
          _ = try await store.transfer(
            request, client: client, received: { progress.add(byteCount: $0) })
        }, remove: { try store.remove($0.map { FileName("\($0)") }) })
    }
  }

  @Test("come through a real server and client, each whole and counted, with some answers lost")
  func many() async throws {
    let folder = try TemporaryFolder()
    let seen = Mutex(Set<Int>())
    try await withServer { request, connection in
      let id = Int(request.path.dropFirst()) ?? -1
      let isFirst = seen.withLock { $0.insert(id).inserted }
      // Every 500th item's first answer breaks off in the middle.
      if id % 500 == 499, isFirst {
        connection.send(200, ["Content-Length": "9999"], [1])
        return false
      }
      return connection.respond(200, ["ETag": "\"\(id)\""], Site.content(id))
    } test: { server in
      let path = folder.path(of: "files")
      let store = try FileStore(path: path, isSynchronized: false)
      let site = Site(url: server.url, client: try SystemHTTPClient(), store: store)
      let retry = MirrorRetryPolicy(maxAttemptCount: 2, firstDelay: .zero)
      let mirror = OneWayMirror(
        site.processor, options: MirrorOptions(concurrency: 32, retry: retry))
      let report = try await mirror.run()
      #expect(report.isComplete)
      #expect(Set(report.transferred.map(\.id)) == Set(0..<Site.count))
      #expect(report.transferred.count == Site.count)
      let retried = report.transferred.filter { $0.attemptCount > 1 }.map(\.id)
      #expect(Set(retried) == Set((0..<Site.count).filter { $0 % 500 == 499 }))
      let byteCount = (0..<Site.count).reduce(0) { $0 + Site.content($1).count }
      #expect(report.byteCount == byteCount + retried.count)
      try expectWhole(path)
      #expect(try await mirror.run().skippedCount == Site.count)
    }
  }

  private func expectWhole(_ path: String) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    #expect(Set(names) == Set((0..<Site.count).map(String.init) + [".tandem"]))
    let wrong = try (0..<Site.count).filter {
      try Data(contentsOf: URL(fileURLWithPath: "\(path)/\($0)")) != Data(Site.content($0))
    }
    #expect(wrong.isEmpty)
  }
}
