import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestHTTPServer
import Testing

@Suite("Lists in pages that change while they are read", .timeLimit(.minutes(20)))
struct RecordListChangeTests {
  let client: SystemHTTPClient
  init() throws { client = try SystemHTTPClient() }

  private func list(
    _ paging: PagedList.Paging, ids: ClosedRange<Int> = 1...8, isTagged: Bool
  ) throws -> PagedList {
    let list = try PagedList(paging, ids: ids)
    if !isTagged { list.change { $0.untaggedPages = Set(0...100) } }
    return list
  }

  @Test(
    "every page is asked for again, once, and on a condition if it has validators",
    arguments: PagedList.Paging.allCases, [true, false])
  func requests(paging: PagedList.Paging, isTagged: Bool) async throws {
    let list = try list(paging, isTagged: isTagged)
    #expect(try await list.read(client).ids == Array(1...8))
    let paths = list.requests.map(\.path)
    let count = paging == .cursor || paging == .link ? 4 : 5
    #expect(paths.count == 2 * count && Array(paths.prefix(count)) == Array(paths.suffix(count)))
    let isConditional = list.requests.map { $0.fields["If-None-Match"] != nil }
    #expect(isConditional == (0..<2 * count).map { isTagged && $0 >= count })
  }

  @Test(
    "a record that is deleted between two pages takes no other one with it",
    arguments: PagedList.Paging.allCases, [true, false])
  func deletion(paging: PagedList.Paging, isTagged: Bool) async throws {
    let list = try list(paging, isTagged: isTagged)
    list.change(atVisit: 1, ofPage: 2) { $0.ids.removeAll { $0 == 3 } }
    #expect(try await list.read(client).ids == [1, 2, 4, 5, 6, 7, 8])
  }

  @Test(
    "a record that is inserted between two pages makes no other one come twice",
    arguments: PagedList.Paging.allCases, [true, false])
  func insertion(paging: PagedList.Paging, isTagged: Bool) async throws {
    let list = try list(paging, isTagged: isTagged)
    list.change(atVisit: 1, ofPage: 2) { $0.ids.insert(0, at: 0) }
    #expect(try await list.read(client).ids == Array(0...8))
  }

  @Test(
    "a deletion that is undone before the pages are asked for again shows in those after it",
    arguments: PagedList.Paging.allCases, [true, false])
  func undoneDeletion(paging: PagedList.Paging, isTagged: Bool) async throws {
    // The page that was read in between is in the middle, or the last one that has records.
    for last in [6, 8] {
      let list = try list(paging, ids: 1...last, isTagged: isTagged)
      list.change(atVisit: 1, ofPage: 2) { $0.ids.removeAll { $0 == 3 } }
      list.change(atVisit: 2, ofPage: 0) { $0.ids.insert(3, at: 2) }
      #expect(try await list.read(client).ids == Array(1...last))
    }
  }

  @Test(
    "a list that grows while its pages are asked for again is read as it is then",
    arguments: PagedList.Paging.allCases, [true, false])
  func growth(paging: PagedList.Paging, isTagged: Bool) async throws {
    let list = try list(paging, ids: 1...7, isTagged: isTagged)
    list.change(atVisit: 2, ofPage: 0) { $0.ids.append(8) }
    #expect(try await list.read(client).ids == Array(1...8))
  }

  @Test(
    "pages that are gone when they are asked for again show a change", arguments: [true, false])
  func vanishing(isTagged: Bool) async throws {
    let list = try list(.link, isTagged: isTagged)
    list.change { $0.hasEnd = true }
    // The server forgets its later pages, and the link to them, which is not of the content.
    list.change(atVisit: 2, ofPage: 0) { $0.ids.removeLast(6) }
    #expect(try await list.read(client).ids == [1, 2])
  }

  @Test(
    "a list that is never the same twice is an error that names the page, and bounds the effort")
  func restlessness() async throws {
    let list = try list(.offset, isTagged: true)
    for visit in 1...100 {
      list.change(atVisit: visit, ofPage: 1) { contents in
        contents.ids.removeAll { $0 == visit }
      }
    }
    let error = await #expect(throws: TransportError.self) { _ = try await list.read(client) }
    #expect(error?.code == .listChanged)
    #expect(error?.message.contains("its page 1 is another one now") == true)
    #expect(list.requests.count(where: { $0.path == "/list" }) == 8)
  }

  @Test("values that move from one page to another are read as of one moment")
  func transfer() async throws {
    let counter = Counter()
    try await withServer { request, connection in
      // Between the first two requests, 10 moves from one record to the other.
      let isMoved = counter.next() > 0
      let isFirst = request.path == "/1"
      let record = #"[{"id":"\#(request.path)","v":\#(isFirst == isMoved ? 0 : 10)}]"#
      return connection.respond(
        200, isFirst ? ["Link": "</2>; rel=next"] : [:], Array(record.utf8))
    } test: { server in
      let options = RecordListTests.options {
        $0.paging = .link
        $0.key = ["id"]
      }
      let list = try await RecordSource.url(server.url + "/1").list(options, client: client)
      #expect(try list.content().records == [["id": "/1", "v": 0], ["id": "/2", "v": 10]])
    }
  }

  /// Reads a list that counts its requests, and says how many there were.
  private func countingList(key: [String]) async throws -> (list: RecordList, requestCount: Int) {
    let counter = Counter()
    return try await withServer { request, connection in
      let record = #"[{"id":"\#(request.path)","reads":\#(counter.next())}]"#
      return connection.respond(
        200, request.path == "/1" ? ["Link": "</2>; rel=next"] : [:], Array(record.utf8))
    } test: { server in
      let options = RecordListTests.options {
        $0.paging = .link
        $0.key = key
      }
      let list = try await RecordSource.url(server.url + "/1").list(options, client: client)
      return (list, server.requests.count)
    }
  }

  @Test("values that change with every request are no error, if the key is known")
  func counters() async throws {
    let (list, requestCount) = try await countingList(key: ["ID"])
    // Two attempts end at the first page that is another one; the third compares keys.
    #expect(
      try list.content().records == [["id": "/1", "reads": 6], ["id": "/2", "reads": 7]])
    #expect(requestCount == 10)
  }

  @Test("values that change with every request are a changed list, if no key is known")
  func keylessCounters() async throws {
    let error = await #expect(throws: TransportError.self) { _ = try await countingList(key: []) }
    #expect(error?.code == .listChanged)
  }
}
