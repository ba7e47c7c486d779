import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem serve --inspect, with spaces in files and in a database", .timeLimit(.minutes(20)))
struct ServeInspectTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "The log names the page for operators, their tokens do nothing else, and the last use is listed",
    arguments: [false, true])
  func page(isDatabase: Bool) async throws {
    let store = try ServedStore(isDatabase: isDatabase, folder)
    let both = "--account ops --space notes --inspect --write"
    let refused = try await shell("$tandem token create \(store.tokenWords) \(both)", status: 2)
    #expect(refused.error.contains("create one for each"))
    let inspects = try await store.makeToken("ops", "--space notes --inspect")
    let writes = try await store.makeToken("ada", "--space notes --write")
    try await store.start(["--inspect"])
    let url = store.url
    let page = try await answer("\(url)/inspect")
    #expect(page.status == 200 && page.text.contains("<title>Tandem server</title>"))
    #expect(try await answer("\(url)/inspect/state").status == 401)
    let tables = #"[{"name":"t","key":["id"],"columns":["a"],"granularity":"field"}]"#
    let declared = try await answer("\(url)/v1/spaces/notes/tables", secret: inspects, body: tables)
    #expect(declared.status == 404)
    _ = try await answer("\(url)/v1/spaces/notes/tables", secret: writes, body: tables)
    let report = try await answer("\(url)/inspect/state?space=notes", secret: inspects)
    #expect(report.text.contains(#""spaces":[{"name":"notes","version":0}]"#))
    #expect(try await answer("\(url)/inspect/state", secret: writes).status == 403)
    #expect(await store.stop().contains { $0.hasSuffix("\(url)/inspect") })
    let list = try await shell("$tandem token list \(store.tokenWords)").output
    #expect(list.contains(#/ ops inspect notes used=\d{4}-\S+Z\n/#), "\(list)")
    #expect(list.contains(#/ ada write notes used=\d{4}-\S+Z\n/#), "\(list)")
  }

  @Test(
    "promtool has nothing to say against the metrics",
    .enabled(
      if: FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool"),
      "promtool is missing (the Debian package prometheus)"),
    arguments: [false, true])
  func metrics(isDatabase: Bool) async throws {
    let store = try ServedStore(isDatabase: isDatabase, folder)
    let secret = try await store.makeToken("prometheus", "--metrics")
    try await store.start(["--webhook", "http://127.0.0.1:1/"])
    let metrics = try await answer("\(store.url)/metrics", secret: secret).text
    try folder.write(metrics, to: "metrics")
    let found = try await shell("promtool check metrics <metrics")
    #expect(found.error.isEmpty && found.output.isEmpty, "\(found)")
    _ = await store.stop()
  }

  @Test(
    "An administrator changes tokens, members and spaces on the page, and the log has each change",
    arguments: [false, true])
  func administration(isDatabase: Bool) async throws {
    let store = try ServedStore(isDatabase: isDatabase, folder)
    let admin = try await store.makeToken("adm", "--space '*' --admin")
    let metrics = try await store.makeToken("prometheus", "--metrics")
    try folder.write(try await store.makeToken("ada", "--space notes --write"), to: "secret")
    try await store.start(["--inspect"])
    let url = store.url
    try await shell(
      """
      chmod 600 secret
      sqlite3 a.db "CREATE TABLE note (id TEXT PRIMARY KEY); INSERT INTO note VALUES ('plan')"
      $tandem attach a.db --server \(url) --space notes --table note --token-file secret &&
      $tandem sync a.db
      """)
    func act(_ action: String) async throws -> String {
      let answer = try await answer("\(url)/inspect/action", secret: admin, body: action)
      #expect(answer.status == 200, "\(action): \(answer.text)")
      return answer.text
    }
    let made = try await act(
      #"{"action":"createToken","account":"eve","access":"read","spaces":"notes","create":""}"#)
    let fields = try JSONDecoder().decode([String: String].self, from: Data(made.utf8))
    let (id, secret) = (try #require(fields["id"]), try #require(fields["token"]))
    // With a database, the server has the tokens when it looks for changes.
    while try await answer("\(url)/v1/spaces/notes", secret: secret).status != 200 {}
    #expect(try await act(#"{"action":"tokens","search":"eve"}"#).contains(id))
    for action in [
      #"{"action":"revokeToken","id":"\#(id)"}"#,
      #"{"action":"setMember","space":"notes","account":"bob","role":"owner"}"#,
      #"{"action":"forget","space":"notes","keep":"0"}"#,
      #"{"action":"rename","space":"notes","confirm":"notes","name":"texts"}"#,
    ] {
      #expect(try await act(action) == "{}")
    }
    while try await answer("\(url)/v1/spaces", secret: secret).status != 401 {}
    let state = try await answer("\(url)/inspect/state?space=texts", secret: admin).text
    for part in [
      #""mayChangeTokens":true,"spaces":[{"name":"texts","version":1}]"#,
      #""members":[{"account":"bob","role":"owner"}]"#, #""horizon":1,"#, #""account":"ada","#,
    ] {
      #expect(state.contains(part), "\(state)")
    }
    #expect(try await act(#"{"action":"delete","space":"texts","confirm":"texts"}"#) == "{}")
    let counts = try await answer("\(url)/metrics", secret: metrics).text
    #expect(counts.contains("tandem_commits_total{outcome=\"accepted\"} 1\n"), "\(counts)")
    #expect(counts.contains("{route=\"inspect\",status=\"200\"} 8\n"), "\(counts)")
    let log = await store.stop().compactMap {
      $0.split(separator: " account=adm ").dropFirst().last
    }
    #expect(
      log == [
        "created the access token \(id): eve read notes", "revoked the access token \(id)",
        "space=notes made bob owner of the space",
        "space=notes forgot the commits up to version 1",
        "space=notes renamed the space to texts", "space=texts deleted the space",
      ])
  }
}
