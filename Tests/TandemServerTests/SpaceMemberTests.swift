import Foundation
import Synchronization
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

@testable import TandemServer

@Suite("Members of spaces", .timeLimit(.minutes(20))) struct SpaceMemberTests {
  /// Accounts with tokens for no space at all, whose rights are their roles; `ops` may do everything to all spaces.
  private static let tokens: [AccessToken] =
    ["ann", "bob", "cat", "eve"].map { .of($0, $0, .read, []) } + [
      .of("ops", "ops", .write, ["*"]), .of("inspector", "ann", .inspect, ["*"]),
      .of("creator", "dan", .read, [], creates: ["lists-*"]),
      .of("creator2", "dan", .read, [], creates: ["lists-*"]),
      .of("rival", "eve", .read, [], creates: ["*"]),
    ]

  /// A service with the space `notes`, of which ann is an owner, bob a writer and cat a reader, and the space `others`
  /// of eve.
  private func makeService() async throws -> TestService {
    let test = try TestService(tokens: Self.tokens)
    try await test.makeSpace("notes")
    try await test.makeSpace("others")
    for (account, role) in [("ann", SpaceRole.owner), ("bob", .writer), ("cat", .reader)] {
      try test.add(account, role, to: "notes")
    }
    try test.add("eve", .owner, to: "others")
    return test
  }

  @Test(
    "A role permits what a token for the space with its right does, and changes to members only to owners"
  )
  func roles() async throws {
    let expected: [(account: String, [Int])] = [
      // state, changes, declaration, commit, members, a member's role, removal of nobody
      ("ann", [200, 200, 200, 200, 200, 200, 200]),
      ("bob", [200, 200, 200, 200, 403, 403, 403]),
      ("cat", [200, 200, 403, 403, 403, 403, 403]),
      ("eve", [404, 404, 404, 404, 404, 404, 404]),
      ("ops", [200, 200, 200, 200, 403, 403, 403]),
      // A token for the inspector does nothing else, whatever its account may do.
      ("inspector", [404, 404, 404, 404, 404, 404, 404]),
    ]
    for (secret, statuses) in expected {
      let test = try await makeService()
      var seen: [Int] = []
      for request in test.requests(to: "notes", replica: 1) {
        seen.append(await test.send(request, secret).status)
      }
      #expect(seen == statuses, "\(secret)")
    }
  }

  @Test("The larger one of the rights of a token and of the role of its account counts")
  func largerRight() async throws {
    let test = try TestService(tokens: [
      .of("reads", "ann", .read, ["notes"]), .of("writes", "bob", .write, ["notes"]),
    ])
    try await test.makeSpace("notes")
    #expect(await test.declare("notes", "reads", table: "u").status == 403)
    try test.add("ann", .writer, to: "notes")
    try test.add("bob", .reader, to: "notes")
    #expect(await test.declare("notes", "reads", table: "u").status == 200)
    #expect(await test.declare("notes", "writes", table: "v").status == 200)
    for secret in ["reads", "writes"] {
      #expect(
        await test.answer("GET", "/v1/spaces", secret: secret).text
          == #"{"spaces":[{"name":"notes","access":"write"}]}"#)
    }
  }

  @Test(
    "Whoever has no right in a space gets the same answers whether it exists or not, also as a member of another one"
  )
  func secrecy() async throws {
    let test = try await makeService()
    for secret in ["eve", "rival"] {
      for (known, unknown) in zip(
        test.requests(to: "notes", replica: 7), test.requests(to: "photo", replica: 7))
      {
        // Who may create all spaces learns which names are taken.
        if secret == "rival", known.path.hasSuffix("tables") { continue }
        let (existing, missing) = (await test.send(known, secret), await test.send(unknown, secret))
        #expect(existing.status == 404 && missing.status == 404, "\(known.path)")
        #expect(existing.text.replacing("notes", with: "photo") == missing.text)
        #expect(existing.fields.map(\.name) == missing.fields.map(\.name))
        #expect(existing.fields.map(\.value) == missing.fields.map(\.value))
      }
    }
    #expect(
      await test.answer("GET", "/v1/spaces", secret: "eve").text
        == #"{"spaces":[{"name":"others","access":"write"}]}"#)
    let members = await test.answer("GET", "/v1/spaces/others/members", secret: "eve")
    #expect(members.text == #"{"members":[{"account":"eve","role":"owner"}]}"#)
    #expect(try test.spaces.memberFile.members(of: "notes").count == 3)
    #expect(try test.spaces.names() == ["notes", "others"])
  }

  @Test("An owner adds, changes and removes members; the last owner stays")
  func changes() async throws {
    let test = try await makeService()
    func set(_ account: String, _ body: String, _ secret: String = "ann") async -> HTTPAnswer {
      await test.answer(
        "PUT", "/v1/spaces/notes/members/\(account)", secret: secret, body: Array(body.utf8))
    }
    func remove(_ account: String) async -> HTTPAnswer {
      await test.answer("DELETE", "/v1/spaces/notes/members/\(account)", secret: "ann")
    }
    #expect(await test.answer("GET", "/v1/spaces/notes", secret: "eve").status == 404)
    #expect(
      await set("eve", #"{"role":"reader"}"#).text
        == #"{"members":[{"account":"ann","role":"owner"},{"account":"bob","role":"writer"},"#
        + #"{"account":"cat","role":"reader"},{"account":"eve","role":"reader"}]}"#)
    #expect(await test.answer("GET", "/v1/spaces/notes", secret: "eve").status == 200)
    #expect(await set("auth0%7C1%2F2", #"{"role":"writer"}"#).text.contains(#""auth0|1/2""#))
    for body in [
      "", "{}", "[]", #"{"role":"admin"}"#, #"{"role":"owner","x":1}"#, #"{"role":null}"#,
      #"{"role":"reader"}"# + String(repeating: " ", count: 1_000),
    ] {
      #expect(await set("eve", body).code == "malformed", "\(body)")
    }
    for account in ["%23", "%20", "", "a%00", String(repeating: "a", count: 129)] {
      #expect(await set(account, #"{"role":"reader"}"#).status == 400, "\(account)")
    }
    #expect(await remove("ann").code == "lastOwner")
    #expect(await set("ann", #"{"role":"writer"}"#).code == "lastOwner")
    #expect(await set("ann", #"{"role":"owner"}"#).status == 200)
    #expect(await set("bob", #"{"role":"owner"}"#).status == 200)
    #expect(await remove("cat").status == 200)
    #expect(await remove("nobody").status == 200)
    #expect(await remove("ann").status == 200)
    #expect(await test.answer("GET", "/v1/spaces/notes/members", secret: "ann").status == 404)
    #expect(await test.answer("GET", "/v1/spaces/notes", secret: "cat").status == 404)
    #expect(await set("bob", #"{"role":"reader"}"#, "bob").code == "lastOwner")
    // The operator sees who changed what.
    let log = test.log.map { "\($0.account ?? "-") \($0.space ?? "-"): \($0.message)" }
    #expect(log.contains("ann notes: made eve reader of the space"))
    #expect(log.contains("ann notes: removed the member cat"))
    #expect(!log.contains { $0.contains("admin") })
  }

  @Test("A space has a largest number of members, and a change that is refused changes nothing")
  func count() throws {
    let members = (1...SpaceMember.maxCount).map {
      SpaceMember(account: "a\($0)", role: $0 == 1 ? .owner : .reader)
    }
    let more = SpaceMemberChange(account: "b", role: .reader, asker: "a1")
    #expect(throws: SyncRequestError.self) { try more.applied(to: members) }
    #expect(try more.applied(to: Array(members.dropLast())).count == SpaceMember.maxCount)
    let changed = try SpaceMemberChange(account: "a2", role: .writer).applied(to: members)
    #expect(Set(changed).symmetricDifference(members).count == 2)
    for asker in ["a2", "b"] {
      let change = SpaceMemberChange(account: "a3", role: nil, asker: asker)
      #expect(throws: SyncRequestError.ownersOnly) { try change.applied(to: members) }
    }
    let last = SpaceMemberChange(account: "a1", role: nil)
    #expect(try last.applied(to: members).count == SpaceMember.maxCount - 1)
  }

  @Test("Whoever may create a space owns it from its first declaration on, and nobody else gets it")
  func creation() async throws {
    let test = try await makeService()
    #expect(await test.answer("GET", "/v1/spaces/lists-1", secret: "creator").status == 404)
    for name in ["notes", "list", "photos"] {
      #expect(await test.declare(name, "creator").status == 404)
    }
    #expect(try test.spaces.names() == ["notes", "others"])
    #expect(await test.declare("lists-1", "creator").status == 200)
    let owner = #"{"members":[{"account":"dan","role":"owner"}]}"#
    #expect(
      await test.answer("GET", "/v1/spaces/lists-1/members", secret: "creator").text == owner)
    // Another device of the account, and another account.
    #expect(await test.declare("lists-1", "creator2", table: "u").status == 200)
    #expect(await test.declare("lists-1", "rival").status == 404)
    #expect(await test.declare("notes", "rival").status == 404)
    #expect(try test.spaces.memberFile.members(of: "notes").count == 3)
    #expect(
      await test.answer("GET", "/v1/spaces", secret: "creator").text
        == #"{"spaces":[{"name":"lists-1","access":"write"}]}"#)
    // A right to write creates a space without an owner.
    #expect(await test.declare("plain", "ops").status == 200)
    #expect(try test.spaces.memberFile.members(of: "plain") == [])
    #expect(test.log.contains { $0.account == "dan" && $0.space == "lists-1" })
  }

  @Test(
    "Of many accounts that create the same space at once, one owns it, and the others do not see it"
  )
  func creationAtOnce() async throws {
    let accounts = (1...20).map { "a\($0)" }
    let test = try TestService(
      tokens: accounts.map { .of($0, $0, .read, [], creates: ["*"]) })
    let created = await withTaskGroup(of: String?.self) { group in
      for account in accounts {
        group.addTask { await test.declare("lists", account).status == 200 ? account : nil }
      }
      return await group.reduce(into: [String]()) { if let account = $1 { $0.append(account) } }
    }
    #expect(created.count == 1)
    let members = try test.spaces.memberFile.members(of: "lists")
    #expect(members == created.map { SpaceMember(account: $0, role: .owner) })
  }

  @Test(
    "An account creates as many spaces as it may, those counted that it gives away, and no others")
  func createdCount() async throws {
    let test = try TestService(
      tokens: [
        .of("dan", "dan", .read, [], creates: ["*"]), .of("eve", "eve", .read, [], creates: ["*"]),
      ], maxCreatedCount: 2)
    for name in ["a", "b"] { #expect(await test.declare(name, "dan").status == 200) }
    #expect(await test.declare("c", "dan").code == "overQuota")
    try test.add("eve", .owner, to: "a")
    try test.remove("dan", from: "a")
    #expect(await test.declare("c", "dan").code == "overQuota")
    #expect(await test.declare("b", "dan", table: "u").status == 200)
    for name in ["d", "e"] { #expect(await test.declare(name, "eve").status == 200) }
    #expect(await test.declare("f", "eve").code == "overQuota")
    try test.spaces.memberFile.rename("d", to: "g") {}
    #expect(await test.declare("f", "eve").code == "overQuota")
    try test.spaces.memberFile.replace([], of: "g")
    #expect(await test.declare("f", "eve").status == 200)
    #expect(try test.spaces.names() == ["a", "b", "d", "e", "f"])
  }

  @Test("What a name has of members without a space gives nobody a right when a space is created")
  func leftMembers() async throws {
    let test = try await makeService()
    // As after a crash between the two files.
    for name in ["lists-1", "plain"] { try test.add("bob", .owner, to: name) }
    #expect(await test.declare("lists-1", "bob").status == 404)
    #expect(await test.answer("GET", "/v1/spaces", secret: "bob").text.contains("notes"))
    #expect(!(await test.answer("GET", "/v1/spaces", secret: "bob").text.contains("plain")))
    #expect(await test.declare("lists-1", "creator").status == 200)
    #expect(await test.declare("plain", "ops").status == 200)
    for name in ["lists-1", "plain"] {
      #expect(await test.answer("GET", "/v1/spaces/\(name)", secret: "bob").status == 404)
    }
    // If the space cannot be created, its name stays free.
    let full = try TestService(
      tokens: [.of("c", "dan", .read, [], creates: ["*"])], maxSpaceCount: 0)
    #expect(await full.declare("lists", "c").code == "overLimit")
    #expect(try full.spaces.memberFile.members(of: "lists") == [])
  }

  @Test("A former member gets no further commit, and its stream ends; the others go on")
  func streams() async throws {
    var limits = SyncService.Limits()
    limits.heartbeat = .seconds(3_600)
    let tokens: [AccessToken] = [
      .of("ann", "ann", .read, []), .of("bob", "bob", .read, []), .of("cat", "cat", .read, ["*"]),
    ]
    try await TestEvents.with(tokens: tokens, limits: limits) { test in
      for account in ["ann", "bob", "cat"] { try test.service.add(account, .reader, to: "notes") }
      var streams: [EventReader] = []
      for secret in ["ann", "bob", "cat"] {
        streams.append(try await test.stream(since: test.head, secret: secret))
      }
      let first = try await test.commit([insertion(1)])
      for stream in streams { #expect(try await stream.next().revision == first) }
      for account in ["bob", "cat"] { try test.service.remove(account, from: "notes") }
      let second = try await test.commit([insertion(2)])
      #expect(try await streams[0].next().revision == second)
      await streams[1].waitForEnd()
      // Its token may read all spaces.
      #expect(try await streams[2].next().revision == second)
    }
  }

  @Test("Another program may change the members while a server runs, and a newer file is refused")
  func otherProgram() async throws {
    let test = try await makeService()
    let path = test.folder.path(of: "spaces")
    let other = MemberFile(in: path)
    _ = try other.change(SpaceMemberChange(account: "eve", role: .reader), in: "notes")
    #expect(await test.answer("GET", "/v1/spaces/notes", secret: "eve").status == 200)
    _ = try other.change(SpaceMemberChange(account: "eve", role: nil), in: "notes")
    #expect(await test.answer("GET", "/v1/spaces/notes", secret: "eve").status == 404)
    // A copy of the file is complete while the server runs.
    _ = try other.change(SpaceMemberChange(account: "fay", role: .owner), in: "notes")
    test.folder.create("members.sqlite", test.folder.bytes(of: "spaces/members.sqlite"))
    let copy = MemberFile(in: test.folder.path)
    #expect(try copy.members(of: "notes") == other.members(of: "notes"))
    try DatabaseConnection(path: "\(path)/members.sqlite").execute("PRAGMA user_version = 2")
    #expect(throws: ServerError.self) { try MemberFile(in: path).members(of: "notes") }
  }

  @Test(
    "The list for a server that follows changes with the members, whichever program changes them")
  func copies() async throws {
    let test = try await makeService()
    let path = test.folder.path(of: "spaces")
    let directory = test.spaces
    func tags() throws -> [String: String] {
      try directory.copies().spaces.mapValues { String($0.split(separator: ";").last ?? "") }
    }
    func tag(_ members: [(String, SpaceRole)]) -> String {
      SpaceMember.tag(of: members.map { SpaceMember(account: $0.0, role: $0.1) })
    }
    let others = tag([("eve", .owner)])
    #expect(
      try tags() == [
        "notes": tag([("ann", .owner), ("bob", .writer), ("cat", .reader)]), "others": others,
      ])
    try test.add("bob", .reader, to: "notes")
    #expect(
      try tags() == [
        "notes": tag([("ann", .owner), ("bob", .reader), ("cat", .reader)]), "others": others,
      ])
    _ = try MemberFile(in: path).change(SpaceMemberChange(account: "cat", role: nil), in: "notes")
    let left = tag([("ann", .owner), ("bob", .reader)])
    #expect(try tags() == ["notes": left, "others": others])
    #expect(try await directory.rename("notes", to: "later"))
    try await directory.delete("others")
    #expect(try tags() == ["later": left])
    try await test.makeSpace("others2")
    #expect(try tags() == ["later": left, "others2": tag([])])
  }

  @Test("A request for the list of copies that waits is answered when a member is removed")
  func heldList() async throws {
    let test = try TestService(tokens: Self.tokens + [.of("follower", "sam", .follow, ["*"])])
    try await test.makeSpace("notes")
    try test.add("ann", .owner, to: "notes")
    func list(_ tag: String?) async throws -> SpaceCopyList {
      let target = "/v1/copies" + (tag.map { "?tag=\($0)" } ?? "")
      return try SpaceCopyList(await test.answer("GET", target, secret: "follower").bytes)
    }
    // Until the times of the files stand for their state, the list changes at each moment.
    let file = test.spaces.file(of: "notes")
    for suffix in ["", "-wal"] where access(file + suffix, F_OK) == 0 {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: file + suffix
      )
    }
    let before = try await list(nil)
    let same = try await list(nil)
    #expect(before == same)
    async let held = list(before.tag)
    try test.remove("ann", from: "notes")
    let after = try await held
    #expect(after.tag != before.tag)
    #expect(after.spaces["notes"]?.hasSuffix(";\(SpaceMember.tag(of: []))") == true)
  }

  @Test("Members are given to servers that follow, once, and to no other token")
  func givenMembers() async throws {
    let test = try TestService(tokens: Self.tokens + [.of("follower", "sam", .follow, ["*"])])
    try await test.makeSpace("notes")
    try test.add("ann", .owner, to: "notes")
    try test.add("bob", .reader, to: "notes")
    let path = "/v1/spaces/notes/copy"
    for secret in ["ann", "bob", "eve", "ops", "inspector", "creator"] {
      for query in ["?members=none", ""] {
        let answer = await test.answer("GET", path + query, secret: secret)
        #expect(answer.status == 403)
        #expect(!answer.text.contains("bob"), "\(answer.text)")
      }
      #expect(await test.answer("GET", "/v1/copies", secret: secret).status == 403)
    }
    #expect(await test.answer("GET", "\(path)?members=none").status == 401)
    #expect(await test.answer("GET", "/v1/spaces/notes/members", secret: "follower").status == 404)
    func members(_ query: String) async throws -> [SpaceMember]? {
      let answer = await test.answer("GET", path + query, secret: "follower")
      return try SpaceCopyHeader(ofPage: answer.bytes).members
    }
    let all = try test.spaces.memberFile.members(of: "notes")
    #expect(all.map(\.account) == ["ann", "bob"])
    #expect(try await members("?members=none") == all)
    #expect(try await members("?members=\(SpaceMember.tag(of: all))") == nil)
    #expect(try await members("") == nil)
    try test.remove("bob", from: "notes")
    #expect(try await members("?members=\(SpaceMember.tag(of: all))") == Array(all.prefix(1)))
  }

  @Test("If the members cannot be read, requests fail, and no right is given")
  func unreadable() async throws {
    let test = try TestService(tokens: [
      .of("ann", "ann", .read, []), .of("ops", "ops", .write, ["*"]),
    ])
    try await test.makeSpace("notes")
    try test.folder.write("no database, and longer than its header", to: "spaces/members.sqlite")
    for path in ["/v1/spaces", "/v1/spaces/notes"] {
      #expect(await test.answer("GET", path, secret: "ann").status == 503)
    }
    #expect(await test.answer("GET", "/v1/spaces/notes", secret: "ops").status == 200)
  }
}

extension TestService {
  func add(_ account: String, _ role: SpaceRole, to space: String) throws {
    _ = try spaces.memberFile.change(
      SpaceMemberChange(account: account, role: role), in: space)
  }

  func remove(_ account: String, from space: String) throws {
    _ = try spaces.memberFile.change(SpaceMemberChange(account: account, role: nil), in: space)
  }

  func declare(_ space: String, _ secret: String, table: String = "t") async -> HTTPAnswer {
    let table = SpaceTable(
      name: table, columns: ["a"], keyColumns: ["id"], granularity: .field)
    return await answer(
      "POST", "/v1/spaces/\(space)/tables", secret: secret, body: SyncMessageWriter.bytes([table]))
  }

  /// Requests about a space: those of replicas, and those about its members.
  fileprivate func requests(
    to space: String, replica: Int
  ) -> [(method: String, path: String, body: String)] {
    let path = "/v1/spaces/\(space)"
    var replica = TestReplica(seed: replica)
    let other = SpaceTable(name: "w", columns: ["c"], keyColumns: ["id"], granularity: .field)
    let tables = String(decoding: SyncMessageWriter.bytes([other]), as: UTF8.self)
    let commit = replica.commit(SpaceRevision(epoch: replica.id, version: 0, mark: 0), [])
    return [
      ("GET", path, ""), ("GET", "\(path)/changes", ""), ("POST", "\(path)/tables", tables),
      ("POST", "\(path)/commits", String(decoding: SyncMessageWriter.bytes(commit), as: UTF8.self)),
      ("GET", "\(path)/members", ""), ("PUT", "\(path)/members/fay", #"{"role":"reader"}"#),
      ("DELETE", "\(path)/members/nobody", ""),
    ]
  }

  fileprivate func send(
    _ request: (method: String, path: String, body: String), _ secret: String
  ) async -> HTTPAnswer {
    let answer = await answer(
      request.method, request.path, secret: secret, body: Array(request.body.utf8))
    // The base of the commit is of no history: whoever may commit hears so.
    return answer.status == 410 ? HTTPAnswer(status: 200, "") : answer
  }
}
