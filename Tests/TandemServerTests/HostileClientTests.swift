import Foundation
import TandemServer
import Testing

/// Clients that send or read as they should not, on real connections.
@Suite(.timeLimit(.minutes(20))) struct HostileClientTests {
  @Test("A body of a request that has none is refused, and takes no memory from others")
  func unexpectedBodies() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxTotalBodyByteCount = 1_000
    try await TestHTTP.with(limits) { http in
      let short = try http.connect()
      await short.send("GET /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
      #expect(await short.answer()?.status == 413)
      for field in ["Transfer-Encoding: chunked", "Content-Length: 10000000"] {
        let long = try http.connect()
        await long.send("GET /echo HTTP/1.1\r\nHost: a\r\n\(field)\r\n\r\n")
        let answer = await long.text(until: "no end")
        #expect(answer.hasPrefix("HTTP/1.1 413"))
        #expect(answer.contains("Connection: close"))
      }
      // Bodies that never become complete.
      var held: [RawConnection] = []
      for _ in 0..<17 {
        let connection = try http.connect()
        await connection.send("GET /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n")
        await connection.send(String(repeating: "x", count: 899))
        held.append(connection)
      }
      try await http.expectService()
      withExtendedLifetime(held) {}
    }
  }

  @Test("The bodies of one client take a share of the memory, and others are served meanwhile")
  func bodyShares() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxBodyByteCount = 1_000
    limits.maxTotalBodyByteCount = 4_000
    try await TestHTTP.with(limits) { http in
      func post(_ client: String, _ count: Int) -> String {
        "POST /echo HTTP/1.1\r\nHost: a\r\nClient: \(client)\r\nContent-Length: \(count)\r\n\r\n"
      }
      for _ in 0..<3 {
        let first = try http.connect()
        await first.send(post("a", 900) + String(repeating: "x", count: 800))
        // The server has the first part when it answers a later request on its one thread.
        try await http.expectService()
        let second = try http.connect()
        await second.send(post("a", 300) + String(repeating: "y", count: 300))
        #expect(await second.answer()?.status == 429)
        let other = try http.connect()
        await other.send(post("b", 300) + String(repeating: "z", count: 300))
        #expect(await other.answer()?.status == 200)
        await first.send(String(repeating: "x", count: 100))
        #expect(await first.answer()?.status == 200)
      }
    }
  }

  @Test(
    "Answers that are not read are bounded, small ones are sent meanwhile, and memory comes back")
  func unreadAnswers() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxTotalAnswerByteCount = 2 * TestHTTP.huge.count
    try await TestHTTP.with(limits) { http in
      let request = "GET /huge HTTP/1.1\r\nHost: a\r\n\r\n"
      let client = try http.connect()
      await client.send("GET /huge HTTP/1.1\r\nHost: a\r\nClient: a\r\n\r\n")
      #expect(await client.answer()?.status == 429)
      var unread: [RawConnection] = []
      for _ in 0..<2 {
        let connection = try http.connect(receiveBufferByteCount: 4_096)
        await connection.send(request)
        #expect(await connection.text(until: "HTTP/1.1 200").hasPrefix("HTTP/1.1 200"))
        unread.append(connection)
      }
      let third = try http.connect()
      await third.send(request)
      #expect(await third.answer()?.status == 503)
      try await http.expectService()
      unread = []
      var status: Int? = 503
      while status == 503 {
        await third.send(request)
        status = await third.answer()?.status
      }
      #expect(status == 200)
    }
  }

  @Test(
    "A request whose end or host is ambiguous is refused, and its connection closed",
    arguments: [
      "Host: a\r\nContent-Length: 2\r\nContent-Length: 5\r\n",
      "Host: a\r\nContent-Length: 2\r\nContent-Length: 2\r\n",
      "Host: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n",
      "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n",
      "Host: a\r\nTransfer-Encoding: xchunked\r\n",
      "Host: a\r\nTransfer-Encoding: identity\r\n",
      "Host: a\r\nHost: b\r\nContent-Length: 2\r\n",
      "Host: a\r\nContent-Length : 2\r\n",
      "Host: a\r\nTransfer-Encoding : chunked\r\nContent-Length: 2\r\n",
      "Host: a\r\nContent-Length:\r\n 2\r\n",
      "Host: a\r\nContent-Length: 2\r\n 9\r\n",
      "Host: a\r\nContent-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n",
      "Host: a\r\nTransfer-Encoding:\r\n chunked\r\n",
      "Host: a\r\nX: a\rContent-Length: 49\r\nContent-Length: 2\r\n",
    ])
  func ambiguousRequests(fields: String) async throws {
    try await TestHTTP.with { http in
      let connection = try http.connect()
      await connection.send(
        "POST /echo HTTP/1.1\r\n\(fields)\r\n[]GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
      let answer = await connection.text(until: "\r\n\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 400"))
      // Without it, the connection has no end to wait for.
      try #require(answer.contains("Connection: close"))
      // What follows is not taken for a request.
      let rest = await connection.text(until: "no end")
      #expect((answer + rest).components(separatedBy: "HTTP/1.1 ").count == 2)
      try await http.expectService()
    }
  }

  @Test(
    "A control character in the header or in the target is refused, as is all that a NUL hides",
    arguments: [
      "GET /a HTTP/1.1\r\nHost: a\r\nX: b\0\r\n\r\n",
      "GET /a HTTP/1.1\r\nX: b\0\r\nHost: a\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n",
      "GET /a HTTP/1.1\r\nX: b\0c: d\r\nHost: a\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: a\r\nX:\0b\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: a\r\n\0X: b\r\nY: c\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: a\r\nX: \0\0\0\r\n\r\n", "GET /a HTTP/1.1\nHost: a\nX: b\0\n\n",
      "GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a\0 HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /a?b=c&d\0 HTTP/1.1\r\nHost: a\r\n\r\n", "GE\0T /a HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /a\u{01}b HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a?b\u{7F} HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: a\r\nX: b\u{1B}\r\n\r\n",
    ])
  func controlCharacters(request: String) async throws {
    try await TestHTTP.with { http in
      let connection = try http.connect()
      await connection.send(request)
      let answer = await connection.text(until: "no end")
      #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer.prefix(200))")
    }
  }

  @Test(
    "Headers of all permitted forms are accepted, also several on one connection",
    arguments: [
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a?b=c&d&e=%00 HTTP/1.1\r\nHost:a\r\nX:\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: a\r\nX: \t b c \t\r\nCookie: a=b; c=\"d\"; e\r\nY: \u{E9}\r\n\r\n",
      "GET /\u{E9}?\u{E9} HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a HTTP/1.1\nHost: a\n\n",
      "GET /a HTTP/1.1\nHost: a\nX: b\n\n", "\r\nGET  /a HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\0\0\0\0",
    ])
  func permittedHeaders(request: String) async throws {
    try await TestHTTP.with { http in
      let connection = try http.connect()
      for _ in 0..<2 {
        await connection.send(request)
        #expect(await connection.answer()?.status == 200)
      }
      let old = try http.connect()
      await old.send("GET /a HTTP/1.0\n\n")
      #expect(await old.answer()?.status == 200)
      // Bytes of the target that are no UTF-8 are replaced.
      let latin = try http.connect()
      await latin.send(
        Array("GET /caf".utf8) + [0xE9] + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
      #expect(await latin.answer()?.status == 200)
    }
  }

  @Test(
    "What is no HTTP gets a short answer in HTML, as Protocol.md says, and the connection is closed",
    arguments: [
      ("GET /a b c\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
      (
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
          + "\(String(repeating: "f", count: 16))1\r\n", 413
      ),
      ("GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
      ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 9_000))\r\n\r\n", 431),
      ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505),
    ])
  func noHTTP(request: String, status: Int) async throws {
    try await TestHTTP.with { http in
      let connection = try http.connect()
      await connection.send(request)
      let answer = await connection.text(until: "no end")
      #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer.prefix(200))")
      #expect(answer.contains("<html>") && answer.utf8.count < 1_000, "\(answer)")
      try await http.expectService()
      // One notice with what is known, and a count.
      let events = http.log.all.filter { $0.status == status }
      #expect(events.count == 1, "\(http.log.all)")
      #expect(events.first?.level == .notice && events.first?.address == "127.0.0.1")
      let reason = [413, 414, 431].contains(status) ? "overLimit" : "malformed"
      #expect(events.first?.reason == reason)
      let labels = #"{route="server",status="\#(status)"}"#
      #expect(http.metrics.text.contains("tandem_http_requests_total\(labels) 1\n"))
    }
  }

  @Test("A refusal that may be that of several connections names none of them")
  func refusalBesideOthers() async throws {
    try await TestHTTP.with { http in
      let (bystander, connection) = (try http.connect(), try http.connect())
      await bystander.send("G")
      // The first answer shows that the server has the other connection.
      await connection.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(await connection.answer()?.status == 200)
      await connection.send("GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\n\r\n")
      #expect(await connection.text(until: "no end").hasPrefix("HTTP/1.1 414"))
      try await http.expectService()
      let events = http.log.all.filter { $0.status == 414 }
      #expect(events.count == 1 && events.first?.address == nil)
      await bystander.send("ET /a HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(await bystander.answer()?.status == 200)
    }
  }

  @Test("The connection of a client that was cut off, and reads no more, is closed")
  func cutReader() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxStreamEndTime = .milliseconds(100)
    try await TestHTTP.with(limits) { http in
      let connection = try http.connect(receiveBufferByteCount: 4_096)
      await connection.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
      let stream = await http.responder.stream()
      let piece = [UInt8](repeating: 0x78, count: 16_000)
      while stream.send(piece) {}
      while await connection.send("x") { try await Task.sleep(for: .milliseconds(20)) }
      #expect(http.metrics.text.contains("tandem_http_connections_overdue_total 1\n"))
      try await http.expectService()
    }
  }
}
