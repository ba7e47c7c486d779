import TandemHTTP
import TandemRecords
import TandemReplica
import TandemSync
import TestFolder
import TestHTTPServer
import Testing

@testable import Tandem

@Suite("A space of a server, over HTTP", .timeLimit(.minutes(20)))
struct HTTPSyncTransportTests {
  private static let base = SpaceRevision(epoch: SyncToken(bits: 1), version: 4, mark: 2)
  private static let next = SpaceRevision(epoch: SyncToken(bits: 1), version: 5, mark: 3)

  private let commit = SyncCommit(
    replica: SyncToken(bits: 10), sequence: 3, id: SyncToken(bits: 11), base: Self.base,
    changes: [SyncChange(key: SyncKey(table: "note", id: [.text("n1")]), verb: .delete)])

  private func transport(
    _ server: MisbehavingServer, token: ServerToken? = .text("secret-of-a")
  ) throws -> HTTPSyncTransport {
    HTTPSyncTransport(
      url: server.url + "/v1/spaces/notes", token: token, client: try SystemHTTPClient())
  }

  /// The error of a push that is answered like this.
  private func pushError(
    _ status: Int, _ body: String, _ fields: HTTPFields = [:]
  ) async throws -> (any Error)? {
    try await withServer {
      $1.respond(status, fields, Array(body.utf8))
    } test: { server in
      do {
        _ = try await transport(server).push(commit)
        return nil
      } catch {
        #expect(!"\(error)".contains("secret-of-a"))
        return error
      }
    }
  }

  // MARK: Requests

  @Test("Requests have the address, the parameters, the token and the message of the protocol")
  func requests() async throws {
    let page = SyncPage(
      revision: Self.next, digest: .empty, replica: nil, changes: [], next: nil)
    let table = SpaceTable(
      name: "note", columns: ["title"], keyColumns: ["id"], granularity: .field)
    let state = SpaceState(head: Self.next, digest: .empty, horizon: 2, tables: [table])
    try await withServer { request, connection in
      let path = request.path.split(separator: "?")[0]
      switch path {
      case "/v1/spaces/notes": return connection.respond(200, [:], SyncMessageWriter.bytes(state))
      case "/v1/spaces/notes/tables": return connection.respond(200, [:], request.body)
      case "/v1/spaces/notes/changes":
        return connection.respond(200, [:], SyncMessageWriter.bytes(page))
      case "/v1/spaces/notes/commits":
        return connection.respond(
          200, [:], SyncMessageWriter.bytes(SyncOutcome.accepted(Self.next, .empty)))
      default: return connection.respond(404)
      }
    } test: { server in
      let transport = try transport(server)
      #expect(try await transport.state() == state)
      #expect(try await transport.declare([table]) == [table])
      #expect(try await transport.push(commit) == .accepted(Self.next, .empty))
      let pull = SyncPull(
        replica: SyncToken(bits: 10), since: Self.base, cursor: "a~b+c", maxChangeCount: 7)
      #expect(try await transport.pull(pull) == .page(page))
      #expect(try await transport.pull(SyncPull(replica: nil, since: nil)) == .page(page))
      let requests = server.requests
      #expect(
        requests.map { "\($0.method) \($0.path)" } == [
          "GET /v1/spaces/notes", "POST /v1/spaces/notes/tables", "POST /v1/spaces/notes/commits",
          "GET /v1/spaces/notes/changes?since=\(Self.base)&cursor=a~b%2Bc&limit=7"
            + "&replica=\(SyncToken(bits: 10))", "GET /v1/spaces/notes/changes",
        ])
      #expect(requests.allSatisfy { $0.fields["Authorization"] == "Bearer secret-of-a" })
      #expect(requests[2].body == SyncMessageWriter.bytes(commit))
      #expect(requests[2].fields["Content-Type"] == "application/json")
      // A commit has no fields that say nothing; they are as long as the change of a row.
      for name in ["Accept", "Accept-Encoding", "User-Agent", "Cache-Control"] {
        #expect(requests[2].fields[name] == nil, "\(name)")
      }
      #expect(requests[3].fields["Accept-Encoding"] == "gzip")
      #expect(server.connectionCount == 1)
    }
  }

  @Test("All outcomes of the protocol come with a status of their own")
  func outcomes() async throws {
    let objection = SyncObjection(
      key: SyncKey(table: "note", id: [.text("n1")]), reason: .missing)
    let outcomes: [(Int, SyncOutcome)] = [
      (200, .accepted(Self.next, .empty)), (409, .conflict([objection])),
      (409, .sequence(last: 2, fate: Self.next)), (410, .gone(.horizon)),
      (422, .refused([objection])), (200, .parts(missing: [1, 3])),
    ]
    for (status, outcome) in outcomes {
      try await withServer {
        $1.respond(status, [:], SyncMessageWriter.bytes(outcome))
      } test: { server in
        let answer = try await transport(server).push(commit)
        #expect(answer == outcome)
      }
    }
    try await withServer {
      $1.respond(410, [:], SyncMessageWriter.bytes(SyncOutcome.gone(.epoch)))
    } test: { server in
      let pull = SyncPull(replica: nil, since: Self.base)
      let answer = try await transport(server).pull(pull)
      #expect(answer == .gone(.epoch))
    }
  }

  @Test("A refusal of the server is one of the whole request, with its code and its delay")
  func refusals() async throws {
    for (status, code) in [
      (400, SyncRequestError.Code.malformed), (403, .unauthorized),
      (404, .unknownSpace), (409, .differentTables), (413, .overLimit),
    ] {
      let body = #"{"outcome":"rejected","code":"\#(code)","message":"m"}"#
      let refusal = try #require(try await pushError(status, body) as? SyncRequestError)
      #expect(refusal == SyncRequestError(code, "m"))
      #expect(!refusal.isTransient)
    }
    let busy = #"{"outcome":"rejected","code":"unavailable","message":"m"}"#
    for (status, code) in [(429, SyncRequestError.Code.tooManyRequests), (503, .unavailable)] {
      let body = #"{"outcome":"rejected","code":"\#(code)","message":"m"}"#
      let refusal = try #require(
        try await pushError(status, body, ["Retry-After": "7"]) as? SyncRequestError)
      #expect(refusal == SyncRequestError(code, "m", retryAfter: .seconds(7)))
      #expect(refusal.isTransient)
    }
    let precise =
      #"{"outcome":"rejected","code":"unavailable","message":"m","retryAfterMilliseconds":250}"#
    let refusal = try await pushError(503, precise, ["Retry-After": "7"]) as? SyncRequestError
    #expect(refusal?.retryAfter == .milliseconds(250))
    // The driver bounds the pause, for a space in a file as well.
    let years = try await pushError(503, busy, ["Retry-After": "99999999"]) as? SyncRequestError
    #expect(
      Backoff().delay(afterFailure: 1, atLeast: years?.retryAfter, chance: 1) == .seconds(300))
  }

  @Test("The message of a server is one line without control characters; remedies name the options")
  func messages() async throws {
    func message(_ code: String, _ text: String) async throws -> String? {
      let body = #"{"outcome":"rejected","code":"\#(code)","message":"\#(text)"}"#
      return (try await pushError(400, body) as? SyncRequestError)?.message
    }
    #expect(
      try await message("malformed", #"a\ntandem: b\u001b[2J"#) == #"a\u000atandem: b\u001b[2J"#)
    let long = String(repeating: "x", count: 100_000)
    #expect(try await message("malformed", long)?.count == 1_000)
    #expect(try await message("unauthenticated", "m")?.contains("`token`") == true)
    let expired = try await message(
      "unauthenticated", "the access token is not accepted: it has expired")
    #expect(expired?.contains("token (it has expired)") == true)
    #expect(try await message("unknownRoute", "m")?.contains("path") == true)
  }

  @Test("An error of a request has the address of the space, without parameters")
  func addressOfErrors() async throws {
    let url = "http://127.0.0.1:1/v1/spaces/notes"
    let offline = HTTPSyncTransport(url: url, token: nil, client: try SystemHTTPClient())
    let pull = SyncPull(replica: SyncToken(bits: 10), since: Self.base)
    let error = await #expect(throws: TransportError.self) { _ = try await offline.pull(pull) }
    #expect(error?.url == url)
  }

  @Test("An answer that is not the server's leaves the outcome unknown, whatever its status says")
  func foreignAnswers() async throws {
    for status in [200, 204, 301, 400, 401, 403, 404, 409, 410, 413, 422] {
      let error = try #require(try await pushError(status, status == 204 ? "" : "<html>no</html>"))
      let transport = try #require(error as? TransportError, "\(status): \(error)")
      #expect(transport.url.hasSuffix("/v1/spaces/notes") || transport.url.hasSuffix("/commits"))
    }
    for status in [429, 500, 502, 503, 504] {
      let refusal = try await pushError(status, "<html>", ["Retry-After": "3"]) as? SyncRequestError
      #expect(refusal?.code == .unavailable)
      #expect(refusal?.retryAfter == .seconds(3))
    }
    // The message of a page is no outcome.
    let page = SyncPage(
      revision: Self.next, digest: .empty, replica: nil, changes: [], next: nil)
    let body = String(decoding: SyncMessageWriter.bytes(page), as: UTF8.self)
    #expect(try await pushError(200, body) is TransportError)
  }

  @Test("An answer that is cut short leaves the outcome unknown")
  func truncation() async throws {
    let bytes = SyncMessageWriter.bytes(SyncOutcome.accepted(Self.next, .empty))
    for count in [0, 1, bytes.count / 2, bytes.count - 1] {
      try await withServer { _, connection in
        connection.send(200, ["Content-Length": "\(bytes.count)"], Array(bytes.prefix(count)))
        return false
      } test: { server in
        _ = await #expect(throws: TransportError.self) { try await transport(server).push(commit) }
      }
    }
  }

  // MARK: Health

  @Test("Only a server whose machine refuses connections, or which follows another one, is stopped")
  func standings() async throws {
    let answers: [(Int, String, FollowedServer.Standing?)] = [
      (200, #"{"status":"ok"}"#, .serving), (502, "<html>Bad Gateway</html>", .stopped),
      (200, #"{"status":"following","secondsBehind":2}"#, .stopped),
      (200, "<html>no</html>", nil), (404, "", nil), (503, "<html>", nil), (500, "", nil),
    ]
    for (status, text, expected) in answers {
      try await withServer {
        $1.respond(status, [:], Array(text.utf8))
      } test: { server in
        let standing = try await FollowedServer(server.url, token: nil).standing()
        if let expected {
          #expect(standing == expected, "\(status) \(text)")
        } else {
          #expect(standing.isUnknown, "\(status) \(text)")
        }
      }
    }
    let reserved = try ReservedPort()
    defer { withExtendedLifetime(reserved) {} }
    let nobody = try FollowedServer("http://127.0.0.1:\(reserved.number)", token: nil)
    #expect(await nobody.standing() == .stopped)
    // No network leads to a multicast address by TCP, and the name is longer than one may be.
    for host in ["224.0.0.1", String(repeating: "x", count: 64) + ".invalid"] {
      #expect(try await FollowedServer("http://\(host):1", token: nil).standing().isUnknown)
    }
    // They accept the connection, and end it, or say nothing.
    for staysOpen in [false, true] {
      try await withServer { _, _ in
        staysOpen
      } test: { server in
        let plain = try FollowedServer(server.url, token: nil)
        #expect(await plain.standing().isUnknown)
        // No TLS is spoken there.
        let url = server.url.replacing("http://", with: "https://")
        let encrypted = try FollowedServer(url, token: nil)
        #expect(await encrypted.standing().isUnknown)
      }
    }
  }

  // MARK: Tokens

  @Test("The token of a file is read for each request, and its absence is an error with the path")
  func tokenFile() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "token")
    try await withServer {
      $1.respond(200, [:], Array("[]".utf8))
    } test: { server in
      let transport = try transport(server, token: .file(path))
      let missing = await #expect(throws: SyncRequestError.self) { try await transport.declare([]) }
      #expect(missing?.code == .unauthenticated)
      #expect(missing?.message.hasPrefix(path) == true)
      for secret in ["one", "two"] {
        try folder.write(secret + "\n", to: "token")
        _ = try await transport.declare([])
        #expect(server.requests.last?.fields["Authorization"] == "Bearer \(secret)")
      }
      try folder.write("two words\n", to: "token")
      let malformed = await #expect(throws: SyncRequestError.self) {
        try await transport.declare([])
      }
      #expect(malformed.map { !"\($0)".contains("words") } == true)
    }
  }

  @Test("No description of a token or of a space has the secret")
  func secrecy() async throws {
    let token = ServerToken.text("secret-of-a")
    let space = try SyncSpace.server("https://sync.example.org/", space: "notes", token: token)
    #expect(space.name == "https://sync.example.org/v1/spaces/notes")
    var dumped = ""
    dump(space, to: &dumped)
    dump(token, to: &dumped)
    dump(ServerToken.file("/a"), to: &dumped)
    for text in ["\(token)", String(reflecting: token), "\(space)", dumped] {
      #expect(!text.contains("secret-of-a"), "\(text)")
    }
  }

  // MARK: Addresses

  @Test("A name has the files that are needed to reach the space, and leads back to it")
  func names() throws {
    let address = try SpaceAddress(
      server: "https://sync.example.org:8443/base//", space: "a.b-c_1",
      token: .file("/home/ann/my tokens/100%#1&2=é"), certificateAuthorityFile: "/etc/ca.pem")
    #expect(
      address.name
        == "https://sync.example.org:8443/base/v1/spaces/a.b-c_1"
        + "#token-file=/home/ann/my%20tokens/100%25%231%262%3d%c3%a9&cacert=/etc/ca.pem")
    let again = try SpaceAddress(name: address.name)
    #expect(again == address)
    #expect(
      SyncSpace.plainName(address.name)
        == "https://sync.example.org:8443/base/v1/spaces/a.b-c_1, with the token in "
        + "/home/ann/my tokens/100%#1&2=é, the certificates in /etc/ca.pem")
    for name in ["http://localhost/v1/spaces/s", "/home/ann/a#token-file=b"] {
      #expect(SyncSpace.plainName(name) == name)
    }
    let relative = try SpaceAddress(
      server: "http://localhost", space: "s", token: .file("token"), certificateAuthorityFile: nil)
    #expect(relative.tokenFile?.hasPrefix("/") == true)
    #expect(relative.tokenFile?.hasSuffix("/token") == true)
  }

  @Test("A token leaves this machine unencrypted only by permission, which the name keeps")
  func insecureHTTP() async throws {
    let token = ServerToken.text("secret-of-a")
    for host in ["localhost", "127.0.0.1:7420", "127.9.9.9", "[::1]:80", "LOCALHOST:1"] {
      _ = try SyncSpace.server("http://\(host)", space: "s", token: token)
    }
    for host in ["sync.example.org", "127.0.0.1.example.org", "10.0.0.1", "[::2]", "localhost.a"] {
      let url = "http://\(host)"
      let error = #expect(throws: TransportError.self) {
        try SyncSpace.server(url, space: "s", token: token)
      }
      #expect(error?.message.contains("`allowsInsecureHTTP`") == true)
      // Without a secret, and with a permission, it is the application's own affair.
      let open = try SyncSpace.server(url, space: "s")
      await #expect(throws: TransportError.self) {
        try await SyncSpace.named(open.name, token: token)
      }
      let permitted = try SyncSpace.server(
        url, space: "s", token: .file("/token"), allowsInsecureHTTP: true)
      #expect(permitted.name == "\(url)/v1/spaces/s#token-file=/token&insecure-http=yes")
      _ = try await SyncSpace.named(permitted.name)
    }
  }

  @Test(
    "Addresses with credentials or parameters, and names that no space has, are refused",
    arguments: [
      ("https://ann:pw@sync.example.org", "s"), ("https://sync.example.org?token=pw", "s"),
      ("https://sync.example.org/#pw", "s"), ("sync.example.org", "s"), ("ftp://a.example", "s"),
      ("https://sync.example.org", ""), ("https://sync.example.org", ".s"),
      ("https://sync.example.org", "a/b"), ("https://sync.example.org", "é"),
      ("https://sync.example.org", String(repeating: "a", count: 129)),
      ("https://sync.example.org/v1/spaces/s", "s"), ("https://sync.example.org/v1/spaces", "s"),
    ])
  func refusedAddresses(url: String, space: String) throws {
    let error = #expect(throws: TransportError.self) {
      try SyncSpace.server(url, space: space)
    }
    #expect(error.map { !"\($0)".contains("pw") } == true)
  }

  // MARK: Events

  @Test("Announcements come from one stream, without those that the replica has passed")
  func events() async throws {
    let later = SpaceRevision(epoch: SyncToken(bits: 1), version: 9, mark: 3)
    try await withServer { request, connection in
      connection.send(200, ["Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"])
      connection.send(chunk: Array(": hello\n\n".utf8))
      for revision in [Self.base, Self.next, later] {
        connection.send(chunk: SyncMessageWriter.streamBytes(SyncEvent.head(revision)))
      }
      connection.send(chunk: [])
      return true
    } test: { server in
      let announcements = try await transport(server).follow(after: Self.base)
      #expect(server.requests[0].path == "/v1/spaces/notes/events?since=\(Self.base)")
      #expect(server.requests[0].fields["Accept-Encoding"] == "identity")
      #expect(try await announcements.next(after: Self.base) == .head(Self.next))
      #expect(try await announcements.next(after: Self.next) == .head(later))
      await #expect(throws: TransportError.self) { try await announcements.next(after: later) }
      #expect(server.requests.count == 1)
    }
  }

  @Test("A stream that nobody keeps is closed, so that the server can forget it")
  func droppedStream() async throws {
    let isClosed = Signal()
    try await withServer { _, connection in
      connection.send(200, ["Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"])
      connection.send(chunk: SyncMessageWriter.streamBytes(SyncEvent.head(Self.next)))
      connection.waitForClose()
      isClosed.fire()
      return false
    } test: { server in
      do {
        let announcements = try await transport(server).follow(after: Self.base)
        #expect(try await announcements.next(after: Self.base) == .head(Self.next))
      }
      await isClosed.wait()
    }
  }

  @Test("A stream that is refused, or is none, is an error")
  func noStream() async throws {
    for status in [404, 410, 503] {
      try await withServer {
        $1.respond(status)
      } test: { server in
        _ = await #expect(throws: (any Error).self) {
          try await transport(server).follow(after: Self.base)
        }
      }
    }
    try await withServer {
      $1.respond(200, [:], Array("event: head\ndata: {}\n\n".utf8))
    } test: {
      server in
      let announcements = try await transport(server).follow(after: Self.base)
      _ = await #expect(throws: TextFault.self) {
        try await announcements.next(after: Self.base)
      }
    }
  }
}

extension FollowedServer.Standing {
  fileprivate var isUnknown: Bool {
    if case .unknown = self { true } else { false }
  }
}
