import Synchronization
import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: when a URL is asked for changes only", .timeLimit(.minutes(20)))
struct MirrorConditionTests {
  static let list = #"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#

  let folder: TemporaryFolder
  let feed: Feed
  init() throws {
    folder = try TemporaryFolder()
    feed = try Feed(Self.list)
  }

  @discardableResult
  func mirror(
    _ options: String..., key: String = "id", path: String = "/list"
  ) async throws -> Tool.Result {
    let database = folder.path(of: "places.db")
    let result = try await Tool.run(
      ["mirror", feed.url + path, database, "--table", "place", "--key", key] + options)
    #expect(result.status == 0 && result.error.isEmpty)
    return result
  }

  func expectTable(_ comment: Comment) throws {
    #expect(
      try folder.rows("places.db", "SELECT id, name FROM place") == [#"1|"a""#, #"2|"b""#], comment)
  }

  @Test("the second run asks for changes only, and writes nothing if there are none")
  func notModified() async throws {
    try await mirror()
    let before = try folder.contents()
    let observer = try DatabaseConnection(path: folder.path(of: "places.db"))
    let version = try observer.integer("PRAGMA data_version")
    let result = try await mirror()
    #expect(result.output == "0 inserted, 0 updated, 0 deleted\n")
    #expect(feed.conditions == [nil, feed.tag])
    #expect(feed.dates == [nil, Feed.date])
    #expect(feed.statuses == [200, 304])
    #expect(try observer.integer("PRAGMA data_version") == version)
    #expect(try folder.contents()["places.db"] == before["places.db"])
    let json = try await mirror("--json")
    #expect(json.output == #"{"inserted":[],"updated":[],"deleted":[]}"# + "\n")
  }

  @Test("a new version is taken, and asked for by its own validators afterwards")
  func modified() async throws {
    try await mirror()
    feed.serve(#"[{"id":1,"name":"a"},{"id":2,"name":"c"}]"#)
    #expect(try await mirror().output.hasPrefix(#"~ id=2  name: "b" → "c""#))
    try await mirror()
    #expect(feed.statuses == [200, 200, 304])
  }

  @Test(
    "after another program changed the table, the whole list is asked for and repairs it",
    arguments: [
      "UPDATE place SET name = 'x' WHERE id = 1", "DELETE FROM place",
      "DELETE FROM place WHERE id = 2",
      "INSERT INTO place VALUES (3, 'c')", "REPLACE INTO place VALUES (2, 'x')", "DROP TABLE place",
      "DROP TABLE place; CREATE TABLE place (id INTEGER PRIMARY KEY, name); INSERT INTO place VALUES (7, 'x')",
      "ALTER TABLE place DROP COLUMN name", "ALTER TABLE place RENAME COLUMN name TO title",
      "ALTER TABLE place DROP COLUMN name; ALTER TABLE place ADD COLUMN name",
      "ALTER TABLE place RENAME TO old; CREATE TABLE place AS SELECT id, 'x' AS name FROM old",
      "DROP TRIGGER tandem_validators_update_place; UPDATE place SET name = 'x'",
      "DELETE FROM tandem_mirror", "DROP TABLE tandem_mirror",
    ])
  func repair(change: String) async throws {
    try await mirror()
    let statements = change.split(separator: "; ").map(String.init)
    for statement in statements { try folder.execute("places.db", statement) }
    try await mirror("--max-deletes", "100%")
    #expect(feed.conditions == [nil, nil])
    try expectTable("repaired")
    try await mirror()
    #expect(feed.statuses == [200, 200, 304], "the repaired table is trusted again")
    try expectTable("still there")
  }

  @Test("another key, another URL, and --unconditional ask for the whole list")
  func unconditional() async throws {
    try await mirror()
    try await mirror(key: "id,name")
    try await mirror()
    try await mirror(path: "/other")
    try await mirror(path: "/other")
    try await mirror("--unconditional", path: "/other")
    #expect(feed.statuses == [200, 200, 200, 200, 304, 200])
  }

  @Test("a run from a file in between makes the next one ask for the whole list")
  func fileInBetween() async throws {
    try await mirror()
    _ = try await Tool.run(
      ["mirror", "-", folder.path(of: "places.db"), "--table", "place", "--key", "id"],
      input: #"[{"id":1,"name":"a"},{"id":2,"name":"x"}]"#)
    try await mirror()
    #expect(feed.statuses == [200, 200])
    try expectTable("repaired")
  }

  @Test("a change while the server is asked is repaired by asking again")
  func changeMeanwhile() async throws {
    try await mirror()
    let folder = folder
    feed.onConditionalRequest {
      try? folder.execute("places.db", "UPDATE place SET name = 'x' WHERE id = 1")
    }
    try await mirror()
    #expect(feed.statuses == [200, 304, 200])
    try expectTable("repaired")
  }

  @Test("a dry run asks as the run would, and remembers nothing")
  func dryRun() async throws {
    try await mirror()
    feed.serve(#"[{"id":1,"name":"x"},{"id":2,"name":"b"}]"#)
    try await mirror("--dry-run")
    try await mirror("--dry-run")
    #expect(feed.statuses == [200, 200, 200])
    try expectTable("unchanged")
  }

  @Test(
    "another token asks for changes only, and leaves no trace in the file; another header does not")
  func tokens() async throws {
    try await mirror("--header", "Authorization: Bearer hunter2")
    let state = try folder.rows("places.db", "SELECT * FROM tandem_mirror")
    try await mirror("--header", "Authorization: Bearer hunter3", "--unconditional")
    #expect(try folder.rows("places.db", "SELECT * FROM tandem_mirror") == state)
    try await mirror("--header", "Authorization: Bearer hunter4")
    try await mirror("--header", "X-Token: hunter4")
    try await mirror("--header", "X-Token: hunter4", "--header", "Accept-Language: de")
    try await mirror("--header", "X-Token: hunter4", "--header", "Accept-Language: en")
    #expect(feed.authorizations.prefix(3).last == "Bearer hunter4")
    #expect(feed.statuses == [200, 200, 304, 200, 200, 200])
  }

  @Test(
    "a password in the URL is sent, and neither stored in the database nor shown",
    arguments: [
      ("me:secret", "bWU6c2VjcmV0"), (#"me:sec\ret"#, "bWU6c2VjXHJldA=="),
      ("me:sec%40ret", "bWU6c2VjQHJldA=="),
    ])
  func credentials(_ credentials: String, encoded: String) async throws {
    let database = folder.path(of: "places.db")
    let url = feed.url.replacing("http://", with: "http://\(credentials)@")
    for _ in 1...2 {
      let result = try await Tool.run(["mirror", url, database, "--table", "place", "--key", "id"])
      #expect(result.status == 0)
    }
    #expect(feed.authorizations == ["Basic \(encoded)", "Basic \(encoded)"])
    #expect(feed.statuses == [200, 304])
    #expect(try folder.rows("places.db", "SELECT url FROM tandem_mirror") == ["\"\(feed.url)/\""])
    feed.serve("[1")
    let broken = try await Tool.run(["mirror", url, database, "--table", "place", "--key", "id"])
    #expect(broken.status == 1 && broken.error.contains(feed.url))
    #expect(!broken.error.contains("sec"))
  }

  @Test(
    "a password in the URL is in no output: dry runs, events, results, failures",
    arguments: [
      (["-n"], 0), (["-n", "--json"], 0), (["--json", "--continue-on-error"], 1),
      (["--continue-on-error"], 1),
    ] as [([String], Int32)])
  func output(options: [String], status: Int32) async throws {
    try await withServer { request, connection in
      let list = #"[{"id":1,"url":"/1"},{"id":2,"url":"/404"}]"#
      switch request.path {
      case "/list": return connection.respond(200, [:], Array(list.utf8))
      case "/1": return connection.respond(200, [:], [1])
      default: return connection.respond(404)
      }
    } test: { server async throws in
      let url = server.url.replacing("http://", with: #"http://me:hun\ter@"#) + "/list"
      let result = try await Tool.run(
        ["mirror", url, folder.path(of: "list.db"), "--table", "item", "--key", "id"]
          + ["--content", "url", "--into", folder.path(of: "files"), "--retries", "0"] + options)
      #expect(result.status == status)
      #expect(server.requests.allSatisfy { $0.fields["Authorization"] == "Basic bWU6aHVuXHRlcg==" })
      let output = result.output + result.error
      #expect(output.contains("404"))
      #expect(!output.contains("hun") && !output.contains("ter@"))
    }
  }
}

/// A list behind a URL, with validators as a careful server sends them.
final class Feed: Sendable {
  static let date = "Thu, 01 Jan 2026 00:00:00 GMT"

  private struct State {
    var list: String
    var version = 1
    var statuses: [Int] = []
    var onConditionalRequest: (@Sendable () -> Void)?
  }

  private let state: SharedState
  private let server: MisbehavingServer

  private final class SharedState: Sendable {
    let value: Mutex<State>
    init(_ list: String) { value = Mutex(State(list: list)) }
  }

  init(_ list: String) throws {
    let state = SharedState(list)
    self.state = state
    server = try MisbehavingServer { request, connection in
      let asked = request.fields["If-None-Match"]
      let action = state.value.withLock { state in
        defer { if asked != nil { state.onConditionalRequest = nil } }
        return asked == nil ? nil : state.onConditionalRequest
      }
      action?()
      let (list, tag) = state.value.withLock { ($0.list, "\"v\($0.version)\"") }
      let status = asked == tag ? 304 : 200
      state.value.withLock { $0.statuses.append(status) }
      let fields: HTTPFields = ["ETag": tag, "Last-Modified": Feed.date]
      return connection.respond(status, fields, status == 304 ? [] : Array(list.utf8))
    }
  }

  deinit { server.stop() }

  var url: String { server.url }
  var tag: String { state.value.withLock { "\"v\($0.version)\"" } }
  var statuses: [Int] { state.value.withLock { $0.statuses } }
  var conditions: [String?] { server.requests.map { $0.fields["If-None-Match"] } }
  var dates: [String?] { server.requests.map { $0.fields["If-Modified-Since"] } }
  var authorizations: [String?] { server.requests.map { $0.fields["Authorization"] } }

  func serve(_ list: String) {
    state.value.withLock {
      $0.list = list
      $0.version += 1
    }
  }

  /// Lets `action` happen before the next conditional request is answered.
  func onConditionalRequest(_ action: @escaping @Sendable () -> Void) {
    state.value.withLock { $0.onConditionalRequest = action }
  }
}
