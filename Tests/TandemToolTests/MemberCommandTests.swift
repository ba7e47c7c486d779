import Foundation
import Tandem
import TestFolder
import TestPostgreSQL
import TestTool
import Testing

@testable import TandemPostgreSQL

@Suite("tandem member, and members over HTTP", .timeLimit(.minutes(20)))
struct MemberCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let tables =
    #"[{"name":"note","key":["id"],"columns":["title"],"granularity":"field"}]"#

  /// A server with access tokens that are for no space by themselves.
  private func makeStore(
    isDatabase: Bool, _ options: [String] = []
  ) async throws -> ServedStore {
    let store = try ServedStore(isDatabase: isDatabase, folder)
    for account in ["ann", "bob", "cat", "eve"] {
      let create = ["ann", "eve"].contains(account) ? "--create '\(account)-*'" : ""
      try await store.makeToken(account, "--members \(create)")
    }
    try await store.start(options)
    return store
  }

  private func request(
    _ method: String, _ path: String, _ account: String, _ body: String? = nil,
    at store: ServedStore
  ) async throws -> (status: Int, text: String) {
    try await answer(
      "\(store.url)/v1/spaces\(path)", method: method, secret: store.secrets[account], body: body)
  }

  @Test(
    "An account creates a space and lets others in; nobody else learns of it, reads or changes it",
    arguments: [false, true])
  func story(isDatabase: Bool) async throws {
    let store = try await makeStore(isDatabase: isDatabase)
    for (account, space, status) in [
      ("ann", "ann-1", 200), ("eve", "eve-1", 200), ("bob", "bob-1", 404), ("eve", "ann-1", 404),
      ("ann", "eve-1", 404),
    ] {
      let made = try await request("POST", "/\(space)/tables", account, Self.tables, at: store)
      #expect(made.status == status, "\(account) \(space): \(made.text)")
    }
    for (account, role) in [("bob", "writer"), ("cat", "reader")] {
      let body = #"{"role":"\#(role)"}"#
      #expect(
        try await request("PUT", "/ann-1/members/\(account)", "ann", body, at: store).status == 200)
    }
    let own = #"{"spaces":[{"name":"ann-1","access":"write"}]}"#
    for (account, list) in [
      ("ann", own), ("bob", own), ("cat", own.replacing("write", with: "read")),
      ("eve", own.replacing("ann", with: "eve")),
    ] {
      #expect(try await request("GET", "", account, at: store).text == list)
    }
    // No request of an account without a role is answered as one for a space that exists.
    for (method, path, body) in [
      ("GET", "", nil), ("GET", "/changes", nil), ("GET", "/events", nil),
      ("POST", "/tables", Self.tables), ("POST", "/commits", "{}"), ("GET", "/members", nil),
      ("PUT", "/members/eve", #"{"role":"owner"}"#), ("DELETE", "/members/ann", nil),
    ] as [(String, String, String?)] {
      let existing = try await request(method, "/ann-1\(path)", "eve", body, at: store)
      let missing = try await request(method, "/ann-2\(path)", "eve", body, at: store)
      #expect(existing.status == 404, "\(method) \(path)")
      #expect(existing.text.replacing("ann-1", with: "ann-2") == missing.text)
    }
    for (account, path) in [("bob", "/members/bob"), ("cat", "/members/ann")] {
      let body = #"{"role":"owner"}"#
      #expect(try await request("PUT", "/ann-1\(path)", account, body, at: store).status == 403)
    }
    let last = try await request("DELETE", "/ann-1/members/ann", "ann", at: store)
    #expect(last.status == 409 && last.text.contains("lastOwner"))
    #expect(
      try await shell("$tandem member ann-1 list \(store.words)").output
        == "ann owner\nbob writer\ncat reader\n")
    await store.stop()
  }

  @Test(
    "A member that is removed loses its access, and its stream before a heartbeat, by command or HTTP",
    arguments: [false, true])
  func removal(isDatabase: Bool) async throws {
    let store = try await makeStore(isDatabase: isDatabase, ["--heartbeat", "3600"])
    _ = try await request("POST", "/ann-1/tables", "ann", Self.tables, at: store)
    let program = """
      import sys, urllib.request as u
      for line in u.urlopen(u.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]})):
        print(line.decode().strip())
      """
    for (account, removal) in [
      ("bob", "$tandem member ann-1 remove bob \(store.words)"), ("cat", ""),
    ] {
      try await shell("$tandem member ann-1 add \(account) --role reader \(store.words)")
      let stream = try RunningTool(
        [
          "python3", "-u", "-c", program, "\(store.url)/v1/spaces/ann-1/events",
          store.secrets[account] ?? "",
        ], executable: "/usr/bin/env")
      while let line = await stream.line(), line != ":" {}
      if removal.isEmpty {
        let removed = try await request("DELETE", "/ann-1/members/\(account)", "ann", at: store)
        #expect(removed.status == 200)
      } else {
        try await shell(removal)
      }
      #expect(try await request("GET", "/ann-1", account, at: store).status == 404)
      // No heartbeat shows the server that the client may no longer read.
      while await stream.line() != nil {}
      _ = await stream.end()
    }
    await store.stop()
  }

  @Test(
    "Members go with their space to another name, into an export and back; a deleted one has none",
    arguments: [false, true])
  func names(isDatabase: Bool) async throws {
    let store = try await makeStore(isDatabase: isDatabase)
    _ = try await request("POST", "/ann-1/tables", "ann", Self.tables, at: store)
    try await shell("$tandem member ann-1 add bob --role writer \(store.words)")
    if !isDatabase { await store.stop() }
    let members = "ann owner\nbob writer\n"
    func list(_ space: String) async throws -> String {
      try await shell("$tandem member \(space) list \(store.words)").output
    }
    try await shell(
      """
      $tandem space rename team --space ann-1 --confirm ann-1 \(store.words) &&
      $tandem space export team.space --space team \(store.words)
      """)
    #expect(try await list("team") == members)
    try await shell("$tandem member team remove bob \(store.words)")
    try await shell(
      """
      $tandem space delete --space team --confirm team \(store.words) &&
      $tandem space import team.space --space copy \(store.words) &&
      $tandem space import team.space --space team \(store.words)
      """)
    #expect(try await list("copy") == members)
    #expect(try await list("team") == members)
    try await shell("$tandem space delete --space copy --confirm copy \(store.words)")
    try await shell("$tandem member copy list \(store.words)", status: 1)
    if !isDatabase { try await store.start() }
    #expect(
      try await request("GET", "", "bob", at: store).text
        == #"{"spaces":[{"name":"team","access":"write"}]}"#)
    // A member hears of the new name; others do not.
    let renamed = try await request("GET", "/ann-1", "bob", at: store)
    #expect(renamed.status == 404 && renamed.text.contains("is called team now"))
    let other = try await request("POST", "/ann-1/tables", "ann", Self.tables, at: store)
    #expect(other.status == 404 && other.text.contains("is called team now"))
    for account in ["cat", "eve"] {
      let answer = try await request("GET", "/ann-1", account, at: store)
      #expect(answer.status == 404 && !answer.text.contains("team"))
    }
    await store.stop()
  }

  @Test("Backups and copies into another store take the members along, and no leftover of a space")
  func copies() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    try PostgreSQLSchema.create(PostgreSQLConnection(address: address))
    let store = try await makeStore(isDatabase: false)
    for space in ["ann-1", "ann-2"] {
      _ = try await request("POST", "/\(space)/tables", "ann", Self.tables, at: store)
    }
    try await shell("$tandem member ann-1 add bob --role reader --data spaces")
    // While the server runs.
    try await shell(
      """
      $tandem backup --data spaces out -q && $tandem backup --data spaces out --json > second &&
      grep '"unchanged":2' second && $tandem backup --check out -q
      """)
    await store.stop()
    let members = "ann owner\nbob reader\n"
    try await shell(
      """
      $tandem restore --data restored out -q && $tandem member ann-1 list --data restored > restored.txt
      sqlite3 restored/ann-1.space "SELECT * FROM sqlite_schema WHERE name = 'tandem_member'" > left
      $tandem store copy spaces '\(address)' -q && $tandem member ann-1 list --store '\(address)' > stored.txt
      $tandem member ann-1 remove bob --store '\(address)'
      $tandem store copy '\(address)' back -q && $tandem member ann-1 list --data back > back.txt
      $tandem store copy back '\(address)' -q && $tandem member ann-2 list --store '\(address)' > again.txt
      """)
    for (file, text) in [
      ("restored.txt", members), ("stored.txt", members), ("left", ""),
      ("back.txt", "ann owner\n"), ("again.txt", "ann owner\n"),
    ] {
      #expect(try folder.text(of: file) == text, "\(file)")
    }
  }

  @Test(
    "tandem token works while a server runs that has its spaces and its tokens in one directory")
  func oneDirectory() async throws {
    try await shell(
      "mkdir spaces && $tandem token create --tokens spaces/tokens --account ann --space notes")
    let server = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--tokens", folder.path(of: "spaces/tokens"),
      "--listen", "127.0.0.1:0", "--json",
    ])
    let url = try await server.servedURL()
    // Several at once, each of which replaces the file.
    let made = try await shell(
      """
      for i in 1 2 3 4 5 6 7 8; do
        $tandem token create --tokens spaces/tokens --account bob --space notes 2>/dev/null >token$i &
      done
      wait; cat token*
      """)
    let secrets = made.output.split(separator: "\n").map(String.init)
    #expect(Set(secrets).count == 8)
    for secret in secrets {
      #expect(try await answer("\(url)/v1/spaces", secret: secret).status == 200)
    }
    server.signal(SIGTERM)
    #expect(await server.end() == 0)
    // So do those that make a file.
    try await shell(
      """
      for i in 1 2 3 4 5 6 7 8; do
        $tandem token create --tokens new --account bob --space notes >/dev/null 2>&1 &
      done
      wait; [ "$($tandem token list --tokens new | wc -l)" = 8 ] && [ "$(stat -c %a new)" = 600 ]
      """)
    try await shell("$tandem token list --tokens missing", status: 1)
    try await shell("$tandem token create --tokens no/file --account bob --space s", status: 1)
  }

  @Test("Wrong words, accounts, roles and spaces are refused, and say what to write")
  func refusals() async throws {
    try await shell(
      """
      mkdir spaces; sqlite3 a.db "CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT)"
      $tandem attach a.db --space spaces/notes.space --table t -q
      """)
    for (words, status, part) in [
      ("notes add bob --data spaces", 2, "--role is missing"),
      ("notes add bob --role boss --data spaces", 2, "owner, writer or reader"),
      ("notes add --role owner --data spaces", 2, "write add ACCOUNT"),
      ("notes list bob --data spaces", 2, "write add ACCOUNT"),
      ("notes remove bob --role owner --data spaces", 2, "--role is for add"),
      ("notes add 'b b' --role owner --data spaces", 2, "name of an account"),
      ("notes list", 2, "--data"), ("notes list --data spaces --store x", 2, "--data"),
      ("note list --data spaces", 1, "did you mean notes?"),
      ("notes remove bob --data spaces", 1, "no member"), ("notes own bob --data spaces", 2, "add"),
    ] {
      let result = try await shell("$tandem member \(words)", status: Int32(status))
      #expect(result.error.contains(part), "\(words): \(result.error)")
    }
    #expect(!folder.files().contains("spaces/members.sqlite"))
    // Here, also the last owner can be removed.
    try await shell(
      "$tandem member notes add bob --role owner --data spaces && $tandem member notes remove bob --data spaces"
    )
    #expect(try await shell("$tandem member notes list --data spaces --json").output == "")
    try await shell("$tandem member notes add bob --role owner --data spaces")
    #expect(
      try await shell("$tandem member notes list --data spaces --json").output
        == #"{"account":"bob","role":"owner"}"# + "\n")
  }
}
