import Foundation
import Tandem
import TestFolder
import TestPostgreSQL
import TestTool
import Testing

/// The tool with `--webhook`, and the receiver of the examples.
@Suite("tandem serve --webhook", .timeLimit(.minutes(20)))
struct WebhookTests: ShellSuite {
  let folder: TemporaryFolder
  private static let receiver = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Examples/webhook-receiver/receive.py").path

  init() throws { folder = try TemporaryFolder() }

  private func startReceiver() async throws -> (program: RunningTool, url: String) {
    let secret = try folder.write("0123456789abcdef0123456789abcdef\n", to: "secret")
    let program = try RunningTool(
      [Self.receiver, secret, folder.path(of: "log")], executable: "/usr/bin/python3")
    return (program, try #require(await program.line()))
  }

  private func startServer(
    _ place: [String], port: Int, _ options: [String]
  ) async throws -> (program: RunningTool, url: String) {
    // Other users may read what a program writes, unless it prevents that.
    let program = try RunningTool(
      [
        "-c", #"umask 0; exec "$0" "$@""#, Tool.path, "serve", "--json", "--listen",
        "127.0.0.1:\(port)",
      ] + place + options, executable: "/bin/sh")
    let line = try #require(await program.line())
    guard case .object(let fields) = try JSONValue(parsing: Array(line.utf8)),
      case .string(let url)? = fields["url"]
    else { throw CancellationError() }
    return (program, url)
  }

  /// What the receiver has accepted: the versions before and after, and the keys.
  private func deliveries() throws -> [(from: Int, to: Int, ids: [String])] {
    try folder.text(of: "log").split(separator: "\n").map {
      line -> (from: Int, to: Int, ids: [String]) in
      guard case .object(let fields) = try JSONValue(parsing: Array(line.utf8)),
        case .string(let revision)? = fields["revision"],
        case .array(let changes)? = fields["changes"]
      else { throw CancellationError() }
      var from = 0
      if case .string(let text)? = fields["from"] { from = version(of: text) }
      let ids = changes.compactMap { change -> String? in
        guard case .object(let fields) = change, case .array(let id)? = fields["id"],
          case .string(let text)? = id.first
        else { return nil }
        return text
      }
      return (from, version(of: revision), ids)
    }
  }

  private func version(of revision: String) -> Int {
    revision.split(separator: ".").dropFirst().first.flatMap { Int($0) } ?? -1
  }

  @Test(
    "A server that is killed again and again loses no commit, and keeps their order",
    arguments: [false, true])
  func kills(isPostgreSQL: Bool) async throws {
    let (receiver, hook) = try await startReceiver()
    let options = ["--webhook", hook, "--webhook-secret-file", folder.path(of: "secret")]
    let place =
      isPostgreSQL
      ? ["--create-store", "--store", try TestCluster.shared.get().makeDatabase()]
      : ["--data", folder.path(of: "spaces")]
    var (server, url) = try await startServer(place, port: 0, options)
    let port = try #require(url.split(separator: ":").last.flatMap { Int($0) })
    let database = try await Database.open(path: folder.path(of: "a.db"))
    try await database.write {
      _ = try $0.execute("CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)")
    }
    let replica = DatabaseReplica(database)
    let space = try SyncSpace.server(url, space: "notes")
    try await replica.attach([AttachedTable("note")], to: space)
    var count = 0
    let roundCount = isPostgreSQL ? 2 : 15
    for round in 1...roundCount {
      for _ in 0..<round % 5 + 1 {
        count += 1
        let id = "n\(count)"
        try await database.write { _ = try $0.execute("INSERT INTO note VALUES (\(id), 'x')") }
        try await replica.sync(with: space)
      }
      server.signal(SIGKILL)
      #expect(await server.end() == -SIGKILL)
      (server, url) = try await startServer(place, port: port, options)
    }
    let head = version(of: "\(try await space.revision())")
    while try deliveries().last?.to != head { try await Task.sleep(for: .milliseconds(20)) }
    server.signal(SIGTERM)
    #expect(await server.end() == 0)
    receiver.signal(SIGKILL)
    _ = await receiver.end()
    // Each delivery begins at a revision that an earlier one reached, or again at that of an earlier one.
    var reached = 0
    var ids: [String] = []
    for delivery in try deliveries() {
      #expect(delivery.from <= reached && delivery.to > delivery.from)
      #expect(delivery.to >= reached || delivery.from < reached)
      reached = max(reached, delivery.to)
      for id in delivery.ids where !ids.contains(id) { ids.append(id) }
    }
    #expect(ids == (1...count).map { "n\($0)" })
  }

  @Test("A refused delivery is listed, sent again, and discarded by command")
  func commands() async throws {
    let (receiver, hook) = try await startReceiver()
    // The receiver answers 401 to another secret.
    let wrong = try folder.write("another secret of the operator", to: "wrong")
    let data = folder.path(of: "spaces")
    var (server, url) = try await startServer(
      ["--data", data], port: 0, ["--webhook", hook, "--webhook-secret-file", wrong])
    let port = try #require(url.split(separator: ":").last.flatMap { Int($0) })
    let database = try await Database.open(path: folder.path(of: "a.db"))
    try await database.write { transaction in
      try transaction.execute("CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)")
      try transaction.execute("INSERT INTO note VALUES ('n1', 'x')")
    }
    let replica = DatabaseReplica(database)
    let space = try SyncSpace.server(url, space: "notes")
    try await replica.attach([AttachedTable("note")], to: space)
    try await replica.sync(with: space)
    var listed = ""
    while listed.isEmpty { listed = try await shell("$tandem webhook list --data spaces").output }
    #expect(
      listed.hasPrefix("1  ") && listed.contains("  notes  ") && listed.contains("status 401"))
    let json = try await shell("$tandem webhook list --data spaces --json").output
    #expect(json.contains(#""id":1,"space":"notes","time":"#) && json.contains(#""due":false"#))
    server.signal(SIGTERM)
    #expect(await server.end() == 0)
    #expect(
      try await shell("$tandem webhook retry all --data spaces").error.contains(
        "1 dead letter to be sent again"))
    (server, url) = try await startServer(
      ["--data", data], port: port,
      ["--webhook", hook, "--webhook-secret-file", folder.path(of: "secret")])
    while !listed.isEmpty { listed = try await shell("$tandem webhook list --data spaces").output }
    #expect(try deliveries().map(\.ids) == [["n1"]])
    #expect(
      try await shell("$tandem webhook discard 1 --data spaces", status: 2).error
        .contains("there is no dead letter 1"))
    #expect(
      try await shell("$tandem webhook list --data nothing", status: 1).error
        .contains("no server with --webhook"))
    for words in ["list 1", "retry", "discard 0", "drop all"] {
      try await shell("$tandem webhook \(words) --data spaces", status: 2)
    }
    server.signal(SIGTERM)
    _ = await server.end()
    receiver.signal(SIGKILL)
    _ = await receiver.end()
  }

  @Test("A server that follows delivers nothing before its promotion, and then all later commits")
  func promotion() async throws {
    let (receiver, hook) = try await startReceiver()
    try await shell(
      """
      for right in write follow; do
        $tandem token create --tokens tokens --account $right --space '*' --$right | tail -n 1 >$right
      done
      """)
    let tokens = ["--tokens", folder.path(of: "tokens")]
    let (leader, leaderURL) = try await startServer(
      ["--data", folder.path(of: "spaces")], port: 0, tokens)
    try await shell(
      """
      sqlite3 a.db 'CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)' &&
      $tandem attach a.db --server \(leaderURL) --space notes --token-file write --table note -q &&
      sqlite3 a.db "INSERT INTO note VALUES ('n1', 'x')" && $tandem sync a.db -q
      """)
    let (follower, url) = try await startServer(
      [
        "--data", folder.path(of: "copies"), "--follow", leaderURL, "--token-file",
        folder.path(of: "follow"),
      ], port: 0,
      tokens + ["--webhook", hook, "--webhook-secret-file", folder.path(of: "secret")])
    while let line = await follower.errorLine() {
      #expect(!line.contains("webhook"), "\(line)")
      if line.contains("are in step") { break }
    }
    leader.signal(SIGKILL)
    _ = await leader.end()
    try await shell(
      """
      $tandem promote --data copies -q &&
      $tandem attach a.db --server \(url) --space notes --token-file write -q &&
      sqlite3 a.db "INSERT INTO note VALUES ('n2', 'x')" && $tandem sync a.db -q
      """)
    while try deliveries().isEmpty { try await Task.sleep(for: .milliseconds(20)) }
    let all = try deliveries()
    #expect(all.map(\.ids) == [["n2"]] && all.allSatisfy { $0.from > 0 })
    follower.signal(SIGTERM)
    while let line = await follower.errorLine() { #expect(!line.contains("webhook"), "\(line)") }
    #expect(await follower.end() == 0)
    receiver.signal(SIGKILL)
    _ = await receiver.end()
  }

  @Test("Other users cannot read what the server and its commands write into a directory")
  func privateFiles() async throws {
    try await shell("mkdir -m 755 spaces")
    let (server, url) = try await startServer(
      ["--data", folder.path(of: "spaces")], port: 0, ["--webhook", "http://127.0.0.1:1/"])
    try await shell(
      """
      umask 0
      sqlite3 a.db 'CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)' &&
      $tandem attach a.db --server \(url) --space notes --table note -q && $tandem sync a.db -q &&
      $tandem member notes add ada --role owner --data spaces &&
      $tandem webhook list --data spaces
      """)
    let listed = try await shell("ls spaces; find spaces -type f -perm /077")
    for name in ["notes.space", "members.sqlite", "webhook.sqlite"] {
      #expect(listed.output.contains(name))
    }
    #expect(!listed.output.contains("spaces/"), "\(listed.output)")
    server.signal(SIGTERM)
    #expect(await server.end() == 0)
  }

  @Test("Options of a webhook that cannot be used are named")
  func faults() async throws {
    try folder.write("short", to: "short")
    for (options, message) in [
      ("--webhook ftp://x/", "--webhook takes a URL"),
      ("--webhook http://", "--webhook takes a URL with https"),
      ("--webhook http://192.0.2.9/hook", "--webhook takes a URL with https"),
      ("--webhook http://127.0.0.1.example/", "--webhook takes a URL with https"),
      ("--webhook-secret-file secret", "--webhook-secret-file belongs to --webhook"),
      ("--webhook http://127.0.0.1:1/ --webhook-secret-file short", "fewer than 16 bytes"),
      ("--webhook http://127.0.0.1:1/ --webhook-secret-file missing", "cannot read missing"),
    ] {
      let result = try await shell("$tandem serve --check-config \(options)", status: 1)
      #expect(result.error.contains(message), "\(result.error)")
    }
    let both = try await shell(
      "$tandem serve --check-config --webhook ftp://x/ --webhook-secret-file missing", status: 1)
    let lines = both.error.split(separator: "\n")
    try #require(lines.count == 2, "\(both.error)")
    #expect(lines[0].contains("--webhook takes a URL"))
    #expect(lines[1].contains("cannot read missing"))
    // Without a secret, there is a warning.
    let warned = try await shell("$tandem serve --check-config --webhook http://127.0.0.1:1/")
    #expect(warned.error.contains("warning: without --webhook-secret-file"), "\(warned.error)")
    #expect(warned.output.contains("no faults"))
  }
}
