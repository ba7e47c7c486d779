import Synchronization
import Tandem
import TestFolder
import TestHTTPServer
import Testing

@Suite("tandem mirror: lists from servers that misbehave", .timeLimit(.minutes(5)))
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
      #expect(result.error.contains("whole") && result.error.contains("Content-Length"))
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
