import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

@Suite("Mirrors: what is remembered of a server's answer")
struct MirrorStateTests {
  let mirror = DatabaseMirror.unguarded("id")
  let origin = MirrorOrigin(
    url: "https://a.example/list",
    validators: RecordListValidators(
      HTTPValidators(entityTag: "W/\"x\"", lastModified: "Thu, 01 Jan 2026 00:00:00 GMT")))
  let records: [Record] = [["id": 1, "n": "a"], ["id": 2, "n": "b"]]

  func mirrored(_ statements: String...) throws -> DatabaseConnection {
    let connection = try database()
    _ = try mirror.run(records, into: connection, origin: origin)
    for statement in statements { try connection.execute(statement) }
    return connection
  }

  func validators(
    _ connection: DatabaseConnection, of mirror: DatabaseMirror? = nil, url: String? = nil
  ) throws -> RecordListValidators? {
    try (mirror ?? self.mirror).validators(for: url ?? origin.url, in: connection)
  }

  @Test("validators are those of the same URL, table and key")
  func sameQuestion() throws {
    let connection = try mirrored()
    #expect(try validators(connection) == origin.validators)
    #expect(try validators(connection, of: .unguarded("ID", table: "T")) == origin.validators)
    #expect(try validators(connection, of: .unguarded("id", "n")) == nil)
    #expect(try validators(connection, of: .unguarded("n")) == nil)
    #expect(try validators(connection, of: .unguarded("id", table: "other")) == nil)
    #expect(try validators(connection, url: "https://a.example/list?page=2") == nil)
    #expect(try validators(database()) == nil)
  }

  @Test("validators are those of the same options")
  func sameOptions() throws {
    let connection = try database()
    var options = RecordListOptions()
    options.fields["X-Token"] = "hunter2"
    options.paging = .link
    let contents = [MirroredContent(field: "photo")]
    let origin = MirrorOrigin(
      url: origin.url, options: options, contents: contents, validators: origin.validators)
    _ = try mirror.run(records, into: connection, origin: origin)
    #expect(try dump(connection).allSatisfy { !$0.contains("hunter2") })
    func isTrusted(
      _ contents: [MirroredContent], _ change: (inout RecordListOptions) -> Void = { _ in }
    ) throws -> Bool {
      var changed = options
      change(&changed)
      var mirror = mirror
      mirror.contents = contents
      return try mirror.validators(for: origin.url, options: changed, in: connection) != nil
    }
    #expect(try !isTrusted(contents), "the column of the files is missing")
    try connection.execute("ALTER TABLE t ADD COLUMN photo_file")
    _ = try mirror.run(records, into: connection, origin: origin)
    #expect(try isTrusted(contents))
    #expect(try isTrusted(contents) { $0.maxByteCount = 7 })
    #expect(try isTrusted(contents) { $0.fields["X-Token"] = "hunter3" })
    #expect(try !isTrusted(contents) { $0.fields = [:] })
    #expect(try !isTrusted(contents) { $0.fields["Accept"] = "text/csv" })
    #expect(try !isTrusted(contents) { $0.paging = .none })
    #expect(try !isTrusted(contents) { $0.itemsField = "" })
    #expect(try !isTrusted(contents) { $0.format = .csv })
    for others in [
      [], [MirroredContent(.preview, field: "photo")], [MirroredContent(field: "thumb")],
      [MirroredContent(field: "photo", digestField: "sha")],
      [MirroredContent(field: "photo", byteCountField: "sha")],
      contents + [MirroredContent(.preview, field: "thumb")],
    ] {
      #expect(try !isTrusted(others))
    }
    #expect(try validators(connection) == nil)
  }

  @Test(
    "state tables with other columns are refused, and nothing is written",
    arguments: ["tandem_mirror", "tandem_mirror_directory"])
  func otherColumns(table: String) async throws {
    let connection = try mirrored()
    try connection.execute("DROP TABLE IF EXISTS \(table)")
    try connection.execute("CREATE TABLE \(table) (table_name TEXT PRIMARY KEY, columns TEXT)")
    try connection.execute("INSERT INTO \(table) VALUES ('t', '[]')")
    let before = try dump(connection)
    let load = {
      _ = try MirrorState.load(table: "t", from: connection)
      _ = try DirectoryState.load(table: "t", from: connection)
    }
    let error = try #require(throws: DatabaseError.self) { try load() }
    #expect(error.message.contains("another version of Tandem created the table \(table);"))
    #expect(try dump(connection) == before)
  }

  @Test(
    "an address is stored without credentials",
    arguments: ["me:secret", #"me:sec\ret"#, "me:sec%40ret", "secret", ":secret"])
  func credentials(_ credentials: String) throws {
    let url = "https://\(credentials)@a.example/list"
    let origin = MirrorOrigin(url: url, validators: origin.validators)
    #expect(origin.url == "https://a.example/list")
    let connection = try database()
    _ = try mirror.run(records, into: connection, origin: origin)
    #expect(try dump(connection).allSatisfy { !$0.contains("sec") })
    #expect(try validators(connection, url: url) != nil)
  }

  @Test(
    "any change of the table by anybody makes them forgotten, until the next run",
    arguments: [
      ["INSERT INTO t VALUES (3, 'c')"], ["UPDATE t SET n = 'a' WHERE id = 1"], ["DELETE FROM t"],
      ["REPLACE INTO t VALUES (1, 'x')"], ["UPDATE OR REPLACE t SET id = 2 WHERE id = 1"],
      ["INSERT INTO t VALUES (1, 'x') ON CONFLICT DO UPDATE SET n = 'y'"],
      ["DROP TABLE t"], ["DROP TABLE t", "CREATE TABLE t (id, n)"],
      ["ALTER TABLE t RENAME TO u"], ["ALTER TABLE t DROP COLUMN n"],
      ["ALTER TABLE t RENAME COLUMN n TO m"], ["DROP TRIGGER tandem_validators_insert_t"],
      ["ALTER TABLE t DROP COLUMN n", "ALTER TABLE t ADD COLUMN n"],
      ["DELETE FROM tandem_mirror"], ["DROP TABLE tandem_mirror"],
    ])
  func forgotten(statements: [String]) throws {
    let connection = try mirrored()
    for statement in statements { try connection.execute(statement) }
    #expect(try validators(connection) == nil)
    let changed = records + [["id": 4, "n": "d"]]
    _ = try mirror.run(changed, into: connection, origin: origin)
    #expect(try connection.rows("SELECT id, n FROM t") == [#"1|"a""#, #"2|"b""#, #"4|"d""#])
    #expect(try validators(connection) == origin.validators)
    try connection.execute("UPDATE t SET n = 'z' WHERE id = 4")
    #expect(try validators(connection) == nil, "the triggers are there again")
  }

  @Test("a foreign key that cascades into the table makes them forgotten")
  func cascade() throws {
    let connection = try database(
      "CREATE TABLE parent (id INTEGER PRIMARY KEY)", "INSERT INTO parent VALUES (1), (2)",
      "CREATE TABLE t (id INTEGER REFERENCES parent ON DELETE CASCADE, n)")
    _ = try mirror.run(records, into: connection, origin: origin)
    #expect(try validators(connection) == origin.validators)
    try connection.execute("DELETE FROM parent WHERE id = 2")
    #expect(try validators(connection) == nil)
  }

  @Test("a run without validators forgets those of the run before, and its triggers")
  func withoutValidators() throws {
    for next in [nil, MirrorOrigin(url: origin.url, validators: RecordListValidators())] {
      let connection = try mirrored()
      _ = try mirror.run(records, into: connection, origin: next)
      #expect(try validators(connection) == nil)
      #expect(try connection.rows("SELECT * FROM sqlite_schema WHERE type = 'trigger'").isEmpty)
    }
  }

  @Test(
    "an application's own writes work as before, and columns it adds have the list read once more")
  func ownWrites() throws {
    let connection = try mirrored("ALTER TABLE t ADD COLUMN own", "CREATE INDEX i ON t (own)")
    #expect(try validators(connection) == nil)
    #expect(try mirror.run(records, into: connection, origin: origin).changes.isEmpty)
    #expect(try validators(connection) == origin.validators)
    try connection.execute("UPDATE t SET own = 1")
    #expect(try connection.rows("SELECT * FROM t") == [#"1|"a"|1"#, #"2|"b"|1"#])
  }

  @Test("a refused run remembers what the one before did")
  func refused() throws {
    let connection = try mirrored()
    let before = try dump(connection)
    let careful = DatabaseMirror(
      table: "t", key: ["id"], mirrorGuard: MirrorGuard(deletionLimit: .count(0)))
    let newer = MirrorOrigin(
      url: origin.url, validators: RecordListValidators(HTTPValidators(entityTag: "\"y\"")))
    #expect(message { _ = try careful.run([["id": 1]], into: connection, origin: newer) } != nil)
    #expect(try dump(connection) == before)
  }
}
