import TandemRecords
import TandemTransports
import TestHTTPServer
import Testing

@Suite("Lists from servers", .timeLimit(.minutes(5)))
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
      default: connection.respond(200, [:], Array("[]".utf8))
      }
    } test: { server in
      let url = server.url.replacing("http://", with: "http://me:secret@")
      for (path, answered) in [
        ("/list", "/list"), ("/away", "/v2/list"), ("/absolute", "/v2/list"),
      ] {
        let list = try await RecordSource.url(url + path).list(Self.options(), client: client)
        #expect(list.url == url + answered)
      }
      #expect(server.requests.allSatisfy { $0.fields["Authorization"] == "Basic bWU6c2VjcmV0" })
    }
  }
}
