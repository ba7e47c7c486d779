import TandemRecords
import TandemReplica
import TandemSync
import Testing

@Suite("Definitions of columns that differ between copies")
struct ColumnDefinitionTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  private func replica(_ columns: String, strict: String = "", seed: UInt64) throws -> TestReplica {
    try TestReplica(
      seed: seed, ["CREATE TABLE t (id TEXT PRIMARY KEY, \(columns)) \(strict)"],
      withBlindSpots: [AttachedTable("t")], space: space)
  }

  /// The notices of the second of two files, each without its remedy.
  private func notices(
    _ first: String, _ second: String, strict: String = ""
  ) throws -> [String] {
    _ = try replica(first, seed: 1)
    return try notices(try replica(second, strict: strict, seed: 2))
  }

  private func notices(_ replica: TestReplica) throws -> [String] {
    try replica.read { try $0.status() }.notices
  }

  @Test("A file declares the type, NOT NULL, the default and the CHECKs of each column")
  func declared() throws {
    let replica = try replica(
      """
      a INT NOT NULL DEFAULT (1 + 1) CHECK (a  /* not negative */ >=
        0), b, g AS (a + 1), CONSTRAINT c CHECK ("A" < g AND b IN ('a', 'b'))
      """, strict: "", seed: 1)
    try replica.execute("ALTER TABLE t ADD COLUMN n TEXT DEFAULT 'x'")
    _ = try replica.write { try $0.schema() }
    let both = "\"A\" < g AND b IN ('a', 'b')"
    #expect(
      try replica.read { try $0.declarations() }[0].definitions == [
        SpaceColumn("id", type: "TEXT"),
        SpaceColumn(
          "a", type: "INT", isRequired: true, defaultText: "1 + 1", checks: ["a >= 0", both]),
        SpaceColumn("b", type: "", checks: [both]),
        SpaceColumn("n", type: "TEXT", defaultText: "'x'"),
      ])
  }

  @Test("What means the same is no difference")
  func same() throws {
    #expect(
      try notices(
        "a INT, b VARCHAR(9), c DEFAULT NULL, d INT DEFAULT  0, CHECK (a<b)",
        "d INTEGER DEFAULT 0, c, b TEXT, a INTEGER, CONSTRAINT x CHECK (\"A\" /* */ < [b])") == [])
    // A column of STRICT tables that takes everything, and one without a type.
    #expect(
      try notices(try replica("c ANY", strict: "STRICT", seed: 3)) == [
        "the column id of t is TEXT (STRICT) here and TEXT in the space: a value that one of them would alter or "
          + "refuse, such as '01234' in a column of integers, is not written there but stays beside the table "
          + "(`keptEdits(.rejected)`); declare it alike in all copies; if they all declare it as this file does, an operator of the space "
          + "forgets how the first one did (`redefine` t)"
      ])
  }

  @Test("A key may be declared NOT NULL and have a default in some copies: no row depends on it")
  func key() throws {
    _ = try replica("a", seed: 1)
    let other = try TestReplica(
      seed: 2,
      [
        "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL DEFAULT (hex(randomblob(16))), a) WITHOUT ROWID"
      ],
      tables: [AttachedTable("t")], space: space)
    #expect(try notices(other) == [])
  }

  @Test("A file that lacks columns is told only about those that it has")
  func fewer() throws {
    #expect(
      try notices("a, b INT NOT NULL DEFAULT 1, CHECK (a < b), CHECK (b < 3)", "a, c NOT NULL")
        == [])
  }

  @Test("Another type is named with its consequence")
  func types() throws {
    let notices = try notices("zip TEXT, n", "zip INTEGER, n REAL")
    #expect(notices.count == 2)
    #expect(
      notices[0].hasPrefix(
        "the column zip of t is INTEGER here and TEXT in the space: a value that one of them would alter"
      ))
    #expect(notices[1].hasPrefix("the column n of t is REAL here and without a type in the space"))
  }

  @Test("NOT NULL on one side is named, with what happens to rows without a value")
  func required() throws {
    let end =
      "; declare it alike in all copies; if they all declare it as this file does, an operator of the space "
      + "forgets how the first one did (`redefine` t)"
    #expect(
      try notices("a, b NOT NULL, c DEFAULT 1", "a NOT NULL, b, c NOT NULL DEFAULT 1") == [
        "the column a of t is NOT NULL here and not in the space: a row of another copy without a value stays "
          + "beside the table (`keptEdits(.rejected)`)\(end)",
        "the column b of t is NOT NULL in the space and not here: other copies cannot have a row of this file "
          + "without a value\(end)",
        "the column c of t is NOT NULL here and not in the space: a row of another copy without a value gets the "
          + "default here\(end)",
      ])
  }

  @Test("Another default is named")
  func defaults() throws {
    #expect(
      try notices("a DEFAULT 0, b", "a DEFAULT '0', b DEFAULT (1)") == [
        "the column a of t has the default '0' here and the default 0 in the space: a row that leaves the column "
          + "out gets another value in each copy that makes it; declare it alike in all copies; if they all declare it as this file does, an operator of the space "
          + "forgets how the first one did (`redefine` t)",
        "the column b of t has the default 1 here and no default in the space: a row that leaves the column "
          + "out gets another value in each copy that makes it; declare it alike in all copies; if they all declare it as this file does, an operator of the space "
          + "forgets how the first one did (`redefine` t)",
      ])
  }

  @Test("A CHECK on one side is named once, whichever columns it names")
  func checks() throws {
    #expect(
      try notices("lo, hi, CHECK (lo <= hi)", "lo, hi CHECK (hi < 9 AND lo > 0)") == [
        "the CHECK (hi < 9 AND lo > 0) of t is not in the space: a row of another copy that breaks it stays beside "
          + "the table (`keptEdits(.rejected)`); declare it alike in all copies; if they all declare it as this file does, an operator of the space "
          + "forgets how the first one did (`redefine` t)",
        "the CHECK (lo <= hi) of t in the space is not in this file: other copies cannot have a row of this file "
          + "that breaks it; declare it alike in all copies; if they all declare it as this file does, an operator of the space "
          + "forgets how the first one did (`redefine` t)",
      ])
  }

  @Test("A change of the schema shows what differs from then on, and what does not any more")
  func changed() throws {
    _ = try replica("a TEXT", seed: 1)
    let replica = try replica("a TEXT", seed: 2)
    #expect(try notices(replica) == [])
    try replica.execute("ALTER TABLE t ADD COLUMN b INT CHECK (b > 0)")
    // It is the first copy that has the column.
    try replica.sync(space)
    #expect(try notices(replica) == [])
    func rebuild(_ columns: String) throws {
      try replica.write { try $0.beginSchemaChange() }
      for sql in [
        "CREATE TABLE new (id TEXT PRIMARY KEY, \(columns))", "INSERT INTO new SELECT * FROM t",
        "DROP TABLE t", "ALTER TABLE new RENAME TO t",
      ] {
        try replica.execute(sql)
      }
      try replica.write { try $0.endSchemaChange() }
    }
    try rebuild("a INT, b INT")
    #expect(try notices(replica).count == 2)
    try replica.sync(space)
    #expect(try notices(replica).count == 2)
    try rebuild("a TEXT, b INT CHECK (b > 0)")
    #expect(try notices(replica) == [])
  }

  @Test("After all copies have changed a column, the space lets one of them define it again")
  func redefined() throws {
    let replicas = try (1...2).map { try replica("a TEXT, b INT", seed: $0) }
    for replica in replicas {
      try replica.write { try $0.beginSchemaChange() }
      try replica.execute("ALTER TABLE t DROP COLUMN a")
      try replica.execute("ALTER TABLE t ADD COLUMN a INTEGER")
      try replica.write { try $0.endSchemaChange() }
    }
    try converge(replicas, space)
    #expect(try replicas.map { try notices($0).count } == [1, 1])
    #expect(try space.redefine("none") == nil)
    #expect(try space.redefine("T") == "t")
    try converge(replicas, space)
    #expect(try replicas.map(notices) == [[], []])
  }

  @Test("Another policy is named until all copies have the same, and the space one of them")
  func policies() throws {
    func replica(_ seed: UInt64, _ policies: [String: FieldPolicy]) throws -> TestReplica {
      try TestReplica(
        seed: seed, ["CREATE TABLE t (id TEXT PRIMARY KEY, a INT, b, c, d)"],
        tables: [AttachedTable("t", policies: policies)], space: space)
    }
    let first = try replica(1, ["a": .counter, "b": .maximum, "c": .local])
    let known = try first.read { try $0.spaceTables() }
    #expect(known[0].definitions?.map(\.policy) == [nil, "counter", "maximum", "local", nil])
    let second = try replica(2, ["b": .maximum, "c": .remote, "d": .text])
    let notices = try notices(second)
    #expect(
      notices.map { $0.prefix { $0 != ":" } } == [
        "the column a of t has no policy here and the policy counter in the space",
        "the column d of t has the policy text here and no policy in the space",
      ])
    #expect(notices[0].contains("replaces the additions of others"))
    #expect(!notices[1].contains("replaces the additions of others"))
    try second.write { try $0.setPolicy(.counter, "a", of: "t") }
    try second.write { try $0.setPolicy(nil, "d", of: "t") }
    #expect(try self.notices(second) == [])
    for file in [first, second] { try file.write { try $0.setPolicy(.minimum, "b", of: "t") } }
    try converge([first, second], space)
    #expect(try [first, second].map { try self.notices($0).count } == [1, 1])
    _ = try space.redefine("t")
    try converge([first, second], space)
    #expect(try [first, second].map { try self.notices($0) } == [[], []])
  }

  @Test("attach advises to leave out a column that triggers of another table write [derived]")
  func derived() throws {
    let list = "CREATE TABLE list (id TEXT PRIMARY KEY, n INT DEFAULT 0, name, stamp)"
    let schema = [
      list, "CREATE TABLE item (id TEXT PRIMARY KEY, list REFERENCES list, stamp)",
      "CREATE TABLE log (text)",
      """
      CREATE TRIGGER ci AFTER INSERT ON item
        BEGIN UPDATE list SET n = n + 1 WHERE id = new.list; INSERT INTO log VALUES (1); END
      """,
      "CREATE TRIGGER st AFTER INSERT ON item BEGIN UPDATE item SET stamp = 1 WHERE id = new.id; END",
      "CREATE TRIGGER own AFTER UPDATE OF name ON list BEGIN UPDATE list SET stamp = 1; END",
      "CREATE TRIGGER away AFTER INSERT ON log BEGIN UPDATE list SET name = 1; END",
    ]
    let all = try TestReplica(
      seed: 1, schema, tables: [AttachedTable("list"), AttachedTable("item")], space: space)
    #expect(
      try all.read { try $0.notices() } == [
        "the trigger ci writes list.n, which is synchronized: a value that is derived from other rows cannot stay "
          + "right when edits of several copies are merged; leave the column out (`AttachedTable.columns`), so that "
          + "the trigger computes it in each copy"
      ])
    let some = try TestReplica(
      seed: 2, schema,
      tables: [AttachedTable("list", columns: ["name", "stamp"]), AttachedTable("item")],
      space: space)
    #expect(try some.read { try $0.notices() } == [])
    // Each copy computes the column.
    try all.execute("INSERT INTO list (id) VALUES ('l')")
    try converge([all, some], space)
    try all.execute("INSERT INTO item VALUES ('i', 'l', 0)")
    try converge([all, some], space)
    #expect(try some.rows("SELECT n FROM list") == [[1]])
  }
}
