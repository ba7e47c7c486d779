import Synchronization
import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: lists from servers that misbehave", .timeLimit(.minutes(20)))
struct MirrorListTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func mirror(_ url: String, _ options: String...) async throws -> Tool.Result {
    let database = folder.path(of: "list.db")
    return try await Tool.run(
      ["mirror", url, database, "--table", "list", "--key", "id"] + options)
  }

  func rows() throws -> [String] { try folder.rows("list.db", "SELECT * FROM list") }

  @Test("lines that may have been cut off delete nothing, and the refusal says what to do")
  func uncertainEnd() async throws {
    let isCut = Flag()
    try await withServer { _, connection in
      let list = Array("id\n1\n2\n3\n".utf8)
      guard isCut.isSet else { return connection.respond(200, [:], list) }
      connection.send(200, ["Connection": "close"], Array(list.dropLast(4)))
      return false
    } test: { server in
      _ = try await mirror(server.url)
      isCut.set()
      let result = try await mirror(server.url)
      #expect(result.status == 1 && result.output.isEmpty)
      #expect(result.error.contains("complete") && result.error.contains("Content-Length"))
      #expect(try rows() == ["1", "2", "3"])
    }
  }

  @Test("a list that cannot be read once is asked for again")
  func brokenOnce() async throws {
    let isMended = Flag()
    try await withServer { _, connection in
      defer { isMended.set() }
      return connection.respond(
        200, [:], Array((isMended.isSet ? #"[{"id":1}]"# : #"[{"id""#).utf8))
    } test: { server in
      let result = try await mirror(server.url)
      #expect(result.status == 0 && result.error.isEmpty)
      #expect(try rows() == ["1"])
      #expect(server.requests.count == 2)
    }
  }

  @Test("a list that is written twice in one second is asked for again, by its date")
  func sameSecond() async throws {
    let isNew = Flag()
    let date = "Thu, 01 Jan 2026 00:00:00 GMT"
    try await withServer { request, connection in
      let fields: HTTPFields = ["Last-Modified": date, "Date": date]
      // The rule of Python's http.server and others.
      if request.fields["If-Modified-Since"] == date { return connection.respond(304, fields) }
      return connection.respond(200, fields, Array(#"[{"id":\#(isNew.isSet ? 2 : 1)}]"#.utf8))
    } test: { server in
      _ = try await mirror(server.url)
      isNew.set()
      #expect(try await mirror(server.url).status == 0)
      #expect(try rows() == ["2"])
    }
  }

  @Test(
    "a list that was to come in pages and has one is noted, for a misspelt field looks like the end",
    arguments: [
      ["cursor=nxt"], ["cursor=meta.next,after"], ["link"], ["cursor=nxt", "--dry-run"],
      ["cursor=nxt", "--content", "url", "--into", "files"],
    ])
  func singlePage(options: [String]) async throws {
    try await withServer(Self.page) { server in
      let words = options.map { $0 == "files" ? folder.path(of: $0) : $0 }
      let url = server.url + "/list?after=1"
      let result = try await mirror(url, paging: words)
      #expect(result.status == 0)
      let field = options[0].split { "=,".contains($0) }.dropFirst().first.map(String.init)
      let place = field.map { "in the field \($0)" } ?? "in a Link field with rel=next"
      #expect(
        result.error
          == "tandem: note: the list has only one page: it names no next page \(place)\n")
      for option in ["--quiet", "--json"] {
        let result = try await mirror(url, paging: words + [option])
        #expect(result.status == 0 && result.error.isEmpty)
      }
      let first = try await mirror(server.url + "/list", paging: words)
      #expect(first.status == 1 && first.error.contains("--page cursor=next"))
    }
  }

  @Test("nothing is noted of several pages, or of those that are counted")
  func severalPages() async throws {
    try await withServer(Self.page) { server in
      for paging in ["cursor=next", "offset=skip", "number=page"] {
        let result = try await mirror(server.url + "/list", paging: [paging])
        #expect(result.status == 0 && result.error.isEmpty)
      }
    }
  }

  /// A list of two pages by the field `next`, and of one otherwise.
  @Sendable private static func page(
    _ request: MisbehavingServer.Request, _ connection: Connection
  ) -> Bool {
    let text =
      switch request.path {
      case "/list": #"{"data":[{"id":1,"url":"/1"}],"next":"/list?after=1"}"#
      case "/list?after=1": #"{"data":[{"id":2,"url":"/2"}]}"#
      case "/1", "/2": "one"
      default: #"{"data":[]}"#
      }
    return connection.respond(200, [:], Array(text.utf8))
  }

  private func mirror(_ url: String, paging: [String]) async throws -> Tool.Result {
    try await Tool.run(
      ["mirror", url, folder.path(of: "list.db"), "--table", "list", "--key", "id"]
        + ["--items", "data", "--page"] + paging)
  }

  @Test("a key in another case than its field works in one page and in several")
  func keyInAnotherCase() async throws {
    try await withServer { request, connection in
      request.path == "/list"
        ? connection.respond(200, ["Link": "</2>; rel=next"], Array(#"[{"ID":1},{"ID":2}]"#.utf8))
        : connection.respond(200, [:], Array(#"[{"ID":3}]"#.utf8))
    } test: { server in
      let result = try await mirror(server.url + "/list", "--page", "link")
      #expect(result.status == 0 && result.error.isEmpty)
      #expect(try rows() == ["1", "2", "3"])
    }
  }
}

/// Something that is so from some moment on.
private final class Flag: Sendable {
  private let value = Mutex(false)
  var isSet: Bool { value.withLock { $0 } }
  func set() { value.withLock { $0 = true } }
}
