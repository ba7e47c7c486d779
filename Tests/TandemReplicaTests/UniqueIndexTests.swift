import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import TestRandom
import Testing

/// Unique indexes that the space cannot compute: copies state their values, also those without the index.
@Suite("Partial unique indexes, and those of expressions")
struct UniqueIndexTests {
  private static let table =
    """
    CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT, grp TEXT COLLATE NOCASE, pos INT, live INT, note TEXT,
      full TEXT AS (grp || '/' || pos))
    """
  private static let indexes = [
    "CREATE UNIQUE INDEX one ON t (pos DESC) WHERE live = 1",
    "CREATE UNIQUE INDEX two ON t(lower(name) , grp)",
    "CREATE UNIQUE INDEX three ON t (full COLLATE NOCASE)",
  ]

  let space: TestSpace
  /// The third one has none of the indexes.
  let replicas: [TestReplica]

  init() throws {
    let space = try TestSpace()
    self.space = space
    replicas = try (1...3).map {
      try TestReplica(
        seed: $0, [Self.table] + ($0 == 3 ? [] : Self.indexes),
        withBlindSpots: [AttachedTable("t")], space: space)
    }
    try converge(replicas, space)
  }

  private func insert(_ id: String, _ values: String, _ replica: Int) throws {
    try replicas[replica].execute(
      "INSERT INTO t (id, name, grp, pos, live) VALUES ('\(id)', \(values))")
  }

  /// Sends what each replica has changed, before any of them receives the others' changes; then all synchronize.
  private func race() throws {
    for replica in replicas {
      guard let bytes = try replica.freeze() else { continue }
      try replica.settle(try space.push(bytes), bytes)
    }
    try converge(replicas, space)
    let rows = try replicas.map { try $0.rows("SELECT * FROM t ORDER BY id") }
    #expect(Set(rows).count == 1, "\(rows)")
    #expect(try space.records().count == rows[0].count)
    #expect(try replicas.allSatisfy { try $0.rows("SELECT 1 FROM tandem_parked").isEmpty })
  }

  private var ids: [String?] {
    get throws { try replicas[2].rows("SELECT id FROM t ORDER BY id").map { $0[0].textValue } }
  }

  private func reasons(_ replica: Int) throws -> [String] {
    try replicas[replica].read { try $0.keptEdits(.rejected) }.map(\.reason)
  }

  @Test("The indexes are declared, and attaching has nothing to say about them")
  func declared() throws {
    let indexes = try space.state.tables[0].constraints?.compactMap { constraint -> SpaceIndex? in
      if case .index(let index) = constraint { index } else { nil }
    }
    #expect(indexes?.map(\.name) == ["one", "three", "two"])
    #expect(indexes?[2].sql == #"CREATE UNIQUE INDEX "two" ON "t" (lower(name) , grp)"#)
    #expect(
      indexes?[1].columns == [
        ComparedColumn("grp", .nocase, .text), ComparedColumn("pos", .binary, .integer),
        ComparedColumn("full", .binary, .text, as: "grp || '/' || pos"),
      ])
    #expect(try replicas[0].read { try $0.notices() }.isEmpty)
  }

  @Test(
    "An index that a program creates is declared by the next step, though the file was read before")
  func lateIndex() throws {
    try insert("a", "'x', 'g', 1, 1", 2)
    try replicas[2].execute("CREATE UNIQUE INDEX late ON t (note) WHERE pos > 0")
    let declared = try replicas[2].write { tables in
      _ = try tables.summary()
      _ = try tables.schema()
      return try tables.declarations()
    }
    #expect(declared[0].constraints?.contains { $0.index?.name == "late" } == true)
  }

  @Test("Two copies insert one value of a partial index at once: the loser is listed")
  func partial() throws {
    try insert("z", "'a', 'x', 1, 1", 0)
    try insert("a", "'b', 'y', 1, 1", 1)
    try insert("b", "'b', 'z', 1, 0", 1)
    try race()
    #expect(try ids == ["b", "z"])
    #expect(try replicas[1].rejectedContents().map { $0?["name"] } == ["b"])
    // The value is free again when the condition does not hold any more.
    try replicas[0].execute("UPDATE t SET live = 0 WHERE id = 'z'")
    try replicas[1].execute("UPDATE t SET note = 'n' WHERE id = 'z'")
    try race()
    try replicas[1].execute("UPDATE t SET live = 1 WHERE id = 'b'")
    try race()
    #expect(try replicas[2].rows("SELECT live FROM t ORDER BY id") == [[1], [0]])
  }

  @Test("Two copies insert one value of an expression at once: the loser is listed")
  func expression() throws {
    try insert("z", "'Ann', 'x', 1, 0", 0)
    try insert("a", "'ANN', 'X', 2, 0", 1)
    try race()
    #expect(try ids == ["z"])
    #expect(try replicas[1].rejectedContents().map { $0?["name"] } == ["ANN"])
  }

  @Test("A copy without the index is held to it, and is shown the other row")
  func copyWithoutIndex() throws {
    try insert("z", "'Ann', 'x', 1, 1", 0)
    try race()
    try insert("a", "'Bob', 'y', 1, 1", 2)
    try insert("b", "'aNN', 'X', 2, 0", 2)
    try insert("c", "'Eve', 'X', 1, 0", 2)
    try insert("d", "'Eve', 'y', 3, 0", 2)
    try race()
    #expect(try ids == ["d", "z"])
    #expect(
      try reasons(2).map { $0.prefix { $0 != ";" } }.sorted() == [
        "the space refused it: a unique value of it is that of another record",
        "the space refused it: t 'z' has 'ann', 'x' in the unique index two",
        "the space refused it: t 'z' has 1 in the unique index one",
      ])
  }

  @Test("Columns of an index that two copies change apart are not combined")
  func unit() throws {
    try insert("p", "'a', 'x', 1, 1", 0)
    try insert("q", "'b', 'y', 2, 0", 0)
    try race()
    // Each edit alone is possible; together they are not.
    try replicas[0].execute("UPDATE t SET pos = 1 WHERE id = 'q'")
    try replicas[1].execute("UPDATE t SET live = 1 WHERE id = 'q'")
    try race()
    #expect(try replicas[2].rows("SELECT pos, live FROM t WHERE id = 'q'") == [[1, 0]])
  }

  @Test("A copy that did not know the index when it made a commit sends it again [claims]")
  func unknownIndex() throws {
    let space = try TestSpace()
    let table = "CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT)"
    let tables = [AttachedTable("t")]
    let old = try TestReplica(seed: 1, [table], tables: tables, space: space)
    try converge([old], space)
    try old.execute("INSERT INTO t VALUES ('o', 'x')")
    let frozen = try #require(try old.freeze())
    let new = try TestReplica(
      seed: 2, [table, "CREATE UNIQUE INDEX i ON t (lower(a))"], withBlindSpots: tables,
      space: space)
    try converge([new], space)
    let outcome = try space.push(frozen)
    #expect(
      outcome
        == .refused([SyncObjection(key: SyncKey(table: "t", id: ["o"]), reason: .unclaimed)]))
    try old.settle(outcome, frozen)
    #expect(try old.rejected().isEmpty)
    try converge([old, new], space)
    #expect(try new.rows("SELECT * FROM t") == [["o", "x"]])
  }

  @Test(
    "An index that a copy creates later, or brings along, holds once that copy has stated the values of all rows",
    arguments: [false, true])
  func createdLater(isBroughtAlong: Bool) throws {
    let space = try TestSpace()
    let table = "CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT, n INT)"
    let index = "CREATE UNIQUE INDEX i ON t (lower(a)) WHERE n > 0"
    let tables = [AttachedTable("t")]
    let first = try (1...2).map {
      try TestReplica(seed: $0, [table], withBlindSpots: tables, space: space)
    }
    try first[0].execute("INSERT INTO t VALUES ('o', 'x', 1), ('p', 'X', 0), ('q', NULL, 1)")
    try converge(first, space)
    let versions = try space.records().count
    var replicas = first
    if isBroughtAlong {
      replicas.append(
        try TestReplica(seed: 3, [table, index], withBlindSpots: tables, space: space))
      try replicas[2].sync(space)
    } else {
      try first[0].execute(index)
    }
    try converge(replicas, space)
    try converge(replicas, space)
    let declared = try #require(try space.state.tables.first)
    #expect(declared.pending.isEmpty)
    #expect(declared.constraints?.contains { $0.index != nil } == true)
    #expect(try space.records().count == versions)
    let head = try space.state.head
    try converge(replicas, space)
    #expect(try space.state.head == head)
    // A copy without the index is held to it.
    try first[1].execute("UPDATE t SET n = 1 WHERE id = 'p'")
    try converge(replicas, space)
    #expect(try first[0].rows("SELECT n FROM t WHERE id = 'p'") == [[0]])
    #expect(try first[1].rejected().count == 1)
  }

  @Test("A row whose change was refused states its value in an index that was created later")
  func createdBeforeRefusal() throws {
    let space = try TestSpace()
    let schema = [
      "CREATE TABLE p (id TEXT PRIMARY KEY, a TEXT)",
      "CREATE TABLE c (id TEXT PRIMARY KEY, p TEXT REFERENCES p)",
    ]
    let files = try (1...2).map {
      try TestReplica(
        seed: $0, schema, withBlindSpots: [AttachedTable("p"), AttachedTable("c")], space: space)
    }
    try files[0].execute("INSERT INTO p VALUES ('x', 'A')")
    try converge(files, space)
    try files[1].execute("CREATE UNIQUE INDEX late ON p (lower(a))")
    // Of a program that does not enforce foreign keys.
    try files[1].database.write(foreignKeys: .ignored) {
      try $0.execute("UPDATE p SET id = 'y'")
      try $0.execute("INSERT INTO c VALUES ('c', 'x')")
    }
    try files[1].declare(to: space)
    try converge(files, space)
    #expect(try space.state.tables.allSatisfy(\.pending.isEmpty))
  }

  @Test("A value that a column alters is no edit while an index that was created later is pending")
  func alteredWhilePending() throws {
    let space = try TestSpace()
    let files = try ["REAL", "INTEGER"].enumerated().map { number, type in
      try TestReplica(
        seed: UInt64(number + 1), ["CREATE TABLE t (id TEXT PRIMARY KEY, n \(type), name TEXT)"],
        withBlindSpots: [AttachedTable("t")], space: space)
    }
    try files[1].execute("INSERT INTO t VALUES ('m', 1, 'M')")
    try converge(files, space)
    try files[0].execute("CREATE UNIQUE INDEX late ON t (lower(name))")
    try files[0].declare(to: space)
    try files[1].execute("UPDATE t SET n = 2")
    try files[1].sync(space)
    try converge(files, space)
    let record = try #require(try space.records().values.first)
    #expect(record["n"].hasSameStorage(as: 2))
    #expect(try space.state.tables[0].pending.isEmpty)
  }

  @Test(
    "An index that one copy creates while all run on holds in the end, unless rows that are there break it [pending]",
    arguments: 1...8)
  func createdWhileOthersRun(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let space = try TestSpace(seed: seed)
    let copies = try (1...3).map { number in
      RunningCopy(
        try TestReplica(
          seed: seed * 10 + number, ["CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT)"],
          withBlindSpots: [AttachedTable("t")], space: space))
    }
    let replicas = copies.map(\.replica)
    func runAll() throws {
      for _ in 0..<5 { for copy in copies { try copy.run(with: space) } }
      let head = try space.state.head
      for _ in 0..<2 { for copy in copies { try copy.run(with: space) } }
      #expect(try space.state.head == head, "rows are stated again and again")
    }
    var hasIndex = false
    for step in 0..<40 {
      let number = Int.random(in: 0..<3, using: &random)
      let id = Int.random(in: 0..<6, using: &random)
      let name = ["'Ann'", "'ANN'", "'Bob'", "'eve'", "'Eve'", "NULL"].randomElement(using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0...2:
        try replicas[number].execute("INSERT OR IGNORE INTO t VALUES ('\(id)', \(name ?? ""))")
      case 3:
        try replicas[number].execute(
          "UPDATE OR IGNORE t SET name = \(name ?? "") WHERE id = '\(id)'")
      case 4: try replicas[number].execute("DELETE FROM t WHERE id = '\(id)'")
      default: try copies[number].run(with: space)
      }
      if !hasIndex, step > 15 {
        hasIndex =
          (try? replicas[0].execute("CREATE UNIQUE INDEX one ON t (lower(name))")) != nil
      }
    }
    if !hasIndex {
      try replicas[0].execute("DELETE FROM t")
      try replicas[0].execute("CREATE UNIQUE INDEX one ON t (lower(name))")
    }
    try runAll()
    // The commit that declares it.
    try replicas[0].execute("INSERT INTO t VALUES ('last', NULL)")
    try runAll()
    let names = try space.records().values.compactMap { $0["name"].textValue?.lowercased() }
    let isBroken = Set(names).count < names.count
    #expect(try space.state.tables[0].pending.isEmpty != isBroken)
    // Rows that break it hold it up only as long as they do.
    if isBroken {
      try replicas[1].execute("UPDATE t SET name = 'name of ' || id WHERE name NOT NULL")
      try runAll()
    }
    #expect(try space.state.tables[0].pending.isEmpty)
    try expectEqualRows(replicas, "SELECT * FROM t ORDER BY id")
    #expect(try space.records().count == replicas[1].rows("SELECT * FROM t").count)
  }

  @Test("A copy that cannot compute an index lists its edits, and says why")
  func uncomputable() throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT)"], tables: [AttachedTable("t")],
      space: space)
    var declared = try replica.read { try $0.declarations() }
    declared[0].constraints = [
      .index(
        SpaceIndex(
          name: "i", sql: "CREATE UNIQUE INDEX i ON t (folded(a))",
          columns: [ComparedColumn("a", .binary, .text)]))
    ]
    _ = try space.declare(declared)
    try replica.execute("INSERT INTO t VALUES ('o', 'x')")
    try converge([replica], space)
    #expect(
      try replica.rejected().map(\.reason) == [
        "the space refused it: the change has to state the record's value in a unique index, but this program cannot "
          + "compute the unique index i: no such function: folded"
      ])
  }

  @Test(
    "Text of another copy that is not one unique index is not run",
    arguments: [
      "DROP TABLE t", "CREATE INDEX i ON t (a)", "CREATE UNIQUE INDEX i ON t (a); DROP TABLE t",
      "CREATE UNIQUE INDEX i ON t ((SELECT a FROM t))", "CREATE UNIQUE INDEX i ON t (random())",
      "CREATE UNIQUE INDEX i ON sqlite_schema (name)", "CREATE UNIQUE INDEX i ON t (nowhere)",
      "CREATE UNIQUE INDEX i ON t (a) WHERE a IN (SELECT 1)", "", "CREATE UNIQUE INDEX i ON t (a",
    ])
  func foreignText(sql: String) throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT)"], tables: [AttachedTable("t")],
      space: space)
    var declared = try replica.read { try $0.declarations() }
    declared[0].constraints = [
      .index(SpaceIndex(name: "i", sql: sql, columns: [ComparedColumn("a")]))
    ]
    _ = try space.declare(declared)
    try replica.execute("INSERT INTO t VALUES ('o', 'x')")
    try converge([replica], space)
    #expect(
      try replica.rejected().map(\.reason).first?.contains(
        "cannot compute")
        == true)
  }

  @Test(
    "An index of columns that are not synchronized, or of a function or collation of the application, is named",
    arguments: [
      "CREATE UNIQUE INDEX i ON t (a, b)", "CREATE UNIQUE INDEX i ON t (\"b\") WHERE a",
      "CREATE UNIQUE INDEX i ON t (a COLLATE mine)", "CREATE UNIQUE INDEX i ON t (folded(a))",
    ])
  func notDeclared(sql: String) throws {
    var configuration = DatabaseConfiguration()
    configuration.functions = [
      DatabaseFunction("folded", isDeterministic: true) { (text: String) in text }
    ]
    configuration.collations = [DatabaseCollation("mine") { $0 < $1 ? -1 : $0 > $1 ? 1 : 0 }]
    let database = try Database(path: ":memory:", configuration: configuration)
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT, b TEXT)")
      try transaction.execute(SQL(text: sql))
    }
    let notices = try database.write { transaction in
      let replica = ReplicaTables(transaction.connection)
      var table = AttachedTable("t")
      table.columns = ["a"]
      table.allowsBlindSpots = true
      var generator = SystemRandomNumberGenerator()
      try replica.attach([table], to: "space", using: &generator)
      return try replica.notices()
    }
    #expect(notices.count == 1)
    #expect(notices.first?.hasPrefix("the space does not check the unique index i of t") == true)
  }
}

/// A copy whose driver runs on: it asks for the rules of the space when its tables have changed, after a commit that
/// was not accepted, and with each commit while an index of its own is pending.
private final class RunningCopy {
  let replica: TestReplica
  private var declared: [SpaceTable]?

  init(_ replica: TestReplica) { self.replica = replica }

  func run(with space: TestSpace) throws {
    _ = try replica.write { try $0.schema() }
    if try replica.read({ try $0.summary().sync.outbox == nil }) { try replica.pull(space) }
    for _ in 0..<50 {
      if let bytes = try replica.outbox() {
        try declare(to: space)
        let outcome = try space.push(bytes)
        switch outcome {
        case .conflict, .refused: declared = nil
        case .accepted, .parts, .sequence, .gone: break
        }
        try replica.settle(outcome, bytes)
      } else if try replica.state.pullNeed != .none {
        if declared == nil { try declare(to: space) }
        try replica.pull(space)
      } else if try replica.freeze() == nil {
        return
      }
    }
    Issue.record("no end in sight")
  }

  private func declare(to space: TestSpace) throws {
    let tables = try replica.read { try $0.declarations() }
    guard declared != tables else { return }
    try replica.declare(to: space)
    let isPending = try space.state.tables[0].pending.contains { pending in
      tables[0].constraints?.contains(pending.constraint) == true
    }
    declared = isPending ? [] : tables
  }
}
