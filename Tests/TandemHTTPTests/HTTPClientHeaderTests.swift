import TandemHTTP
import TestHTTPServer
import Testing

@Suite("HTTP client: heads of responses", .timeLimit(.minutes(20)))
struct HTTPClientHeaderTests {
  let client: TestedHTTPClient
  init() throws { client = try TestedHTTPClient() }

  /// The head that the client makes of bytes that the server sends before it closes.
  private func head(
    of text: String, to request: (String) -> HTTPRequest = { HTTPRequest(url: $0) }
  ) async throws -> HTTPResponseHead {
    try await withServer { _, connection in
      connection.send(Array(text.utf8))
      return false
    } test: { server in
      try await client.response(to: request(server.url), maxBodyByteCount: 100).head
    }
  }

  @Test(
    "blanks around a value are left out, and what comes after the blank line is no field",
    .unlessURLSessionOnLinux("a trailer ends the process"))
  func simple() async throws {
    let head = try await head(
      of: "HTTP/1.1 200 OK\r\nA:  b \t\r\nC:\r\nD: e: f\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "0\r\nT: u\r\n\r\n")
    #expect(
      head.fields == ["A": "b", "C": "", "D": "e: f", "Transfer-Encoding": "chunked"])
  }

  @Test("a line that continues another one lengthens its value")
  func continuation() async throws {
    let head = try await head(
      of: "HTTP/1.1 200 OK\r\nA: b\r\n  c\r\n\t d\r\nContent-Length: 0\r\n\r\n")
    #expect(head.fields == ["A": "b c d", "Content-Length": "0"])
  }

  @Test(
    "a missing reason and an older version are understood",
    .unlessURLSessionOnLinux("a response without a reason is lost"),
    arguments: ["HTTP/1.1 204 ", "HTTP/1.0 204", "HTTP/1.1 204 No"])
  func statusLines(line: String) async throws {
    let head = try await head(of: "\(line)\r\n\r\n")
    #expect(head.status == 204 && head.fields.isEmpty)
  }

  @Test(
    "a body's end is declared by its length or by chunks",
    arguments: [
      ("", false), ("Content-Length: 0\r\n", true), ("Transfer-Encoding: chunked\r\n", true),
      ("Transfer-Encoding: identity\r\n", false),
    ])
  func ends(fields: String, isDeclared: Bool) async throws {
    let body = fields.contains("chunked") ? "0\r\n\r\n" : ""
    let head = try await head(of: "HTTP/1.1 200 OK\r\n\(fields)Connection: close\r\n\r\n\(body)")
    #expect(head.declaresEnd == isDeclared)
  }

  @Test("a 3xx without a location, or with an empty one, is final", arguments: [300, 304])
  func unredirecting(status: Int) async throws {
    for location in ["", "Location:\r\n"] {
      let head = try await head(of: "HTTP/1.1 \(status) x\r\n\(location)Content-Length: 0\r\n\r\n")
      #expect(head.status == status)
    }
  }

  @Test(
    "bytes that are no text are replaced, not refused",
    .unlessURLSessionOnLinux("the response is lost"))
  func invalidText() async throws {
    try await withServer { _, connection in
      connection.send(Array("HTTP/1.1 204 x\r\nA: ".utf8) + [0xFF, 13, 10, 13, 10])
    } test: { server in
      let response = try await client.response(
        to: HTTPRequest(url: server.url), maxBodyByteCount: 0)
      #expect(response.head.fields == ["A": "\u{FFFD}"])
    }
  }

  @Test(
    "thousands of fields are too many, however short", .unlessURLSession("its limits are its own"))
  func manyFields() async throws {
    let error = await #expect(throws: TransportError.self) {
      try await head(
        of: "HTTP/1.1 200 OK\r\n" + String(repeating: "a:\r\n", count: 5_000)
          + "Content-Length: 0\r\n\r\n")
    }
    #expect(error?.code == .tooLarge)
  }
}
