#if os(Linux)
  import TestHTTPServer
  import Testing

  @testable import TandemHTTP

  /// Timeouts by a clock that is moved: how long a thread waits for its turn is no matter.
  @Suite("HTTP client on libcurl: time that passes", .timeLimit(.minutes(20)))
  struct CurlHTTPClientClockTests {
    private let clock = StandingClock()
    private let idle = Duration.milliseconds(40)

    private func client(
      _ change: (inout HTTPClientOptions) -> Void = { _ in }
    ) throws -> CurlHTTPClient {
      var options = HTTPClientOptions()
      options.timeouts.idle = idle
      change(&options)
      return try CurlHTTPClient(options: options, now: clock.now)
    }

    @Test("a body that drips keeps the idle timeout off, and ends with the total one")
    func drip() async throws {
      let drops = (0..<3).map { _ in Signal() }
      let client = try client { $0.timeouts.total = .milliseconds(100) }
      try await withServer { _, connection in
        connection.send(200, ["Transfer-Encoding": "chunked"])
        for drop in drops {
          drop.waitBlockingThread()
          connection.send(chunk: [1])
        }
        connection.waitForClose()
        return false
      } test: { server in
        var body = try await client.stream(HTTPRequest(url: server.url)).body.makeAsyncIterator()
        for drop in drops {
          drop.fire()
          let chunk = try await body.next()
          #expect(chunk == [1])
          await clock.advance(by: .milliseconds(25))
        }
        clock.move(by: .milliseconds(25))
        let error = try await #require(throws: TransportError.self) { try await body.next() }
        #expect(error.code == .timedOut && error.message.contains("was not complete"))
      }
    }

    @Test("a header that drips ends with the time for the head")
    func drippingHead() async throws {
      let (drop, isAsked) = (Signal(), Signal())
      let client = try client {
        $0.timeouts.idle = .seconds(3_600)
        $0.timeouts.head = .milliseconds(100)
      }
      try await withServer { _, connection in
        connection.send(Array("HTTP/1.1 200 OK\r\nA: b\r\n".utf8))
        isAsked.fire()
        drop.waitBlockingThread()
        connection.send(Array("C: d\r\n".utf8))
        connection.waitForClose()
        return false
      } test: { server in
        let url = server.url
        let reading = Task {
          try await client.response(to: HTTPRequest(url: url), maxBodyByteCount: 1)
        }
        await isAsked.wait()
        // The time begins with the first look at the connection.
        await clock.advance(by: .milliseconds(60))
        drop.fire()
        clock.move(by: .milliseconds(200))
        let error = await #expect(throws: TransportError.self) { try await reading.value }
        #expect(error?.code == .timedOut && error?.message.contains("header") == true)
      }
    }

    @Test("a body that drips ends with the lowest rate")
    func drippingBody() async throws {
      let client = try client {
        $0.timeouts.idle = .seconds(36_000)
        $0.timeouts.minBytesPerSecond = 1_000
      }
      try await withServer { request, connection in
        if request.path == "/wake" { return connection.respond() }
        connection.send(200, ["Content-Length": "100000"], [1])
        connection.waitForClose()
        return false
      } test: { server in
        var body = try await client.stream(HTTPRequest(url: server.url)).body.makeAsyncIterator()
        let first = try await body.next()
        #expect(first == [1])
        for _ in 0..<8 {
          clock.move(by: .seconds(20))
          // Another request wakes the thread, which then looks at all transfers.
          _ = try await client.response(
            to: HTTPRequest(url: server.url + "/wake"), maxBodyByteCount: 1)
        }
        let error = try await #require(throws: TransportError.self) { try await body.next() }
        #expect(error.code == .timedOut && error.message.contains("1000 bytes per second"))
      }
    }

    @Test("time does not run against a server whose reader waits")
    func waitingReader() async throws {
      let isRead = Signal()
      let client = try client { $0.maxBufferedByteCount = 1 }
      try await withServer { _, connection in
        connection.send(200, ["Content-Length": "2"], [1])
        isRead.waitBlockingThread()
        return connection.send([2])
      } test: { server in
        let stream = try await client.stream(HTTPRequest(url: server.url))
        for _ in 0..<5 { await clock.advance(by: idle) }
        isRead.fire()
        let body = try await stream.body.collected(maxByteCount: 2)
        #expect(body == [1, 2])
      }
    }

    @Test("requests that wait for a connection are not timed out by the wait")
    func waitingForAConnection() async throws {
      let isReleased = Signal()
      let client = try client {
        $0.maxConnectionCountPerHost = 1
        $0.timeouts.connect = .milliseconds(400)
      }
      try await withServer { request, connection in
        if request.path != "/waiting" { isReleased.waitBlockingThread() }
        return connection.respond(200, [:], [1])
      } test: { server in
        let slow = HTTPRequest(
          url: server.url + "/slow", timeouts: HTTPTimeouts(idle: .seconds(3_600)))
        async let first = client.response(to: slow, maxBodyByteCount: 1)
        while server.requests.isEmpty { await Task.yield() }
        let waiting = HTTPRequest(url: server.url + "/waiting")
        async let second = client.response(to: waiting, maxBodyByteCount: 1)
        // libcurl's own clock, which it connects by, runs on while another client waits in vain.
        let vain = HTTPRequest(
          url: server.url + "/vain", timeouts: HTTPTimeouts(total: .milliseconds(600)))
        await #expect(throws: TransportError.self) {
          try await CurlHTTPClient().response(to: vain, maxBodyByteCount: 1)
        }
        for _ in 0..<5 { await clock.advance(by: idle) }
        isReleased.fire()
        let bodies = try await [first.body, second.body]
        #expect(bodies == [[1], [1]])
      }
    }
  }
#endif
