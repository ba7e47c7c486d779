import Synchronization
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestHTTPServer
import Testing

@Suite("Lists in pages", .timeLimit(.minutes(20)))
struct RecordPagingTests {
  let client: SystemHTTPClient
  init() throws { client = try SystemHTTPClient() }

  /// Reads a list from a server that answers each request with status, fields and text.
  private func list(
    _ path: String = "/list", _ change: (inout RecordListOptions) -> Void = { _ in },
    answer: @escaping @Sendable (MisbehavingServer.Request) -> (Int, HTTPFields, String)
  ) async throws -> (list: RecordList, requests: [MisbehavingServer.Request]) {
    var options = RecordListOptions()
    options.retry = .never
    change(&options)
    return try await withServer { request, connection in
      let (status, fields, text) = answer(request)
      return connection.respond(status, fields, Array(text.utf8))
    } test: { server in
      let list = try await RecordSource.url(server.url + path).list(options, client: client)
      return (list, server.requests)
    }
  }

  private func ids(_ list: RecordList) throws -> [FieldValue] {
    try list.content().records.map { $0["id"] }
  }

  @Test("links lead from page to page, and fields are sent with each request")
  func links() async throws {
    let (list, requests) = try await list("/list?size=2") {
      $0.paging = .link
      $0.fields["X-Token"] = "secret"
    } answer: { request in
      switch request.path {
      case "/list?size=2":
        (200, ["Link": #"</first>; rel="first", <?page=2>; rel="next""#], #"[{"id":1},{"id":2}]"#)
      case "/list?page=2": (200, ["Link": "<third>; rel=next"], #"[{"id":3}]"#)
      default: (200, [:], "[]")
      }
    }
    #expect(try ids(list) == [1, 2, 3])
    let paths = ["/list?size=2", "/list?page=2", "/third"]
    #expect(requests.map(\.path) == paths + paths)
    #expect(requests.allSatisfy { $0.fields["X-Token"] == "secret" })
  }

  @Test(
    "a cursor is an address, or a parameter's value, also in an object inside",
    arguments: [
      ("cursor=next", #""next":"/2""#, "/2"),
      ("cursor=meta.next", #""meta":{"next":"?c=x"}"#, "/list?c=x"),
      ("cursor=next,c", #""next":"a b""#, "/list?c=a%20b"),
      ("cursor=meta.at.next,c", #""meta":{"at":{"next":7}}"#, "/list?c=7"),
      ("cursor=a.b,c", #""a.b":"y""#, "/list?c=y"),
    ])
  func cursors(paging: String, field: String, path: String) async throws {
    for ending in [#","next":null"#, #","next":"","meta":{"next":false}"#, ""] {
      let (list, requests) = try await list {
        $0.paging = RecordPaging(paging) ?? .none
        $0.itemsField = "items"
      } answer: { request in
        request.path == "/list"
          ? (200, [:], #"{"items":[{"id":1}],\#(field)}"#)
          : (200, [:], #"{"items":[{"id":2}]\#(ending)}"#)
      }
      #expect(try ids(list) == [1, 2])
      #expect(requests.map(\.path) == ["/list", path, "/list", path])
    }
  }

  @Test(
    "a field of the response is the next page's address, or a parameter's value",
    arguments: [("header=Next-Page", "/2", "/2"), ("header=X-Next,p", "a b", "/list?p=a%20b")])
  func headers(paging: String, value: String, path: String) async throws {
    let (list, requests) = try await list {
      $0.paging = RecordPaging(paging) ?? .none
    } answer: { request in
      request.path == "/list"
        ? (200, ["Next-Page": value, "X-Next": value], #"[{"id":1}]"#)
        : (200, ["Next-Page": "", "X-Next": ""], #"[{"id":2}]"#)
    }
    #expect(try ids(list) == [1, 2])
    #expect(requests.map(\.path) == ["/list", path, "/list", path])
  }

  @Test("a field of the last record leads on, until no more is said to come, or a page is empty")
  func lastRecord() async throws {
    for says in [true, false] {
      let (list, requests) = try await list("/list?limit=1") {
        $0.paging = .last(field: "ID", parameter: "starting_after")
        $0.itemsField = "data"
      } answer: { request in
        let more = { (isTrue: Bool) in says ? #","has_more":\#(isTrue)"# : "" }
        return switch request.path {
        case "/list?limit=1": (200, [:], #"{"data":[{"id":"a"},{"id":"b c"}]\#(more(true))}"#)
        case "/list?limit=1&starting_after=b%20c":
          (200, [:], #"{"data":[{"id":7}]\#(more(false))}"#)
        default: (200, [:], #"{"data":[]}"#)
        }
      }
      #expect(try ids(list) == ["a", "b c", 7])
      #expect(requests.count == (says ? 4 : 6))
    }
    let error = await #expect(throws: TransportError.self) {
      _ = try await self.list("/list", { $0.paging = .last(field: "no", parameter: "p") }) { _ in
        (200, [:], #"[{"id":1}]"#)
      }
    }
    #expect(error?.message.contains("the field \"no\" of the last record") == true)
  }

  @Test("pages without records that name a next one are bounded, far below all pages")
  func emptyPages() async throws {
    for (limit, count) in [(RecordListOptions.defaultMaxEmptyPageCount, 101), (3, 4)] {
      let counter = Counter()
      let error = await #expect(throws: TransportError.self) {
        _ = try await self.list("/list") {
          $0.paging = .link
          $0.maxEmptyPageCount = limit
        } answer: { _ in
          (200, ["Link": "</\(counter.next())>; rel=next"], "[]")
        }
      }
      #expect(error?.code == .tooLarge)
      #expect(error?.message.contains("more than \(limit) pages without records") == true)
      #expect(counter.next() == count)
    }
    // Some servers send empty pages between others.
    let counter = Counter()
    let (list, _) = try await list("/0") {
      $0.paging = .link
      $0.maxEmptyPageCount = 1
    } answer: { request in
      _ = counter.next()
      let number = Int(request.path.dropFirst()) ?? 0
      let fields: HTTPFields = number < 5 ? ["Link": "</\(number + 1)>; rel=next"] : [:]
      return (200, fields, number % 2 == 0 ? "[]" : #"[{"id":\#(number)}]"#)
    }
    #expect(try ids(list) == [1, 3, 5])
  }

  @Test("offsets and numbers are counted up to an empty page")
  func counting() async throws {
    let pages = ["[{\"id\":1},{\"id\":2}]", "[{\"id\":3}]", "[]"]
    let counter = Counter()
    let answer: @Sendable (MisbehavingServer.Request) -> (Int, HTTPFields, String) = { _ in
      (200, [:], pages[counter.next() % 3])
    }
    for (paging, path, paths) in [
      (RecordPaging.offset(parameter: "skip"), "/list", ["/list", "/list?skip=2", "/list?skip=3"]),
      (
        .offset(parameter: "skip"), "/list?skip=10",
        ["/list?skip=10", "/list?skip=12", "/list?skip=13"]
      ),
      (
        .number(parameter: "p", from: 1), "/list?a=1",
        ["/list?a=1", "/list?a=1&p=2", "/list?a=1&p=3"]
      ),
      (.number(parameter: "p"), "/list?p=0", ["/list?p=0", "/list?p=1", "/list?p=2"]),
    ] {
      let (list, requests) = try await list(path, { $0.paging = paging }, answer: answer)
      #expect(try ids(list) == [1, 2, 3])
      #expect(requests.map(\.path) == paths + paths)
    }
  }

  /// Reads a list that changes so often between its pages.
  private func list(changing changeCount: Int) async throws -> RecordList {
    let counter = Counter()
    return try await list("/list?n=1") {
      $0.paging = .number(parameter: "n")
      $0.key = ["id"]
    } answer: { request in
      switch request.path {
      case "/list?n=1": (200, [:], #"[{"id":1},{"id":2}]"#)
      case "/list?n=2":
        // A record was inserted before: the last one of page 1 comes again.
        (200, [:], counter.next() < changeCount ? #"[{"id":2},{"id":3}]"# : #"[{"id":3}]"#)
      default: (200, [:], "[]")
      }
    }.list
  }

  @Test("a list that changes between pages is read up to three times more", arguments: [1, 3])
  func change(changeCount: Int) async throws {
    #expect(try await ids(list(changing: changeCount)) == [1, 2, 3])
  }

  @Test("a list that changed between pages four times is an error that names the key")
  func changes() async throws {
    let error = await #expect(throws: TransportError.self) { _ = try await list(changing: 4) }
    #expect(error?.code == .listChanged)
    #expect(error?.message.contains("key 2") == true)
  }

  @Test("a first page that is another one at the end shows a change")
  func changedFirstPage() async throws {
    let counter = Counter()
    let (list, requests) = try await list {
      $0.paging = .link
    } answer: { request in
      guard request.path == "/list" else { return (200, ["ETag": "\"x\""], #"[{"id":2}]"#) }
      let version = counter.next() < 1 ? 1 : 2
      if request.fields["If-None-Match"] == "\"\(version)\"" { return (304, [:], "") }
      return (
        200, ["ETag": "\"\(version)\"", "Link": "</2>; rel=next"], #"[{"id":\#(version * 10)}]"#
      )
    }
    #expect(try ids(list) == [20, 2])
    #expect(requests.map(\.path) == ["/list", "/2", "/list", "/list", "/2", "/list", "/2"])
    #expect(try list.content().validators.first.entityTag == "\"2\"")
  }

  @Test(
    "pages that lead nowhere good are errors",
    arguments: [
      ("</list>; rel=next", TransportError.Code.malformedResponse),
      ("</2>; rel=next", .malformedResponse),
      ("<http://other.example/>; rel=next", .refusedRedirect),
      ("<file:///etc/passwd>; rel=next", .refusedRedirect),
    ])
  func badLinks(field: String, code: TransportError.Code) async throws {
    let error = await #expect(throws: TransportError.self) {
      _ = try await self.list(
        "/list", { $0.paging = .link }, answer: { _ in (200, ["Link": field], #"[{"id":1}]"#) })
    }
    #expect(error?.code == code)
  }

  @Test("the number of pages and the length of all of them are bounded")
  func bounds() async throws {
    let counter = Counter()
    let answer: @Sendable (MisbehavingServer.Request) -> (Int, HTTPFields, String) = { _ in
      let number = counter.next()
      return (200, ["Link": "</\(number)>; rel=next"], #"[{"id":\#(number)}]"#)
    }
    for change in [
      { @Sendable (options: inout RecordListOptions) in options.maxPageCount = 7 },
      { $0.maxByteCount = 80 },
    ] {
      let error = await #expect(throws: TransportError.self) {
        _ = try await self.list(
          "/list",
          {
            $0.paging = .link
            change(&$0)
          }, answer: answer)
      }
      #expect(error?.code == .tooLarge)
    }
    #expect(counter.next() < 20)
  }

  @Test("busy servers are asked again after the time they ask for, and no more often than allowed")
  func retries() async throws {
    let waits = RecordingClock()
    let counter = Counter()
    let (list, _) = try await list(
      "/list",
      {
        $0.paging = .link
        $0.retry = MirrorRetryPolicy(firstDelay: .seconds(1), jitter: 0)
        $0.clock = waits
      }
    ) { request in
      switch counter.next() {
      case 0: (429, ["Retry-After": "7"], "")
      case 1: (503, [:], "")
      case 2: (200, ["Link": "</2>; rel=next"], #"[{"id":1}]"#)
      case 3: (503, ["Retry-After": "11"], "")
      case 4: (200, [:], #"[{"id":2}]"#)
      default:
        request.path == "/2"
          ? (200, [:], #"[{"id":2}]"#) : (200, ["Link": "</2>; rel=next"], #"[{"id":1}]"#)
      }
    }
    #expect(try ids(list) == [1, 2])
    #expect(waits.all == [.seconds(7), .seconds(2), .seconds(11)])
    counter.reset()
    let error = await #expect(throws: TransportError.self) {
      _ = try await self.list(
        "/list",
        {
          $0.retry = MirrorRetryPolicy(maxAttemptCount: 2, firstDelay: .zero)
        }
      ) { _ in (503, [:], "") }
    }
    #expect(error?.status == 503)
  }

  @Test("a limit for requests is waited for like a busy server, unless the wait is too long")
  func limits() async throws {
    let waits = RecordingClock()
    let counter = Counter()
    let change = { @Sendable (options: inout RecordListOptions) in
      options.retry = MirrorRetryPolicy(firstDelay: .seconds(1), jitter: 0)
      options.clock = waits
    }
    let (list, _) = try await list("/list", change) { _ in
      switch counter.next() {
      case 0: (403, ["Retry-After": "7"], "")
      case 1: (403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9"], "")
      default: (200, [:], #"[{"id":1}]"#)
      }
    }
    #expect(try ids(list) == [1])
    #expect(waits.all == [.seconds(7), .seconds(9)])
    counter.reset()
    let error = await #expect(throws: TransportError.self) {
      _ = try await self.list("/list", change) { _ in
        _ = counter.next()
        return (429, ["Retry-After": "2820"], "")
      }
    }
    #expect(counter.next() == 1)
    #expect(
      error?.message.hasSuffix("it asks to wait 47 min, longer than the 5 min that Tandem waits")
        == true)
  }

  @Test("a page that breaks off is asked for again as a whole")
  func brokenPage() async throws {
    let counter = Counter()
    try await withServer { request, connection in
      guard request.path == "/2" else {
        return connection.respond(
          200, ["Link": "</2>; rel=next"], Array(#"[{"id":1}]"#.utf8))
      }
      if counter.next() < 2 {
        connection.send(200, ["Content-Length": "100"], Array(#"[{"id":2}"#.utf8))
        if counter.next() == 1 { connection.reset() }
        return false
      }
      return connection.respond(200, [:], Array(#"[{"id":2}]"#.utf8))
    } test: { server in
      var options = RecordListOptions()
      options.paging = .link
      options.retry = MirrorRetryPolicy(maxAttemptCount: 4, firstDelay: .zero)
      let list = try await RecordSource.url(server.url + "/list").list(options, client: client)
      #expect(try ids(list) == [1, 2])
    }
  }

  @Test("pagings are read as they are written")
  func texts() {
    let texts = [
      "none", "first", "link", "header=N", "header=N,p", "cursor=a", "cursor=a.b,c", "last=id,p",
      "offset=o", "number=p", "number=p,0",
    ]
    #expect(texts.compactMap { RecordPaging($0)?.description } == texts)
    for text in [
      "", "links", "cursor", "cursor=", "cursor=a,b,c", "offset", "offset=a,b", "link=a",
      "header", "last=id", "last", "number=p,-1", "number=p,x", "number=p,", "first=1",
    ] {
      #expect(RecordPaging(text) == nil, "\(text)")
    }
  }
}

/// Counts from 0, from any thread.
final class Counter: Sendable {
  private let value = Mutex(0)

  func next() -> Int {
    value.withLock { value in
      defer { value += 1 }
      return value
    }
  }

  func reset() { value.withLock { $0 = 0 } }
}

/// A clock whose sleepers wake at once, and which records for how long they wanted to sleep.
private final class RecordingClock: Clock, Sendable {
  private let clock = ContinuousClock()
  private let durations = Mutex<[Duration]>([])

  var now: ContinuousClock.Instant { clock.now }
  var minimumResolution: Duration { clock.minimumResolution }
  var all: [Duration] { durations.withLock { $0 } }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    let rounded = (now.duration(to: deadline) / .seconds(1)).rounded()
    durations.withLock { $0.append(.seconds(rounded)) }
  }
}
