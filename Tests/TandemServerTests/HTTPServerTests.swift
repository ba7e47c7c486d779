import Foundation
import Synchronization
import TandemHTTP
import TandemServer
import TestFolder
import TestRandom
import Testing

@Suite struct HTTPServerTests {
  @Test("Requests follow each other on one connection, and each gets its own body back")
  func keepAlive() async throws {
    try await TestHTTP.with { http in
      let connection = try http.connect()
      for number in 1...3 {
        await connection.send(TestHTTP.post("/echo", "body \(number)"))
        let answer = try #require(await connection.answer())
        #expect(answer.status == 200)
        #expect(answer.body == Array("body \(number)".utf8))
      }
      await connection.send(
        "HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\nGET /large HTTP/1.1\r\nHost: a\r\n\r\n")
      let head = await connection.text(until: "\r\n\r\n")
      #expect(head.hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test("A large answer is compressed for a client that accepts gzip, and for no other")
  func compression() async throws {
    try await TestHTTP.with { http in
      for (field, isCompressed) in [
        ("gzip", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("identity", false),
      ] {
        let connection = try http.connect()
        await connection.send(
          "GET /large HTTP/1.1\r\nHost: a\r\nAccept-Encoding: \(field)\r\n\r\n")
        let answer = try #require(await connection.answer())
        #expect(answer.head.contains("Content-Encoding: gzip") == isCompressed)
        #expect(answer.head.contains("Vary: Accept-Encoding"))
        if isCompressed {
          #expect(answer.body.count < TestHTTP.large.count / 10)
          let decoder = try #require(GzipDecoder())
          var decoded: [UInt8] = []
          _ = try answer.body.withUnsafeBytes { bytes throws(GzipError) in
            try decoder.decode(bytes) {
              decoded += $0
              return true
            }
          }
          #expect(decoded == TestHTTP.large)
        } else {
          #expect(answer.body == TestHTTP.large)
        }
      }
    }
  }

  @Test("A body that is too long is refused, declared or not, and others are served meanwhile")
  func longBodies() async throws {
    var limits = HTTPServerLimits()
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
    var limits = HTTPServerLimits()
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
    var limits = HTTPServerLimits()
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
    var limits = HTTPServerLimits()
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

  @Test("An address has at most so many connections; one that is open goes on")
  func manyConnections() async throws {
    var limits = HTTPServerLimits()
    limits.maxAddressConnectionCount = 20
    try await TestHTTP.with(limits) { http in
      let first = try http.connect()
      await first.send(TestHTTP.post("/echo", "a"))
      #expect(await first.answer()?.status == 200)
      var others: [RawConnection] = []
      for _ in 0..<60 { others.append(try http.connect()) }
      // The last ones were closed by the server, without an answer.
      #expect(await others[59].receive().isEmpty)
      await first.send(TestHTTP.post("/echo", "b"))
      #expect(await first.answer()?.status == 200)
    }
  }

  @Test("Requests beyond the limit are answered with 503 at once, and the others in the end")
  func manyRequests() async throws {
    var limits = HTTPServerLimits()
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

  @Test(
    "Bytes that are no request, of any seed, neither stop the server nor get an error of its own")
  func noise() async throws {
    var limits = HTTPServerLimits()
    // A request that never becomes complete.
    limits.maxIdleTime = .seconds(1)
    limits.maxBodyTime = .seconds(1)
    try await TestHTTP.with(limits) { http in
      let valid = Array(TestHTTP.post("/echo?a=b%20c", "{\"a\":1}").utf8)
      for seed in 0..<150 {
        var generator = SplitMix64(seed: seed)
        var bytes = valid
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
          let place = Int.random(in: 0..<bytes.count, using: &generator)
          switch Int.random(in: 0..<4, using: &generator) {
          case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
          case 1: bytes.remove(at: place)
          case 2: bytes.insert(contentsOf: bytes[place...], at: place)
          default: bytes.removeSubrange(place...)
          }
          if bytes.isEmpty { bytes = [0] }
        }
        let connection = try http.connect()
        await connection.send(bytes)
        connection.finish()
        let answer = String(decoding: await connection.receive(), as: UTF8.self)
        #expect(!isServerError(answer), "seed \(seed): \(answer.prefix(200))")
      }
      for line in [
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "A: b\r\n", count: 20_000))\r\n",
        "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      ] {
        let connection = try http.connect()
        await connection.send(line)
        connection.finish()
        let answer = String(decoding: await connection.receive(), as: UTF8.self)
        #expect(!isServerError(answer), "\(line.prefix(60)): \(answer.prefix(100))")
      }
      try await http.expectService()
    }
  }

  /// True for the answer of a server in trouble; 505 is about the version of HTTP.
  private func isServerError(_ answer: String) -> Bool {
    answer.hasPrefix("HTTP/1.1 5") && !answer.hasPrefix("HTTP/1.1 505")
  }

  @Test("A stream sends bytes as they arise, and ends for a client that reads too slowly")
  func slowReader() async throws {
    try await TestHTTP.with { http in
      let connection = try http.connect(receiveBufferByteCount: 4_096)
      await connection.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
      let stream = await http.responder.stream()
      stream.send(Array("first".utf8))
      #expect(await connection.text(until: "first").contains("chunked"))
      let piece = [UInt8](repeating: 0x78, count: 16_000)
      while stream.send(piece) {}
      #expect(!stream.isOpen)
      // The client gets what was sent before, and the end.
      #expect(
        await connection.receive { $0.suffix(5) == Array("0\r\n\r\n".utf8)[...] }.count < 1 << 20)
      try await http.expectService()
    }
  }

  @Test("A stream whose client has left is noticed by sending")
  func lostReader() async throws {
    try await TestHTTP.with { http in
      var connection: RawConnection? = try http.connect()
      await connection?.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
      let stream = await http.responder.stream()
      stream.send(Array("first".utf8))
      _ = await connection?.text(until: "first")
      connection = nil
      while stream.send([0x0A]) { try await Task.sleep(for: .milliseconds(5)) }
    }
  }

  @Test("Stopping ends all streams, and answers the requests that are under way")
  func gracefulStop() async throws {
    let http = try TestHTTP()
    let run = Task { await http.server.run() }
    var readers: [RawConnection] = []
    for _ in 0..<500 {
      let reader = try http.connect()
      await reader.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
      readers.append(reader)
    }
    for _ in 0..<500 { _ = await http.responder.stream() }
    let slow = try http.connect()
    await slow.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    await http.responder.waits(for: 1)
    run.cancel()
    // The streams have ended in order although a request is still under way.
    for reader in readers {
      let text = String(
        decoding: await reader.receive { $0.suffix(5) == Array("0\r\n\r\n".utf8)[...] },
        as: UTF8.self)
      #expect(text.hasSuffix("0\r\n\r\n"))
    }
    http.responder.release()
    #expect(await slow.answer()?.status == 200)
    await run.value
    #expect(throws: (any Error).self) { try http.connect() }
  }

  @Test("A request without an answer does not keep the server from stopping: it gets 503")
  func stopWithoutAnswer() async throws {
    var limits = HTTPServerLimits()
    limits.maxStopTime = .milliseconds(100)
    let http = try TestHTTP(limits)
    let run = Task { await http.server.run() }
    let slow = try http.connect()
    await slow.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    await http.responder.waits(for: 1)
    run.cancel()
    let answer = await slow.answer()
    #expect(answer == nil || answer?.status == 503)
    http.responder.release()
    await run.value
  }

  @Test(
    "An address that others can reach is refused where it must be; a port that is taken, always")
  func addresses() throws {
    for host in ["0.0.0.0", "::"] {
      #expect(throws: ServerError.self) {
        try ListeningSocket(host: host, port: 0, allowsOthers: false)
      }
    }
    let socket = try ListeningSocket(host: "localhost", port: 0, allowsOthers: false)
    #expect(socket.isLoopback)
    let server = try HTTPServer(socket, responder: TestResponder())
    #expect(throws: ServerError.self) {
      try ListeningSocket(host: "localhost", port: socket.port, allowsOthers: false)
    }
    withExtendedLifetime(server) {}
  }

  #if os(Linux)
    @Test("A server with a certificate of its own serves TLS; a wrong one is an error")
    func tls() async throws {
      let folder = try TemporaryFolder()
      try makeCertificate(in: folder)
      let identity = HTTPServer.Identity(
        certificate: folder.bytes(of: "cert.pem"), key: folder.bytes(of: "key.pem"))
      let http = try TestHTTP(identity: identity)
      let run = Task { await http.server.run() }
      #expect(http.server.url.hasPrefix("https://127.0.0.1:"))
      var options = HTTPClientOptions()
      options.certificateAuthorityFile = folder.path(of: "cert.pem")
      let client = try SystemHTTPClient(options: options)
      let request = HTTPRequest("POST", url: http.server.url + "/echo", body: Array("abc".utf8))
      let response = try await client.response(to: request, maxBodyByteCount: 1_000)
      #expect(response.body == Array("abc".utf8))
      for (version, isServed) in [("1", false), ("1_1", false), ("1_2", true), ("1_3", true)] {
        #expect(try connects(http.port, tls: version) == isServed, "TLS \(version)")
      }
      // Bytes that are not TLS get no answer.
      let plain = try http.connect()
      await plain.send(TestHTTP.post("/echo", "a"))
      #expect(!String(decoding: await plain.receive(), as: UTF8.self).contains("200"))
      run.cancel()
      await run.value
      let broken = HTTPServer.Identity(
        certificate: Array("x".utf8), key: folder.bytes(of: "key.pem"))
      #expect(throws: ServerError.self) { _ = try TestHTTP(identity: broken) }
    }

    /// True if a client that knows only one version of TLS can connect.
    private func connects(_ port: UInt16, tls version: String) throws -> Bool {
      let client = Process()
      client.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
      // Without the security level, this client would refuse the old versions by itself.
      client.arguments =
        "s_client -connect 127.0.0.1:\(port) -tls\(version) -cipher ALL:@SECLEVEL=0"
        .components(separatedBy: " ")
      client.standardInput = FileHandle.nullDevice
      client.standardOutput = FileHandle.nullDevice
      client.standardError = FileHandle.nullDevice
      try client.run()
      client.waitUntilExit()
      return client.terminationStatus == 0
    }

    private func makeCertificate(in folder: TemporaryFolder) throws {
      let maker = Process()
      maker.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
      maker.currentDirectoryURL = URL(fileURLWithPath: folder.path)
      maker.arguments =
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem"
        .components(separatedBy: " ")
      maker.standardError = FileHandle.nullDevice
      try maker.run()
      maker.waitUntilExit()
    }
  #endif
}

/// A server of a ``TestResponder``.
final class TestHTTP: Sendable {
  static let large = Array(String(repeating: "a line of text\n", count: 4_000).utf8)

  /// More than the system keeps for a client that does not read.
  static let huge = [UInt8](repeating: 0x78, count: 12 << 20)

  let responder: TestResponder
  let metrics = ServerMetrics()
  let server: HTTPServer
  let port: UInt16

  init(
    _ limits: HTTPServerLimits = HTTPServerLimits(), identity: HTTPServer.Identity? = nil
  ) throws {
    responder = TestResponder()
    let socket = try ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false)
    port = socket.port
    server = try HTTPServer(
      socket, identity: identity, limits: limits, metrics: metrics, responder: responder)
  }

  /// Runs a server while `body` runs.
  static func with(
    _ limits: HTTPServerLimits = HTTPServerLimits(), _ body: (TestHTTP) async throws -> Void
  ) async throws {
    let http = try TestHTTP(limits)
    let run = Task { await http.server.run() }
    do {
      try await body(http)
    } catch {
      run.cancel()
      throw error
    }
    http.responder.release()
    run.cancel()
    await run.value
  }

  func connect(receiveBufferByteCount: Int32? = nil) throws -> RawConnection {
    try RawConnection(port: port, receiveBufferByteCount: receiveBufferByteCount)
  }

  static func post(_ target: String, _ body: String) -> String {
    "POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  /// Checks that a new client is served.
  func expectService() async throws {
    let connection = try connect()
    await connection.send(Self.post("/echo", "alive"))
    #expect(await connection.answer()?.body == Array("alive".utf8))
  }
}

/// Answers the requests of tests.
final class TestResponder: HTTPResponder {
  private struct State {
    var waitingCount = 0
    var isReleased = false
    var continuations: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  private let arrivals: AsyncStream<Void>
  private let arrival: AsyncStream<Void>.Continuation
  private let streams: AsyncStream<AnswerStream>
  private let newStream: AsyncStream<AnswerStream>.Continuation

  init() {
    (arrivals, arrival) = AsyncStream.makeStream()
    (streams, newStream) = AsyncStream.makeStream()
  }

  func admission(of head: ServedRequestHead) -> HTTPAdmission {
    .accepted(client: head.field("client"))
  }

  func answer(to trouble: ServerTrouble) -> HTTPAnswer {
    let status =
      switch trouble {
      case .malformedHead: 400
      case .bodyTooLong, .unexpectedBody: 413
      case .clientOverloaded: 429
      case .overloaded, .stopping: 503
      }
    return HTTPAnswer(status: status, "\(trouble)")
  }

  func answer(_ request: ServedRequest) async -> HTTPAnswer {
    switch request.head.path {
    case "/large": return HTTPAnswer(type: "text/plain", TestHTTP.large)
    case "/huge": return HTTPAnswer(type: "text/plain", TestHTTP.huge)
    case "/stream":
      let stream = AnswerStream(maxBacklogByteCount: 100_000)
      newStream.yield(stream)
      return HTTPAnswer(status: 200, content: .stream(stream))
    case "/wait":
      await withCheckedContinuation { continuation in
        let isReleased = state.withLock { state in
          if !state.isReleased { state.continuations.append(continuation) }
          return state.isReleased
        }
        arrival.yield()
        if isReleased { continuation.resume() }
      }
      return HTTPAnswer("released")
    default: return HTTPAnswer(type: "text/plain", request.body)
    }
  }

  /// Waits until so many requests wait.
  func waits(for count: Int) async {
    var iterator = arrivals.makeAsyncIterator()
    for _ in 0..<count { await iterator.next() }
  }

  /// Answers all requests that wait, and those to come.
  func release() {
    let continuations = state.withLock { state in
      state.isReleased = true
      defer { state.continuations = [] }
      return state.continuations
    }
    for continuation in continuations { continuation.resume() }
  }

  /// The next stream that a client has asked for.
  func stream() async -> AnswerStream {
    var iterator = streams.makeAsyncIterator()
    guard let stream = await iterator.next() else { preconditionFailure("streams never end") }
    return stream
  }
}
