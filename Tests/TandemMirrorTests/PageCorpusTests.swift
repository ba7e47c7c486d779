import TandemHTTP
import TandemRecords
import TestHTTPServer
import Testing

@testable import TandemMirror

/// Responses in the forms of real services. Each list has one or two records.
@Suite("Envelopes of real services", .timeLimit(.minutes(20)))
struct PageCorpusTests {
  /// A response: the path to its list, its text, and the fields of its head.
  struct Envelope: CustomTestStringConvertible, Sendable {
    var service: String
    var items: String?
    var text: String
    var fields: HTTPFields = [:]
    /// Words of the message.
    var words = ""

    var testDescription: String { service }

    init(
      _ service: String, _ items: String?, _ text: String, _ fields: HTTPFields = [:],
      says words: String = ""
    ) {
      (self.service, self.items, self.text, self.fields, self.words) =
        (service, items, text, fields, words)
    }
  }

  private func read(_ envelope: Envelope, _ paging: RecordPaging = .none) async throws -> Int {
    try await withServer { _, connection in
      connection.respond(200, envelope.fields, Array(envelope.text.utf8))
    } test: { server in
      var options = RecordListOptions()
      options.retry = .never
      options.itemsField = envelope.items
      options.paging = paging
      return try await RecordSource.url(server.url + "/list").list(
        options, client: SystemHTTPClient()
      ).content().records.count
    }
  }

  @Test(
    "a part of a list is refused, with the member that says so and a way on",
    arguments: excerpts + moreExcerpts)
  func excerpt(envelope: Envelope) async throws {
    let error = await #expect(throws: TransportError.self) { _ = try await read(envelope) }
    let message = error?.message ?? ""
    #expect(error?.code == .unreadPages)
    #expect(message.contains(envelope.words) && message.contains("`paging` first"), "\(message)")
    #expect(try await read(envelope, .first) == 1)
  }

  @Test("a page that is called incomplete is refused with every `paging` but the first")
  func incomplete() async throws {
    for flag in [
      #""incomplete_results":true"#, #""incompleteSearch":true"#, #""meta":{"is_incomplete":true}"#,
    ] {
      let envelope = Envelope("", "items", #"{"items":[{"id":1}],\#(flag)}"#)
      for paging in [
        RecordPaging.none, .number(parameter: "page", from: 1), .cursor(field: "next"),
      ] {
        let error = await #expect(throws: TransportError.self) {
          _ = try await read(envelope, paging)
        }
        #expect(error?.code == .unreadPages)
      }
    }
  }

  @Test("a whole list is accepted, whatever its members look like", arguments: lists + furtherLists)
  func list(envelope: Envelope) async throws {
    #expect(try await read(envelope) == 1)
  }

  @Test("a cursor is one only without a flag that says that no page follows")
  func flags() async throws {
    let counts = try await withServer { request, connection in
      let isLast = request.path.hasSuffix("after=b")
      let text =
        isLast
        ? #"{"page":{"more":false,"cursor":"c"},"rows":null}"#
        : #"{"page":{"more":true,"cursor":"b"},"rows":[{"id":1}]}"#
      return connection.respond(200, [:], Array(text.utf8))
    } test: { server in
      var options = RecordListOptions()
      options.itemsField = "rows"
      options.paging = .cursor(field: "page.cursor", parameter: "after")
      _ = try await RecordSource.url(server.url + "/list").list(options, client: SystemHTTPClient())
      return server.requests.map(\.path)
    }
    #expect(counts == ["/list", "/list?after=b", "/list", "/list?after=b"])
  }
}
