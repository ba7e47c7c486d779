import Foundation
import Synchronization
import TandemHTTP
import TestHTTPServer
import Testing

@Suite("HTTP client: what servers do when all is well", .timeLimit(.minutes(20)))
struct HTTPClientTests {
  let client: TestedHTTPClient
  init() throws { client = try TestedHTTPClient() }

  @Test("a response has the status, fields and bytes that were sent")
  func plainResponse() async throws {
    let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await withServer { _, connection in
      connection.respond(200, ["X-Word": "bell", "x-word": "book"], body)
    } test: { server in
      let request = HTTPRequest(url: server.url + "/list?a=b")
      let response = try await client.response(to: request, maxBodyByteCount: body.count)
      #expect(response.head.status == 200)
      #expect(response.head.url == request.url)
      #expect(response.head.fields["X-WORD"] == "bell, book")
      #expect(response.head.bodyByteCount == body.count)
      #expect(response.body == body)
      #expect(server.requests.map(\.path) == ["/list?a=b"])
    }
  }

  @Test("a request arrives with its method, fields and body", arguments: ["POST", "PUT", "REPORT"])
  func requestWithBody(method: String) async throws {
    try await withServer { request, connection in
      connection.respond(200, [:], request.body)
    } test: { server in
      let body = [UInt8](repeating: 7, count: 2 << 20)
      let request = HTTPRequest(
        .init(rawValue: method), url: server.url, fields: ["X-Empty": "", "X-Word": "candle"],
        body: body)
      let response = try await client.response(to: request, maxBodyByteCount: 2 << 20)
      #expect(response.body == body)
      let seen = try #require(server.requests.first)
      #expect(seen.method == method)
      #expect(seen.fields["X-Word"] == "candle")
      #expect(seen.fields["X-Empty"] == "")
      #expect(seen.fields["Expect"] == nil)
      #expect(seen.fields["Content-Type"] == "application/octet-stream")
      #expect(seen.fields["User-Agent"]?.hasPrefix("tandem/") == true)
    }
  }

  @Test("an empty body is sent as one of no bytes")
  func emptyBody() async throws {
    try await withServer { _, connection in
      connection.respond(204)
    } test: { server in
      let request = HTTPRequest(.post, url: server.url, body: [])
      let response = try await client.response(to: request, maxBodyByteCount: 0)
      #expect(response.head.status == 204)
      #expect(server.requests.first?.fields["Content-Length"] == "0")
    }
  }

  @Test("HEAD ends without the body that its Content-Length tells of")
  func head() async throws {
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "1000000"])
    } test: { server in
      let request = HTTPRequest(.head, url: server.url)
      let response = try await client.response(to: request, maxBodyByteCount: 10)
      #expect(response.body.isEmpty)
      #expect(response.head.bodyByteCount == 1_000_000)
    }
  }

  @Test("one request after another uses one connection")
  func connectionReuse() async throws {
    try await withServer { _, connection in
      connection.respond(200, [:], [1, 2, 3])
    } test: { server in
      for _ in 0..<20 {
        let request = HTTPRequest(url: server.url)
        let response = try await client.response(to: request, maxBodyByteCount: 3)
        #expect(response.body == [1, 2, 3])
      }
      #expect(server.requests.count == 20)
      #expect(server.connectionCount == 1)
    }
  }

  @Test("two hundred requests are all answered, no more of them at once than the options allow")
  func manyAtOnce() async throws {
    let limit = HTTPClientOptions().maxConnectionCountPerHost
    let underWay = Mutex((count: 0, peak: 0))
    try await withServer { request, connection in
      // Counted from the request to before its response: a connection that the client has closed and replaced does
      // not count twice.
      underWay.withLock {
        $0.count += 1
        $0.peak = max($0.peak, $0.count)
      }
      // Time for requests beyond the limit, which a client that keeps to it does not send.
      usleep(1000)
      underWay.withLock { $0.count -= 1 }
      return connection.respond(200, [:], Array(request.path.utf8))
    } test: { server in
      let url = server.url
      let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<200 {
          group.addTask {
            let request = HTTPRequest(url: "\(url)/\(number)")
            let response = try await client.response(to: request, maxBodyByteCount: 100)
            return response.body == Array("/\(number)".utf8)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers == Array(repeating: true, count: 200))
      #expect(Set(server.requests.map(\.path)).count == 200)
      #expect(underWay.withLock(\.peak) <= limit)
    }
  }

  @Test(
    "chunks are put together, and trailers are left aside",
    .unlessURLSessionOnLinux("a trailer ends the process"))
  func chunked() async throws {
    try await withServer { _, connection in
      connection.send(200, ["Transfer-Encoding": "chunked", "Trailer": "X-Sum"])
      connection.send(chunk: [1, 2, 3])
      connection.send(chunk: [4])
      return connection.send(Array("0\r\nX-Sum: 10\r\n\r\n".utf8))
    } test: { server in
      let response = try await client.response(
        to: HTTPRequest(url: server.url), maxBodyByteCount: 4)
      #expect(response.body == [1, 2, 3, 4])
      #expect(response.head.bodyByteCount == nil)
    }
  }

  @Test("the head is handed out before the body is there, and each piece as it comes")
  func streaming() async throws {
    let (sawHead, sawFirst) = (Signal(), Signal())
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "6"])
      sawHead.waitBlockingThread()
      connection.send([1, 2, 3])
      sawFirst.waitBlockingThread()
      return connection.send([4, 5, 6])
    } test: { server in
      let stream = try await client.stream(HTTPRequest(url: server.url))
      sawHead.fire()
      var iterator = stream.body.makeAsyncIterator()
      let first = try await iterator.next()
      #expect(first == [1, 2, 3])
      sawFirst.fire()
      let rest = try await [iterator.next(), iterator.next(), iterator.next()]
      #expect(rest == [[4, 5, 6], nil, nil])
    }
  }

  @Test(
    "interim responses are passed over",
    .unlessURLSessionOnLinux("an interim response passes for the final one"))
  func interimResponse() async throws {
    try await withServer { _, connection in
      connection.send(103, ["Link": "</style.css>"])
      return connection.respond(200, ["X-Final": "yes"], [9])
    } test: { server in
      let response = try await client.response(
        to: HTTPRequest(url: server.url), maxBodyByteCount: 1)
      #expect(response.head.status == 200)
      #expect(response.head.fields["Link"] == nil)
      #expect(response.body == [9])
    }
  }

  @Test("gzip is decoded, and its length is that of the decoded bytes")
  func gzipDecoded() async throws {
    let body = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try await withServer { _, connection in
      connection.respond(200, ["Content-Encoding": "gzip"], gzip(storing: body))
    } test: { server in
      let response = try await client.response(
        to: HTTPRequest(url: server.url), maxBodyByteCount: 200_000)
      #expect(response.body == body)
      #expect(response.head.bodyByteCount == nil)
      #expect(server.requests.first?.fields["Accept-Encoding"]?.contains("gzip") == true)
    }
  }

  @Test(
    "a version that is still current is answered by 304, to the validators of the last response")
  func conditional() async throws {
    let validators = HTTPValidators(
      entityTag: "W/\"7\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")
    try await withServer { request, connection in
      let fields: HTTPFields = ["ETag": "W/\"7\"", "Last-Modified": validators.lastModified ?? ""]
      let isCurrent =
        request.fields["If-None-Match"] == "W/\"7\""
        && request.fields["If-Modified-Since"] == validators.lastModified
      return connection.respond(isCurrent ? 304 : 200, fields, isCurrent ? [] : [1])
    } test: { server in
      var request = HTTPRequest(url: server.url)
      let first = try await client.response(to: request, maxBodyByteCount: 1)
      #expect(!first.head.isNotModified)
      #expect(HTTPValidators(of: first.head) == validators)
      request.makeConditional(on: HTTPValidators(of: first.head))
      let second = try await client.response(to: request, maxBodyByteCount: 1)
      #expect(second.head.isNotModified)
      #expect(second.body.isEmpty)
    }
  }

  @Test("other statuses are responses, and only asking for success makes them errors")
  func statuses() async throws {
    try await withServer { request, connection in
      connection.respond(Int(request.path.dropFirst()) ?? 200, [:], Array("why".utf8))
    } test: { server in
      for status in [200, 201, 404, 429, 500, 503] {
        let request = HTTPRequest(url: "\(server.url)/\(status)")
        let response = try await client.response(to: request, maxBodyByteCount: 3)
        #expect(response.head.status == status)
        #expect(response.body == Array("why".utf8))
        #expect(response.head.isSuccess == (status < 300))
      }
    }
  }
}
