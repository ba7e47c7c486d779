import TandemHTTP
import TestHTTPServer
import Testing

@Suite("HTTP client: slow readers and readers that leave", .timeLimit(.minutes(20)))
struct HTTPClientFlowTests {
  let client: TestedHTTPClient
  init() throws { client = try TestedHTTPClient() }

  @Test(
    "a reader that waits loses nothing",
    .unlessURLSessionOnLinux("at times a suspended transfer never resumes"))
  func backpressure() async throws {
    let body = (0..<256).flatMap { [UInt8](repeating: UInt8($0), count: 64 << 10) }
    let isBlocked = Signal()
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "\(body.count)"])
      let leftByteCount = connection.sendCounting(body, until: 0.6) ?? 0
      isBlocked.fire()
      return connection.send(Array(body.suffix(leftByteCount)))
    } test: { server in
      let stream = try await client.stream(HTTPRequest(url: server.url))
      await isBlocked.wait()
      var received: [UInt8] = []
      for try await chunk in stream.body {
        // URLSession hands over all that it received.
        let limit = HTTPClientOptions().maxBufferedByteCount + 65_536
        #expect(chunk.count <= limit || TestedHTTPClient.isURLSession)
        received += chunk
      }
      #expect(received == body)
    }
  }

  @Test(
    "a server waits for a reader that does not read",
    .unlessURLSessionOnLinux("at times a suspended transfer goes on"))
  func serverWaits() async throws {
    let left = Signal()
    // More than any system's buffers hold.
    let (piece, pieceCount) = ([UInt8](repeating: 1, count: 1 << 20), 256)
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "\(piece.count * pieceCount)"])
      for _ in 0..<pieceCount where connection.sendCounting(piece, until: 0.2) != nil {
        left.fire()
        break
      }
      return false
    } test: { server in
      let stream = try await client.stream(HTTPRequest(url: server.url))
      await left.wait()
      withExtendedLifetime(stream) {}
    }
  }

  @Test(
    "compressed content survives a pause after every piece",
    .unlessURLSessionOnLinux("at times a suspended transfer never resumes"))
  func pausesWhileDecoding() async throws {
    var options = HTTPClientOptions()
    options.maxBufferedByteCount = 1
    let pausing = try TestedHTTPClient(options: options)
    let body = (0..<250_000).map { UInt8(truncatingIfNeeded: $0 / 9) }
    try await withServer { _, connection in
      connection.respond(200, ["Content-Encoding": "gzip"], gzip(storing: body))
    } test: { server in
      let request = HTTPRequest(url: server.url)
      let response = try await pausing.response(to: request, maxBodyByteCount: body.count)
      #expect(response.body == body)
    }
  }

  @Test("a cancelled task ends its transfer: the reader at once, and the server sees it")
  func cancelledInBody() async throws {
    let (isReading, isClosed) = (Signal(), Signal())
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "1000"], [1])
      connection.waitForClose()
      isClosed.fire()
      return false
    } test: { server in
      let request = HTTPRequest(url: server.url)
      let task = Task {
        for try await _ in try await client.stream(request).body { isReading.fire() }
      }
      await isReading.wait()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      await isClosed.wait()
    }
  }

  @Test("a task cancelled before the head arrives ends its transfer")
  func cancelledBeforeHead() async throws {
    let (isAsked, isClosed) = (Signal(), Signal())
    try await withServer { _, connection in
      isAsked.fire()
      connection.waitForClose()
      isClosed.fire()
      return false
    } test: { server in
      let request = HTTPRequest(url: server.url)
      let task = Task { try await client.response(to: request, maxBodyByteCount: 1) }
      await isAsked.wait()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      await isClosed.wait()
    }
  }

  @Test("a task that is cancelled already sends nothing")
  func cancelledBeforeStart() async throws {
    try await withServer { _, connection in
      connection.respond()
    } test: { server in
      let request = HTTPRequest(url: server.url)
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await client.response(to: request, maxBodyByteCount: 1)
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(server.requests.isEmpty)
    }
  }

  @Test("a body that is dropped half-read ends its transfer, and the client goes on")
  func droppedBody() async throws {
    let isClosed = Signal()
    try await withServer { request, connection in
      guard request.path == "/dropped" else { return connection.respond(200, [:], [1]) }
      connection.send(200, ["Content-Length": "1000"], [1])
      connection.waitForClose()
      isClosed.fire()
      return false
    } test: { server in
      _ = try await client.stream(HTTPRequest(url: server.url + "/dropped"))
      await isClosed.wait()
      let request = HTTPRequest(url: server.url)
      let response = try await client.response(to: request, maxBodyByteCount: 1)
      #expect(response.body == [1])
    }
  }

  @Test("a body can be read after its client is gone")
  func bodyOutlivesClient() async throws {
    let isReleased = Signal()
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "2"], [1])
      isReleased.waitBlockingThread()
      return connection.send([2])
    } test: { server in
      let request = HTTPRequest(url: server.url)
      let stream = try await TestedHTTPClient().stream(request)
      isReleased.fire()
      let body = try await stream.body.collected(maxByteCount: 2)
      #expect(body == [1, 2])
    }
  }
}
