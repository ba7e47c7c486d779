import TandemRecords
import TandemReplica
import TandemSync
import Testing

@Suite("Rows that triggers change or prevent as they are received")
struct PreventedRowTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  @Test("Rows whose exchange a trigger prevents are exchanged without triggers")
  func preventedExchange() throws {
    let replicas = try space.pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, slug TEXT UNIQUE, pos INTEGER)"], "t",
      rows: ["INSERT INTO t VALUES ('1', 'a', 0), ('2', 'b', 0), ('3', 'c', 0), ('9', 'z', 0)"])
    // The first trigger changes another row, the second one takes a value of one.
    try replicas[1].execute(
      """
      CREATE TRIGGER bump AFTER UPDATE OF slug ON t
      BEGIN UPDATE t SET pos = pos + 1 WHERE id = '9'; END
      """)
    try replicas[1].execute(
      """
      CREATE TRIGGER norm AFTER UPDATE OF slug ON t WHEN new.slug <> lower(new.slug)
      BEGIN UPDATE t SET slug = lower(new.slug) WHERE id = new.id; END
      """)
    try replicas[0].execute("UPDATE t SET slug = '-' || slug")
    try replicas[0].execute(
      "UPDATE t SET slug = CASE id WHEN '1' THEN 'b' WHEN '2' THEN 'a' WHEN '3' THEN 'A' ELSE 'z' END"
    )
    try replicas[0].sync(space)
    try replicas[1].sync(space)
    #expect(try replicas[1].freeze() == nil)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id",
      [["1", "b", 0], ["2", "a", 0], ["3", "A", 0], ["9", "z", 0]])
  }

  @Test("A row that a trigger keeps from having its version stays as it was")
  func preventedExchangeWithObstacle() throws {
    let (a, b) = try space.unlikePair(
      "id TEXT PRIMARY KEY, slug", "id TEXT PRIMARY KEY, slug UNIQUE",
      rows: "INSERT INTO t VALUES ('1', 'a'), ('2', 'b'), ('3', 'c'), ('4', 'd'), ('9', 'z')")
    try b.execute(
      """
      CREATE TRIGGER norm AFTER UPDATE OF slug ON t WHEN new.slug <> lower(new.slug)
      BEGIN UPDATE t SET slug = lower(new.slug) WHERE id = new.id; END
      """)
    try a.execute(
      """
      UPDATE t SET slug = CASE id WHEN '1' THEN 'b' WHEN '2' THEN 'a' WHEN '3' THEN 'A' ELSE 'z' END
      """)
    try a.sync(space)
    try b.sync(space)
    #expect(try b.freeze() == nil)
    #expect(
      try b.rows("SELECT * FROM t ORDER BY id")
        == [["1", "b"], ["2", "a"], ["3", "A"], ["4", "d"], ["9", "z"]])
  }

  @Test(
    "Rows that a trigger locks exchange their unique values all the same, and nothing is sent back",
    arguments: [
      "BEFORE UPDATE ON item WHEN old.locked BEGIN SELECT RAISE(IGNORE)",
      "BEFORE UPDATE OF pos ON item WHEN old.locked BEGIN SELECT RAISE(IGNORE)",
      """
      AFTER UPDATE OF pos ON item WHEN old.locked
      BEGIN UPDATE item SET pos = old.pos, n = old.n WHERE id = new.id
      """,
    ])
  func lockedExchange(trigger: String) throws {
    let replicas = try space.pair(
      ["CREATE TABLE item (id TEXT PRIMARY KEY, pos INTEGER UNIQUE, n TEXT, locked INTEGER)"],
      "item",
      rows: ["INSERT INTO item VALUES ('p', 1, 'x', 1), ('q', 2, 'y', 1)"])
    try replicas[1].execute("CREATE TRIGGER guard \(trigger); END")
    try replicas[0].execute("UPDATE item SET pos = -pos")
    try replicas[0].execute("UPDATE item SET pos = 3 + pos, n = 'edit'")
    try replicas[0].sync(space)
    try replicas[1].sync(space)
    #expect(try replicas[1].freeze() == nil)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM item ORDER BY id",
      [["p", 2, "edit", 1], ["q", 1, "edit", 1]])
    #expect(try replicas.flatMap { try $0.rejectedContents() }.isEmpty)
  }

  @Test(
    "A record that a trigger changes keeps its unique value; another one that has it is set aside")
  func disturbedValue() throws {
    let (a, b) = try space.unlikePair(
      "id TEXT PRIMARY KEY, slug", "id TEXT PRIMARY KEY, slug UNIQUE",
      rows: "INSERT INTO t VALUES ('0', 'w')")
    try b.execute(
      """
      CREATE TRIGGER mark AFTER INSERT ON t
      BEGIN UPDATE t SET slug = new.slug || '-' || new.id WHERE id = new.id; END
      """)
    try a.execute("INSERT INTO t VALUES ('1', 'x'), ('2', 'x')")
    try a.sync(space)
    try b.sync(space)
    #expect(try b.freeze() == nil)
    try converge([a, b], space)
    #expect(try a.rows("SELECT * FROM t ORDER BY id") == [["0", "w"], ["1", "x"], ["2", "x"]])
    #expect(try b.rows("SELECT * FROM t ORDER BY id") == [["0", "w"], ["1", "x"]])
  }

  @Test(
    "A record that a trigger would prevent, and the table does not accept, is set aside",
    arguments: ["'new', -1", "'old', -1"])
  func preventedAndForbidden(version: String) throws {
    let (a, b) = try space.unlikePair(
      "id TEXT PRIMARY KEY, n", "id TEXT PRIMARY KEY, n CHECK (n > 0)",
      rows: "INSERT INTO t VALUES ('old', 1)")
    for event in ["INSERT", "UPDATE"] {
      try b.execute(
        """
        CREATE TRIGGER no_\(event) BEFORE \(event) ON t WHEN new.n < 0
        BEGIN SELECT RAISE(IGNORE); END
        """)
    }
    try a.execute("INSERT OR REPLACE INTO t VALUES (\(version))")
    try a.sync(space)
    try b.sync(space)
    #expect(try b.freeze() == nil)
    #expect(try b.rows("SELECT * FROM t") == [["old", 1]])
    #expect(try b.rejectedContents().map { $0?["n"] } == [-1])
  }

  @Test(
    "A rejected change that a trigger prevents is not forgotten, and no conflict counts as resolved"
  )
  func preventedByTrigger() throws {
    let replicas = try space.pair(
      ["CREATE TABLE item (id TEXT PRIMARY KEY, u UNIQUE, n)"], "item",
      rows: ["INSERT INTO item VALUES ('o', 1, 'old')"])
    try replicas[0].execute("INSERT INTO item VALUES ('p', 9, 'x')")
    try replicas[0].execute("UPDATE item SET n = 'a' WHERE id = 'o'")
    try replicas[1].execute("INSERT INTO item VALUES ('q', 9, 'token')")
    try replicas[1].execute("UPDATE item SET n = 'b' WHERE id = 'o'")
    try replicas[0].sync(space)
    try replicas[1].sync(space)
    try replicas[0].execute("UPDATE item SET u = 10 WHERE id = 'p'")
    try converge(replicas, space)
    let rejection = try #require(try replicas[1].rejected().first)
    let conflict = try #require(try replicas[1].conflicts(includingResolved: false).first)
    for event in ["INSERT", "UPDATE"] {
      try replicas[1].execute(
        "CREATE TRIGGER no_\(event) BEFORE \(event) ON item BEGIN SELECT RAISE(IGNORE); END")
    }
    #expect(throws: ReplicaError.self) {
      try replicas[1].write { _ = try $0.retry(.one(rejection.id)) }
    }
    #expect(throws: ReplicaError.self) {
      try replicas[1].write { try $0.resolve(.one(conflict.id), by: .local) }
    }
    #expect(try replicas[1].rejectedContents().map { $0?["n"] } == ["token"])
    #expect(try replicas[1].conflicts(includingResolved: false).count == 1)
    for event in ["INSERT", "UPDATE"] { try replicas[1].execute("DROP TRIGGER no_\(event)") }
    try replicas[1].write { _ = try $0.retry(.one(rejection.id)) }
    try replicas[1].write { try $0.resolve(.one(conflict.id), by: .local) }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM item ORDER BY id",
      [["o", 1, "b"], ["p", 10, "x"], ["q", 9, "token"]])
  }

  @Test("A version that a trigger replaces and the table does not accept is set aside")
  func replacedVersion() throws {
    let (a, b) = try space.unlikePair(
      "id TEXT PRIMARY KEY, v, m DEFAULT 0", "id TEXT PRIMARY KEY, v CHECK (v < 5), m DEFAULT 0",
      rows: "INSERT INTO t VALUES ('k1', 1, 0)")
    try b.execute(
      """
      CREATE TRIGGER x BEFORE UPDATE OF v ON t WHEN new.v >= 5
      BEGIN UPDATE t SET m = m + 1 WHERE id = new.id; SELECT RAISE(IGNORE); END
      """)
    try a.execute("UPDATE t SET v = 9 WHERE id = 'k1'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT * FROM t") == [["k1", 9, 0]])
    #expect(try b.rows("SELECT * FROM t") == [["k1", 1, 0]])
    #expect(try b.rejectedContents().map { $0?["v"] } == [9])
  }
}
