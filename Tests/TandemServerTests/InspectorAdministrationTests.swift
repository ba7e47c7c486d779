import Foundation
import TandemDigests
import TandemRecords
import TandemServer
import TandemSpace
import TandemSync
import TestFolder
import Testing

/// What administrators do on the page, and who may not.
@Suite("Administration on the inspector's page", .timeLimit(.minutes(20)))
struct InspectorAdministrationTests {
  private static let tokens: [AccessToken] = [
    .of("admin", "adm", .admin, ["*"]), .of("adminOfNotes", "nan", .admin, ["notes*"]),
    .of("inspector", "ops", .inspect, ["*"]), .of("writer", "ann", .write, ["*"]),
    .of("member", "bob", .read, []),
  ]

  /// The file of a service's access tokens.
  private struct Tokens: TokenPlace {
    let folder: TemporaryFolder
    var name: String { folder.path(of: "tokens") }

    func read() throws -> (tokens: TokenList, uses: [SHA256Digest: Int]) {
      (try TokenFile.read(name), [SHA256Digest(of: "writer".utf8): 1_000])
    }

    func change(creates: Bool, _ body: (inout TokenList) throws -> Void) throws {
      var list = try TokenFile.read(name)
      try body(&list)
      try folder.write(list.text, to: "new")
      #expect(rename(folder.path(of: "new"), name) == 0)
    }

    func end() {}
  }

  private func makeService() async throws -> TestService {
    let test = try TestService(tokens: Self.tokens)
    for name in ["notes", "others"] { try await test.makeSpace(name) }
    return test
  }

  private func act(
    _ action: String, _ secret: String?, _ test: TestService, type: String = "application/json",
    method: String = "POST", service: SyncService? = nil
  ) async -> HTTPAnswer {
    let inspector = Inspector(service ?? test.service, tokens: Tokens(folder: test.folder))
    let authorization = secret.map { [("Authorization", "Bearer \($0)")] } ?? []
    let head = ServedRequestHead(
      method: method, target: "/inspect/action",
      fields: [("Host", "127.0.0.1:7420"), ("Content-Type", type)] + authorization,
      address: "192.0.2.7")
    if case .refused(let refusal) = inspector.admission(of: head) { return refusal }
    return await inspector.answer(ServedRequest(head: head, body: Array(action.utf8)))
  }

  private static let actions = [
    #"{"action":"tokens","search":""}"#,
    #"{"action":"createToken","account":"eve","access":"write","spaces":"*","create":""}"#,
    #"{"action":"revokeToken","id":"000000000000"}"#,
    #"{"action":"setMember","space":"others","account":"eve","role":"owner"}"#,
    #"{"action":"forget","space":"others","keep":"0"}"#,
    #"{"action":"rename","space":"others","confirm":"others","name":"notes2"}"#,
    #"{"action":"delete","space":"others","confirm":"others"}"#,
  ]

  @Test("The log of a refused request has the account and the space")
  func refusedRequests() async throws {
    let test = try await makeService()
    let forget = #"{"action":"forget","space":"others","keep":"0"}"#
    for (secret, account, space, status) in [
      ("adminOfNotes", "nan", "others", 404), ("writer", "ann", nil, 403),
      ("inspector", "ops", nil, 403),
    ] as [(String, String, String?, Int)] {
      let answer = await act(forget, secret, test)
      #expect(answer.status == status)
      #expect(answer.event.account == account && answer.event.space == space)
    }
    let head = ServedRequestHead(
      method: "GET", target: "/inspect/state?space=others",
      fields: [("Host", "127.0.0.1:7420"), ("Authorization", "Bearer adminOfNotes")])
    let answer = await Inspector(test.service).answer(ServedRequest(head: head))
    #expect(answer.status == 404)
    #expect(answer.event.account == "nan" && answer.event.space == "others")
  }

  @Test("Nobody administers the copies of a server that follows, but its access tokens")
  func copies() async throws {
    let test = try await makeService()
    let path = test.folder.path(of: "spaces")
    try Following.begin(path, leader: "http://leader.example")
    let service = SyncService(
      spaces: test.spaces, tokens: try TokenFile(path: test.folder.path(of: "tokens")),
      following: Following(leader: "http://leader.example", in: path))
    for action in Self.actions {
      let answer = await act(action, "admin", test, service: service)
      #expect((answer.status == 503) == action.contains("\"space\""), "\(action): \(answer.text)")
    }
    #expect(try test.spaces.names() == ["notes", "others"])
    #expect(try test.spaces.memberFile.members(of: "others") == [])
  }

  @Test("Nobody but an administrator does anything, and one of some spaces nothing to others")
  func rights() async throws {
    let test = try await makeService()
    let before = try test.folder.text(of: "tokens")
    for action in Self.actions {
      for (secret, status) in [
        (nil, 401), ("nonsense", 401), ("inspector", 403), ("writer", 403), ("member", 403),
      ] as [(String?, Int)] {
        #expect(await act(action, secret, test).status == status, "\(secret ?? "-") \(action)")
      }
      let others = await act(action, "adminOfNotes", test)
      #expect(others.status == (action.contains("oken") ? 403 : 404), "\(action): \(others.text)")
      // As for a space that does not exist.
      let missing = await act(action.replacing("others", with: "photos"), "adminOfNotes", test)
      #expect(others.text.replacing("others", with: "photos") == missing.text)
      #expect(await act(action, "admin", test, type: "text/plain").status == 415)
      #expect(await act(action, "admin", test, method: "PUT").status == 405)
    }
    #expect(try test.folder.text(of: "tokens") == before)
    #expect(try test.spaces.names() == ["notes", "others"])
    #expect(try test.spaces.memberFile.members(of: "others") == [])
    // Its token reads no records, and has no role.
    try test.add("adm", .owner, to: "notes")
    for path in ["/v1/spaces/notes", "/v1/spaces/notes/members"] {
      #expect(await test.answer("GET", path, secret: "admin").status == 404)
    }
    // A server without access tokens has no administrators.
    let open = try TestService()
    #expect(await act(Self.actions[0], nil, open).status == 403)
  }

  @Test("A token is made, works at once, is listed without its secret, and is revoked")
  func tokens() async throws {
    let test = try await makeService()
    let made = await act(
      #"{"action":"createToken","account":"eve","access":"read","spaces":"notes","create":"eve-*","#
        + #""expires":"2099-01-31","note":"a phone"}"#, "admin", test)
    #expect(made.field("Cache-Control") == "no-store")
    let fields = try JSONDecoder().decode([String: String].self, from: Data(made.bytes))
    let (id, secret) = (try #require(fields["id"]), try #require(fields["token"]))
    #expect(await test.answer("GET", "/v1/spaces/notes", secret: secret).status == 200)
    #expect(await test.declare("eve-1", secret).status == 200)
    let list = await act(#"{"action":"tokens","search":"EVE"}"#, "admin", test)
    #expect(
      list.text
        == #"{"count":1,"tokens":[{"id":"\#(id)","account":"eve","access":"read","spaces":["notes"],"#
        + #""create":["eve-*"],"expires":"2099-01-31T00:00:00Z","used":null,"#
        + #""note":"a phone","isExpired":false}]}"#)
    #expect(
      await act(#"{"action":"tokens","search":""}"#, "admin", test).text
        .contains(#""used":"1970-01-01T00:16:40Z""#))
    #expect(await act(#"{"action":"revokeToken","id":"\#(id)"}"#, "admin", test).text == "{}")
    #expect(await test.answer("GET", "/v1/spaces/notes", secret: secret).status == 401)
    #expect(await act(#"{"action":"revokeToken","id":"\#(id)"}"#, "admin", test).status == 400)
    let log = test.log.map { "\($0.account ?? "-") \($0.address ?? "-") \($0.message)" }
    #expect(
      log.contains(
        "adm 192.0.2.7 created the access token \(id): eve read notes create=eve-* "
          + "expires=2099-01-31T00:00:00Z"))
    #expect(log.contains("adm 192.0.2.7 revoked the access token \(id)"))
    #expect(!log.contains { $0.contains(secret) || $0.contains("phone") })
  }

  @Test("Members, history and names of a space are changed, and the log has each change")
  func spaces() async throws {
    let test = try await makeService()
    let run = Task { await test.service.run() }
    var replica = TestReplica(seed: 1)
    var head = try await test.makeSpace("notes")
    for number in 1...3 {
      let commit = replica.commit(head, [insertion(number)])
      let answer = await test.answer(
        "POST", "/v1/spaces/notes/commits", secret: "writer", body: SyncMessageWriter.bytes(commit))
      guard case .accepted(let revision, _) = try answer.outcome() else {
        throw CancellationError()
      }
      head = revision
    }
    let stream = EventReader(
      try #require(
        await test.answer("GET", "/v1/spaces/notes/events", secret: "writer").stream))
    for (action, status) in [
      (#"{"action":"setMember","space":"notes","account":"bob","role":"owner"}"#, 200),
      (#"{"action":"forget","space":"notes","keep":"1"}"#, 200),
      (#"{"action":"rename","space":"notes","confirm":"note","name":"notes2"}"#, 400),
      (#"{"action":"rename","space":"notes","confirm":"notes","name":"others"}"#, 404),
      (#"{"action":"rename","space":"notes","confirm":"notes","name":"notes2"}"#, 200),
      (#"{"action":"setMember","space":"notes2","account":"bob","role":null}"#, 200),
    ] {
      let answer = await act(action, "adminOfNotes", test)
      #expect(answer.status == status, "\(action): \(answer.text)")
    }
    // Its streams end without waiting for the next heartbeat, which is 15 s away.
    await stream.waitForEnd()
    #expect(try test.spaces.names() == ["notes2", "others"])
    let state = try await test.spaces.with("notes2") { try await $0.state() }
    #expect(state.head == head && state.horizon == 2)
    #expect(
      await test.answer("GET", "/v1/spaces/notes", secret: "writer").text.contains("called notes2"))
    #expect(
      await act(
        #"{"action":"rename","space":"others","confirm":"others","name":"notes2"}"#, "admin", test
      )
      .status == 400)
    #expect(
      await act(#"{"action":"delete","space":"notes2","confirm":"notes2"}"#, "admin", test).status
        == 200)
    #expect(try test.spaces.names() == ["others"])
    #expect(await test.declare("notes2", "writer").text.contains("was deleted"))
    let log = test.log.filter { $0.level == .notice }
      .map { "\($0.account ?? "-") \($0.space ?? "-"): \($0.message)" }
    #expect(
      log == [
        "nan notes: made bob owner of the space", "nan notes: forgot the commits up to version 2",
        "nan notes: renamed the space to notes2", "nan notes2: removed the member bob",
        "adm notes2: deleted the space",
      ])
    run.cancel()
    await run.value
  }

  @Test("A space that is in use is renamed between requests, and none of them is lost or doubled")
  func busy() async throws {
    let test = try TestService(tokens: Self.tokens)
    try await test.makeSpace("s0")
    let done = await withTaskGroup(of: Int.self) { group in
      for seed in 1...4 {
        group.addTask {
          var (replica, count, name) = (TestReplica(seed: seed), 0, 0)
          var commit: SyncCommit?
          while count < 10 {
            guard let head = try? await test.spaces.with("s\(name)", { try await $0.state().head })
            else {
              name = (name + 1) % 6
              continue
            }
            let sent = commit ?? replica.commit(head, [insertion(100 * seed + count)])
            commit = sent
            let answer = await test.answer(
              "POST", "/v1/spaces/s\(name)/commits", secret: "writer",
              body: SyncMessageWriter.bytes(sent))
            guard answer.status == 200 else { continue }
            (commit, count) = (nil, count + 1)
          }
          return count
        }
      }
      for name in 0..<5 {
        let action =
          #"{"action":"rename","space":"s\#(name)","confirm":"s\#(name)","name":"s\#(name + 1)"}"#
        let answer = await act(action, "admin", test)
        #expect(answer.status == 200, "\(answer.text)")
      }
      return await group.reduce(0, +)
    }
    let state = try await test.spaces.with("s5") { try await $0.state() }
    #expect(done == 40 && state.head.version == 40)
  }

  @Test("An action that is wrong is refused, and says what is")
  func malformed() async throws {
    let test = try await makeService()
    for (action, part) in [
      ("", "no JSON object"), ("[]", "no JSON object"), ("{}", "action is missing"),
      (#"{"action":"reboot"}"#, "no such action"), (#"{"action":"tokens"}"#, "search is missing"),
      (#"{"action":"tokens","search":"","x":1}"#, "no field x"),
      (#"{"action":"setMember","space":"notes","account":"a b","role":"owner"}"#, "account"),
      (#"{"action":"setMember","space":"notes","account":"a","role":"boss"}"#, "reader, writer"),
      (#"{"action":"setMember","space":"notes","account":"a"}"#, "role is missing"),
      (#"{"action":"forget","space":"notes","keep":"-1"}"#, "number of commits"),
      (#"{"action":"delete","space":"notes"}"#, "confirm is missing"),
      (#"{"action":"delete","space":"notes","confirm":"Notes"}"#, "not that of the space"),
      (#"{"action":"rename","space":"notes","confirm":"notes","name":"../x"}"#, "name is not"),
      (
        #"{"action":"createToken","account":"a","access":"root","spaces":"*","create":""}"#,
        "access"
      ),
      (
        #"{"action":"createToken","account":"a","access":"read","spaces":"a,*","create":""}"#,
        "spaces"
      ),
      (
        #"{"action":"createToken","account":"a","access":"read","spaces":"a","create":"","expires":"soon"}"#,
        "expires"
      ),
      (#"{"action":"tokens","search":""}"# + String(repeating: " ", count: 64 << 10), "no JSON"),
    ] {
      let answer = await act(action, "admin", test)
      #expect(answer.status == 400 && answer.text.contains(part), "\(action): \(answer.text)")
    }
    #expect(try test.spaces.names() == ["notes", "others"])
  }
}
