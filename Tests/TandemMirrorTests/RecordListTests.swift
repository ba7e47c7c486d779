import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestHTTPServer
import Testing

@Suite("Lists from servers", .timeLimit(.minutes(20)))
struct RecordListTests {
  let client: SystemHTTPClient
  init() throws { client = try SystemHTTPClient() }

  /// Options without a second attempt.
  static func options(
    _ change: (inout RecordListOptions) -> Void = { _ in }
  ) -> RecordListOptions {
    var options = RecordListOptions()
    options.retry = .never
    change(&options)
    return options
  }

  @Test("a list says which address answered, with the credentials it was asked with")
  func address() async throws {
    try await withServer { request, connection in
      switch request.path {
      case "/away": connection.respond(302, ["Location": "/v2/list"])
      case "/absolute":
        connection.respond(302, ["Location": "http://\(request.fields["Host"] ?? "")/v2/list"])
      default: connection.respond(200, [:], Array(#"[{"id":1}]"#.utf8))
      }
    } test: { server in
      let url = server.url.replacing("http://", with: "http://me:secret@")
      for (path, answered) in [
        ("/list", "/list"), ("/away", "/v2/list"), ("/absolute", "/v2/list"),
      ] {
        let list = try await RecordSource.url(url + path).list(Self.options(), client: client)
        #expect(try list.content().bases[0] == url + answered)
      }
      #expect(server.requests.allSatisfy { $0.fields["Authorization"] == "Basic bWU6c2VjcmV0" })
    }
  }

  // MARK: What is whole

  static let csv = "id,name\n1,a\n2,b\n"
  static let ndjson = #"{"id":1,"name":"a"}"# + "\n" + #"{"id":2,"name":"b"}"# + "\n"

  @Test(
    "compressed lines are read, and a cut in them shows, because gzip has a checksum and a length",
    arguments: [("text/csv", csv), ("application/x-ndjson", ndjson), ("text/plain", csv)],
    ["Content-Length", "chunks"])
  func compressedLines(list: (type: String, text: String), framing: String) async throws {
    try await withServer { request, connection in
      let whole = gzip(storing: Array(list.text.utf8))
      let bytes = request.path == "/cut" ? Array(whole.dropLast(14)) : whole
      var fields: HTTPFields = ["Content-Type": list.type, "Content-Encoding": "gzip"]
      if framing == "Content-Length" { return connection.respond(200, fields, bytes) }
      fields["Transfer-Encoding"] = "chunked"
      connection.send(200, fields)
      connection.send(chunk: bytes)
      return connection.send(chunk: [])
    } test: { server in
      let source = RecordSource.url(server.url)
      let records = try await source.list(Self.options(), client: client).content().records
      #expect(records == [["id": 1, "name": "a"], ["id": 2, "name": "b"]])
      #expect(server.requests.count == 1)
      let error = await #expect(throws: TransportError.self) {
        _ = try await RecordSource.url(server.url + "/cut").list(Self.options(), client: client)
      }
      #expect(error?.code == .truncated)
    }
  }

  /// Expects that a list is refused after so many requests.
  private func expectUncertainEnd(
    of path: String, requestCount: Int, answer: @escaping @Sendable (Connection) -> Bool
  ) async throws {
    try await withServer { _, connection in
      answer(connection)
    } test: { server in
      let error = await #expect(throws: TransportError.self) {
        try await RecordSource.url(server.url + path).list(Self.options(), client: client)
      }
      #expect(error?.code == .uncertainEnd && error?.isTransient == false)
      #expect(server.requests.count == requestCount)
    }
  }

  @Test(
    "lines that come compressed all the same are refused",
    arguments: [("/list", csv, 2), ("/list.csv", csv, 1), ("/list.jsonl", ndjson, 1)])
  func uncertainLines(path: String, text: String, requestCount: Int) async throws {
    try await expectUncertainEnd(of: path, requestCount: requestCount) { connection in
      // An encoding of the connection, whose end nobody verifies.
      connection.send(200, ["Transfer-Encoding": "gzip, chunked"])
      connection.send(chunk: gzip(storing: Array(text.utf8)))
      return connection.send(chunk: [])
    }
  }

  @Test(
    "lines without a declared end are refused",
    arguments: ["/list", "/list.csv", "/list.jsonl"], [csv, ndjson, ""])
  func endlessLines(path: String, text: String) async throws {
    try await expectUncertainEnd(of: path, requestCount: 1) { connection in
      connection.send(200, ["Connection": "close"], Array(text.utf8))
      return false
    }
  }

  @Test("lines are read if the server says that it did not compress them", arguments: ["none", ""])
  func noEncoding(encoding: String) async throws {
    try await withServer { _, connection in
      connection.respond(200, ["Content-Encoding": encoding], Array(Self.csv.utf8))
    } test: { server in
      let source = RecordSource.url(server.url + "/list.csv")
      let records = try await source.list(Self.options(), client: client).content().records
      #expect(records == [["id": 1, "name": "a"], ["id": 2, "name": "b"]])
      #expect(server.requests.count == 1)
    }
  }

  @Test("lines in chunks have an end, and are asked for uncompressed if their name says so")
  func chunkedLines() async throws {
    try await withServer { request, connection in
      connection.send(200, ["Transfer-Encoding": "chunked"])
      connection.send(chunk: Array(Self.csv.utf8))
      return connection.send(chunk: [])
    } test: { server in
      for (path, format) in [("/l.csv?x", nil), ("/l", RecordFormat.csv), ("/l.json", .csv)] {
        let options = Self.options { $0.format = format }
        let list = try await RecordSource.url(server.url + path).list(options, client: client)
        #expect(try list.content().records.count == 2)
      }
      #expect(
        server.requests.map { $0.fields["Accept-Encoding"] } == [
          "identity", "identity", "identity",
        ])
    }
  }

  @Test("later pages of lines are asked for as the first one had to come")
  func compressedPages() async throws {
    try await withServer { request, connection in
      var fields: HTTPFields = ["Content-Type": "text/csv"]
      if request.path == "/1" { fields["Link"] = "</2>; rel=next" }
      let body = Array("id\n\(request.path.dropFirst())\n".utf8)
      if request.fields["Accept-Encoding"] == "identity" {
        return connection.respond(200, fields, body)
      }
      fields["Content-Encoding"] = "gzip"
      return connection.respond(200, fields, gzip(storing: body))
    } test: { server in
      let options = Self.options { $0.paging = .link }
      let list = try await RecordSource.url(server.url + "/1").list(options, client: client)
      #expect(try list.content().records == [["id": 1], ["id": 2]])
      #expect(server.requests.map(\.path) == ["/1", "/2", "/1", "/2"])
    }
  }

  @Test("JSON shows its end itself: compressed or without a declared end, it is read or an error")
  func json() async throws {
    let body = Array(#"[{"id":1},{"id":2}]"#.utf8)
    try await withServer { request, connection in
      switch request.path {
      case "/gzip":
        return connection.respond(200, ["Content-Encoding": "gzip"], gzip(storing: body))
      case "/cut":
        let cut = Array(gzip(storing: body).dropLast(14))
        return connection.respond(
          200, ["Content-Encoding": "gzip", "Content-Type": "application/json"], cut)
      default:
        connection.send(200, ["Connection": "close"], body)
        return false
      }
    } test: { server in
      for path in ["/gzip", "/unframed"] {
        let list = try await RecordSource.url(server.url + path).list(
          Self.options(), client: client)
        #expect(try list.content().records.count == 2)
      }
      await #expect(throws: TransportError.self) {
        try await RecordSource.url(server.url + "/cut").list(Self.options(), client: client)
      }
      #expect(server.requests.count == 3)
    }
  }

  // MARK: What is tried again

  static let noLists = [(200, #"[{"id":1"#), (200, "[1]"), (202, "[]"), (503, "[]")]

  /// Reads a list whose server first answers twice with what is none.
  private func list(
    after status: Int, _ text: String, maxAttemptCount: Int, _ counter: Counter
  ) async throws -> [Record] {
    try await withServer { _, connection in
      counter.next() < 2
        ? connection.respond(status, [:], Array(text.utf8))
        : connection.respond(200, [:], Array(#"[{"id":1}]"#.utf8))
    } test: { server in
      let options = Self.options {
        $0.retry = .lists
        $0.retry.maxAttemptCount = maxAttemptCount
        $0.retry.firstDelay = .zero
      }
      return try await RecordSource.url(server.url).list(options, client: client).content().records
    }
  }

  @Test("an answer that is no list is asked for again", arguments: noLists)
  func passing(status: Int, text: String) async throws {
    let counter = Counter()
    #expect(try await list(after: status, text, maxAttemptCount: 3, counter) == [["id": 1]])
    #expect(counter.next() == 3)
  }

  @Test("a list is asked for no more often than allowed", arguments: noLists)
  func attempts(status: Int, text: String) async throws {
    let counter = Counter()
    await #expect(throws: (any Error).self) {
      try await list(after: status, text, maxAttemptCount: 2, counter)
    }
    #expect(counter.next() == 2)
  }

  @Test("lists that are wrong in themselves, and refusals, are not asked for again")
  func lasting() {
    #expect(!MirrorRetryPolicy.lists.isTransient(RecordError(.duplicateKey, "")))
    #expect(!MirrorRetryPolicy.lists.isTransient(RecordError(.limitExceeded, "")))
    #expect(!MirrorRetryPolicy.lists.isTransient(TransportError(.tlsFailure, "", url: "")))
    #expect(!MirrorRetryPolicy.lists.isTransient(CancellationError()))
  }

  private func list(_ status: Int) async throws -> RecordList {
    try await withServer { _, connection in
      connection.respond(status, [:], status == 204 ? [] : Array("[]".utf8))
    } test: { server in
      try await RecordSource.url(server.url).list(Self.options(), client: client)
    }
  }

  @Test("a list comes with 200 or 203", arguments: [200, 203])
  func statuses(status: Int) async throws {
    #expect(try await list(status).content().records == [])
  }

  @Test("what comes with another status is no list", arguments: [201, 202, 204, 205, 206])
  func otherStatuses(status: Int) async throws {
    let error = await #expect(throws: TransportError.self) { _ = try await list(status) }
    #expect(error?.status == status)
  }
}
