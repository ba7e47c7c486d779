import TandemHTTP
import TandemRecords
import TestHTTPServer
import Testing

@testable import TandemMirror

@Suite("Next pages that lead elsewhere, or nowhere", .timeLimit(.minutes(20)))
struct NextPageTests {
  let client: SystemHTTPClient
  init() throws { client = try SystemHTTPClient() }

  private struct Reading {
    var ids: [FieldValue] = []
    var paths: [String] = []
    var message = ""
    var url = ""
  }

  /// Reads a list of objects in `items`, whose text follows from the request's path and the server's address.
  private func read(
    _ paging: RecordPaging,
    _ change: (inout RecordListOptions) -> Void = { _ in },
    fields: HTTPFields = [:],
    _ text: @escaping @Sendable (_ path: String, _ host: String) -> String
  ) async throws -> Reading {
    var options = RecordListOptions()
    options.retry = .never
    options.itemsField = "items"
    options.paging = paging
    change(&options)
    return try await withServer { request, connection in
      let body = text(request.path, request.fields["Host"] ?? "")
      return connection.respond(200, fields, Array(body.utf8))
    } test: { server in
      var reading = Reading(url: server.url)
      do {
        let list = try await RecordSource.url(server.url + "/list").list(options, client: client)
        if case .records(let records, _, _) = list { reading.ids = records.map { $0["id"] } }
      } catch let error as TransportError {
        reading.message = error.message
      }
      reading.paths = server.requests.map(\.path)
      return reading
    }
  }

  /// The text of two pages, of which the first one names the second by an address.
  private static func pages(
    _ next: @escaping @Sendable (_ host: String) -> String
  ) -> @Sendable (_ path: String, _ host: String) -> String {
    { path, host in
      path == "/list" ? #"{"items":[{"id":1}],"next":"\#(next(host))"}"# : #"{"items":[{"id":2}]}"#
    }
  }

  @Test(
    "an address that differs in scheme or port alone is refused with both addresses, and followed by an option",
    arguments: [
      "https://HOST/2", "http://127.0.0.1/2", "http://127.0.0.1:1/2", "https://127.0.0.1:8443/2",
    ])
  func otherOrigin(address: String) async throws {
    let pages = Self.pages { address.replacing("HOST", with: $0) }
    let refused = try await read(.cursor(field: "next"), { _ in }, pages)
    #expect(refused.paths == ["/list"])
    let named = address.replacing("HOST", with: String(refused.url.dropFirst(7)))
    #expect(
      refused.message.contains("said to be at \(named), which has another scheme or port")
        && refused.message.contains("ask for \(refused.url)/2 in its place with `keepsOrigin`"))
    let followed = try await read(.cursor(field: "next"), { $0.keepsOrigin = true }, pages)
    #expect(followed.ids == [1, 2] && followed.message == "")
    #expect(followed.paths == ["/list", "/2", "/list", "/2"])
  }

  @Test("an address on another host is refused with both addresses, whatever the options")
  func otherHost() async throws {
    for keepsOrigin in [false, true] {
      let reading = try await read(
        .cursor(field: "next"), { $0.keepsOrigin = keepsOrigin },
        Self.pages { _ in "http://u:secret@b.example/2" })
      #expect(reading.paths == ["/list"])
      #expect(
        reading.message
          == "the next page is said to be on another server, which is not asked: http://b.example/2; the page "
          + "that names it is \(reading.url)/list")
    }
  }

  @Test(
    "pages that form a loop are an error that says so, with the pages",
    arguments: [
      (["/list", "/b"], "/list", 1), (["/list", "/b", "/c"], "/b", 2), (["/list"], "/list", 1),
    ])
  func loop(paths: [String], next: String, position: Int) async throws {
    let reading = try await read(.cursor(field: "next")) { path, _ in
      let place = paths.firstIndex(of: path) ?? 0
      let successor = place + 1 < paths.count ? paths[place + 1] : next
      return #"{"items":[{"id":\#(place)}],"next":"\#(successor)"}"#
    }
    let last = "page \(paths.count), \(reading.url)\(paths.last ?? ""),"
    let first = paths.count == 1 ? "itself" : "page \(position), \(reading.url)\(next),"
    #expect(
      reading.message == "the pages form a loop: \(last) names \(first) as the next one")
    #expect(reading.paths == paths)
  }

  @Test("a loop in which the first page has another address shows by its records")
  func hiddenLoop() async throws {
    let reading = try await read(.cursor(field: "next"), { $0.key = ["id"] }) { path, _ in
      path == "/list?page=2"
        ? #"{"items":[{"id":2}],"next":"/list?page=1"}"#
        : #"{"items":[{"id":1}],"next":"/list?page=2"}"#
    }
    #expect(
      reading.message.contains(
        "two pages have the record with key 1; page 3 has the records of page 1, as in a loop"))
  }

  @Test("a server that names a next page for ever is at the end when all its records have come")
  func endByTotal() async throws {
    // Crossref: the page after the last one is empty, and names another.
    let empty = try await read(.cursor(field: "next", parameter: "c")) { path, _ in
      path == "/list"
        ? #"{"items":[{"id":1}],"total-results":1,"next":"a"}"#
        : #"{"items":[],"total-results":1,"next":"\#(path.suffix(1))b"}"#
    }
    #expect(empty.ids == [1] && empty.paths == ["/list", "/list?c=a", "/list", "/list?c=a"])
    // Solr: the last page names itself.
    let itself = try await read(.cursor(field: "next", parameter: "c")) { path, _ in
      path == "/list"
        ? #"{"items":[{"id":1}],"numFound":2,"next":"a"}"#
        : #"{"items":[{"id":2}],"numFound":2,"next":"a"}"#
    }
    #expect(itself.ids == [1, 2] && itself.message == "")
    // Others: the only page names itself.
    let only = try await read(.cursor(field: "next")) { _, _ in
      #"{"items":[{"id":1},{"id":2}],"total":2,"next":"/list"}"#
    }
    #expect(only.ids == [1, 2] && only.message == "")
    let link: HTTPFields = ["Link": "</list>; rel=next", "X-Total-Count": "2"]
    let linked = try await read(.link, fields: link) { _, _ in #"{"items":[{"id":1},{"id":2}]}"# }
    #expect(linked.ids == [1, 2] && linked.message == "")
    // A misspelled name is an error, because the number may be that of the page.
    let misspelled = try await read(.cursor(field: "nxt")) { _, _ in
      #"{"items":[{"id":1}],"total":1,"next":"a"}"#
    }
    #expect(misspelled.message.contains("next names a next page"))
    // A number of records that is that of the page proves nothing.
    let more = try await read(.cursor(field: "next", parameter: "c")) { path, _ in
      path == "/list"
        ? #"{"items":[{"id":1}],"total":1,"next":"a"}"#
        : path.hasSuffix("a")
          ? #"{"items":[],"total":0,"next":"b"}"# : #"{"items":[{"id":2}],"total":1}"#
    }
    #expect(more.ids == [1, 2])
  }

  @Test(
    "a cursor is followed to a page without more, by whatever member that is said",
    arguments: [
      #""has_more":false"#, #""meta":{"hasNextPage":false}"#, #""isLast":true"#, #""more":0"#,
      #""pageInfo":{"endOfRecords":true}"#,
    ])
  func endByFlag(flag: String) async throws {
    for paging in [RecordPaging.cursor(field: "next"), .cursor(field: "next", parameter: "c")] {
      let reading = try await read(paging) { path, _ in
        path == "/list"
          ? #"{"items":[{"id":1}],"next":"/list?c=2"}"#
          : #"{"items":[{"id":2}],"next":"/list?c=3",\#(flag)}"#
      }
      #expect(reading.ids == [1, 2] && reading.paths.count == 4)
    }
  }

  @Test(
    "what is called done may be a page or a job",
    arguments: [
      "complete", "jobComplete", "jobDone", "isDone", "done", "end", "page_complete", "queryDone",
    ])
  func donePage(flag: String) async throws {
    for paging in [RecordPaging.cursor(field: "next"), .cursor(field: "next", parameter: "c")] {
      let reading = try await read(paging) { path, _ in
        path == "/list"
          ? #"{"items":[{"id":1}],"next":"/list?c=2","\#(flag)":true}"#
          : #"{"items":[{"id":2}],"\#(flag)":true}"#
      }
      #expect(reading.ids == [1, 2])
    }
  }

  @Test("an empty page that is done and names itself is the last one")
  func doneForEver() async throws {
    let reading = try await read(.cursor(field: "next", parameter: "c")) { path, _ in
      path == "/list"
        ? #"{"items":[{"id":1}],"next":"e","isDone":true}"#
        : #"{"items":[],"next":"e","isDone":true}"#
    }
    #expect(reading.ids == [1] && reading.message == "")
  }
}
