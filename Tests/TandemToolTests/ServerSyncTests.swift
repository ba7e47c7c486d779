import Foundation
import TestFolder
import TestTool
import Testing

/// Copies that are kept in step through `tandem serve`, by `tandem sync` and by the client in Python.
@Suite("A space of a server, by the commands and by another language", .timeLimit(.minutes(20)))
struct ServerSyncTests {
  private static let schema = """
    CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER);
    INSERT INTO note VALUES ('plan', 'Plan', 5), ('trip', 'Trip', 0);
    """
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  let folder: TemporaryFolder
  /// The secret of an account that may write all spaces; its file is `token`.
  private let secret: String
  private let server: RunningTool
  private let url: String

  init() async throws {
    folder = try TemporaryFolder()
    let tokens = folder.path(of: "tokens")
    let created = try await Tool.run([
      "token", "create", "--tokens", tokens, "--account", "ann", "--space", "*", "--write",
    ])
    secret = try #require(created.output.split(separator: "\n").last.map(String.init))
    try folder.write(secret + "\n", to: "token")
    server = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:0", "--tokens", tokens,
      "--json",
    ])
    url = try await server.servedURL()
  }

  @discardableResult
  private func shell(_ lines: String, status: Int32 = 0) async throws -> Tool.Result {
    let client = Self.root.appendingPathComponent("Examples/python-client/tandem_client.py").path
    let result = try await Tool.shell(
      "server='\(url)'; client() { python3 -B '\(client)' \"$@\"; }; \(lines)", in: folder)
    #expect(result.status == status, "\(lines): \(result.output)\(result.error)")
    #expect(!(result.output + result.error).contains(secret))
    return result
  }

  private static let attach =
    "--server $server --space notes --token-file token --table note --policy likes=counter"
  private static let attachClient = """
    $server notes \
    '[{"name":"note","key":["id"],"columns":["title","likes"],"granularity":"field"}]' \
    '["likes"]' token
    """

  /// Two copies of a file that are in step.
  private func attachCopies() async throws {
    try await shell(
      """
      sqlite3 a.db "\(Self.schema)" && cp a.db b.db &&
      for f in a.db b.db; do $tandem attach $f \(Self.attach) && $tandem sync $f || exit 9; done
      """)
  }

  /// The number of pulls that the server has answered.
  private func pullCount() async throws -> String {
    try await shell(
      "curl -s -H \"Authorization: Bearer $(cat token)\" $server/metrics "
        + "| grep 'http_requests_total{.*changes'"
    ).output
  }

  // MARK: The commands

  @Test("two copies edited apart come in step, and no file has the token")
  func story() async throws {
    try await attachCopies()
    try await shell(
      """
      sqlite3 a.db "UPDATE note SET title = 'Big plan', likes = likes + 1 WHERE id = 'plan'"
      sqlite3 b.db "UPDATE note SET likes = likes + 1 WHERE id = 'plan'"
      $tandem sync a.db && $tandem sync b.db && $tandem sync a.db &&
      $tandem diff a.db b.db --table note
      """)
    #expect(
      try await shell("sqlite3 a.db \"SELECT * FROM note WHERE id = 'plan'\"").output
        == "plan|Big plan|7\n")
    let status = try await shell("$tandem status a.db --json").output
    #expect(status.hasPrefix(#"{"state":"upToDate""#))
    let tokenFile = folder.path(of: "token")
    #expect(
      status.contains("\"space\":\"\(url)/v1/spaces/notes#token-file=\(tokenFile)\""), "\(status)")
    let lines = try await shell("$tandem status a.db").output
    #expect(lines.contains("space      \(url)/v1/spaces/notes, with the token in \(tokenFile)\n"))
    for name in folder.files() where name != "token" {
      let hasSecret = folder.bytes(of: name).firstRange(of: Array(secret.utf8)) != nil
      #expect(!hasSecret, "\(name)")
    }
  }

  @Test("a token of another account changes nothing, and the right one continues")
  func otherAccount() async throws {
    try await attachCopies()
    try await shell(
      """
      $tandem token create --tokens tokens --account eve --space '*' --write | tail -1 > eve
      cp token ann
      """)
    for edit in ["likes = likes", "title = 'edited'"] {
      try await shell("cp eve token; sqlite3 a.db \"UPDATE note SET \(edit) WHERE id = 'plan'\"")
      let refused = try await shell("$tandem sync a.db", status: 1)
      #expect(refused.error.contains("belongs to another account"), "\(refused.error)")
      let status = try await shell("cp ann token && $tandem status a.db --json").output
      // A trigger notes the first edit too, which changes nothing.
      #expect(status.contains(#""conflicts":0,"rejected":0"#), "\(status)")
    }
    try await shell(
      "$tandem sync a.db && $tandem sync b.db && $tandem diff a.db b.db --table note")
  }

  @Test("a failed request leaves a file in step, and status says so")
  func failedRequest() async throws {
    try await attachCopies()
    try await shell("cp token ann && echo wrong > token; $tandem sync a.db", status: 1)
    let status = try await shell("cp ann token && $tandem status a.db --json").output
    #expect(status.hasPrefix(#"{"state":"upToDate""#), "\(status)")
  }

  @Test("a token that may only read blocks a file with an edit, and status says so")
  func readOnlyToken() async throws {
    try await attachCopies()
    try await shell(
      """
      cp token ann
      $tandem token create --tokens tokens --account ann --space '*' | tail -1 > token
      sqlite3 a.db "UPDATE note SET title = 'edited' WHERE id = 'plan'"
      """)
    try await shell("$tandem sync a.db", status: 1)
    let status = try await shell("$tandem status a.db --json", status: 1).output
    #expect(status.hasPrefix(#"{"state":"blocked","reason":"the space refused"#), "\(status)")
    try await shell("cp ann token && $tandem sync a.db && $tandem status a.db")
  }

  @Test("a watch says once that the server is away, with the time, and when it is back")
  func watchForPeople() async throws {
    try await attachCopies()
    let tool = try RunningTool(["sync", folder.path(of: "a.db"), "--watch"])
    let path = folder.path(of: "a.db")
    func isEvent(_ line: String?, _ text: String) -> Bool {
      let parts = line?.split(separator: " ", maxSplits: 3).map(String.init) ?? []
      return parts.count == 4 && parts[0] == "tandem:"
        && parts[1].wholeMatch(of: #/\d{4}-\d\d-\d\d/#) != nil
        && parts[2].wholeMatch(of: #/\d\d:\d\d:\d\d/#) != nil
        && parts[3].hasPrefix("\(path): \(text)")
    }
    #expect(isEvent(await tool.errorLine(), "in step at revision 1"))
    server.signal(SIGKILL)
    #expect(await server.end() == -SIGKILL)
    #expect(isEvent(await tool.errorLine(), "the space cannot be reached; trying again: "))
    // Another watch shows that attempts fail again and again.
    let other = try RunningTool(["sync", folder.path(of: "b.db"), "--watch", "--json", "-q"])
    for _ in 0..<4 {
      while let line = await other.line(), !line.contains(#""status":"offline""#) {}
    }
    let port = try #require(url.split(separator: ":").last)
    let next = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:\(port)", "--tokens",
      folder.path(of: "tokens"), "--json",
    ])
    _ = await next.line()
    #expect(isEvent(await tool.errorLine(), "in step at revision 1"))
    for tool in [tool, other] {
      tool.signal(SIGINT)
      #expect(await tool.end() == 0)
    }
    next.signal(SIGTERM)
    #expect(await next.end() == 0)
  }

  @Test("edits pass between two files while both are watched, also after the server was away")
  func watch() async throws {
    try await attachCopies()
    var tools: [RunningTool] = []
    for file in ["a.db", "b.db"] {
      let tool = try RunningTool(["sync", folder.path(of: file), "--watch", "--json", "-q"])
      while let line = await tool.line(), !line.contains(#""status":"upToDate""#) {}
      tools.append(tool)
    }
    let pullCount = try await pullCount()
    try await shell("sqlite3 a.db \"INSERT INTO note VALUES ('new', 'New', 1)\"")
    while let line = await tools[1].line(), !line.contains(#".2"}"#) {}
    // The event of the commit had the row.
    #expect(try await self.pullCount() == pullCount)
    #expect(try await shell("sqlite3 b.db 'SELECT count(*) FROM note'").output == "3\n")
    // A server that is killed, and one at the same address afterwards.
    server.signal(SIGKILL)
    #expect(await server.end() == -SIGKILL)
    while let line = await tools[0].line() {
      guard line.contains(#""status":"offline""#) else { continue }
      #expect(line.contains(#""reason":"\#(url)"#), "\(line)")
      break
    }
    try await shell("sqlite3 b.db \"UPDATE note SET title = 'Newer' WHERE id = 'new'\"")
    let port = try #require(url.split(separator: ":").last)
    let next = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:\(port)", "--tokens",
      folder.path(of: "tokens"), "--json",
    ])
    _ = await next.line()
    while let line = await tools[0].line(), !line.contains(#".3"}"#) {}
    #expect(
      try await shell("sqlite3 a.db \"SELECT title FROM note WHERE id = 'new'\"").output
        == "Newer\n")
    for tool in tools {
      tool.signal(SIGINT)
      #expect(await tool.end() == 0)
    }
    next.signal(SIGTERM)
    #expect(await next.end() == 0)
  }

  @Test("TANDEM_TOKEN stands in for the file; a token that the server does not know is refused")
  func environmentToken() async throws {
    try await shell(
      """
      sqlite3 a.db "\(Self.schema)"; export TANDEM_TOKEN=$(cat token)
      $tandem attach a.db --server $server --space notes --table note && $tandem sync a.db
      """)
    let refused = try await shell("$tandem sync a.db", status: 1)
    #expect(refused.error.contains("access token"), "\(refused.error)")
    let wrong = try await shell("TANDEM_TOKEN=wrong $tandem sync a.db", status: 1)
    #expect(wrong.error.contains("access token"), "\(wrong.error)")
    try await shell("TANDEM_TOKEN=$(cat token) $tandem sync a.db")
    let status = try await shell("TANDEM_TOKEN=$(cat token) $tandem status a.db --json").output
    #expect(status.contains("/v1/spaces/notes\",\"revision"), "\(status)")
  }

  @Test(
    "mistakes in the address are refused before anything is written",
    arguments: [
      ("--server $server --space notes --token-file none", "none", 1),
      ("--server $server --space a/b --token-file token", "letters, digits", 1),
      ("--server http://ann:pw@127.0.0.1 --space notes", "no credentials", 1),
      ("--server ftp://127.0.0.1 --space notes", "not supported", 1),
      ("--space notes --token-file token", "--server", 2),
      ("--space notes --insecure-http", "--server", 2),
      ("--server http://sync.example.org --space notes --token-file token", "--insecure-http", 1),
      ("--space $server", "--server URL --space NAME", 2),
      ("--server $server/v1/spaces/notes --space notes", "the address of spaces; use that of", 1),
      ("--server $server/base --space notes --token-file token", "path only if a proxy", 1),
      ("--server $server --space notes", "--token-file", 1),
      ("--server http://127.0.0.1:1 --space notes", "127.0.0.1:1", 1),
    ] as [(String, String, Int32)])
  func mistakes(options: String, message: String, status: Int32) async throws {
    let before = "sqlite3 a.db \"\(Self.schema)\"; cp a.db before"
    let result = try await shell(
      "\(before); $tandem attach a.db \(options) --table note", status: status)
    #expect(result.error.contains(message), "\(result.error)")
    #expect(!result.error.contains("pw"))
    try await shell("cmp a.db before")
  }

  // MARK: The client in Python

  @Test("the client in Python agrees with all vectors")
  func vectors() async throws {
    let vectors = Self.root.appendingPathComponent("Tests/Vectors").path
    let check = Self.root.appendingPathComponent("Examples/python-client/check_vectors.py").path
    let result = try await shell("python3 -B '\(check)' '\(vectors)'")
    #expect(result.output.hasSuffix(" vectors agree\n"))
  }

  @Test("the client in Python merges fields, counts, conflicts and deletions as the others do")
  func clientMerges() async throws {
    try await attachCopies()
    try await shell(
      """
      client c.sqlite attach \(Self.attachClient) && client c.sqlite sync || exit 9
      sqlite3 a.db "UPDATE note SET title = 'theirs', likes = likes + 2 WHERE id = 'plan';
        DELETE FROM note WHERE id = 'trip'; INSERT INTO note VALUES ('a', NULL, 1)"
      client c.sqlite set note '["plan"]' '{"title":"mine","likes":8}'
      client c.sqlite set note '["trip"]' '{"title":"Kept"}'
      client c.sqlite set note '["c"]' '{"title":"é 🧭","likes":9223372036854775807}'
      $tandem sync a.db && client c.sqlite sync && $tandem sync a.db && $tandem sync b.db
      """)
    let rows = """
      [["a"],{"likes":1}]
      [["c"],{"likes":9223372036854775807,"title":"é 🧭"}]
      [["plan"],{"likes":10,"title":"theirs"}]
      [["trip"],{"likes":0,"title":"Kept"}]

      """
    #expect(try await shell("client c.sqlite rows note").output == rows)
    #expect(
      try await shell("sqlite3 b.db 'SELECT * FROM note ORDER BY id'").output
        == "a||1\nc|é 🧭|9223372036854775807\nplan|theirs|10\ntrip|Kept|0\n")
    let conflicts = try await shell("client c.sqlite conflicts").output
    #expect(conflicts.contains(#"["note",["plan"],["title"],"#), "\(conflicts)")
    #expect(conflicts.contains(#""title":"mine""#), "\(conflicts)")
    #expect(conflicts.contains(#"["note",["trip"],null,"#), "\(conflicts)")
    try await shell("$tandem diff a.db b.db --table note")
  }

  /// A pull that is merged while a commit has no outcome would count the commit twice.
  @Test("the client in Python counts nothing twice if answers are lost, or late for one process")
  func clientAnswers() async throws {
    try await attachCopies()
    try await shell("client c.sqlite attach \(Self.attachClient) && client c.sqlite sync")
    let folderOfClient = Self.root.appendingPathComponent("Examples/python-client").path
    let script = """
      import sys
      sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True
      from tandem_client import Replica
      added, bodies = 5, []
      def count_up():
          global added
          added += 1; Replica("c.sqlite").set("note", ["plan"], {"likes": added})
      class LossyReplica(Replica):
          def ask(self, path, body=None, **parameters):
              answer = super().ask(path, body, **parameters)
              if path == "commits": bodies.append(body); raise ConnectionError("the answer is lost")
              return answer
      class LateReplica(Replica):
          def ask(self, path, body=None, **parameters):
              answer = super().ask(path, body, **parameters)
              if path == "commits":
                  bodies.append(body)
                  if added < 10:  # another process gets the same answer first, and sends a commit
                      Replica("c.sqlite").sync(); count_up()
                      try: LossyReplica("c.sqlite").sync()
                      except ConnectionError: pass
              return answer
      count_up()
      LateReplica("c.sqlite").sync()
      assert bodies[1] == bodies[2] and len(set(bodies)) == 5, bodies
      print(Replica("c.sqlite").rows("note")[0][1]["likes"], added)
      """
    try folder.write(script, to: "late.py")
    #expect(try await shell("python3 late.py '\(folderOfClient)'").output == "10 10\n")
    try await shell("$tandem sync a.db && $tandem sync b.db && $tandem diff a.db b.db --table note")
    #expect(
      try await shell("sqlite3 a.db \"SELECT likes FROM note WHERE id = 'plan'\"").output == "10\n")
  }

  @Test("the client in Python converges with other copies after edits of all", arguments: [1, 2])
  func clientConverges(seed: Int) async throws {
    try await attachCopies()
    try await shell("client c.sqlite attach \(Self.attachClient) && client c.sqlite sync")
    let folderOfClient = Self.root.appendingPathComponent("Examples/python-client").path
    let script = """
      import random, sqlite3, subprocess, sys
      sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True
      from tandem_client import Replica
      chance, added, tandem, names = random.Random(int(sys.argv[3])), 0, sys.argv[2], "abcdef"
      replica = Replica("c.sqlite")
      files = [sqlite3.connect(name, isolation_level=None, timeout=60) for name in ("a.db", "b.db")]
      replica.set("note", ["count"], {"likes": 0}); replica.sync()
      for name in ("a.db", "b.db"): subprocess.run([tandem, "sync", name, "-q"])
      for round in range(12):
          for place in range(3):
              for _ in range(chance.randrange(6)):
                  name, value = chance.choice(names), chance.choice([None, "é", "x" * 40, str(round)])
                  kind = chance.randrange(4)
                  if place == 2 and kind == 0: replica.delete("note", [name])
                  elif place == 2 and kind == 1:
                      count = dict((id[0], row) for id, row in replica.rows("note"))["count"]["likes"]
                      replica.set("note", ["count"], {"likes": count + 1}); added += 1
                  elif place == 2: replica.set("note", [name], {"title": value})
                  elif kind == 0: files[place].execute("DELETE FROM note WHERE id = ?", (name,))
                  elif kind == 1:
                      files[place].execute("UPDATE note SET likes = likes + 1 WHERE id = 'count'"); added += 1
                  else: files[place].execute(
                      "INSERT INTO note (id, title) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET title = ?2", (name, value))
          for place in chance.sample(range(3), 2):
              if place == 2: replica.sync()
              else: assert subprocess.run([tandem, "sync", ("a.db", "b.db")[place], "-q"]).returncode < 2
      for _ in range(3):
          replica.sync()
          for name in ("a.db", "b.db"): assert subprocess.run([tandem, "sync", name, "-q"]).returncode < 2
      replica.sync()
      rows = sorted((id[0], row.get("title"), row.get("likes")) for id, row in replica.rows("note"))
      for file in files: assert sorted(file.execute("SELECT * FROM note").fetchall()) == rows, rows
      assert dict((row[0], row[2]) for row in rows)["count"] == added, (rows, added)
      print(len(rows), "rows are equal")
      """
    try folder.write(script, to: "rounds.py")
    #expect(
      try await shell("python3 rounds.py '\(folderOfClient)' \"$tandem\" \(seed)").output
        .hasSuffix(" rows are equal\n"))
  }
}
