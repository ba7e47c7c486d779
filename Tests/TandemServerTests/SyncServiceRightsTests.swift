import Foundation
import TandemServer
import TandemSync
import TestFolder
import Testing

/// Who may do what: each client with each request, in each kind of space.
@Suite struct SyncServiceRightsTests {
  /// The clients, by their secrets.
  enum Client: String, CaseIterable {
    case none, unknown, reader, writer, other, readerOfAll, writerOfAll, follower, scraper
  }

  /// The requests about a space.
  enum Request: String, CaseIterable {
    case state, declareKnown, declareNew, commit, changes, events, copy, copies
  }

  private static let tokens: [AccessToken] = [
    .of("reader", "ann", .read, ["notes", "missing"]),
    .of("writer", "bob", .write, ["notes", "missing"]),
    .of("formerWriter", "bob", .read, ["notes"]),
    .of("other", "eve", .write, ["others"]),
    .of("readerOfAll", "cat", .read, ["*"]),
    .of("writerOfAll", "dan", .write, ["*"]),
    .of("follower", "sam", .follow, ["*"]),
    .of("scraper", "prometheus", .metrics, []),
  ]

  /// The statuses of the requests in a space that exists.
  private static let inExisting: [Client: [Int]] = [
    // state, declareKnown, declareNew, commit, changes, events, copy, copies
    .none: [401, 401, 401, 401, 401, 401, 401, 401],
    .unknown: [401, 401, 401, 401, 401, 401, 401, 401],
    .reader: [200, 200, 403, 403, 200, 200, 403, 403],
    .writer: [200, 200, 200, 200, 200, 200, 403, 403],
    .other: [404, 404, 404, 404, 404, 404, 403, 403],
    .readerOfAll: [200, 200, 403, 403, 200, 200, 403, 403],
    .writerOfAll: [200, 200, 200, 200, 200, 200, 403, 403],
    .follower: [404, 404, 404, 404, 404, 404, 200, 200],
    .scraper: [403, 403, 403, 403, 403, 403, 403, 403],
  ]

  /// The statuses of the requests in a space that does not exist.
  private static let inMissing: [Client: [Int]] = [
    .none: [401, 401, 401, 401, 401, 401, 401, 401],
    .unknown: [401, 401, 401, 401, 401, 401, 401, 401],
    .reader: [404, 404, 404, 404, 404, 404, 403, 403],
    .writer: [404, 200, 200, 404, 404, 404, 403, 403],
    .other: [404, 404, 404, 404, 404, 404, 403, 403],
    .readerOfAll: [404, 404, 404, 404, 404, 404, 403, 403],
    .writerOfAll: [404, 200, 200, 404, 404, 404, 403, 403],
    .follower: [404, 404, 404, 404, 404, 404, 404, 200],
    .scraper: [403, 403, 403, 403, 403, 403, 403, 403],
  ]

  @Test("A request without a valid token is refused before its body is received")
  func admission() throws {
    let test = try TestService(tokens: Self.tokens)
    for secret in [nil, "unknown", "writer"] {
      let token = secret.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
      let head = ServedRequestHead(
        method: "POST", target: "/v1/spaces/notes/commits",
        fields: [(name: "Host", value: "127.0.0.1"), ("Content-Type", "application/json")] + token,
        isLocal: false)
      switch test.service.admission(of: head) {
      case .accepted: #expect(secret == "writer")
      case .refused(let answer): #expect(secret != "writer" && answer.status == 401)
      }
    }
  }

  @Test("Each client may do what its token permits, and nothing else", arguments: Client.allCases)
  func table(client: Client) async throws {
    for (space, expected) in [
      ("notes", Self.inExisting[client]), ("missing", Self.inMissing[client]),
    ] {
      for (request, status) in zip(Request.allCases, expected ?? []) {
        let test = try TestService(tokens: Self.tokens)
        let head = try await test.makeSpace("notes")
        let answer = try await send(request, to: space, as: client, head, test)
        #expect(answer.status == status, "\(client) \(request) \(space): \(answer.text)")
        if status == 401 { #expect(answer.field("WWW-Authenticate") == "Bearer realm=\"Tandem\"") }
      }
    }
  }

  @Test("A token of another space gets the same answer whether a space exists or not")
  func secrecy() async throws {
    let test = try TestService(tokens: Self.tokens)
    let head = try await test.makeSpace("notes")
    for request in Request.allCases {
      let existing = try await send(request, to: "notes", as: .other, head, test)
      let missing = try await send(request, to: "photo", as: .other, head, test)
      #expect(existing.status == missing.status)
      #expect(existing.text.replacing("notes", with: "photo") == missing.text)
      #expect(existing.fields.map(\.name) == missing.fields.map(\.name))
      #expect(existing.fields.map(\.value) == missing.fields.map(\.value))
    }
    let list = await test.answer("GET", "/v1/spaces", secret: "other")
    #expect(list.text == #"{"spaces":[]}"#)
    // Also the file of a space that was not created shows nothing.
    #expect(try test.spaces.names() == ["notes"])
  }

  @Test("A token for the metrics reads these, and nothing else")
  func metricsToken() async throws {
    let test = try TestService(tokens: Self.tokens)
    let answer = await test.answer("GET", "/metrics", secret: "scraper")
    #expect(answer.status == 200 && answer.text.contains("\ntandem_spaces 0\n"))
    #expect(await test.answer("GET", "/v1/spaces", secret: "scraper").status == 403)
    let inspector = Inspector(test.service)
    for path in ["/inspect/state", "/inspect/action"] {
      let head = ServedRequestHead(
        method: path == "/inspect/state" ? "GET" : "POST", target: path,
        fields: [("Host", "127.0.0.1:7420"), ("Authorization", "Bearer scraper")])
      guard case .refused(let refusal) = inspector.admission(of: head) else {
        Issue.record("\(path) was accepted")
        continue
      }
      #expect(refusal.status == 403)
    }
  }

  @Test("The list has the spaces of a token, with its rights")
  func list() async throws {
    let test = try TestService(tokens: Self.tokens)
    for name in ["notes", "others", "zoo.1"] { try await test.makeSpace(name) }
    let expected = [
      "reader": #"{"spaces":[{"name":"notes","access":"read"}]}"#,
      "writer": #"{"spaces":[{"name":"notes","access":"write"}]}"#,
      "other": #"{"spaces":[{"name":"others","access":"write"}]}"#,
      "readerOfAll": #"{"spaces":[{"name":"notes","access":"read"},"#
        + #"{"name":"others","access":"read"},{"name":"zoo.1","access":"read"}]}"#,
    ]
    for (secret, text) in expected {
      #expect(await test.answer("GET", "/v1/spaces", secret: secret).text == text)
    }
    #expect(await test.answer("GET", "/v1/spaces").status == 401)
    #expect(await test.answer("GET", "/metrics").status == 401)
    #expect(await test.answer("GET", "/metrics", secret: "other").status == 200)
    #expect(await test.answer("GET", "/healthz").text == #"{"status":"ok"}"#)
    #expect(await test.answer("GET", "/v1/openapi.json").status == 200)
  }

  @Test(
    "A commit whose answer was lost gets it again, though the right to write was lost meanwhile")
  func repeatedCommit() async throws {
    let test = try TestService(tokens: Self.tokens)
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    let first = SyncMessageWriter.bytes(replica.commit(head, [insertion(1)]))
    let outcome = await test.answer(
      "POST", "/v1/spaces/notes/commits", secret: "writer", body: first)
    #expect(outcome.status == 200)
    let again = await test.answer("POST", "/v1/spaces/notes/commits", secret: "reader", body: first)
    #expect(again.bytes == outcome.bytes)
    let next = SyncMessageWriter.bytes(replica.commit(head, [insertion(2)]))
    let refused = await test.answer(
      "POST", "/v1/spaces/notes/commits", secret: "reader", body: next)
    #expect(refused.code == "unauthorized")
  }

  @Test(
    "A commit that its account might not send is not accepted when it may write again [consume]")
  func lateCommit() async throws {
    let test = try TestService(tokens: Self.tokens)
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    let path = "/v1/spaces/notes/commits"
    func send(_ bytes: [UInt8], _ secret: String) async -> HTTPAnswer {
      await test.answer("POST", path, secret: secret, body: bytes)
    }
    let first = SyncMessageWriter.bytes(replica.commit(head, [insertion(1)]))
    #expect(await send(first, "writer").status == 200)
    let late = SyncMessageWriter.bytes(replica.commit(head, [insertion(2)]))
    // Another account cannot consume the sequence of this replica.
    #expect(await send(late, "reader").code == "unauthorized")
    #expect(await send(late, "readerOfAll").code == "unauthorized")
    #expect(await send(first, "formerWriter").status == 200)
    #expect(await send(late, "formerWriter").code == "unauthorized")
    let refused = await send(late, "writer")
    #expect(refused.text == #"{"outcome":"refused","changes":[]}"#)
    let next = SyncMessageWriter.bytes(replica.commit(head, [insertion(3)]))
    #expect(await send(next, "writer").status == 200)
    let page = await test.answer("GET", "/v1/spaces/notes/changes", secret: "writer")
    #expect(try SyncMessageReader().page(page.bytes).changes.count == 2)
  }

  @Test("A service without access tokens refuses requests of a server that others can reach")
  func others() async throws {
    let test = try TestService()
    try await test.makeSpace("notes")
    for (host, status) in [("127.0.0.1", 200), ("0.0.0.0", 403)] {
      let socket = try ListeningSocket(host: host, port: 0, allowsOthers: true)
      let server = try HTTPServer(socket, responder: test.service)
      let run = Task { await server.run() }
      let connection = try RawConnection(port: socket.port)
      await connection.send("GET /v1/spaces/notes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      #expect(await connection.answer()?.status == status)
      run.cancel()
      await run.value
    }
  }

  @Test("Of a commit of a client that may only read, the changes are not even decoded")
  func undecodedCommit() async throws {
    let test = try TestService(tokens: Self.tokens)
    let head = try await test.makeSpace("notes")
    let token = String(repeating: "a0", count: 16)
    let body = Array(
      #"{"replica":"\#(token)","sequence":1,"commit":"\#(token)","base":"\#(head)","changes":7}"#
        .utf8)
    let path = "/v1/spaces/notes/commits"
    #expect(await test.answer("POST", path, secret: "reader", body: body).code == "unauthorized")
    #expect(await test.answer("POST", path, secret: "writer", body: body).code == "malformed")
  }

  @Test("A replica asks for changes with a token of its own account only")
  func standing() async throws {
    let test = try TestService(tokens: Self.tokens)
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    let first = SyncMessageWriter.bytes(replica.commit(head, [insertion(1)]))
    let path = "/v1/spaces/notes"
    #expect(
      await test.answer("POST", "\(path)/commits", secret: "writer", body: first).status == 200)
    let changes = "\(path)/changes?replica=\(replica.id)"
    let answer = await test.answer("GET", changes, secret: "writer")
    #expect(try SyncMessageReader().page(answer.bytes).replica?.sequence == 1)
    for secret in ["reader", "writerOfAll"] {
      let answer = await test.answer("GET", changes, secret: secret)
      #expect(answer.status == 403 && answer.code == "unauthorized")
    }
    // A replica that has sent nothing belongs to nobody yet.
    let other = TestReplica(seed: 2)
    let unknown = await test.answer("GET", "\(path)/changes?replica=\(other.id)", secret: "reader")
    #expect(unknown.status == 200)
  }

  @Test("The requests of each token have a share of the memory, and so have those without a token")
  func shares() throws {
    func client(_ test: TestService, _ target: String, _ secret: String) throws -> String? {
      let head = ServedRequestHead(
        method: "GET", target: target,
        fields: [("Host", "127.0.0.1"), ("Authorization", "Bearer \(secret)")])
      guard case .accepted(let client) = test.service.admission(of: head) else {
        throw CancellationError()
      }
      return client
    }
    let test = try TestService(tokens: Self.tokens)
    let reader = try client(test, "/v1/spaces", "reader")
    let writer = try client(test, "/v1/spaces", "writer")
    let open = try client(test, "/v1/openapi.json", "writer")
    #expect(Set([reader, writer, open]).count == 3)
    #expect(reader != nil && writer != nil && open != nil)
    #expect(try client(TestService(), "/v1/spaces", "none") == nil)
  }

  @Test("A replica belongs to the account that used it first")
  func account() async throws {
    let test = try TestService(tokens: Self.tokens)
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    let path = "/v1/spaces/notes/commits"
    let first = SyncMessageWriter.bytes(replica.commit(head, []))
    #expect(await test.answer("POST", path, secret: "writer", body: first).status == 200)
    let next = SyncMessageWriter.bytes(replica.commit(head, []))
    #expect(await test.answer("POST", path, secret: "writerOfAll", body: next).status == 403)
    #expect(await test.answer("POST", path, secret: "writer", body: next).status == 200)
  }

  @Test("A service without access tokens answers programs of its machine only, not web pages")
  func local() async throws {
    let test = try TestService()
    for host in [
      "127.0.0.1", "127.0.0.1:80", "localhost:7420", "LOCALHOST", "[::1]:7420", "127.1.2.3",
    ] {
      let answer = await test.answer("GET", "/v1/spaces", fields: [("Host", host)])
      #expect(answer.status == 200, "\(host)")
    }
    for host in ["example.org", "127.example.org", "localhost.example.org:7420", "", "10.0.0.1"] {
      let answer = await test.answer("GET", "/v1/spaces", fields: [("Host", host)])
      #expect(answer.code == "unauthorized", "\(host)")
    }
    for (origin, status) in [
      ("http://127.0.0.1:7420", 200), ("HTTP://127.0.0.1:7420", 200), ("http://127.0.0.1:80", 403),
      ("http://evil.example", 403), ("null", 403),
    ] {
      let fields = [("Host", "127.0.0.1:7420"), ("Origin", origin)]
      #expect(
        await test.answer("GET", "/v1/spaces", fields: fields).status == status, "\(origin)")
    }
    // A form of another site cannot send this type without a question, which is not answered.
    let form = await test.answer(
      "POST", "/v1/spaces/notes/tables", body: Array("[]".utf8),
      fields: [("Content-Type", "text/plain")])
    #expect(form.code == "unsupportedMedia")
    #expect(
      await test.answer("POST", "/v1/spaces/notes/tables", body: Array("[]".utf8)).status == 200)
  }

  @Test("A token file that changes is read again; while it cannot be read, no token is accepted")
  func changedFile() async throws {
    let test = try TestService(tokens: Self.tokens)
    try await test.makeSpace("notes")
    func status() async -> Int {
      await test.answer("GET", "/v1/spaces/notes", secret: "reader").status
    }
    #expect(await status() == 200)
    try test.folder.write(TestService.text([]), to: "tokens")
    #expect(await status() == 401)
    try test.folder.write("# nothing but\nnonsense", to: "tokens")
    #expect(await status() == 503)
    try test.folder.write(TestService.text(Self.tokens), to: "tokens")
    #expect(await status() == 200)
    try FileManager.default.removeItem(atPath: test.folder.path(of: "tokens"))
    #expect(await status() == 503)
  }

  private func send(
    _ request: Request, to space: String, as client: Client, _ head: SpaceRevision,
    _ test: TestService
  ) async throws -> HTTPAnswer {
    let secret = client == .none ? nil : client.rawValue
    let path = "/v1/spaces/\(space)"
    var replica = TestReplica(seed: 7)
    let other = SpaceTable(name: "u", columns: ["c"], keyColumns: ["id"], granularity: .field)
    switch request {
    case .state: return await test.answer("GET", path, secret: secret)
    case .declareKnown:
      return await test.answer(
        "POST", "\(path)/tables", secret: secret, body: SyncMessageWriter.bytes([SpaceTable.t]))
    case .declareNew:
      return await test.answer(
        "POST", "\(path)/tables", secret: secret, body: SyncMessageWriter.bytes([other]))
    case .commit:
      return await test.answer(
        "POST", "\(path)/commits", secret: secret,
        body: SyncMessageWriter.bytes(replica.commit(head, [insertion(1)])))
    case .changes: return await test.answer("GET", "\(path)/changes", secret: secret)
    case .events: return await test.answer("GET", "\(path)/events", secret: secret)
    case .copy: return await test.answer("GET", "\(path)/copy", secret: secret)
    case .copies: return await test.answer("GET", "/v1/copies", secret: secret)
    }
  }
}
