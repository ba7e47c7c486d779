import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: what it refuses", .timeLimit(.minutes(20)))
struct MirrorRefusalTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func mirror(_ source: String, _ options: [String] = [], input: String = "") async throws
    -> Tool.Result
  {
    let database = folder.path(of: "places.db")
    return try await Tool.run(
      ["mirror", source, database, "--table", "place", "--key", "id"] + options, input: input)
  }

  /// A list of so many records.
  static func list(_ ids: some Sequence<Int>) -> String {
    "id,name\n" + ids.map { "\($0),n\($0)\n" }.joined()
  }

  /// Whether a run fails with these words and changes nothing: neither a missing file, nor one with
  /// write-ahead logging, nor one without.
  func expectRefusal(
    _ words: [String], _ options: [String] = [], existing: Int = 3, of source: String = "-",
    input: String = "", isMissingToo: Bool = true, at location: SourceLocation = #_sourceLocation
  ) async throws {
    if isMissingToo {
      try await expectNoChange(words, options, source, input, location)
    }
    #expect(try await mirror("-", input: Self.list(1...existing)).status == 0)
    try await expectNoChange(words, options, source, input, location)
    try folder.execute("places.db", "PRAGMA journal_mode=DELETE")
    try await expectNoChange(words, options, source, input, location)
  }

  private func expectNoChange(
    _ words: [String], _ options: [String], _ source: String, _ input: String,
    _ location: SourceLocation
  ) async throws {
    let before = try folder.contents()
    let result = try await mirror(source, options, input: input)
    #expect(result.status == 1, sourceLocation: location)
    #expect(result.output.isEmpty, sourceLocation: location)
    for word in words { #expect(result.error.contains(word), sourceLocation: location) }
    #expect(try folder.contents() == before, sourceLocation: location)
  }

  @Test(
    "lists that cannot be read, with the place of the mistake",
    arguments: [
      (#"[{"id":1},{"id":2"#, ["standard input: record 2 (line 1, column 18)", "ends too early"]),
      (#"[{"id":1},2]"#, ["record 2", "object"]),
      (#"[{"id":1}] x"#, ["line 1, column 12"]),
      (#"{"id":1}"# + "\n" + #"{"id":"# + "\n", ["record 2 (line 2"]),
      ("id,name\n1,a\n2\n", ["record 2 (line 3", "fewer fields"]),
      ("id,name\n1,\"a\n", ["record 1", "ends too early"]),
      ("[\u{0}]", ["record 1"]),
      ("", ["ends too early"]),
      (#"[{"id":1,"id":1}]"#, ["record 1", #""id""#, "twice"]),
    ])
  func unreadable(list: String, words: [String]) async throws {
    try await expectRefusal(words, input: list)
  }

  @Test(
    "records without a key, or with the key of another",
    arguments: [
      (#"[{"id":1},{"name":"x"}]"#, ["record 2: the record has no value in the key field \"id\""]),
      (#"[{"id":1},{"id":2},{"id":null}]"#, ["record 3", "key field \"id\""]),
      ("id,name\n1,a\n,b\n", ["record 2", "key field \"id\""]),
      (#"[{"ID":null}]"#, ["record 1: the record has no value in the key field"]),
      (
        #"[{"id":7},{"id":8},{"id":7}]"#, ["record 3: the records 1 and 3 have the same key id = 7"]
      ),
      (#"[{"id":1},{"id":1.0}]"#, ["the records 1 and 2 have the same key id = 1"]),
      (#"[{"id":"x","a":1,"A":2}]"#, [#"the fields "a" and "A" differ only in case"#]),
      (#"[{"id":1,"":2}]"#, ["empty name"]),
      ("Bad Gateway\n", ["line 1", "the header has no field \"id\""]),
      ("code,name\n", ["the header has no field \"id\""]),
    ])
  func badKeys(list: String, words: [String]) async throws {
    try await expectRefusal(words, input: list)
  }

  @Test("an empty list is refused, unless it is allowed")
  func emptyList() async throws {
    for list in ["[]", "id,name\n", " [ ] \n"] {
      let test = try MirrorRefusalTests()
      try await test.expectRefusal(
        ["the source is empty", "--allow-empty"], input: list, isMissingToo: false)
    }
    try await expectRefusal(
      ["delete all 3 rows", "--allow-empty"], input: "[]", isMissingToo: false)
    let result = try await mirror("-", ["--allow-empty"], input: "[]")
    #expect(result.status == 0)
    #expect(result.output.hasSuffix("0 inserted, 0 updated, 3 deleted\n"))
    #expect(try folder.rows("places.db", "SELECT * FROM place").isEmpty)
  }

  @Test("an empty list, when allowed, creates no file, and empties a table never mirrored before")
  func allowedEmptyList() async throws {
    let nothing = try await mirror("-", ["--allow-empty"], input: "[]")
    #expect(nothing.status == 0 && nothing.output == "0 inserted, 0 updated, 0 deleted\n")
    #expect(try folder.contents().isEmpty)
    try folder.execute(
      "places.db", "CREATE TABLE place (id, own)", "INSERT INTO place VALUES (1, 'x'), (2, 'y')")
    let result = try await mirror("-", ["--allow-empty"], input: "[]")
    #expect(result.output == "- id=1\n- id=2\n0 inserted, 0 updated, 2 deleted\n")
    #expect(try folder.rows("places.db", "SELECT * FROM place").isEmpty)
  }

  @Test("a run that would delete more than half of a long table is refused with the figures")
  func manyDeletions() async throws {
    let words = ["would delete 11 of 21 rows", "limit of 50%", "--max-deletes 11"]
    try await expectRefusal(words, existing: 21, input: Self.list(1...10), isMissingToo: false)
    let allowed = try await mirror("-", ["--max-deletes", "11"], input: Self.list(1...10))
    #expect(allowed.status == 0 && allowed.output.hasSuffix("0 inserted, 0 updated, 11 deleted\n"))
  }

  @Test(
    "half of a long table, and all but nothing of a short one, may be deleted",
    arguments: [(22, 11), (20, 1)])
  func fewEnoughDeletions(existing: Int, left: Int) async throws {
    _ = try await mirror("-", input: Self.list(1...existing))
    let result = try await mirror("-", input: Self.list(1...left))
    #expect(result.status == 0)
    #expect(result.output.hasSuffix("0 inserted, 0 updated, \(existing - left) deleted\n"))
  }

  @Test(
    "--max-deletes allows a count or a percentage that is enough, also for short tables",
    arguments: ["5", "50%", "100%", "1000000"])
  func limits(limit: String) async throws {
    _ = try await mirror("-", input: Self.list(1...10))
    let result = try await mirror("-", ["--max-deletes=\(limit)"], input: Self.list(1...5))
    #expect(result.status == 0)
  }

  @Test(
    "--max-deletes refuses what is over a count or a percentage, with the figures",
    arguments: ["0", "4", "49%", "49.9%", "0%"])
  func lowLimits(limit: String) async throws {
    try await expectRefusal(
      ["would delete 5 of 10 rows", "limit of \(limit);", "--max-deletes 5"],
      ["--max-deletes", limit], existing: 10, input: Self.list(1...5), isMissingToo: false)
  }

  @Test(
    "a --max-deletes that is neither is a usage error",
    arguments: [
      "", "x", "-1", "101%", "-1%", "%", "nan%", "inf%", "1.5", "1 %", "99999999999999999999",
    ])
  func badLimits(limit: String) async throws {
    let result = try await mirror("-", ["--max-deletes", limit], input: Self.list(1...5))
    #expect(result.status == 2)
    #expect(result.error.contains("--max-deletes takes a count such as 10 or a percentage"))
    #expect(try folder.contents().isEmpty)
  }

  @Test(
    "answers of a server that are no list",
    arguments: [
      (404, "404"), (500, "500"), (204, "204"), (206, "206"), (304, "304"),
    ])
  func badStatus(status: Int, words: String) async throws {
    let list = Array(#"[{"id":1},{"id":2}]"#.utf8)
    try await withServer { _, connection in
      connection.respond(status, [:], [204, 304].contains(status) ? [] : list)
    } test: { server in
      try await expectRefusal([server.url, words], of: server.url)
    }
  }

  @Test(
    "a body that ends too early, by its length or in its chunks", arguments: ["length", "chunks"])
  func truncatedBody(end: String) async throws {
    let list = Array(Self.list(1...3).utf8)
    try await withServer { _, connection in
      if end == "length" {
        connection.send(200, ["Content-Length": "\(list.count + 10)"], list)
      } else {
        connection.send(200, ["Transfer-Encoding": "chunked"])
        connection.send(chunk: list)
      }
      return false
    } test: { server in
      try await expectRefusal([server.url], of: server.url)
    }
  }

  @Test("sources and databases that are not there or not what they should be")
  func badPlaces() async throws {
    let missing = try await mirror(folder.path(of: "none.json"))
    #expect(missing.status == 1)
    #expect(missing.error.contains("none.json: cannot be read: no such file or directory"))
    let isFolder = try await mirror(folder.path)
    #expect(isFolder.status == 1 && isFolder.error.contains("is a directory"))
    let scheme = try await mirror("ftp://example.org/list")
    #expect(scheme.status == 1 && scheme.error.contains("ftp://example.org/list"))
    let refused = try await mirror("http://127.0.0.1:1/list")
    #expect(refused.status == 1 && refused.error.contains("http://127.0.0.1:1/list"))
    #expect(try folder.contents().isEmpty)

    let text = try folder.write(
      "no database at all, but a text that is long enough to tell", to: "places.db")
    let before = try folder.contents()
    let notADatabase = try await mirror("-", input: Self.list(1...2))
    #expect(
      notADatabase.status == 1 && notADatabase.error.contains("\(text): file is not a database"))
    #expect(try folder.contents() == before)

    let inNoFolder = try await Tool.run(
      ["mirror", "-", folder.path(of: "none/places.db"), "--table", "t", "--key", "id"],
      input: Self.list(1...2))
    #expect(inNoFolder.status == 1 && inNoFolder.error.contains("none/places.db"))
  }

  @Test(
    "tables that are not there to be mirrored into",
    arguments: [
      ("sqlite_x", "begin with sqlite_"), ("SQLITE_schema", "reserved"),
      ("sqlite_sequence", "reserved"), ("tandem_mirror", "begin with tandem_"),
      ("big", "big is a view"),
      ("nokey", "table nokey has no column id to be the key; it has a, b"),
      ("made", "column id is generated, and cannot be the key"),
      ("madevalue", "column name is generated, and cannot take"), ("anindex", "there is already"),
    ])
  func badTables(table: String, words: String) async throws {
    try folder.execute(
      "places.db", "CREATE TABLE place (id INTEGER PRIMARY KEY AUTOINCREMENT)",
      "INSERT INTO place VALUES (1)", "CREATE VIEW big AS SELECT * FROM place",
      "CREATE INDEX anindex ON place (id)", "CREATE TABLE nokey (a, b)",
      "CREATE TABLE made (a, id AS (a))", "CREATE TABLE madevalue (id, name AS (id))")
    let before = try folder.contents()
    let database = folder.path(of: "places.db")
    let result = try await Tool.run(
      ["mirror", "-", database, "--table", table, "--key", "id"], input: Self.list(1...2))
    #expect(result.status == 1)
    #expect(result.error.contains(words))
    #expect(try folder.contents() == before)
  }

  @Test("a database that another program keeps locked is waited for, and then given up")
  func locked() async throws {
    _ = try await mirror("-", input: Self.list(1...3))
    let other = try DatabaseConnection(path: folder.path(of: "places.db"))
    try other.execute("BEGIN IMMEDIATE")
    let result = try await mirror("-", input: Self.list(1...4))
    #expect(result.status == 1)
    #expect(result.error.contains("places.db: database is locked"))
    #expect(result.error.contains("try again"))
    try other.execute("ROLLBACK")
    #expect(try other.rows("SELECT count(*) FROM place") == ["3"])
  }
}
