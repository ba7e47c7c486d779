import Foundation
import Synchronization
import TandemHTTP
import TestHTTPServer
import Testing

@Suite("HTTP client: what servers do when all is not well", .timeLimit(.minutes(20)))
struct HTTPClientFailureTests {
  let client: TestedHTTPClient
  init() throws { client = try TestedHTTPClient() }

  /// The code of the error with which `request` fails; `nil` if it does not.
  private func failure(
    of request: HTTPRequest, maxBodyByteCount: Int = 1 << 20
  ) async -> TransportError.Code? {
    do {
      _ = try await client.response(to: request, maxBodyByteCount: maxBodyByteCount)
      return nil
    } catch {
      return (error as? TransportError)?.code
    }
  }

  @Test("a body shorter than its Content-Length is truncated, after the bytes that came")
  func shortBody() async throws {
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "10"], [1, 2, 3])
      return false
    } test: { server in
      let stream = try await client.stream(HTTPRequest(url: server.url))
      var iterator = stream.body.makeAsyncIterator()
      let first = try await iterator.next()
      #expect(first == [1, 2, 3])
      for _ in 0..<2 {
        let error = try await #require(throws: TransportError.self) { try await iterator.next() }
        #expect(error.code == .truncated)
      }
    }
  }

  @Test("a body longer than its Content-Length ends there, and the rest is no part of an answer")
  func longBody() async throws {
    try await withServer { request, connection in
      let rest = Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nX".utf8)
      return request.path == "/long"
        ? connection.send(200, ["Content-Length": "3"], [1, 2, 3] + rest)
        : connection.respond(200, [:], [7])
    } test: { server in
      for _ in 0..<5 {
        for (path, body) in [("/long", [1, 2, 3]), ("/next", [7])] as [(String, [UInt8])] {
          let request = HTTPRequest(url: server.url + path)
          let response = try await client.response(to: request, maxBodyByteCount: 100)
          #expect(response.body == body)
        }
      }
    }
  }

  @Test(
    "a busy server says how long to wait, in seconds or as a date by its own clock",
    arguments: [429, 503])
  func busy(status: Int) async throws {
    try await withServer { request, connection in
      request.path == "/seconds"
        ? connection.respond(status, ["Retry-After": "90"])
        : connection.respond(
          status,
          [
            "Date": "Sun, 06 Nov 1994 08:48:07 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT",
          ])
    } test: { server in
      for path in ["/seconds", "/date"] {
        let response = try await client.response(
          to: HTTPRequest(url: server.url + path), maxBodyByteCount: 100)
        let error = #expect(throws: TransportError.self) { try response.head.requireSuccess() }
        #expect(error?.retryDelay == .seconds(90))
        #expect(error?.isTransient == true)
      }
    }
  }

  @Test("a chunked body without its last chunk is truncated", arguments: ["", "5\r\nab", "5\r\n"])
  func cutChunks(tail: String) async throws {
    try await withServer { _, connection in
      connection.send(200, ["Transfer-Encoding": "chunked"])
      connection.send(chunk: [1, 2, 3])
      connection.send(Array(tail.utf8))
      return false
    } test: { server in
      #expect(await failure(of: HTTPRequest(url: server.url)) == .truncated)
    }
  }

  @Test("a connection reset in the middle of a body is lost, and nothing passes for a response")
  func resetInBody() async throws {
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "10"], [1])
      connection.reset()
      return false
    } test: { server in
      let code = await failure(of: HTTPRequest(url: server.url))
      #expect(code == .connectionLost || code == .truncated)
    }
  }

  @Test(
    "a connection closed without an answer is lost",
    .unlessURLSessionOnLinux("an empty response has the code of a malformed one"))
  func closedWithoutAnswer() async throws {
    try await withServer { _, _ in
      false
    } test: { server in
      #expect(await failure(of: HTTPRequest(url: server.url)) == .connectionLost)
    }
  }

  @Test(
    "what is no HTTP is malformed",
    .unlessURLSessionOnLinux("a response without a head ends the process"),
    arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "\r\n\r\n"])
  func noHTTP(greeting: String) async throws {
    try await withServer { _, connection in
      connection.send(Array(greeting.utf8))
      return false
    } test: { server in
      #expect(await failure(of: HTTPRequest(url: server.url)) == .malformedResponse)
    }
  }

  @Test(
    "gzip that is none is malformed",
    .unlessURLSessionOnLinux("errors of decoding have no code"))
  func badGzip() async throws {
    try await withServer { _, connection in
      connection.respond(200, ["Content-Encoding": "gzip"], Array("plain text, really".utf8))
    } test: { server in
      #expect(await failure(of: HTTPRequest(url: server.url)) == .malformedResponse)
    }
  }

  @Test(
    "a gzip that was cut off before it was sent is truncated, and a damaged one is malformed",
    .unlessURLSession("it verifies no encoding"),
    arguments: ["length", "chunks"])
  func cutGzip(framing: String) async throws {
    let whole = gzip(storing: Array("one,two\n".utf8))
    try await withServer { request, connection in
      var bytes = whole
      switch request.path {
      case "/cut": bytes = Array(whole.dropLast(9))
      case "/trailer": bytes = Array(whole.dropLast(1))
      case "/damaged": bytes[whole.count - 6] ^= 1
      case "/more": bytes += [0]
      case "/nothing": bytes = []
      default: bytes += whole
      }
      if framing == "length" { return connection.respond(200, ["Content-Encoding": "gzip"], bytes) }
      connection.send(200, ["Content-Encoding": "x-gzip", "Transfer-Encoding": "chunked"])
      if !bytes.isEmpty { connection.send(chunk: bytes) }
      return connection.send(chunk: [])
    } test: { server in
      for path in ["/cut", "/trailer"] {
        #expect(await failure(of: HTTPRequest(url: server.url + path)) == .truncated, "\(path)")
      }
      for path in ["/damaged", "/more"] {
        let code = await failure(of: HTTPRequest(url: server.url + path))
        #expect(code == (path == "/more" ? .truncated : .malformedResponse), "\(path)")
      }
      // A length of 0 says that nothing is there.
      let code = await failure(of: HTTPRequest(url: server.url + "/nothing"))
      #expect(code == (framing == "length" ? nil : .truncated))
      let response = try await client.response(
        to: HTTPRequest(url: server.url + "/two"), maxBodyByteCount: 100)
      #expect(response.body == Array("one,two\none,two\n".utf8))
      #expect(response.head.verifiesEncoding && response.head.uncertainty == nil)
    }
  }

  @Test(
    "an encoding that was not asked for is an error, not content",
    .unlessURLSession("it decodes what it asked for"))
  func unknownEncoding() async throws {
    try await withServer { _, connection in
      connection.respond(200, ["Content-Encoding": "nonesuch"], [1])
    } test: { server in
      #expect(await failure(of: HTTPRequest(url: server.url)) == .malformedResponse)
      #expect(server.requests.first?.fields["Accept-Encoding"] == "gzip")
    }
  }

  @Test(
    "two different lengths are malformed, and so is HTTP/2 where nobody agreed on it",
    .unlessURLSession("it does not show them"),
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "HTTP/1.1 200 OK\r\nContent-Length: 2, 1\r\n\r\nab", "HTTP/2 200 \r\n\r\nab",
    ])
  func untrueHead(response: String) async throws {
    try await withServer { _, connection in
      connection.send(Array(response.utf8))
      return false
    } test: { server in
      #expect(await failure(of: HTTPRequest(url: server.url)) == .malformedResponse)
    }
  }

  @Test("a message has no control characters of a server, and no line breaks")
  func controls() {
    let error = TransportError(
      .invalidURL, "it \u{1B}[2J says\nso", url: "http://a/\u{1B}]0;x\u{7}\ntandem: all is well")
    #expect(
      "\(error)"
        == #"http://a/\u001b]0;x\u0007\u000atandem: all is well: it \u001b[2J says\u000aso"#)
  }

  @Test("a gzip bomb is stopped at the limit, which counts decoded bytes")
  func bomb() async throws {
    let bomb = gzipBomb(runCount: 100_000)  // 160 KiB that become 25 MiB
    try await withServer { _, connection in
      connection.respond(200, ["Content-Encoding": "gzip"], bomb)
    } test: { server in
      var request = HTTPRequest(url: server.url, maxBodyByteCount: 1 << 20)
      #expect(await failure(of: request, maxBodyByteCount: .max) == .tooLarge)
      request.maxBodyByteCount = nil
      #expect(await failure(of: request, maxBodyByteCount: 1 << 20) == .tooLarge)
      let stream = try await client.stream(HTTPRequest(url: server.url, maxBodyByteCount: 1 << 20))
      var readByteCount = 0
      let error = try await #require(throws: TransportError.self) {
        for try await chunk in stream.body { readByteCount += chunk.count }
      }
      #expect(error.code == .tooLarge)
      #expect(error.message.contains("the limit of \(1 << 20) bytes"))
      #expect(readByteCount <= 1 << 20)
    }
  }

  @Test("a body one byte over the limit is too large, announced or not; one of the limit is not")
  func limit() async throws {
    try await withServer { request, connection in
      if request.path == "/announced" { return connection.respond(200, [:], [1, 2, 3, 4]) }
      connection.send(200, ["Transfer-Encoding": "chunked"])
      connection.send(chunk: [1, 2, 3])
      connection.send(chunk: [4])
      return connection.send(chunk: [])
    } test: { server in
      for path in ["/announced", "/chunked"] {
        let request = HTTPRequest(url: server.url + path)
        #expect(await failure(of: request, maxBodyByteCount: 3) == .tooLarge)
        let response = try await client.response(to: request, maxBodyByteCount: 4)
        #expect(response.body == [1, 2, 3, 4])
      }
    }
  }

  @Test(
    "a header over the limit is too large: many fields, one long line, or heads without end",
    .unlessURLSession("its limits are its own"))
  func headerLimit() async throws {
    let field = Array("X-Filler: \(String(repeating: "x", count: 2000))\r\n".utf8)
    try await withServer { request, connection in
      if request.path == "/interim" {
        while connection.send(103, ["Link": "<a>"]) {}
        return false
      }
      connection.send(Array("HTTP/1.1 200 OK\r\n".utf8))
      if request.path == "/line" {
        connection.send(Array("X-Filler: ".utf8) + Array(repeating: 120, count: 1 << 20))
      } else {
        for _ in 0..<200 { connection.send(field) }
      }
      return connection.send(Array("Content-Length: 0\r\n\r\n".utf8))
    } test: { server in
      for path in ["/fields", "/line", "/interim"] {
        #expect(await failure(of: HTTPRequest(url: server.url + path)) == .tooLarge, "\(path)")
      }
    }
  }

  @Test("a server that never answers is given up after the idle timeout, or the total one")
  func silence() async throws {
    try await withServer { _, connection in
      connection.waitForClose()
      return false
    } test: { server in
      for timeouts in [
        HTTPTimeouts(idle: .milliseconds(60)), HTTPTimeouts(total: .milliseconds(60)),
      ] {
        let request = HTTPRequest(url: server.url, timeouts: timeouts)
        #expect(await failure(of: request) == .timedOut)
      }
    }
  }

  @Test("a body that stops dripping is given up after the idle timeout")
  func dryDrip() async throws {
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "1000"], [1])
      connection.waitForClose()
      return false
    } test: { server in
      let timeouts = HTTPTimeouts(idle: .milliseconds(80))
      let request = HTTPRequest(url: server.url, timeouts: timeouts)
      #expect(await failure(of: request) == .timedOut)
    }
  }

  @Test("a connection that is never accepted is given up after the connect timeout")
  func noConnection() async throws {
    let (listener, port) = try listeningSocket(backlog: 0)
    defer { close(listener) }
    let timeouts = HTTPTimeouts.connecting(within: .milliseconds(60))
    let request = HTTPRequest(url: "http://127.0.0.1:\(port)", timeouts: timeouts)
    // The system accepts a first connection or two into the backlog, where they stay silent.
    await withTaskGroup(of: TransportError.Code?.self) { group in
      for _ in 0..<4 { group.addTask { await failure(of: request) } }
      let first = await group.next()
      #expect(first == .timedOut)
      group.cancelAll()
    }
  }

  @Test("a port on which nothing listens cannot be connected to")
  func nothingListening() async throws {
    let reserved = try ReservedPort()
    let request = HTTPRequest(url: "http://127.0.0.1:\(reserved.number)/")
    #expect(await failure(of: request) == .cannotConnect)
    withExtendedLifetime(reserved) {}
  }

  @Test("a host without an address is not resolved")
  func unresolvedHost() async throws {
    // Longer than a part of a name may be, so that no server of names, however slow, is asked.
    let name = String(repeating: "x", count: 64)
    let request = HTTPRequest(url: "http://\(name).invalid/")
    #expect(await failure(of: request) == .unresolvedHost)
  }

  @Test("an https request to a port that speaks http ends without a response")
  func noTLS() async throws {
    try await withServer { _, connection in
      connection.respond()
    } test: { server in
      let url = server.url.replacing("http://", with: "https://")
      let timeouts = HTTPTimeouts.connecting(within: .milliseconds(300))
      let code = await failure(of: HTTPRequest(url: url, timeouts: timeouts))
      // The server of this test waits for a blank line that a TLS greeting may not contain.
      #expect(code == .connectionLost || code == .timedOut)
    }
  }

  @Test("a connection that is reset before it is encrypted may be tried again")
  func resetHandshake() async throws {
    let (listener, port) = try listeningSocket(backlog: 8)
    defer { close(listener) }
    Thread.detachNewThread {
      let descriptor = accept(listener, nil, nil)
      var byte: UInt8 = 0
      recv(descriptor, &byte, 1, 0)
      var abortive = linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_LINGER, &abortive, socklen_t(MemoryLayout<linger>.size))
      close(descriptor)
    }
    let timeouts = HTTPTimeouts(connect: .seconds(300))
    let request = HTTPRequest(url: "https://127.0.0.1:\(port)/", timeouts: timeouts)
    let error = await #expect(throws: TransportError.self) {
      try await client.response(to: request, maxBodyByteCount: 1)
    }
    #expect(error?.code == .connectionLost && error?.isTransient == true)
  }

  @Test("a mistyped request is refused before anything is sent")
  func mistakes() async throws {
    try await withServer { _, connection in
      connection.respond()
    } test: { server in
      #expect(await failure(of: HTTPRequest(url: "ftp://a.example/x")) == .unsupportedScheme)
      #expect(await failure(of: HTTPRequest(url: "file:///etc/passwd")) == .unsupportedScheme)
      #expect(await failure(of: HTTPRequest(url: "a.example/x")) == .invalidURL)
      #expect(await failure(of: HTTPRequest(url: "http://a.example:99999/")) == .invalidURL)
      let split = HTTPRequest(url: server.url, fields: ["X-A": "1\r\nX-B: 2"])
      #expect(await failure(of: split) == .invalidField)
      #expect(await failure(of: HTTPRequest("GET /", url: server.url)) == .invalidField)
      #expect(server.connectionCount == 0)
    }
  }
}
