import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestHTTPServer
import Testing

@Suite("Lists in pages that are asked for changes only", .timeLimit(.minutes(20)))
struct RecordListConditionTests {
  let client: SystemHTTPClient
  init() throws { client = try SystemHTTPClient() }

  @Test(
    "a list is unchanged if all its pages are, and the last one leads on to no other",
    arguments: PagedList.Paging.allCases, [1, 2, 7, 8])
  func unchanged(paging: PagedList.Paging, last: Int) async throws {
    let list = try PagedList(paging, ids: 1...last)
    let validators = try await list.read(client).validators
    let count = list.requests.count
    #expect(try await list.read(unless: validators, client).ids == nil)
    let requests = list.requests.dropFirst(count)
    #expect(requests.count == validators.laterPages.count + 1)
    // That no link leads on has to be seen.
    let conditions = requests.map { $0.fields["If-None-Match"] != nil }
    #expect(conditions.dropLast().allSatisfy { $0 } && conditions.last == (paging != .link))
  }

  @Test(
    "what is new, gone or another one on any page makes the whole list come",
    arguments: PagedList.Paging.allCases, [7, 8])
  func changes(paging: PagedList.Paging, last: Int) async throws {
    let changes: [@Sendable (inout [Int]) -> Void] = [
      { $0.append(9) }, { $0 += [9, 10, 11] }, { $0.removeLast() }, { $0[0] = 10 }, { $0[3] = 10 },
      { $0[6] = 10 }, { $0.remove(at: 3) }, { $0.insert(10, at: 3) }, { $0 = [1, 2] },
    ]
    for change in changes {
      let list = try PagedList(paging, ids: 1...last)
      let validators = try await list.read(client).validators
      var ids = Array(1...last)
      change(&ids)
      list.change { [ids] in $0.ids = ids }
      #expect(try await list.read(unless: validators, client).ids == ids)
    }
  }

  @Test(
    "a list of one page gets a second one, although the first did not change",
    arguments: PagedList.Paging.allCases)
  func secondPage(paging: PagedList.Paging) async throws {
    let list = try PagedList(paging, ids: 1...2)
    let validators = try await list.read(client).validators
    list.change { $0.ids.append(3) }
    #expect(try await list.read(unless: validators, client).ids == [1, 2, 3])
  }

  @Test(
    "a list with a page without validators is read whole each time",
    arguments: PagedList.Paging.allCases, 0...3)
  func untaggedPage(paging: PagedList.Paging, page: Int) async throws {
    let list = try PagedList(paging, ids: 1...8)
    list.change { $0.untaggedPages = [page] }
    let validators = try await list.read(client).validators
    #expect(validators.isEmpty)
    list.change { $0.ids[2 * page] = 10 }
    #expect(try await list.read(unless: validators, client).ids?[2 * page] == 10)
  }

  @Test("a page that is gone makes the whole list come")
  func vanishing() async throws {
    let list = try PagedList(.link, ids: 1...8)
    let validators = try await list.read(client).validators
    list.change {
      $0.hasEnd = true
      $0.ids.removeLast(6)
    }
    let count = list.requests.count
    #expect(try await list.read(unless: validators, client).ids == [1, 2])
    #expect(list.requests.dropFirst(count).map(\.path) == ["/list", "/list?at=2", "/list"])
  }

  @Test("a server that is out of order while it is asked changes nothing")
  func failure() async throws {
    let counter = Counter()
    try await withServer { request, connection in
      guard request.path == "/list" else {
        return connection.respond(
          counter.next() < 2 ? 200 : 503, ["ETag": "\"2\""], Array(#"[{"id":2}]"#.utf8))
      }
      let isKnown = request.fields["If-None-Match"] == "\"1\""
      return connection.respond(
        isKnown ? 304 : 200, ["ETag": "\"1\"", "Link": "</2>; rel=next"],
        isKnown ? [] : Array(#"[{"id":1}]"#.utf8))
    } test: { server in
      var options = RecordListTests.options { $0.paging = .link }
      let source = RecordSource.url(server.url + "/list")
      options.validators = try await source.list(options, client: client).content().validators
      let error = await #expect(throws: TransportError.self) {
        _ = try await source.list(options, client: client)
      }
      #expect(error?.status == 503)
    }
  }

  @Test("later pages are asked for with the credentials of the list, which are kept nowhere")
  func credentials() async throws {
    try await withServer { request, connection in
      guard request.fields["Authorization"] == "Basic bWU6c2VjcmV0" else {
        return connection.respond(401)
      }
      let fields: HTTPFields =
        request.path == "/list"
        ? ["ETag": "\"1\"", "Link": "</2>; rel=next"] : ["ETag": "\"2\""]
      let isKnown = request.fields["If-None-Match"] == fields["ETag"]
      return connection.respond(isKnown ? 304 : 200, fields, isKnown ? [] : Array("[]".utf8))
    } test: { server in
      let source = RecordSource.url(server.url.replacing("//", with: "//me:secret@") + "/list")
      var options = RecordListTests.options { $0.paging = .link }
      options.validators = RecordListValidators(
        HTTPValidators(entityTag: "\"1\""),
        laterPages: [.init(url: "\(server.url)/2", validators: HTTPValidators(entityTag: "\"2\""))])
      guard case .notModified = try await source.list(options, client: client) else {
        Issue.record("the list counts as changed")
        return
      }
      options.validators = nil
      let list = try await source.list(options, client: client).content()
      #expect(list.validators.laterPages.map(\.url) == [server.url + "/2"])
      #expect(list.bases[0] == nil)
    }
  }

  @Test("validators of a list are not kept if a server repeats a secret in a later page's address")
  func repeatedSecrets() async throws {
    let secrets: [(credentials: String, field: HTTPFields)] = [
      ("", ["Authorization": "Bearer s3/cr3t"]), ("", ["X-Key": "s3/cr3t"]),
      ("", ["Cookie": "id=1; session=s3/cr3t"]), ("me:s3%2Fcr3t@", [:]),
    ]
    for (credentials, fields) in secrets {
      for (repeated, isKept) in [("s3/cr3t", false), ("s3%2fcr3%74", false), ("cr3t", true)] {
        try await expectPage("2?token=\(repeated)", isKept: isKept, credentials, fields)
      }
    }
    try await expectPage("2?type=text/csv", isKept: true, "", ["Accept": "text/csv"])
    try await expectPage("2?page=1", isKept: true, "", ["X-Version": "1"])
  }

  /// Expects validators to be kept, and to be asked by if they were kept before, or not.
  private func expectPage(
    _ page: String, isKept: Bool, _ credentials: String, _ fields: HTTPFields
  ) async throws {
    try await withServer { request, connection in
      let isKnown = request.fields["If-None-Match"] == "\"1\""
      let isFirst = request.path == "/list"
      return connection.respond(
        isKnown ? 304 : 200,
        isFirst ? ["ETag": "\"1\"", "Link": "</\(page)>; rel=next"] : ["ETag": "\"1\""],
        isKnown ? [] : Array(#"[{"id":\#(isFirst ? 1 : 2)}]"#.utf8))
    } test: { server in
      let url = server.url.replacing("//", with: "//" + credentials) + "/list"
      var options = RecordListTests.options {
        $0.paging = .link
        $0.fields = fields
      }
      let list = try await RecordSource.url(url).list(options, client: client).content()
      #expect(list.records.count == 2)
      #expect(list.validators.isEmpty != isKept, "\(page) \(fields)")
      options.validators = RecordListValidators(
        HTTPValidators(entityTag: "\"1\""),
        laterPages: [
          .init(url: "\(server.url)/\(page)", validators: HTTPValidators(entityTag: "\"1\""))
        ])
      let next = try await RecordSource.url(url).list(options, client: client)
      if case .notModified = next { #expect(isKept) } else { #expect(!isKept) }
    }
  }

  @Test("later pages on another server, or that cannot be asked for, are asked nothing")
  func unfitPages() async throws {
    try await withServer { _, connection in
      connection.respond(304)
    } test: { other in
      try await withServer { request, connection in
        connection.respond(
          request.fields["If-None-Match"] == nil ? 200 : 304, ["ETag": "\"1\""],
          Array((request.fields["If-None-Match"] == nil ? #"[{"id":1}]"# : "").utf8))
      } test: { server in
        typealias Page = RecordListValidators.LaterPage
        func page(_ url: String, _ tag: String? = "\"2\"") -> Page {
          Page(url: url, validators: HTTPValidators(entityTag: tag))
        }
        let own = "\(server.url)/2"
        for pages in [
          [page("\(other.url)/2")], [page("file:///etc/passwd")], [page("/2")], [page("\(own)\n")],
          [page(own, nil)], [page(own, "\r\nX-Token: 1")],
          Array(repeating: page(own), count: RecordListValidators.maxPageCount),
        ] {
          let validators = RecordListValidators(
            HTTPValidators(entityTag: "\"1\""), laterPages: pages)
          let options = RecordListTests.options {
            $0.paging = .link
            $0.validators = validators
          }
          let source = RecordSource.url(server.url + "/list")
          let list = try await source.list(options, client: client)
          #expect(try list.content().records == [["id": 1]], "\(pages[0])")
        }
        #expect(server.requests.count == 7)
        #expect(server.requests.allSatisfy { $0.path == "/list" })
        #expect(server.requests.allSatisfy { $0.fields["If-None-Match"] == nil })
      }
      #expect(other.requests.isEmpty)
    }
  }

  @Test("more pages, or longer addresses, than are kept make validators of none")
  func bounds() async throws {
    let (pageCount, byteCount) = (
      RecordListValidators.maxPageCount, RecordListValidators.maxByteCount
    )
    for (count, length) in [(pageCount, 0), (pageCount + 1, 0), (4, 50_000), (7, byteCount / 6)] {
      try await withServer { request, connection in
        let page = request.path.split(separator: "/").first.flatMap { Int($0) } ?? 0
        let isKnown = request.fields["If-None-Match"] != nil
        let link = "</\(page + 1)/\(String(repeating: "x", count: length))>; rel=next"
        return connection.respond(
          isKnown ? 304 : 200,
          page + 1 < count ? ["ETag": "\"1\"", "Link": link] : ["ETag": "\"1\""],
          isKnown ? [] : Array(#"[{"id":\#(page)}]"#.utf8))
      } test: { server in
        let options = RecordListTests.options { $0.paging = .link }
        let list = try await RecordSource.url(server.url + "/0").list(options, client: client)
        let (records, validators, _) = try list.content()
        #expect(records.count == count)
        #expect(validators.isEmpty == (count == pageCount + 1 || length == byteCount / 6))
      }
    }
  }
}
