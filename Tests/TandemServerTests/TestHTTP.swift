import Synchronization
import TandemServer
import Testing

extension HTTPServerLimits {
  /// Limits that no slow machine reaches: a test sets the times that it is about.
  static var patient: HTTPServerLimits {
    var limits = HTTPServerLimits()
    limits.maxIdleTime = .seconds(3_600)
    limits.maxBodyTime = .seconds(3_600)
    limits.maxSendTime = .seconds(3_600)
    limits.maxStreamEndTime = .seconds(3_600)
    limits.maxStopTime = .seconds(3_600)
    return limits
  }
}

/// A server of a ``TestResponder``.
final class TestHTTP: Sendable {
  static let large = Array(String(repeating: "a line of text\n", count: 4_000).utf8)

  /// More than the system keeps for a client that does not read.
  static let huge = [UInt8](repeating: 0x78, count: 12 << 20)

  let responder: TestResponder
  let metrics = ServerMetrics()
  let log = EventLog()
  let server: HTTPServer
  let port: UInt16

  init(
    _ limits: HTTPServerLimits = .patient, identity: HTTPServer.Identity? = nil,
    proxies: ProxyNetworks = ProxyNetworks()
  ) throws {
    responder = TestResponder()
    let socket = try ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false)
    let log = log
    port = socket.port
    server = try HTTPServer(
      socket, identity: identity, limits: limits, proxies: proxies, metrics: metrics,
      responder: responder
    ) { log.add($0) }
  }

  /// Runs a server while `body` runs.
  static func with(
    _ limits: HTTPServerLimits = .patient, proxies: ProxyNetworks = ProxyNetworks(),
    _ body: (TestHTTP) async throws -> Void
  ) async throws {
    let http = try TestHTTP(limits, proxies: proxies)
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

  /// Checks that a new client is served. A client that is slower than the limits of the test allow
  /// connects again.
  func expectService() async throws {
    while true {
      try Task.checkCancellation()
      let connection = try connect()
      await connection.send(Self.post("/echo", "alive"))
      guard let answer = await connection.answer() else { continue }
      return #expect(answer.body == Array("alive".utf8))
    }
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
    case "/address": return HTTPAnswer(request.head.address ?? "")
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
