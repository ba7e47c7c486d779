import Foundation
import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import TestRandom
import Testing

@testable import TandemServer

@Suite struct SyncServiceTests {
  @Test("Tables, commits, changes and the state of a space go through the service")
  func wholeWay() async throws {
    let test = try TestService()
    let path = "/v1/spaces/notes"
    let tables = await test.answer(
      "POST", "\(path)/tables", body: SyncMessageWriter.bytes([SpaceTable.t]))
    #expect(try SyncMessageReader().tables(tables.bytes) == [.t])
    let state = try SyncMessageReader().state(await test.answer("GET", path).bytes)
    #expect(state.tables == [.t])
    var replica = TestReplica(seed: 1)
    let commit = replica.commit(state.head, [insertion(1), insertion(2, "y")])
    let accepted = await test.answer(
      "POST", "\(path)/commits", body: SyncMessageWriter.bytes(commit))
    guard case .accepted(let revision, let digest) = try accepted.outcome() else {
      Issue.record("not accepted: \(accepted.text)")
      return
    }
    let answer = await test.answer(
      "GET", "\(path)/changes?since=\(state.head)&replica=\(replica.id)")
    let page = try SyncMessageReader().page(answer.bytes)
    #expect(page.revision == revision)
    #expect(page.digest == digest)
    #expect(page.changes.map(\.key.id) == [[1], [2]])
    #expect(page.replica?.commit == commit.id)
    let first = try SyncMessageReader().page(
      await test.answer("GET", "\(path)/changes?limit=1").bytes)
    let next = try #require(first.next)
    let second = try SyncMessageReader().page(
      await test.answer("GET", "\(path)/changes?limit=1&cursor=\(next)").bytes)
    #expect(first.changes.count == 1 && second.changes.count == 1 && second.next == nil)
  }

  @Test("Each outcome has its status")
  func outcomes() async throws {
    let test = try TestService()
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    var other = TestReplica(seed: 2)
    func send(_ commit: SyncCommit) async -> HTTPAnswer {
      await test.answer(
        "POST", "/v1/spaces/notes/commits", body: SyncMessageWriter.bytes(commit))
    }
    #expect(await send(replica.commit(head, [insertion(1)])).status == 200)
    let conflict = await send(other.commit(head, [insertion(1, "z")]))
    #expect(conflict.status == 409)
    guard case .conflict = try conflict.outcome() else {
      Issue.record("\(conflict.text)")
      return
    }
    let unknown = SyncChange(key: SyncKey(table: "nothing", id: [1]), verb: .delete)
    #expect(await send(other.commit(head, [unknown])).status == 422)
    other.sequence += 1
    #expect(await send(other.commit(head, [])).status == 409)
    var stranger = TestReplica(seed: 3)
    let elsewhere = SpaceRevision(epoch: stranger.id, version: 0, mark: 0)
    #expect(await send(stranger.commit(elsewhere, [])).status == 410)
    for target in ["changes?since=\(elsewhere)", "events?since=\(elsewhere)"] {
      let answer = await test.answer("GET", "/v1/spaces/notes/\(target)")
      #expect(answer.status == 410)
      #expect(try answer.outcome() == .gone(.epoch))
    }
    let different = SpaceTable(name: "t", columns: [], keyColumns: ["k"], granularity: .field)
    let tables = await test.answer(
      "POST", "/v1/spaces/notes/tables", body: SyncMessageWriter.bytes([different]))
    #expect(tables.status == 409)
    #expect(tables.code == "differentTables")
  }

  @Test(
    "A request that cannot be understood is refused with a code",
    arguments: [
      ("GET", "/", 404, "unknownRoute"), ("GET", "/v1", 404, "unknownRoute"),
      ("GET", "/v1/spaces/", 400, "malformed"), ("GET", "/v1/spaces/a/b", 404, "unknownRoute"),
      ("GET", "/v1/spaces/a/events/", 404, "unknownRoute"),
      ("GET", "/v1/spaces/a%2Fevents", 400, "malformed"),
      ("GET", "/v1/spaces/..", 400, "malformed"), ("GET", "/v1/spaces/%2e%2e", 400, "malformed"),
      ("GET", "/v1/spaces/%00", 400, "malformed"), ("GET", "/v1/spaces/%C3", 400, "malformed"),
      ("GET", "/v1/spaces/%", 400, "malformed"), ("GET", "/v1/spaces/caf%C3%A9", 400, "malformed"),
      ("POST", "/v1/spaces", 405, "methodNotAllowed"),
      ("DELETE", "/v1/spaces/notes", 405, "methodNotAllowed"),
      ("GET", "/v1/spaces/notes/commits", 405, "methodNotAllowed"),
      ("HEAD", "/v1/spaces/notes/events", 405, "methodNotAllowed"),
      ("GET", "/v1/spaces?x=1", 400, "malformed"),
      ("GET", "/v1/spaces/notes/changes?since=1", 400, "malformed"),
      ("GET", "/v1/spaces/notes/changes?limit=0", 400, "malformed"),
      ("GET", "/v1/spaces/notes/changes?limit=1&limit=1", 400, "malformed"),
      ("GET", "/v1/spaces/notes/changes?limit=99999999999999999999", 400, "malformed"),
      ("GET", "/v1/spaces/notes/changes?cursor=x", 400, "malformed"),
      ("GET", "/v1/spaces/notes/changes?replica=%ff", 400, "malformed"),
      ("GET", "/v1/spaces/notes/events?cursor=x", 400, "malformed"),
      ("POST", "/v1/spaces/notes/commits", 400, "malformed"),
      ("POST", "/v1/spaces/notes/tables", 400, "malformed"),
      ("GET", "/v1/spaces/nothing", 404, "unknownSpace"),
    ])
  func refusals(method: String, target: String, status: Int, code: String) async throws {
    let test = try TestService()
    try await test.makeSpace("notes")
    let answer = await test.answer(method, target)
    #expect(answer.status == status, "\(answer.text)")
    #expect(answer.code == code)
    if status == 405 { #expect(answer.field("Allow") != nil) }
  }

  @Test(
    "The parts of a commit are answered with status 200, and the last missing one with the outcome")
  func parts() async throws {
    let test = try TestService()
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    let commit = replica.commit(head, [])
    func send(part: Int) async throws -> SyncOutcome {
      let part = SyncCommit(
        replica: commit.replica, sequence: 1, id: commit.id, base: head, part: part, of: 2,
        changes: [insertion(part)])
      let answer = await test.answer(
        "POST", "/v1/spaces/notes/commits", body: SyncMessageWriter.bytes(part))
      #expect(answer.status == 200)
      return try answer.outcome()
    }
    #expect(try await send(part: 2) == .parts(missing: [1]))
    guard case .accepted(let revision, _) = try await send(part: 1) else {
      Issue.record("the commit was not accepted")
      return
    }
    #expect(revision.version == head.version + 1)
    #expect(test.metrics.text.contains("parts"))
  }

  @Test("The limits of messages are those of the service")
  func limits() async throws {
    var limits = SyncService.Limits()
    limits.messages = SyncLimits(maxCommitChangeCount: 2, maxPageChangeCount: 1)
    let test = try TestService(limits: limits)
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    let many = replica.commit(head, (1...3).map { insertion($0) })
    let answer = await test.answer(
      "POST", "/v1/spaces/notes/commits", body: SyncMessageWriter.bytes(many))
    #expect(answer.status == 413)
    #expect(answer.code == "overLimit")
  }

  @Test("The number of open spaces follows the number of files that the system allows")
  func openSpaces() {
    #expect(SpaceDirectory.defaultOpenCount(fileLimit: 1_024) == 25)
    #expect(SpaceDirectory.defaultOpenCount(fileLimit: 65_536) == 1_000)
    #expect(SpaceDirectory.defaultOpenCount(fileLimit: 10) == 1)
  }

  @Test("Spaces beyond the open ones are closed and opened again, and one too many is not created")
  func manySpaces() async throws {
    let test = try TestService(maxOpenCount: 2, maxSpaceCount: 5)
    let tables = SyncMessageWriter.bytes([SpaceTable.t])
    for round in 0..<2 {
      for name in 1...5 {
        let answer = await test.answer("POST", "/v1/spaces/s\(name)/tables", body: tables)
        #expect(answer.status == 200, "\(round) \(name) \(answer.text)")
      }
    }
    #expect(await test.answer("POST", "/v1/spaces/s6/tables", body: tables).code == "overLimit")
    #expect(test.metrics.text.contains("tandem_spaces_open 2\n"))
  }

  @Test(
    "An empty file, as a full disk leaves it, is no space, and becomes one for who may create it")
  func emptyFile() async throws {
    let test = try TestService()
    let tables = SyncMessageWriter.bytes([SpaceTable.t])
    try test.folder.write("", to: "spaces/empty.space")
    // SQLite has written its first page, but no table.
    let file = try await Database.open(path: test.spaces.file(of: "blank"))
    try await file.write { transaction in
      try transaction.execute("CREATE TABLE t (a)")
      try transaction.execute("DROP TABLE t")
    }
    await file.close()
    #expect(try test.spaces.names() == ["blank"])
    for name in ["empty", "blank"] {
      #expect(await test.answer("GET", "/v1/spaces/\(name)").code == "unknownSpace")
      let made = await test.answer("POST", "/v1/spaces/\(name)/tables", body: tables)
      #expect(made.status == 200, "\(made.text)")
      #expect(await test.answer("GET", "/v1/spaces/\(name)").status == 200)
    }
  }

  @Test("A directory that nobody can write into is refused at the start")
  func unwritableDirectory() {
    // Not even the superuser can create files there.
    #expect { _ = try SpaceDirectory(path: "/proc/self") } throws: {
      ($0 as? ServerError)?.code == .directory
    }
  }

  @Test("One server at a time serves a directory; others may look at it")
  func lockedDirectory() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "spaces")
    var first: SyncService? = try SyncService(spacesIn: path)
    #expect { _ = try SyncService(spacesIn: path) } throws: {
      ($0 as? ServerError)?.code == .directory && "\($0)".contains("stop it first")
    }
    #expect(try SpaceDirectory(reading: path).names() == [])
    withExtendedLifetime(first) {}
    first = nil
    _ = try SyncService(spacesIn: path)
  }

  @Test("Opening and closing a file does not change the mark of its space, and a commit does")
  func marks() async throws {
    let test = try TestService(maxOpenCount: 1)
    let head = try await test.makeSpace("notes")
    // There is room for one open file.
    try await test.makeSpace("other")
    let file = test.spaces.file(of: "notes")
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: file)
    let mark = try #require(try test.spaces.marks()["notes"])
    let state = try await test.spaces.with("notes") { try await $0.state() }
    #expect(state.head == head)
    #expect(FileManager.default.fileExists(atPath: "\(file)-wal"))
    #expect(try test.spaces.marks()["notes"] == mark)
    let text = SpaceCopyList.text(mark: mark, members: SpaceMember.tag(of: []))
    #expect(try test.spaces.copies().spaces["notes"] == text)
    var replica = TestReplica(seed: 1)
    let commit = replica.commit(head, [insertion(1)])
    _ = try await test.spaces.with("notes") { try await $0.commit(commit) }
    #expect(try test.spaces.marks()["notes"] != mark)
  }

  @Test("A request that is cancelled because the server stops is no error of a space")
  func cancelled() async throws {
    let test = try TestService()
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    let commit = SyncMessageWriter.bytes(replica.commit(head, [insertion(1)]))
    let answer = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await test.answer("POST", "/v1/spaces/notes/commits", body: commit)
    }.value
    #expect(answer.status == 503)
    #expect(answer.text.contains("stops"))
    #expect(test.metrics.text.contains("tandem_space_errors_total 0\n"))
  }

  @Test("An outcome has a bounded number of objections, however many changes are at fault")
  func manyObjections() async throws {
    let test = try TestService()
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    func objections(_ count: Int, _ id: (Int) -> FieldValue) async throws -> [SyncObjection] {
      let changes = (0..<count).map { number in
        SyncChange(key: SyncKey(table: "none", id: [id(number)]), verb: .delete)
      }
      let body = SyncMessageWriter.bytes(replica.commit(head, changes))
      let answer = await test.answer("POST", "/v1/spaces/notes/commits", body: body)
      guard case .refused(let objections) = try answer.outcome() else { return [] }
      return objections
    }
    let many = try await objections(1_500) { .integer(Int64($0)) }
    #expect(many.count == SyncLimits.maxObjectionCount)
    #expect(many.last?.key.id == [.integer(999)])
    let text = String(repeating: "x", count: 1_000)
    let long = try await objections(500) { .text("\($0)\(text)") }
    let byteCount = long.reduce(0) { $0 + RecordEncoding.byteCount(of: $1.key) }
    #expect(long.count < 500 && byteCount >= SyncLimits.maxObjectionByteCount)
    #expect(byteCount < SyncLimits.maxObjectionByteCount + SyncLimits.maxKeyByteCount)
  }

  @Test("The declarations of a space are bounded, and what it has declared stays valid")
  func largeDeclaration() async throws {
    let test = try TestService()
    try await test.makeSpace("notes")
    func declare(_ name: String) async -> HTTPAnswer {
      let columns = (0..<600).map { "\($0)" + String(repeating: "c", count: 1_000) }
      let table = SpaceTable(
        name: name, columns: columns, keyColumns: ["id"], granularity: .field)
      return await test.answer(
        "POST", "/v1/spaces/notes/tables", body: SyncMessageWriter.bytes([table]))
    }
    #expect(await declare("u").status == 200)
    #expect(await declare("v").code == "overLimit")
    #expect(await declare("u").status == 200)
    let body = Array("[\(String(repeating: " ", count: SyncLimits.maxDeclarationByteCount))]".utf8)
    #expect(await test.answer("POST", "/v1/spaces/notes/tables", body: body).code == "overLimit")
  }

  @Test("Large requests that arrive at the same time are all answered")
  func largeRequests() async throws {
    let test = try TestService()
    let head = try await test.makeSpace("notes")
    let text = String(repeating: "x", count: 2 << 20)
    let outcomes = await withTaskGroup(of: Int.self) { group in
      for number in 0..<8 {
        group.addTask {
          var replica = TestReplica(seed: number)
          let commit = replica.commit(head, [insertion(number, text)])
          return await test.answer(
            "POST", "/v1/spaces/notes/commits", body: SyncMessageWriter.bytes(commit)
          ).status
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes == [Int](repeating: 200, count: 8))
  }

  @Test("A file that is no space is an error of the server, whose reason only the log has")
  func damagedFile() async throws {
    let test = try TestService()
    try test.folder.write(
      "this is no database, and long enough to be seen as such", to: "spaces/bad.space")
    let answer = await test.answer("GET", "/v1/spaces/bad")
    #expect(answer.status == 503)
    #expect(answer.code == "unavailable")
    #expect(!answer.text.contains(test.folder.path))
    #expect(answer.field("Retry-After") == "5")
  }

  @Test("A space whose file was replaced while it was open is served again, from the new file")
  func replacedFile() async throws {
    let test = try TestService()
    let head = try await test.makeSpace("notes")
    try await test.makeSpace("other")
    let other = try await test.spaces.with("other") { try await $0.state().head }
    await test.spaces.close()
    try await test.makeSpace("notes")
    let path = test.spaces.file(of: "notes")
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: test.spaces.file(of: "other"), toPath: path)
    var replica = TestReplica(seed: 1)
    let commit = SyncMessageWriter.bytes(replica.commit(head, [insertion(1)]))
    let first = await test.answer("POST", "/v1/spaces/notes/commits", body: commit)
    #expect(first.status == 503)
    let again = await test.answer("POST", "/v1/spaces/notes/commits", body: commit)
    #expect(try again.outcome() == .gone(.epoch))
    let state = try SyncMessageReader().state(await test.answer("GET", "/v1/spaces/notes").bytes)
    #expect(state.head == other)
  }

  @Test("Requests with random errors get an answer that blames the client, for many seeds")
  func noise() async throws {
    let test = try TestService()
    let head = try await test.makeSpace("notes")
    var replica = TestReplica(seed: 1)
    let path = "/v1/spaces/notes"
    let requests: [(String, String, [UInt8])] = [
      ("POST", "\(path)/commits", SyncMessageWriter.bytes(replica.commit(head, [insertion(1)]))),
      ("POST", "\(path)/tables", SyncMessageWriter.bytes([SpaceTable.t])),
      (
        "GET", "\(path)/changes?since=\(head)&limit=10&replica=\(replica.id)&cursor=\(head)~1~74~",
        []
      ),
      ("GET", "\(path)/events?since=\(head)", []), ("GET", "/v1/openapi.json", []),
    ]
    for seed in 0..<400 {
      var random = SplitMix64(seed: seed)
      let (method, target, body) = requests[seed % requests.count]
      let isBody = !body.isEmpty && Bool.random(using: &random)
      let changed = isBody ? target : changed(Array(target.utf8), &random)
      let answer = await test.answer(
        method, changed.isEmpty ? "/" : changed,
        body: isBody ? Array(self.changed(body, &random).utf8) : body)
      answer.stream?.end()
      #expect(answer.status < 500, "seed \(seed): \(changed) \(answer.text)")
    }
  }

  @Test("No random header and no changed token gets access, whatever its form")
  func headerNoise() async throws {
    let vectors = try WebTokenVectors()
    let (now, keys) = (vectors.now, Array(vectors.keys.description.utf8))
    let test = try TestService(tokens: [.of("secret", "ada", .read, ["notes"])])
    try await test.makeSpace("notes")
    let source = try await WebTokenSource(
      vectors.rules, keysAt: "keys", now: { now }, log: { _ in }, reading: { (keys, nil) })
    let webTokens = try vectors.tokens("accepted").values.sorted()
    let webService = SyncService(spaces: test.spaces, tokens: source)
    let proxies = try #require(ProxyNetworks("10.0.0.0/8"))
    let names = [
      "Host", "X-Forwarded-For", "Accept-Encoding", "Origin", "Content-Length", "Cookie",
    ]
    // A million were sent once: TANDEM_NOISE=1000000.
    let count = Int(ProcessInfo.processInfo.environment["TANDEM_NOISE"] ?? "") ?? 2_000
    for seed in 0..<count {
      var random = SplitMix64(seed: seed)
      let isWeb = seed % 2 == 0
      let token = isWeb ? webTokens[seed / 2 % webTokens.count] : "secret"
      let value = changed(Array("Bearer \(token)".utf8), &random)
      var fields: [(name: String, value: String)] = [
        ("Host", "127.0.0.1:7420"), ("Authorization", value),
      ]
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let name = names[Int.random(in: 0..<names.count, using: &random)]
        fields.append((name, changed(Array("10.0.0.1, 127.0.0.1:80, gzip;q=0.5".utf8), &random)))
      }
      let head = ServedRequestHead(
        method: "GET", target: "/v1/spaces/notes", fields: fields,
        address: proxies.client(behind: "10.0.0.1", fields))
      let admission = (isWeb ? webService : test.service).admission(of: head)
      let sent = value.split(separator: " ", maxSplits: 1).last?.drop { $0 == " " }
      if sent == token[...] { continue }
      guard case .refused(let answer) = admission else {
        Issue.record("seed \(seed): \(fields)")
        return
      }
      #expect([400, 401, 503].contains(answer.status), "seed \(seed): \(answer.status) \(fields)")
      #expect(!answer.text.contains(token), "seed \(seed)")
    }
  }

  /// A text with a few random changes.
  private func changed(_ bytes: [UInt8], _ random: inout SplitMix64) -> String {
    var bytes = bytes
    let pieces = [
      "%", "%ff", "\"", "[", "{", "-", "9999999999999999999999", "&", "?", "/", "\u{0}", "é",
    ]
    for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
      case 1: bytes.remove(at: place)
      case 2: bytes.removeSubrange(place...)
      default:
        let piece = pieces[Int.random(in: 0..<pieces.count, using: &random)]
        bytes.insert(contentsOf: Array(piece.utf8), at: place)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
