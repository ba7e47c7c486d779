import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("Attaching and detaching a file")
struct AttachmentTests {
  /// A table that cannot be synchronized, and words of the reason.
  struct Refusal: CustomTestStringConvertible, Sendable {
    var schema: String
    var choice: AttachedTable
    var words: [String]
    var testDescription: String { schema }

    init(_ schema: String, _ choice: AttachedTable = AttachedTable("t"), _ words: String...) {
      self.schema = schema
      self.choice = choice
      self.words = words
    }
  }

  static let refusals = [
    Refusal("CREATE TABLE t (a, b)", AttachedTable("t"), "no primary key", "randomblob"),
    Refusal(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a)", AttachedTable("t"), "same number",
      "random key"),
    Refusal("CREATE VIEW t AS SELECT 1 AS id", AttachedTable("t"), "view"),
    Refusal("CREATE TABLE u (id TEXT PRIMARY KEY)", AttachedTable("t"), "no table t", "u"),
    Refusal(
      "CREATE TABLE t (id TEXT PRIMARY KEY, a)", AttachedTable("t", columns: ["c"]),
      "no column c", "id, a"),
    Refusal(
      "CREATE TABLE t (id TEXT PRIMARY KEY, a, g AS (a))", AttachedTable("t", columns: ["g"]),
      "computes"),
    Refusal(
      "CREATE TABLE t (id TEXT PRIMARY KEY, a, b NOT NULL)", AttachedTable("t", columns: ["a"]),
      "requires a value", "b"),
    Refusal(
      "CREATE TABLE t (id TEXT PRIMARY KEY, tandem_existed)", AttachedTable("t"), "rename"),
    Refusal(
      "CREATE TABLE t (id TEXT PRIMARY KEY, a NOT NULL DEFAULT 1 UNIQUE)", AttachedTable("t"),
      "no trigger can foresee", "blind spots"),
    Refusal(
      "CREATE TABLE t (id TEXT PRIMARY KEY, "
        + (0..<990).map { "c\($0)" }.joined(separator: ", ") + ")", AttachedTable("t"), "991",
      "990"),
    Refusal(
      "CREATE TABLE t (id TEXT PRIMARY KEY, n)",
      AttachedTable("t", policies: ["n": .counter], granularity: .record), "no effect"),
  ]

  @Test(
    "Tables of the application that have a name of Tandem's stay",
    arguments: ["tandem_shadow_t", "tandem_present_t", "TANDEM_DROPPED_T", "tandem_aside_t"])
  func namesOfOthers(name: String) throws {
    let replica = try TestReplica(seed: 1)
    try replica.execute("CREATE TABLE t (id TEXT PRIMARY KEY)")
    try replica.execute("CREATE TABLE \(name) (precious)")
    let error = #expect(throws: ReplicaError.self) {
      try replica.attach([AttachedTable("t")], try TestSpace())
    }
    #expect(error?.code == .unsuitable && error?.message.contains(name) == true)
    #expect(try replica.rows("SELECT name FROM sqlite_schema WHERE name = '\(name)'").count == 1)
  }

  @Test("A file with texts in UTF-16 is refused with the remedy")
  func otherEncoding() throws {
    let replica = try TestReplica(seed: 1)
    try replica.execute("PRAGMA encoding = 'UTF-16le'")
    try replica.execute("CREATE TABLE t (id TEXT PRIMARY KEY)")
    try #require(try replica.rows("PRAGMA encoding") == [["UTF-16le"]])
    let error = #expect(throws: ReplicaError.self) {
      try replica.attach([AttachedTable("t")], try TestSpace())
    }
    #expect(error?.code == .unsuitable && error?.message.contains(".dump") == true)
  }

  @Test("A table that cannot be synchronized is refused with the remedy", arguments: refusals)
  func refuses(refusal: Refusal) throws {
    let replica = try TestReplica(seed: 1)
    try replica.execute(refusal.schema)
    let before = try replica.rows("SELECT * FROM sqlite_schema")
    let error = try #require(
      #expect(throws: ReplicaError.self) {
        try replica.attach([refusal.choice], try TestSpace())
      })
    #expect(error.code == .unsuitable)
    for words in refusal.words { #expect(error.message.contains(words), "\(error)") }
    #expect(try replica.rows("SELECT * FROM sqlite_schema") == before)
  }

  @Test("Allowances are taken at their word")
  func allowances() throws {
    let replica = try TestReplica(seed: 1)
    try replica.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a NOT NULL DEFAULT 1 UNIQUE)")
    let space = try TestSpace()
    try replica.attach(
      [AttachedTable("t", allowsAssignedKeys: true, allowsBlindSpots: true)], space)
    try replica.execute("INSERT INTO t VALUES (7, 2)")
    try converge([replica], space)
    #expect(try space.records().keys.map(\.id) == [[7]])
  }

  @Test("Detaching leaves the file and its schema as they were")
  func detach() throws {
    let space = try TestSpace()
    let replica = try TestReplica(seed: 1)
    for statement in [
      "CREATE TABLE \"a \"\"b\" (\"the id\" TEXT PRIMARY KEY, v UNIQUE) WITHOUT ROWID",
      "CREATE TABLE c (x TEXT, y INT, z, PRIMARY KEY (y, x))",
      "INSERT INTO c VALUES ('1', 2, 3)",
      "CREATE TRIGGER own AFTER UPDATE ON c BEGIN SELECT 1; END",
    ] {
      try replica.execute(statement)
    }
    let query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
    let before = try replica.rows(query)
    try replica.attach([AttachedTable("A \"B"), AttachedTable("c")], space)
    #expect(throws: ReplicaError.self) { try replica.attach([AttachedTable("c")], space) }
    try replica.execute("INSERT INTO \"a \"\"b\" VALUES ('k', 1)")
    try converge([replica], space)
    try replica.execute("UPDATE c SET z = 4")
    try replica.write { try $0.detach() }
    #expect(try replica.rows(query) == before)
    #expect(try replica.rows("SELECT * FROM c") == [["1", 2, 4]])
    #expect(throws: ReplicaError.self) { try replica.write { try $0.detach() } }
    // It can be attached again: equal rows are found.
    try replica.attach([AttachedTable("a \"b"), AttachedTable("c")], space)
    try converge([replica], space)
    #expect(try replica.conflicts(includingResolved: false).map { $0.key.id } == [[2, "1"]])
  }

  @Test("Triggers that were dropped are installed again, and missed changes are found")
  func droppedTriggers() throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, v)"], tables: [AttachedTable("t")],
      space: space)
    try replica.execute("INSERT INTO t VALUES ('a', 1)")
    try converge([replica], space)
    for name in try replica.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'") {
      guard case .text(let name) = name[0] else { continue }
      try replica.execute("DROP TRIGGER \"\(name)\"")
    }
    try replica.execute("UPDATE t SET v = 2")
    try converge([replica], space)
    #expect(try replica.rows("SELECT v FROM t") == [[1]])
    #expect(try replica.conflicts().map { $0.local?["v"] } == [2])
    try replica.execute("UPDATE t SET v = 3")
    try converge([replica], space)
    #expect(try space.records().values.map { $0["v"] } == [3])
  }

  @Test("A file whose table is gone can be detached")
  func lostTable() throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, v)"], tables: [AttachedTable("t")],
      space: space)
    try replica.execute("ALTER TABLE t RENAME TO u")
    #expect(throws: ReplicaError.self) { try replica.sync(space) }
    try replica.write { try $0.detach() }
    #expect(try replica.rows("SELECT name FROM sqlite_schema WHERE sql NOT NULL") == [["u"]])
  }

  @Test("A file with rejected changes that exist nowhere else is detached only on request")
  func rejectedChanges() throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, v)"], tables: [AttachedTable("t")],
      space: space)
    try replica.execute(
      """
      INSERT INTO tandem_kept (id, "table", "key", kind, reason, "local", resolution)
      VALUES (1, 't', '["a"]', 'edit', 'a reason', '{"v":1}', 'unresolved')
      """)
    let before = try replica.rows("SELECT name FROM sqlite_schema ORDER BY name")
    let error = #expect(throws: ReplicaError.self) { try replica.write { try $0.detach() } }
    #expect(error?.code == .rejectedChanges)
    #expect(error?.message.hasPrefix("1 rejected change exists only in") == true)
    #expect(try replica.rows("SELECT name FROM sqlite_schema ORDER BY name") == before)
    try replica.write { try $0.detach(discardsRejected: true) }
    #expect(try !replica.read { try $0.isAttached() })
  }

  @Test(
    "A file with open conflicts, whose overruled versions exist nowhere else, is detached only on request"
  )
  func openConflicts() throws {
    let space = try TestSpace()
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0, ["CREATE TABLE t (id TEXT PRIMARY KEY, v)"], tables: [AttachedTable("t")],
        space: space)
    }
    try replicas[0].execute("INSERT INTO t VALUES ('a', 1)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET v = 2")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE t SET v = 3")
    try converge(replicas, space)
    let error = #expect(throws: ReplicaError.self) { try replicas[1].write { try $0.detach() } }
    #expect(error?.code == .openConflicts)
    #expect(error?.message.hasPrefix("1 open conflict has") == true)
    #expect(try replicas[1].conflicts().map { $0.local?["v"] } == [3])
    try replicas[1].write { try $0.detach(discardsConflicts: true) }
    #expect(try !replicas[1].read { try $0.isAttached() })
    // The other file has none.
    try replicas[0].write { try $0.detach() }
  }

  @Test("The status counts the rows whose key is NULL, which are not synchronized")
  func nullKeys() throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1,
      [
        "CREATE TABLE t (id TEXT PRIMARY KEY, v)",
        "CREATE TABLE u (a, b, PRIMARY KEY (a, b))",
        "CREATE TABLE w (id TEXT PRIMARY KEY, v) WITHOUT ROWID",
        "INSERT INTO t VALUES (NULL, 1), (NULL, 2), ('x', 3)",
        "INSERT INTO u VALUES (NULL, NULL), (1, NULL), (NULL, 1), (1, 1)",
        "INSERT INTO w VALUES ('x', 1)",
      ], tables: ["t", "u", "w"].map { AttachedTable($0) }, space: space)
    func counts() throws -> [Int] {
      try replica.read { try $0.status() }.tables.map(\.nullKeyCount)
    }
    #expect(try counts() == [2, 3, 0])
    try replica.sync(space)
    try replica.execute("UPDATE t SET id = 'y' WHERE v = 1")
    #expect(try counts() == [1, 3, 0])
    try replica.sync(space)
    #expect(try space.records().count == 4)
  }

  @Test(
    "A table of the application with a name of Tandem's is named",
    arguments: ["tandem_state", "tandem_outbox"])
  func ownName(name: String) throws {
    let space = try TestSpace()
    let replica = try TestReplica(seed: 1)
    try replica.execute("CREATE TABLE t (id TEXT PRIMARY KEY, v)")
    try replica.execute("CREATE TABLE \(name) (mine)")
    let error = #expect(throws: ReplicaError.self) {
      try replica.attach([AttachedTable("t")], space)
    }
    #expect(error?.code == .unsuitable && error?.message.contains(" \(name) ") == true)
  }

  @Test("The status of a file whose table is gone is blocked, with the reason")
  func statusOfLostTable() throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, v)"], tables: [AttachedTable("t")],
      space: space)
    try replica.execute("INSERT INTO t VALUES ('a', 1)")
    try replica.execute("ALTER TABLE t RENAME TO u")
    let status = try replica.read { try $0.status() }
    #expect(status.state == .blocked && status.blockReason?.code == .schema)
    #expect(status.pendingCount == 1 && status.tables.map(\.name) == ["t"])
  }
}
