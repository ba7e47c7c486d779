import TandemHTTP
import TandemMirror
import TandemRecords
import TestHTTPServer
import Testing

@Suite("Lists in pages with numbers", .timeLimit(.minutes(20)))
struct NumberPagingTests {
  /// A server with pages of two records each.
  private struct Pages: Sendable {
    var ids: [Int]
    /// The number of the first page, which is also that of a request without one.
    var first = 1
    /// The status for a page after the last one; 200 for an empty page.
    var endStatus = 200
    var fields: HTTPFields = [:]

    func answer(_ request: MisbehavingServer.Request, _ connection: Connection) -> Bool {
      let number = request.path.split(separator: "=").dropFirst().last.flatMap { Int($0) } ?? first
      let start = (number - first) * 2
      guard start >= 0, start < ids.count || start == 0 || endStatus == 200 else {
        return connection.respond(endStatus, [:], Array(#"{"detail":"Invalid page."}"#.utf8))
      }
      let records = ids.dropFirst(start).prefix(2).map { #"{"id":\#($0)}"# }
      return connection.respond(200, fields, Array("[\(records.joined(separator: ","))]".utf8))
    }
  }

  private func read(
    _ pages: Pages, path: String = "/list", from: Int? = nil
  ) async throws -> (ids: [FieldValue], paths: [String], isConditional: Bool) {
    try await withServer { request, connection in
      pages.answer(request, connection)
    } test: { server in
      var options = RecordListOptions()
      options.retry = .never
      options.key = ["id"]
      options.paging = .number(parameter: "page", from: from)
      let source = RecordSource.url(server.url + path)
      let list = try await source.list(options, client: SystemHTTPClient())
      let (records, validators, _) = try list.content()
      return (records.map { $0["id"] }, server.requests.map(\.path), !validators.isEmpty)
    }
  }

  @Test(
    "every page is read, whether the server counts from 0 or from 1, and however it ends the list",
    arguments: [0, 1], [200, 404, 400])
  func everyCount(first: Int, endStatus: Int) async throws {
    for count in 0...7 {
      let ids = count == 0 ? [] : Array(1...count)
      let pages = Pages(ids: ids, first: first, endStatus: endStatus)
      #expect(try await read(pages).ids == ids.map { .integer(Int64($0)) }, "\(count)")
    }
  }

  @Test("the first number is found out by asking, unless the address or the option says it")
  func requests() async throws {
    func paths(_ numbers: [Int]) -> [String] { numbers.map { "/list?page=\($0)" } }
    let two = Pages(ids: [1, 2, 3])
    let fromOne = try await read(two).paths
    #expect(
      fromOne == ["/list"] + paths([1, 2, 3]) + ["/list"] + paths([2, 3]))
    let zero = Pages(ids: [1, 2, 3], first: 0)
    #expect(try await read(zero).paths == ["/list"] + paths([1, 2]) + ["/list"] + paths([1, 2]))
    for (pages, first) in [(two, 1), (zero, 0)] {
      let walk = ["/list"] + paths([first + 1, first + 2])
      #expect(try await read(pages, from: first).paths == walk + walk)
      let named = paths([first, first + 1, first + 2])
      #expect(try await read(pages, path: "/list?page=\(first)").paths == named + named)
    }
  }

  @Test("a refused page is no end if a total, a next page or the lengths of the pages contradict")
  func contradictions() async throws {
    var pages = Pages(ids: [1, 2, 3, 4], endStatus: 404, fields: ["X-Total-Count": "5"])
    let error = await #expect(throws: TransportError.self) { _ = try await read(pages) }
    #expect(error?.status == 404)
    #expect(error?.message.contains("it has 5 records, and sent 4") == true)
    pages.fields = ["X-Total-Count": "4"]
    #expect(try await read(pages).ids == [1, 2, 3, 4])
    pages.fields = ["Link": "</list?page=3>; rel=next"]
    let named = await #expect(throws: TransportError.self) { _ = try await read(pages) }
    #expect(named?.status == 404)
    #expect(named?.message.contains("`paging` link") == true)
    let lengths = await #expect(throws: TransportError.self) {
      try await withServer { request, connection in
        switch request.path {
        case "/list": connection.respond(200, [:], Array(#"[{"id":1}]"#.utf8))
        case "/list?page=1": connection.respond(200, [:], Array(#"[{"id":2},{"id":3}]"#.utf8))
        default: connection.respond(404)
        }
      } test: { server in
        var options = RecordListOptions()
        options.paging = .number(parameter: "page")
        _ = try await RecordSource.url(server.url + "/list").list(
          options, client: SystemHTTPClient())
      }
    }
    #expect(lengths?.message.contains("different numbers of records") == true)
  }

  @Test("statuses but 404, and 404 with links, are errors and not the end")
  func otherEnds() async throws {
    for status in [403, 410, 500] {
      let error = await #expect(throws: TransportError.self) {
        _ = try await read(Pages(ids: [1, 2], endStatus: status))
      }
      #expect(error?.status == status)
    }
    let error = await #expect(throws: TransportError.self) {
      try await withServer { request, connection in
        request.path == "/list"
          ? connection.respond(200, ["Link": "</2>; rel=next"], Array(#"[{"id":1}]"#.utf8))
          : connection.respond(404)
      } test: { server in
        var options = RecordListOptions()
        options.paging = .link
        _ = try await RecordSource.url(server.url + "/list").list(
          options, client: SystemHTTPClient())
      }
    }
    #expect(error?.status == 404)
  }

  @Test(
    "a list that a refusal ended is read whole each time, because no validator shows a new page")
  func conditions() async throws {
    var pages = Pages(ids: [1, 2, 3], endStatus: 404, fields: ["ETag": "\"1\""])
    #expect(try await read(pages).isConditional == false)
    pages.endStatus = 200
    #expect(try await read(pages).isConditional)
  }

  @Test("a page that appears while the list is read shows a change")
  func growth() async throws {
    let list = try PagedList(.number, ids: 1...4)
    list.change { $0.hasEnd = true }
    // Page 2 counted from 0 is refused once, and there when it is asked for again.
    list.change(atVisit: 2, ofPage: 2) { $0.ids.append(5) }
    #expect(try await list.read(try SystemHTTPClient()).ids == [1, 2, 3, 4, 5])
  }
}
