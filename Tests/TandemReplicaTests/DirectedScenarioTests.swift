import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import TestFolder
import Testing

/// The smallest scenarios in which rules of the protocol matter, as a model of it has found them.
@Suite("Smallest scenarios of the protocol's rules")
struct DirectedScenarioTests {
  private static let schema = [
    "CREATE TABLE list (id TEXT PRIMARY KEY, name TEXT, n INTEGER, note TEXT)"
  ]
  private static let query = "SELECT * FROM list ORDER BY id"
  private let space: TestSpace

  init() throws { space = try TestSpace() }

  private func replica(_ seed: UInt64, path: String = ":memory:") throws -> TestReplica {
    try TestReplica(
      seed: seed, Self.schema, tables: [AttachedTable("list")], space: space,
      merging: ReplicaMerging(["list": TableMerging(fields: ["n": .counter])]), path: path)
  }

  @Test(
    "An addition counts once, though its file is put back after the space forgot history [memory]")
  func putBack() throws {
    let folder = try TemporaryFolder()
    let a = try replica(1, path: folder.path(of: "a.db"))
    let b = try replica(2)
    try a.execute("INSERT INTO list VALUES ('l', 'a', 0, NULL)")
    try converge([a, b], space)
    try a.execute("UPDATE list SET n = n + 1")
    let bytes = try #require(try a.freeze())
    let path = folder.path(of: "backup.db")
    try a.database.withWriter { try $0.execute("VACUUM INTO ?", .text(path)) }
    let backup = try TestReplica(seed: 7, path: path, merging: a.merging)
    try a.settle(try space.push(bytes), bytes)
    try a.execute("UPDATE list SET name = 'later'")
    try b.execute("UPDATE list SET note = 'of b'")
    try converge([a, b], space)
    try space.forgetHistory()
    // The space has forgotten what changed since, but not that it accepted this commit.
    try backup.sync(space)
    try converge([backup, b], space)
    try expectEqualRows([backup, b], Self.query, [["l", "later", 1, "of b"]])
  }

  @Test("A row of a history that the space lost is not taken for one that was deleted [memory]")
  func lostBelowHorizon() throws {
    let (a, b, c) = (try replica(1), try replica(2), try replica(3))
    try a.execute("INSERT INTO list VALUES ('l', 'a', 0, NULL)")
    try converge([a, b, c], space)
    let backup = try space.backup()
    try b.execute("INSERT INTO list VALUES ('m', 'of b, which is lost', 0, NULL)")
    try b.sync(space)
    try a.sync(space)
    try space.restore(backup)
    for number in 1...3 {
      try c.execute("UPDATE list SET note = 'c\(number)' WHERE id = 'l'")
      try c.sync(space)
    }
    try space.forgetHistory()
    #expect(throws: ReplicaError.self) { try a.sync(space) }
    #expect(try a.state.pullNeed == .history)
    a.decision = .union
    try converge([a, c], space)
    try expectEqualRows(
      [a, c], "SELECT id, name FROM list ORDER BY id", [["l", "a"], ["m", "of b, which is lost"]])
  }

  @Test(
    "A reference whose parent's table is attached later holds from when no row breaks it [pending]")
  func parentLater() throws {
    let schema = [
      "CREATE TABLE list (id TEXT PRIMARY KEY)",
      "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT REFERENCES list)",
    ]
    let first = try TestReplica(seed: 1, schema, tables: [AttachedTable("item")], space: space)
    try first.execute("INSERT INTO list VALUES ('l'), ('own')")
    try first.execute("INSERT INTO item VALUES ('i', 'l')")
    try converge([first], space)
    let second = try TestReplica(seed: 2)
    for sql in schema + ["INSERT INTO list VALUES ('l')"] { try second.execute(sql) }
    try second.attach([AttachedTable("list"), AttachedTable("item")], space)
    #expect(try space.state.tables.contains { !$0.pending.isEmpty })
    try converge([first, second], space)
    #expect(try space.state.tables.allSatisfy(\.pending.isEmpty))
    // The first copy has a parent that the space never gets.
    try first.execute("INSERT INTO item VALUES ('j', 'own')")
    try second.execute("DELETE FROM item")
    try second.execute("DELETE FROM list")
    try first.sync(space)
    try converge([first, second], space)
    try expectEqualRows([first, second], "SELECT * FROM item", [])
    #expect(try first.rejectedContents().map { $0?["list"] } == ["own"])
    #expect(try second.rows("SELECT * FROM list").isEmpty)
  }

  @Test(
    "An edit that beats a deletion keeps the columns that its file lacks [absent]",
    arguments: [[0, 1], [1, 0]])
  func absentColumns(order: [Int]) throws {
    let replicas = try [
      "id TEXT PRIMARY KEY, n INTEGER, precious TEXT", "id TEXT PRIMARY KEY, n INTEGER",
    ]
    .enumerated().map { number, columns in
      try TestReplica(
        seed: UInt64(number + 1), ["CREATE TABLE t (\(columns))"], tables: [AttachedTable("t")],
        space: space)
    }
    try replicas[0].execute("INSERT INTO t VALUES ('r', 1, 'kept')")
    try converge(replicas, space)
    try replicas[0].execute("DELETE FROM t")
    try replicas[1].execute("UPDATE t SET n = 2")
    for number in order { try replicas[number].sync(space) }
    try converge(replicas, space)
    #expect(try replicas[0].rows("SELECT * FROM t") == [["r", 2, "kept"]])
    #expect(try replicas[1].rows("SELECT * FROM t") == [["r", 2]])
  }

  @Test(
    "A value that others refer to does not change while another copy adds a reference to it [value]",
    arguments: [[0, 1], [1, 0]])
  func referencedValue(order: [Int]) throws {
    let replicas = try (1...3).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE list (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
          "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT NOT NULL REFERENCES list (name))",
        ], tables: [AttachedTable("list"), AttachedTable("item")], space: space)
    }
    try replicas[0].execute("INSERT INTO list VALUES ('l', 'Food')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE list SET name = 'Meals'")
    try replicas[1].execute("INSERT INTO item VALUES ('i', 'Food')")
    for number in order {
      let bytes = try #require(try replicas[number].freeze())
      try replicas[number].settle(try space.push(bytes), bytes)
    }
    try converge(replicas, space)
    try expectSoundReferences(replicas)
    // What came first stands, and the other edit is kept where it was made.
    let isRenamed = order == [0, 1]
    try expectEqualRows(replicas, "SELECT name FROM list", [[isRenamed ? "Meals" : "Food"]])
    try expectEqualRows(replicas, "SELECT id FROM item", isRenamed ? [] : [["i"]])
    #expect(try replicas[order[1]].read { try $0.keptEdits(.rejected) }.count == 1)
  }

  @Test(
    "A parent that an edit brings back gives up if its unique value is taken, and so does the edit [once]"
  )
  func revivedParentGivesUp() throws {
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE list (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
          "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT NOT NULL REFERENCES list)",
        ], tables: [AttachedTable("list"), AttachedTable("item")], space: space)
    }
    try replicas[0].execute("INSERT INTO list VALUES ('l', 'Food')")
    try converge(replicas, space)
    try replicas[0].execute("DELETE FROM list")
    try replicas[0].execute("INSERT INTO list VALUES ('m', 'Food')")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO item VALUES ('i', 'l')")
    // Before anything is sent again.
    try replicas[1].pull(space)
    try expectEqualRows(replicas, "SELECT * FROM list", [["m", "Food"]])
    try expectEqualRows(replicas, "SELECT * FROM item", [])
    #expect(try replicas[1].rejectedContents().contains { $0?["list"] == "l" })
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM list", [["m", "Food"]])
  }

  @Test("Two copies that each add one at a limit do not pass it together [counted]")
  func counted() throws {
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0, ["CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER CHECK (n <= 10))"],
        tables: [AttachedTable("t")], space: space,
        merging: ReplicaMerging(["t": TableMerging(fields: ["n": .counter])]))
    }
    try replicas[0].execute("INSERT INTO t VALUES ('r', 8)")
    try converge(replicas, space)
    for replica in replicas { try replica.execute("UPDATE t SET n = n + 1") }
    for replica in replicas { try replica.sync(space) }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT n FROM t", [[10]])
    for replica in replicas { try replica.execute("UPDATE t SET n = n") }
    try replicas[0].execute("UPDATE t SET n = 9")
    try converge(replicas, space)
    for replica in replicas { try replica.execute("UPDATE t SET n = n + 1") }
    for replica in replicas {
      let bytes = try #require(try replica.freeze())
      try replica.settle(try space.push(bytes), bytes)
    }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT n FROM t", [[10]])
    // The one that came later is kept where it was made.
    #expect(try replicas[1].read { try $0.keptEdits(.all) }.count == 1)
  }
}
