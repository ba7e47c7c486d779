import Foundation
import TandemRecords
import TandemServer
import TandemSpace
import TandemSync
import TestFolder
import Testing

/// The page for operators, and who may see which part.
@Suite("The inspector") struct InspectorTests {
  /// The clients, by their secrets; `local` is a program of a machine whose server has no tokens.
  enum Client: String, CaseIterable {
    case none, unknown, reader, writerOfAll, inspector, inspectorOfOther, inspectorOfAll, local
  }

  /// The requests.
  enum Request: String, CaseIterable {
    case page, list, inspectNotes, inspectMissing, records, metrics

    var target: String {
      switch self {
      case .page: "/inspect"
      case .list: "/inspect/state"
      case .inspectNotes: "/inspect/state?space=notes"
      case .inspectMissing: "/inspect/state?space=missing"
      case .records: "/v1/spaces/notes/changes"
      case .metrics: "/metrics"
      }
    }
  }

  private static let tokens: [AccessToken] = [
    .of("reader", "ann", .read, ["notes"]),
    .of("writerOfAll", "dan", .write, ["*"]),
    .of("inspector", "ops", .inspect, ["notes", "missing"]),
    .of("inspectorOfOther", "eve", .inspect, ["others"]),
    .of("inspectorOfAll", "sue", .inspect, ["*"]),
  ]

  private static let statuses: [Client: [Int]] = [
    // page, list, inspectNotes, inspectMissing, records, metrics
    .none: [200, 401, 401, 401, 401, 401],
    .unknown: [200, 401, 401, 401, 401, 401],
    .reader: [200, 403, 403, 403, 200, 200],
    .writerOfAll: [200, 403, 403, 403, 200, 200],
    .inspector: [200, 200, 200, 404, 404, 200],
    .inspectorOfOther: [200, 200, 404, 404, 404, 200],
    .inspectorOfAll: [200, 200, 200, 404, 404, 200],
    .local: [200, 200, 200, 404, 200, 200],
  ]

  @Test("Each client may see what its token permits, and nothing else", arguments: Client.allCases)
  func rights(client: Client) async throws {
    let test = try TestService(tokens: client == .local ? nil : Self.tokens)
    for name in ["notes", "others"] { try await test.makeSpace(name) }
    let secret = [.none, .local].contains(client) ? nil : client.rawValue
    for (request, status) in zip(Request.allCases, Self.statuses[client] ?? []) {
      let answer = await test.inspect(request.target, secret: secret)
      #expect(answer.status == status, "\(client) \(request): \(answer.text)")
      if status == 401 { #expect(answer.field("WWW-Authenticate") == "Bearer realm=\"Tandem\"") }
    }
  }

  @Test("A token sees the spaces that it is for, and learns of no other one")
  func scope() async throws {
    let test = try TestService(tokens: Self.tokens)
    for name in ["notes", "others"] { try await test.makeSpace(name) }
    let lists = [
      "inspector": ["notes"], "inspectorOfOther": ["others"],
      "inspectorOfAll": ["notes", "others"],
    ]
    for (secret, names) in lists {
      let report = try await test.report("", secret: secret)
      #expect(report.spaces.map(\.name) == names)
      #expect(report.spaceCount == names.count)
    }
    let existing = await test.inspect("/inspect/state?space=notes", secret: "inspectorOfOther")
    let missing = await test.inspect("/inspect/state?space=photo", secret: "inspectorOfOther")
    #expect(existing.text.replacing("notes", with: "photo") == missing.text)
    #expect(existing.fields.map(\.value) == missing.fields.map(\.value))
  }

  @Test("Without --inspect there is nothing at its addresses")
  func closedByDefault() async throws {
    let test = try TestService(tokens: Self.tokens)
    for request in [Request.page, .list, .inspectNotes] {
      #expect(await test.answer("GET", request.target, secret: "inspectorOfAll").status == 404)
    }
    // Its tokens do nothing else.
    try await test.makeSpace("notes")
    let list = await test.answer("GET", "/v1/spaces", secret: "inspectorOfAll")
    #expect(list.text == #"{"spaces":[]}"#)
  }

  @Test("A server without tokens refuses the requests of web pages under other names")
  func otherHost() async throws {
    let test = try TestService()
    let answer = await test.inspect("/inspect/state", fields: [("Host", "attacker.example")])
    #expect(answer.code == "unauthorized")
  }

  @Test("It reads only, and refuses what it does not know")
  func requests() async throws {
    let test = try TestService()
    try await test.makeSpace("notes")
    let post = await test.inspect("/inspect/state", method: "POST")
    #expect(post.status == 405)
    #expect(post.field("Allow") == "GET")
    #expect(await test.inspect("/inspect", method: "DELETE").status == 405)
    for query in ["space=../x", "space=notes&space=notes", "other=1", "search=%FF"] {
      #expect(await test.inspect("/inspect/state?\(query)").status == 400, "\(query)")
    }
    #expect(await test.inspect("/inspect/other").status == 404)
    for path in ["/inspect", "/inspect/inspector.css", "/inspect/inspector.js"] {
      let file = await test.inspect(path)
      #expect(file.status == 200)
      #expect(file.field("Content-Security-Policy")?.contains("default-src 'none'") == true)
      #expect(file.field("X-Content-Type-Options") == "nosniff")
    }
  }

  @Test("The report has replicas with their last outcome, commits, and the keys of conflicts only")
  func report() async throws {
    let test = try TestService(tokens: Self.tokens)
    let start = try await test.makeSpace("notes")
    let secretText = "a text that operators must not see"
    var (good, late) = (TestReplica(seed: 1), TestReplica(seed: 2))
    let first = good.commit(start, [insertion(1, secretText)])
    let overruled = SyncRecordState(
      key: SyncKey(table: "t", id: [.integer(7)]), version: 0, fields: ["a": .text(secretText)])
    let conflicting = late.commit(start, [insertion(1, "other")])
    try await test.spaces.with("notes") { store in
      guard case .accepted = try await store.commit(first, account: "ann") else {
        throw CancellationError()
      }
      guard case .conflict = try await store.commit(conflicting, account: "bob") else {
        throw CancellationError()
      }
    }
    var second = good.commit(start, [insertion(2)])
    second = SyncCommit(
      replica: second.replica, sequence: second.sequence, id: second.id, base: second.base,
      changes: second.changes, overruled: [overruled])
    let commit = second
    try await test.spaces.with("notes") { store in
      _ = try await store.commit(commit, account: "ann")
    }

    let answer = await test.inspect("/inspect/state?space=notes", secret: "inspector")
    #expect(!answer.text.contains(secretText))
    let report = try await test.report("?space=notes", secret: "inspector")
    let space = try #require(report.space)
    #expect(report.spaces.map(\.version) == [2])
    #expect(space.replicaCount == 2)
    // Those that need attention come first.
    #expect(space.replicas.map(\.outcome) == ["conflict", "accepted"])
    #expect(space.replicas.map(\.account) == ["bob", "ann"])
    #expect(space.replicas.map(\.sequence) == [1, 2])
    #expect(space.replicas[0].records == ["t 1"])
    #expect(space.replicas[0].time == nil && space.replicas[1].time != nil)
    #expect(space.commits.map(\.version) == [2, 1])
    #expect(space.commits.map(\.account) == ["ann", "ann"])
    #expect(space.overruledCount == 1)
    #expect(space.overruled == [.init(record: "t 7", version: 2, recordVersion: 0)])
    #expect(space.byteCount > 0)
  }

  @Test("Lists are bounded, searched by a part of a name, and survive the file of a damaged space")
  func bounds() async throws {
    let test = try TestService(maxOpenCount: 2, maxSpaceCount: 100)
    for number in 10..<40 { try await test.makeSpace("space-\(number)") }
    try test.folder.write(String(repeating: "no database ", count: 100), to: "spaces/alas.space")
    let report = try await test.report("")
    #expect(report.spaces.count == Inspector.maxSpaceCount)
    #expect(report.spaceCount == 31 && report.foundCount == 31)
    #expect(report.spaces[0] == .init(name: "alas", version: nil))
    #expect(report.spaces[1] == .init(name: "space-10", version: 0))
    let found = try await test.report("?search=SPACE-3")
    #expect(found.spaces.map(\.name).first == "space-30")
    #expect(found.foundCount == 10)
    #expect(await test.inspect("/inspect/state?space=alas").status == 503)

    var replica = TestReplica(seed: 3)
    var head = try await test.makeSpace("space-10")
    for number in 1...Inspector.maxRowCount + 10 {
      let commit = replica.commit(head, [insertion(number)])
      head = try await test.spaces.with("space-10") { store in
        guard case .accepted(let revision, _) = try await store.commit(commit) else {
          throw CancellationError()
        }
        return revision
      }
    }
    let space = try #require(try await test.report("?space=space-10").space)
    #expect(space.commits.count == Inspector.maxRowCount)
    #expect(space.commits.first?.version == Inspector.maxRowCount + 10)
  }
}

/// The parts of the report that the tests look at.
private struct Report: Decodable {
  struct Entry: Decodable, Equatable {
    var name: String
    var version: Int?
  }

  struct Replica: Decodable {
    var account: String?
    var sequence: Int
    var time: Int?
    var outcome: String
    var records: [String]
  }

  struct Commit: Decodable {
    var version: Int
    var account: String?
  }

  struct Overruled: Decodable, Equatable {
    var record: String
    var version: Int
    var recordVersion: Int
  }

  struct Space: Decodable {
    var byteCount: Int
    var replicaCount: Int
    var replicas: [Replica]
    var commits: [Commit]
    var overruledCount: Int
    var overruled: [Overruled]
  }

  var spaceCount: Int
  var foundCount: Int
  var spaces: [Entry]
  var space: Space?
}

extension TestService {
  /// Answers a request as a server with an inspector does.
  fileprivate func inspect(
    _ target: String, method: String = "GET", secret: String? = nil,
    fields: [(name: String, value: String)] = [("Host", "127.0.0.1:7420")]
  ) async -> HTTPAnswer {
    let inspector = Inspector(service)
    let authorization = secret.map { [("Authorization", "Bearer \($0)")] } ?? []
    let head = ServedRequestHead(method: method, target: target, fields: fields + authorization)
    if case .refused(let refusal) = inspector.admission(of: head) { return refusal }
    return await inspector.answer(ServedRequest(head: head))
  }

  fileprivate func report(_ query: String, secret: String? = nil) async throws -> Report {
    let answer = await inspect("/inspect/state\(query)", secret: secret)
    return try JSONDecoder().decode(Report.self, from: Data(answer.bytes))
  }
}
