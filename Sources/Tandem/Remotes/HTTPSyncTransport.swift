import Synchronization
import TandemHTTP
import TandemRecords
import TandemSpace
import TandemSync

/// A space of a server, over HTTP, as Documentation/Protocol.md describes it.
///
/// Only an answer in the form of the protocol is an outcome. Any other answer, such as that of a proxy,
/// and every answer that is cut short leaves the outcome unknown, so that the same bytes are sent again.
struct HTTPSyncTransport: SyncRemote {
  /// The URL of the space.
  let url: String
  let token: ServerToken?
  let client: any HTTPClient
  private let limits = SyncLimits()
  private var reader: SyncMessageReader { SyncMessageReader(limits: limits) }

  /// The time without a byte of an event stream after which it is given up. The server sends a heartbeat
  /// every 15 seconds.
  static let maxEventPause = Duration.seconds(45)

  /// The time without a byte of an answer, or of a request, after which a request is given up. It is sent
  /// again, and the server remembers what it did. A slow link is not silent.
  static let maxPause = Duration.seconds(30)

  init(url: String, token: ServerToken?, client: any HTTPClient) {
    self.url = url
    self.token = token
    self.client = client
  }

  /// The state of the space.
  func state() async throws -> SpaceState {
    try await ask(.get, "") { (bytes) throws(TextFault) in try reader.state(bytes) }
  }

  func declare(_ tables: [SpaceTable]) async throws -> [SpaceTable] {
    try await ask(.post, "/tables", body: SyncMessageWriter.bytes(tables)) {
      (bytes) throws(TextFault) in try reader.tables(bytes)
    }
  }

  func push(_ commit: SyncCommit) async throws -> SyncOutcome {
    let response = try await response(.post, "/commits", body: SyncMessageWriter.bytes(commit))
    return try outcome(response)
  }

  func pull(_ pull: SyncPull) async throws -> SyncPullAnswer {
    let limit = pull.maxChangeCount < limits.maxPageChangeCount ? "\(pull.maxChangeCount)" : nil
    let response = try await response(
      .get, "/changes",
      [
        ("since", pull.since?.description), ("known", pull.known?.description),
        ("cursor", pull.cursor), ("limit", limit),
        ("replica", pull.replica?.description), ("numbers", pull.asksForNumbers ? "true" : nil),
      ])
    if response.head.status != 200 {
      guard case .gone(let gone) = try outcome(response) else { throw foreign(response.head) }
      return .gone(gone)
    }
    return .page(try read(response) { (bytes) throws(TextFault) in try reader.page(bytes) })
  }

  func follow(after revision: SpaceRevision) async throws -> any SyncAnnouncements {
    var request = try request(.get, "/events", [("since", revision.description)])
    request.fields["Accept"] = "text/event-stream"
    request.fields["Accept-Encoding"] = "identity"
    request.timeouts = HTTPTimeouts(idle: Self.maxEventPause)
    let stream = try await client.stream(request)
    guard stream.head.status == 200 else {
      let body = try await stream.body.collected(maxByteCount: limits.maxAnswerByteCount)
      throw failure(HTTPResponse(head: stream.head, body: body ?? []))
    }
    return EventStream(stream, limits)
  }
}

// MARK: - Copies

extension HTTPSyncTransport {
  /// A page of a copy of the space.
  func copyPage(
    since: SpaceCopyPosition?, cursor: String?, members: String?
  ) async throws -> SpaceCopyAnswer {
    let response = try await response(
      .get, "/copy",
      [("since", since?.description), ("cursor", cursor), ("members", members)])
    if response.head.status == 200 { return .page(response.body) }
    guard case .gone(let gone) = try outcome(response) else { throw foreign(response.head) }
    return .gone(gone)
  }

  /// The list of the spaces of a server, if the URL is that of the list. The server answers when the list has another
  /// tag than this one, or after some seconds.
  func copies(after tag: String?) async throws -> SpaceCopyList {
    let response = try await response(.get, "", [("tag", tag)])
    guard response.head.status == 200 else { throw failure(response) }
    return try SpaceCopyList(response.body)
  }

  /// The time without an answer to the question about the health after which it is given up.
  static let maxHealthPause = Duration.seconds(3)

  /// Whether a server of spaces takes commits, if the URL is that of its health.
  ///
  /// Only an address whose machine answers that nobody listens is one of a server that has ended. Any other failure leaves
  /// open whether it runs: a handshake that fails, and a connection without an answer, come from somebody who listens. An
  /// address that cannot be reached, or a name that is not known, may be the fault of this machine's network.
  func standing() async -> FollowedServer.Standing {
    do {
      var request = try request(.get, "")
      request.fields["Authorization"] = nil
      request.timeouts = HTTPTimeouts(connect: Self.maxHealthPause, idle: Self.maxHealthPause)
      let response = try await client.response(to: request, maxBodyByteCount: 64 << 10)
      let text = String(decoding: response.body, as: UTF8.self)
      if text == #"{"status":"ok"}"# { return .serving }
      // A proxy does not reach the server; or the server follows another one.
      let isStopped =
        response.head.status == Self.badGateway || text.hasPrefix(#"{"status":"following""#)
      return isStopped ? .stopped : .unknown("\(foreign(response.head))")
    } catch let error as TransportError where error.isRefused {
      return .stopped
    } catch {
      return .unknown("\(error)")
    }
  }

  private static let badGateway = 502
}

// MARK: - Requests and answers

extension HTTPSyncTransport {
  private typealias Parameters = [(name: String, value: String?)]

  private func request(
    _ method: HTTPRequest.Method, _ path: String, _ parameters: Parameters = [],
    body: [UInt8]? = nil
  ) throws -> HTTPRequest {
    var address = url + path
    for case (let name, let value?) in parameters {
      address = HTTPURL.setting(name, to: value, in: address)
    }
    var request = HTTPRequest(method, url: address, body: body)
    request.timeouts = HTTPTimeouts(idle: Self.maxPause)
    if let token { request.fields["Authorization"] = "Bearer \(try secret(of: token))" }
    guard body != nil else { return request }
    request.fields["Content-Type"] = "application/json"
    // A commit of one row is no longer than the fields would be.
    request.isBrief = true
    return request
  }

  /// The secret; a request without it is refused before it is sent.
  private func secret(of token: ServerToken) throws(SyncRequestError) -> String {
    do {
      return try token.secret()
    } catch {
      throw SyncRequestError(.unauthenticated, "\(error)")
    }
  }

  private func response(
    _ method: HTTPRequest.Method, _ path: String, _ parameters: Parameters = [],
    body: [UInt8]? = nil
  ) async throws -> HTTPResponse {
    let request = try request(method, path, parameters, body: body)
    do {
      return try await client.response(
        to: request, maxBodyByteCount: limits.maxPageMessageByteCount)
    } catch var error as TransportError {
      // The parameters of the request tell people nothing.
      error.url = url
      throw error
    }
  }

  /// The message in the answer to a request.
  private func ask<Message>(
    _ method: HTTPRequest.Method, _ path: String, body: [UInt8]? = nil,
    _ read: ([UInt8]) throws(TextFault) -> Message
  ) async throws -> Message {
    let response = try await response(method, path, body: body)
    guard response.head.status == 200 else { throw failure(response) }
    return try self.read(response, read)
  }

  private func read<Message>(
    _ response: HTTPResponse, _ read: ([UInt8]) throws(TextFault) -> Message
  ) throws(TransportError) -> Message {
    do {
      return try read(response.body)
    } catch {
      throw TransportError(
        .malformedResponse,
        "the answer is not that of a Tandem server (\(error)); check the address, and the proxy if there is one",
        url: url)
    }
  }

  /// The outcome in an answer.
  private func outcome(_ response: HTTPResponse) throws -> SyncOutcome {
    guard case .success(let outcome)? = answer(response) else { throw failure(response) }
    return outcome
  }

  private func answer(_ response: HTTPResponse) -> Result<SyncOutcome, SyncRequestError>? {
    try? reader.answer(response.body)
  }

  /// The error of an answer that is none of those expected.
  private func failure(_ response: HTTPResponse) -> any Error {
    guard case .failure(let refusal)? = answer(response) else { return foreign(response.head) }
    guard refusal.isTransient else { return SyncRequestError(refusal.code, message(of: refusal)) }
    return SyncRequestError(
      refusal.code, message(of: refusal),
      retryAfter: refusal.retryAfter ?? response.head.retryDelay)
  }

  /// The most characters of a server's message that are shown.
  private static let maxMessageLength = 1_000

  /// The message of a refusal, with a remedy that only this side knows. The server's text is one line, so
  /// that it is not taken for the output of the program that shows it.
  private func message(of refusal: SyncRequestError) -> String {
    switch refusal.code {
    case .unauthenticated:
      let prefix = SyncRequestError.refusedTokenPrefix
      let refused =
        refusal.message.hasPrefix(prefix)
        ? "does not accept the access token (\(shown(refusal.message.dropFirst(prefix.count))))"
        : "does not know the access token"
      switch token {
      case nil: return "the server needs an access token (`token`)"
      case .text: return "the server \(refused); give it a valid one (`token`)"
      case .file(let path): return "the server \(refused) in \(path); store a valid one there"
      }
    case .unknownRoute:
      return
        "there is no Tandem server at \(url); the address of a server has a path only if a proxy "
        + "adds one"
    default:
      return shown(refusal.message)
    }
  }

  private func shown(_ message: some StringProtocol) -> String {
    String(message.prefix(Self.maxMessageLength)).escapingControls()
  }

  /// The error of an answer that is not a Tandem server's.
  private func foreign(_ head: HTTPResponseHead) -> any Error {
    var error: TransportError
    do {
      try head.requireSuccess()
      error = TransportError(
        .malformedResponse, "the answer is not that of a Tandem server; check the address", url: url
      )
    } catch let status {
      error = status
      error.url = url
    }
    return error.isTransient
      ? SyncRequestError(.unavailable, "\(error)", retryAfter: error.retryDelay) : error
  }
}

// MARK: - Events

/// The event stream of a space. It ends when nobody keeps it.
private final class EventStream: SyncAnnouncements {
  private struct State {
    var reader: EventStreamReader
    var waiting: [SyncEvent] = []
  }

  private let url: String
  private let body: HTTPBody
  private let state: Mutex<State>

  init(_ stream: HTTPResponseStream, _ limits: SyncLimits) {
    url = stream.head.url
    body = stream.body
    state = Mutex(State(reader: EventStreamReader(limits: limits)))
  }

  /// The next event that leads to another head than the one that is known.
  func next(after known: SpaceRevision) async throws -> SyncEvent {
    var chunks = body.makeAsyncIterator()
    while true {
      if let event = nextWaiting(after: known) { return event }
      guard let bytes = try await chunks.next() else {
        throw TransportError(
          .connectionLost, "the server has ended the stream of events", url: url)
      }
      try state.withLock { $0.waiting += try $0.reader.events(adding: bytes) }
    }
  }

  private func nextWaiting(after known: SpaceRevision) -> SyncEvent? {
    state.withLock { state in
      while !state.waiting.isEmpty {
        let event = state.waiting.removeFirst()
        if event.revision.isNews(to: known) { return event }
      }
      return nil
    }
  }
}
