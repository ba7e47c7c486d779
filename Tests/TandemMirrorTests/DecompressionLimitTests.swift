import TandemHTTP
import TandemRecords
import TestHTTPServer
import Testing

@testable import TandemMirror

@Suite("Lists that come compressed", .timeLimit(.minutes(20)))
struct DecompressionLimitTests {
  static let list = Array("[\(String(repeating: " ", count: 100_000))]".utf8)

  private func read(
    _ url: String, _ change: (inout RecordListOptions) -> Void
  ) async throws -> RecordList {
    var options = RecordListOptions()
    options.format = .json
    options.retry = .never
    change(&options)
    return try await RecordSource.url(url).list(options, client: SystemHTTPClient())
  }

  @Test("have a limit of their own, in decoded bytes, which can be raised")
  func limit() async throws {
    let (list, packed) = (Self.list, gzip(storing: Self.list))
    try await withServer { request, connection in
      guard request.path == "/packed" else { return connection.respond(200, [:], list) }
      return connection.respond(200, ["Content-Encoding": "gzip"], packed)
    } test: { server in
      let small: (inout RecordListOptions) -> Void = {
        $0.maxDecompressedByteCount = Self.list.count - 1
      }
      let error = await #expect(throws: TransportError.self) {
        try await read(server.url + "/packed", small)
      }
      #expect(error?.code == .tooLarge && error?.maxByteCount == list.count - 1)
      #expect(error?.message.contains("bytes for what comes compressed; raise the limit") == true)
      _ = try await read(server.url + "/plain", small)
      _ = try await read(server.url + "/packed") { $0.maxDecompressedByteCount = list.count }
      let other = await #expect(throws: TransportError.self) {
        try await read(server.url + "/packed") { $0.maxByteCount = list.count - 1 }
      }
      #expect(other?.maxByteCount == list.count - 1)
      #expect(other?.message.contains("compressed") == false)
    }
  }

  @Test("count all pages together")
  func pages() async throws {
    let page = gzip(storing: Self.list)
    try await withServer { request, connection in
      let isFirst = request.path == "/1"
      return connection.respond(
        200,
        isFirst
          ? ["Content-Encoding": "gzip", "Link": "</2>; rel=next"] : ["Content-Encoding": "gzip"],
        page)
    } test: { server in
      let both = 2 * Self.list.count
      let readBoth = { (limit: Int) in
        try await read(server.url + "/1") {
          $0.paging = .link
          $0.maxDecompressedByteCount = limit
        }
      }
      let list = try await readBoth(both)
      #expect(try list.content().records.isEmpty)
      let error = await #expect(throws: TransportError.self) { _ = try await readBoth(both - 1) }
      #expect(error?.code == .tooLarge)
    }
  }

  @Test("may be 256 MiB long, and others 2 GiB")
  func defaults() {
    #expect(RecordListOptions().maxDecompressedByteCount == 256 << 20)
    #expect(RecordListOptions().maxByteCount == 2 << 30)
    #expect(HTTPRequest(url: "http://a").maxDecompressedByteCount == nil)
  }
}
