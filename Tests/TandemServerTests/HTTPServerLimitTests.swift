import TandemServer
import Testing

/// The limits of a server on real connections: they answer, and others are served meanwhile.
@Suite(.timeLimit(.minutes(20))) struct HTTPServerLimitTests {
  @Test("A body that is too long is refused, declared or not, and others are served meanwhile")
  func longBodies() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxBodyByteCount = 1_000
    try await TestHTTP.with(limits) { http in
      let declared = try http.connect()
      await declared.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n")
      #expect(await declared.answer()?.status == 413)
      let chunked = try http.connect()
      await chunked.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      for _ in 0..<20 { await chunked.send("64\r\n\(String(repeating: "x", count: 100))\r\n") }
      await chunked.send("0\r\n\r\n")
      #expect(await chunked.answer()?.status == 413)
      let endless = try http.connect()
      await endless.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
      let piece = "1000\r\n\(String(repeating: "x", count: 4096))\r\n"
      while await endless.send(piece) {}
      try await http.expectService()
    }
  }

  @Test("All bodies together are bounded, and the memory of a body is released with its request")
  func allBodies() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxTotalBodyByteCount = 1_000
    try await TestHTTP.with(limits) { http in
      for _ in 0..<3 {
        let first = try http.connect()
        await first.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n")
        await first.send(String(repeating: "x", count: 800))
        // The server has the first part when it answers a later request on its one thread.
        try await http.expectService()
        let second = try http.connect()
        await second.send(TestHTTP.post("/echo", String(repeating: "y", count: 300)))
        #expect(await second.answer()?.status == 503)
        await first.send(String(repeating: "x", count: 100))
        #expect(await first.answer()?.status == 200)
      }
    }
  }

  @Test("A client that sends its header too slowly is cut off, and others are served meanwhile")
  func slowHeaders() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxIdleTime = .milliseconds(300)
    try await TestHTTP.with(limits) { http in
      let silent = try http.connect()
      let dribbling = try http.connect()
      await dribbling.send("GET /echo HTTP/1.1\r\nX: ")
      // Each byte is a sign of life, which must not help.
      async let isCutOff: Bool = {
        while await dribbling.send("x") {
          do { try await Task.sleep(for: .milliseconds(20)) } catch { return false }
        }
        return true
      }()
      try await http.expectService()
      #expect(await silent.receive().isEmpty)
      #expect(await isCutOff)
    }
  }

  @Test("A client that sends its body too slowly is cut off")
  func slowBody() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxBodyTime = .milliseconds(300)
    try await TestHTTP.with(limits) { http in
      let connection = try http.connect()
      await connection.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
      while await connection.send("x") {
        try await Task.sleep(for: .milliseconds(20))
      }
      try await http.expectService()
    }
  }

  @Test(
    "An address has at most so many connections, which the log has once; one that is open goes on")
  func manyConnections() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxAddressConnectionCount = 20
    try await TestHTTP.with(limits) { http in
      let first = try http.connect()
      await first.send(TestHTTP.post("/echo", "a"))
      #expect(await first.answer()?.status == 200)
      var others: [RawConnection] = []
      for _ in 0..<60 { others.append(try http.connect()) }
      // The last ones were closed by the server, without an answer.
      #expect(await others[59].receive().isEmpty)
      let limitEvents = http.log.all.filter { $0.message.contains("`maxAddressConnectionCount`") }
      #expect(limitEvents.count == 1 && limitEvents[0].level == .warning)
      #expect(http.metrics.text.contains("tandem_http_connections_refused_total 41\n"))
      await first.send(TestHTTP.post("/echo", "b"))
      #expect(await first.answer()?.status == 200)
    }
  }

  @Test("Requests beyond the limit are answered with 503 at once, and the others in the end")
  func manyRequests() async throws {
    var limits = HTTPServerLimits.patient
    limits.maxConcurrentRequestCount = 2
    try await TestHTTP.with(limits) { http in
      let waiting = [try http.connect(), try http.connect()]
      for connection in waiting { await connection.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") }
      await http.responder.waits(for: 2)
      let third = try http.connect()
      await third.send(TestHTTP.post("/echo", "a"))
      let answer = await third.answer()
      #expect(answer?.status == 503)
      http.responder.release()
      for connection in waiting { #expect(await connection.answer()?.status == 200) }
      try await http.expectService()
    }
  }
}
