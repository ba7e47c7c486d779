import TandemHTTP
import TandemRecords
import TestHTTPServer
import Testing

@testable import TandemMirror

@Suite("Lists that go on after the only page that is read", .timeLimit(.minutes(20)))
struct UnreadPagesTests {
  /// Reads a list of one record that comes with these fields and with this text around it.
  private func read(
    _ fields: HTTPFields, _ text: String, items: String? = nil, paging: RecordPaging = .none
  ) async throws -> RecordList {
    try await withServer { _, connection in
      connection.respond(200, fields, Array(text.utf8))
    } test: { server in
      var options = RecordListOptions()
      options.retry = .never
      options.itemsField = items
      options.paging = paging
      return try await RecordSource.url(server.url + "/list").list(
        options, client: SystemHTTPClient())
    }
  }

  private func message(
    _ fields: HTTPFields, _ text: String = #"[{"id":1}]"#, items: String? = nil,
    paging: RecordPaging = .none
  ) async -> String {
    do {
      _ = try await read(fields, text, items: items, paging: paging)
      return ""
    } catch let error as TransportError where error.code == .unreadPages {
      return error.message
    } catch {
      return "\(error)"
    }
  }

  @Test(
    "a field of the response that names a next page is an error, which names the way to read it",
    arguments: [
      (["Link": "</2>; rel=\"next\""], "`paging` link,"),
      (["Next-Page": "http://a/2"], "`paging` header=Next-Page,"),
      (["X-Next-Page": "2"], "`paging` header=X-Next-Page,PARAM,"),
      (["X-Total-Count": "2"], "`paging` number=PARAM"),
      (["Content-Range": "items 0-0/7"], "it has 7 records, and sent 1"),
    ] as [(HTTPFields, String)])
  func fields(fields: HTTPFields, words: String) async throws {
    let message = await message(fields)
    #expect(message.contains(words) && message.contains("`paging` first"), "\(message)")
    let csv = await self.message(fields, "id\n1\n")
    #expect(csv.contains(words))
    let list = try await read(fields, "id\n1\n", paging: .first)
    #expect(try list.content().records == [["id": 1]])
  }

  @Test(
    "a field beside the list that names a next page is an error, which names the way to read it",
    arguments: [
      (#""next":"http://a/2","count":1"#, "`paging` cursor=next,"),
      (#""next":"abc","next_url":"/2""#, "`paging` cursor=next_url,"),
      (#""next_cursor":"abc""#, "`paging` cursor=next_cursor,PARAM,"),
      (#""nextPageToken":"abc""#, "`paging` cursor=nextPageToken,PARAM,"),
      (#""links":{"next":"/2"}"#, "`paging` cursor=links.next,"),
      (
        #""_links":{"self":{"href":"/1"},"next":{"href":"/2"}}"#,
        "`paging` cursor=_links.next.href,"
      ),
      (#""meta":{"next_cursor":7}"#, "`paging` cursor=meta.next_cursor,PARAM,"),
      (#""has_more":true"#, "`paging` last=id,PARAM"),
      (#""truncated":true"#, "`paging` last=id,PARAM"),
      (#""page":{"totalElements":3}"#, "it has 3 records, and sent 1"),
      (#""total":2"#, "it has 2 records, and sent 1"),
    ])
  func besideList(fields: String, words: String) async throws {
    let text = #"{"items":[{"id":1}],\#(fields)}"#
    let message = await message([:], text, items: "items")
    #expect(message.contains(words) && message.contains("`paging` first"), "\(message)")
    _ = try await read([:], text, items: "items", paging: .first)
  }

  @Test(
    "a first page without the next page by `paging` is an error, if it names one in another way",
    arguments: [
      .link, .header(name: "Next-Pag"), .cursor(field: "nxet"),
      .cursor(field: "a.b", parameter: "c"),
    ] as [RecordPaging])
  func otherPaging(paging: RecordPaging) async throws {
    let text = #"{"items":[{"id":1}],"next":"/2"}"#
    let message = await message([:], text, items: "items", paging: paging)
    #expect(message.contains("`paging` cursor=next,"))
    let end = #"{"items":[{"id":1}],"next":null}"#
    #expect(await self.message([:], end, items: "items", paging: paging) == "")
    let inHead = await self.message(["X-Next-Page": "2"], end, items: "items", paging: paging)
    #expect(inHead.contains("`paging` header=X-Next-Page,PARAM,"))
  }

  @Test(
    "fewer records than the server says that the list has are an error with every `paging` but the first",
    arguments: [
      ([:], #""total":3"#, "the field total says that the list has 3 records, and 1 came"),
      (["X-Total-Count": "3"], "", "X-Total-Count of the response says that the list has 3"),
      ([:], #""page":1,"pages":9"#, "the field pages says that the list has 9 pages, and "),
    ] as [(HTTPFields, String, String)])
  func missingRecords(fields: HTTPFields, others: String, words: String) async throws {
    let pagings: [RecordPaging] = [
      .number(parameter: "page", from: 1), .offset(parameter: "o"),
      .last(field: "id", parameter: "l"),
      .cursor(field: "next"), .link,
    ]
    for paging in pagings {
      let others = others.isEmpty ? "" : "," + others
      let message = await message(fields, of: paging) { isFirst in
        isFirst
          ? #"{"items":[{"id":1}],"next":"/2"\#(others)}"#
          : #"{"items":null,"next":null\#(others)}"#
      }
      #expect(
        message.contains(words) && message.contains("with `paging` first"), "\(paging): \(message)")
      // The number of the last page counts, if that has one.
      let all = await self.message([:], of: paging) { isFirst in
        isFirst
          ? #"{"items":[{"id":1}],"next":"/2","total":9}"# : #"{"items":[],"next":null,"total":1}"#
      }
      #expect(all == "", "\(paging)")
    }
  }

  @Test("an empty last page that says that there is more is an error")
  func moreThanNothing() async throws {
    for paging in [RecordPaging.number(parameter: "page", from: 1), .offset(parameter: "o")] {
      let message = await message([:], of: paging) { isFirst in
        #"{"items":[\#(isFirst ? #"{"id":1}"# : "")],"has_more":true}"#
      }
      #expect(message.contains("has_more is true"))
    }
  }

  @Test("a list that is read from within may have fewer records than the server says")
  func fromWithin() async throws {
    let message = await message([:], of: .offset(parameter: "o"), at: "/list?o=8") { isFirst in
      #"{"items":[\#(isFirst ? #"{"id":1}"# : "")],"total":9}"#
    }
    #expect(message == "")
  }

  /// The message for a list of two pages, of which the second one has no records.
  private func message(
    _ fields: HTTPFields, of paging: RecordPaging, at path: String = "/list",
    _ text: @escaping @Sendable (_ isFirst: Bool) -> String
  ) async -> String {
    do {
      return try await withServer { request, connection in
        let isFirst = request.path == path
        var fields = fields
        if isFirst, paging == .link { fields["Link"] = "</2>; rel=next" }
        return connection.respond(200, fields, Array(text(isFirst).utf8))
      } test: { server in
        var options = RecordListOptions()
        options.retry = .never
        options.itemsField = "items"
        options.paging = paging
        do {
          _ = try await RecordSource.url(server.url + path).list(
            options, client: SystemHTTPClient())
          return ""
        } catch let error as TransportError {
          return error.message
        }
      }
    } catch {
      return "\(error)"
    }
  }

  @Test("the list and the next page may be in an object inside another")
  func inside() async throws {
    let text = #"{"data":{"items":[{"id":1}],"next":"/2","meta":{"a.b":"/3"}},"next":null}"#
    #expect(await message([:], text, items: "data.items").contains("`paging` cursor=data.next,"))
    for (field, path) in [("data.next", "/2"), ("data.meta.a.b", "/3")] {
      let paths = try await withServer { request, connection in
        let body = request.path == "/list" ? text : #"{"data":{"items":[]}}"#
        return connection.respond(200, [:], Array(body.utf8))
      } test: { server in
        var options = RecordListOptions()
        options.itemsField = "data.items"
        options.paging = .cursor(field: field)
        let source = RecordSource.url(server.url + "/list")
        _ = try await source.list(options, client: SystemHTTPClient())
        return server.requests.map(\.path)
      }
      #expect(paths == ["/list", path, "/list", path])
    }
  }

  @Test(
    "a whole list is read, whatever else the response says",
    arguments: [
      ([:], #""next":null,"count":1,"total":1"#), (["Link": "</a>; rel=last"], #""next":"""#),
      (["X-Total-Count": "1", "Next-Page": ""], #""has_more":false,"links":{"next":null}"#),
      (["Content-Range": "bytes 0-9/999"], #""meta":{"next":0},"links":[]"#),
      ([:], #""nextYear":"/2027","next":{},"previous":"/0""#),
    ] as [(HTTPFields, String)])
  func whole(fields: HTTPFields, others: String) async throws {
    let text = #"{"items":[{"id":1}],\#(others)}"#
    #expect(await message(fields, text, items: "items") == "")
    #expect(await message(fields) == "")
  }

  @Test("a 304 that names a next page is an error")
  func notModified() async throws {
    let counter = Counter()
    try await withServer { request, connection in
      let fields: HTTPFields = counter.next() < 2 ? [:] : ["Link": "</2>; rel=next"]
      return request.fields["If-None-Match"] == nil
        ? connection.respond(200, ["ETag": "\"1\""], Array("[]".utf8))
        : connection.respond(304, fields)
    } test: { server in
      let client = try SystemHTTPClient()
      let source = RecordSource.url(server.url + "/list")
      var options = RecordListOptions()
      options.validators = try await source.list(options, client: client).content().validators
      guard case .notModified = try await source.list(options, client: client) else {
        Issue.record("it has changed")
        return
      }
      let error = await #expect(throws: TransportError.self) {
        _ = try await source.list(options, client: client)
      }
      #expect(error?.code == .unreadPages)
    }
  }
}
