import Synchronization
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestHTTPServer
import Testing

/// What a server answers to a request: status, fields and text.
private typealias Answer = @Sendable (MisbehavingServer.Request) -> (Int, HTTPFields, String)

@Suite("Pages of lists: what leads to them, and what shows a change", .timeLimit(.minutes(20)))
struct RecordPageTests {
  let client: SystemHTTPClient
  init() throws { client = try SystemHTTPClient() }

  private func list(
    _ change: (inout RecordListOptions) -> Void, at path: String = "/list",
    answer: @escaping Answer
  ) async throws -> (records: [Record], validators: RecordListValidators, paths: [String]) {
    try await withServer { request, connection in
      let (status, fields, text) = answer(request)
      return connection.respond(status, fields, Array(text.utf8))
    } test: { server in
      let list = try await RecordSource.url(server.url + path)
        .list(RecordListTests.options(change), client: client)
      let (records, validators, _) = try list.content()
      return (records, validators, server.requests.map(\.path))
    }
  }

  /// Reads a list whose pages are linked.
  private func linkedList(
    answer: @escaping Answer
  ) async throws -> (records: [Record], validators: RecordListValidators, paths: [String]) {
    try await list({ $0.paging = .link }, answer: answer)
  }

  // MARK: Secrets

  @Test("fields go to the server that was asked, and not to where it leads")
  func secrets() async throws {
    try await withServer { request, connection in
      request.path == "/leaked"
        ? connection.respond(
          200, ["Link": "</leaked?p=2>; rel=next"], Array(#"[{"id":1}]"#.utf8))
        : connection.respond(200, [:], Array(#"[{"id":2}]"#.utf8))
    } test: { other in
      let target = other.url
      try await withServer { request, connection in
        connection.respond(302, ["Location": "\(target)/leaked"])
      } test: { server in
        let options = RecordListTests.options {
          $0.paging = .link
          $0.fields = ["Authorization": "Bearer x", "X-Api-Key": "y", "Accept-Language": "de"]
        }
        _ = try await RecordSource.url(server.url + "/leak").list(options, client: client)
        #expect(server.requests.map { $0.fields["X-Api-Key"] } == ["y", "y"])
        #expect(other.requests.map(\.path) == ["/leaked", "/leaked?p=2", "/leaked", "/leaked?p=2"])
        for request in other.requests {
          #expect(request.fields["Authorization"] == nil && request.fields["X-Api-Key"] == nil)
          #expect(request.fields["Accept-Language"] == "de")
        }
      }
    }
  }

  @Test("a password in the list's address goes along to its pages, and to no other server")
  func credentials() async throws {
    try await withServer { request, connection in
      guard request.fields["Authorization"] == "Basic bWU6c2VjcmV0" else {
        return connection.respond(401)
      }
      let next = "http://\(request.fields["Host"] ?? "")/2"
      return request.path == "/list"
        ? connection.respond(200, ["Link": "<\(next)>; rel=next"], Array(#"[{"id":1}]"#.utf8))
        : connection.respond(200, [:], Array(#"[{"id":2}]"#.utf8))
    } test: { server in
      let url = server.url.replacing("http://", with: "http://me:secret@") + "/list"
      let options = RecordListTests.options { $0.paging = .link }
      let list = try await RecordSource.url(url).list(options, client: client)
      #expect(try list.content().records == [["id": 1], ["id": 2]])
    }
  }

  // MARK: Pointers

  @Test(
    "a pointer to the next page that cannot be read is an error, not the last page",
    arguments: [
      ("cursor=next,c", #""next":1700000000.5"#), ("cursor=next,c", #""next":1e3"#),
      ("cursor=meta.next", #""meta":"x""#), ("cursor=meta.next", #""meta":7"#),
      ("cursor=meta.next", #""meta":["/2"]"#), ("cursor=a.b.c", #""a":{"b":"x"}"#),
    ])
  func unreadablePointer(paging: String, field: String) async throws {
    let error = await #expect(throws: TransportError.self) {
      _ = try await list {
        $0.paging = RecordPaging(paging) ?? .none
        $0.itemsField = "items"
      } answer: { _ in
        (200, [:], #"{"items":[{"id":1}],\#(field)}"#)
      }
    }
    #expect(error?.code == .malformedResponse)
  }

  @Test(
    "a link field that cannot be read is an error, if it may be about the next page",
    arguments: ["/2; rel=NEXT", "</2>; rel=prev; as=next junk", "</2; rel=next"])
  func unreadableLink(field: String) async throws {
    let error = await #expect(throws: TransportError.self) {
      _ = try await linkedList { _ in
        (200, ["Link": field], #"[{"id":1}]"#)
      }
    }
    #expect(error?.code == .malformedResponse)
  }

  @Test(
    "a pointer with nothing in it is the end",
    arguments: [
      "", #","meta":null"#, #","meta":false"#, #","meta":"""#, #","meta":[]"#, #","meta":{}"#,
      #","meta":{"next":0}"#, #","meta":{"next":null}"#, #","meta":{"next":""}"#,
    ])
  func emptyPointer(field: String) async throws {
    let (records, _, paths) = try await list {
      $0.paging = .cursor(field: "meta.next")
      $0.itemsField = "items"
    } answer: { _ in
      (200, [:], #"{"items":[{"id":1}]\#(field)}"#)
    }
    #expect(records.count == 1 && paths == ["/list"])
  }

  @Test(
    "a link field that cannot be read, and has nothing to do with pages, is the end",
    arguments: [
      "https://a.example/; rel=canonical", "</s.css>; rel=preload; as=style junk", "</a", "\"",
    ])
  func unrelatedLink(field: String) async throws {
    let (records, _, paths) = try await linkedList { _ in
      (200, ["Link": field], #"[{"id":1}]"#)
    }
    #expect(records.count == 1 && paths == ["/list"])
  }

  @Test("how many pages a list has is told once, at its end", arguments: 1...3)
  func pageCount(count: Int) async throws {
    let counts = Mutex<[Int]>([])
    try await withServer { request, connection in
      let page = Int(request.path.dropFirst()) ?? 0
      let isConditional = request.fields["If-None-Match"] != nil
      return connection.respond(
        isConditional ? 304 : 200,
        page < count ? ["Link": "</\(page + 1)>; rel=next", "ETag": "\"1\""] : ["ETag": "\"1\""],
        isConditional ? [] : Array(#"[{"id":\#(page)}]"#.utf8))
    } test: { server in
      var options = RecordListTests.options { $0.paging = .link }
      options.onLastPage = { count in counts.withLock { $0.append(count) } }
      let source = RecordSource.url(server.url + "/1")
      options.validators = try await source.list(options, client: client).content().validators
      _ = try await source.list(options, client: client)
    }
    #expect(counts.withLock { $0 } == [count])
  }

  // MARK: Changes

  @Test(
    "validators that are new with each response are no change, if the pages are the same",
    arguments: [
      ("ETag", HTTPValidators(entityTag: "\"10\"")),
      ("Last-Modified", HTTPValidators(lastModified: "Sun, 06 Nov 1994 08:49:10 GMT")),
    ])
  func restlessValidators(name: String, first: HTTPValidators) async throws {
    let counter = Counter()
    let text = first.entityTag ?? first.lastModified ?? ""
    let (records, validators, paths) = try await linkedList { request in
      let second = 10 + counter.next()
      let fields: HTTPFields = [
        name: text.replacing("10", with: "\(second)"), "Date": "Sun, 06 Nov 1994 09:00:00 GMT",
      ]
      guard request.path == "/list" else { return (200, fields, #"[{"id":2}]"#) }
      var linked = fields
      linked["Link"] = "</2?token=\(second)>; rel=next"
      return (200, linked, #"[{"id":1}]"#)
    }
    #expect(records == [["id": 1], ["id": 2]])
    #expect(paths == ["/list", "/2?token=10", "/list", "/2?token=12"])
    // Those of the last response may be of a list whose other pages were never seen.
    #expect(validators.first == first)
  }

  @Test("without validators too, other records on the first page at the end show a change")
  func changedRecords() async throws {
    let counter = Counter()
    let (records, _, paths) = try await linkedList { request in
      guard request.path == "/list" else { return (200, [:], #"[{"id":2}]"#) }
      return (200, ["Link": "</2>; rel=next"], #"[{"id":\#(counter.next() == 0 ? 1 : 10)}]"#)
    }
    #expect(records == [["id": 10], ["id": 2]])
    #expect(paths == ["/list", "/2", "/list", "/list", "/2", "/list", "/2"])
  }

  @Test("without validators too, a first page that is the last one at the end shows a change")
  func changedEnd() async throws {
    let counter = Counter()
    let (records, _, paths) = try await linkedList { request in
      guard request.path == "/list" else { return (200, [:], #"[{"id":2}]"#) }
      return (200, counter.next() == 0 ? ["Link": "</2>; rel=next"] : [:], #"[{"id":1}]"#)
    }
    #expect(records == [["id": 1]])
    #expect(paths == ["/list", "/2", "/list", "/list"])
  }

  @Test("the repeated first page counts neither as progress nor as length")
  func repetition() async throws {
    let pages = [#"[{"id":1}]"#, #"[{"id":2}]"#]
    var counts: [Int] = []
    try await withServer { request, connection in
      request.path == "/list"
        ? connection.respond(200, ["Link": "</2>; rel=next"], Array(pages[0].utf8))
        : connection.respond(200, [:], Array(pages[1].utf8))
    } test: { server in
      let options = RecordListTests.options {
        $0.paging = .link
        $0.maxByteCount = pages.joined().utf8.count
      }
      _ = try await RecordSource.url(server.url + "/list")
        .list(options, client: client) { received, _ in counts.append(received) }
      #expect(counts == [10, 20])
    }
  }

  // MARK: Keys

  /// Reads a list of two pages, of one record each.
  private func list(key: [String], _ first: String, _ second: String) async throws -> [Record] {
    try await list {
      $0.paging = .link
      $0.key = key
    } answer: { request in
      request.path == "/list"
        ? (200, ["Link": "</2>; rel=next"], "[\(first)]") : (200, [:], "[\(second)]")
    }.records
  }

  @Test(
    "records with other keys, or without one, are no sign of a change",
    arguments: [
      (["ID"], #"{"id":1}"#, #"{"id":2}"#), (["id"], #"{"id":null}"#, #"{"id":null,"x":1}"#),
      (["no"], #"{"id":1}"#, #"{"id":2}"#),
      (["id", "B"], #"{"id":1,"b":null}"#, #"{"id":1,"x":1}"#),
    ])
  func keys(key: [String], first: String, second: String) async throws {
    #expect(try await list(key: key, first, second).count == 2)
  }

  @Test(
    "keys that come twice are found whatever the case, and are a sign of a change",
    arguments: [
      (["ID"], #"{"id":1}"#, #"{"Id":1,"x":1}"#, "1"),
      (["id", "B"], #"{"id":1,"b":2}"#, #"{"b":2,"id":1,"x":1}"#, "1, 2"),
    ])
  func doubleKeys(key: [String], first: String, second: String, double: String) async throws {
    let error = await #expect(throws: TransportError.self) {
      _ = try await list(key: key, first, second)
    }
    #expect(error?.message.contains("key \(double);") == true)
  }
}
