import TandemHTTP
import TandemRecords
import TestHTTPServer
import Testing

@testable import TandemMirror

@Suite("Reasons that servers give for errors", .timeLimit(.minutes(20)))
struct ServerReasonTests {
  private func reason(_ body: String) -> String? { ServerReason(in: Array(body.utf8))?.text }

  @Test(
    "a reason is in a field of a JSON object, or in the first line",
    arguments: [
      (
        #"{"code":401,"error":"Unauthorized","message":"Please authenticate"}"#,
        "Please authenticate"
      ),
      (#"{"detail":"Invalid page."}"#, "Invalid page."), (#"{"Message":"no"}"#, "no"),
      (#"{"detail":[{"loc":["query","n"],"msg":"too small"}]}"#, "too small"),
      (#"{"error":{"type":"x","message":"No such key"}}"#, "No such key"),
      (#"{"errors":[{"title":"Gone","detail":"It left"}]}"#, "It left"),
      ("{\n  \"ok\": false,\n  \"error\": \"no such table: t\"\n}", "no such table: t"),
      (#""plain""#, "plain"), ("null\u{0}", #"null\u0000"#),
      ("\n Rate limit exceeded\r\nmore", "Rate limit exceeded"),
    ])
  func found(body: String, text: String) {
    #expect(reason(body) == text)
  }

  @Test(
    "markup, other JSON and other bytes have none",
    arguments: [
      "", " ", "<html>no</html>", "{}", "[1]", #"{"message":7}"#, #"{"message":"a"#,
    ])
  func none(body: String) {
    #expect(reason(body) == nil)
    #expect(ServerReason(in: [0x61, 0xFF]) == nil)
  }

  @Test("a reason is bounded, and has no control characters")
  func bounds() {
    #expect(reason(String(repeating: "x", count: 1_000))?.count == ServerReason.maxLength + 1)
    #expect(reason(#"{"message":"a\n\u001b[2J"}"#) == #"a\u000a\u001b[2J"#)
    let deep =
      String(repeating: #"{"error":"#, count: 6) + #""x""# + String(repeating: "}", count: 6)
    #expect(reason(deep) == nil)
  }

  @Test("the error of a list and of a content has it, unless it repeats a secret")
  func errors() async throws {
    try await withServer { request, connection in
      let text = request.path == "/secret" ? "no user hunter22" : "the archive is closed"
      return connection.respond(403, [:], Array(#"{"message":"\#(text)"}"#.utf8))
    } test: { server in
      var options = RecordListOptions()
      options.fields["Authorization"] = "Bearer hunter22"
      for path in ["/open", "/secret"] {
        let error = await #expect(throws: TransportError.self) {
          try await RecordSource.url(server.url + path).list(options, client: SystemHTTPClient())
        }
        let isOpen = path == "/open"
        #expect(error?.message.contains("the server says: \"the archive is closed\"") == isOpen)
        #expect(error?.message.contains("hunter22") == false)
        #expect(error?.status == 403)
      }
    }
  }

  @Test("a web page is no list, though it would be read as CSV")
  func webPage() async throws {
    let page = "<!DOCTYPE html>\n<title>Sign in</title>\n"
    func read(_ type: String, _ text: String, _ format: RecordFormat? = nil) async throws {
      try await withServer { _, connection in
        connection.respond(200, ["Content-Type": type], Array(text.utf8))
      } test: { server in
        var options = RecordListOptions()
        options.format = format
        options.retry = .never
        _ = try await RecordSource.url(server.url + "/list.csv").list(
          options, client: SystemHTTPClient())
      }
    }
    for (text, format) in [(page, nil), (page, RecordFormat.csv), ("id\n1\n", nil)] {
      let error = await #expect(throws: TransportError.self) {
        try await read("text/html; charset=utf-8", text, format)
      }
      #expect(error?.message.contains("a web page") == true)
    }
    try await read("text/html", "id\n1\n", .csv)
    try await read("text/csv", "id\n1\n")
  }

  @Test("an object is no list; the error names the options that read the list in it, or its lines")
  func object() async throws {
    try await withServer { _, connection in
      let fields: HTTPFields = ["Content-Type": "application/json"]
      return connection.respond(200, fields, Array(#" {"data":[{"id":1}]}"#.utf8))
    } test: { server in
      var options = RecordListOptions()
      options.retry = .never
      let source = RecordSource.url(server.url + "/list")
      let error = await #expect(throws: TransportError.self) {
        try await source.list(options, client: SystemHTTPClient())
      }
      #expect(error?.message.contains("`itemsField` data") == true)
      #expect(error?.message.contains("`format` ndjson") == true)
      options.itemsField = "data"
      _ = try await source.list(options, client: SystemHTTPClient())
    }
  }
}
