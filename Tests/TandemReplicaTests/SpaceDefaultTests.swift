import TandemRecords
import TandemReplica
import TandemSync
import Testing

@Suite("Defaults of columns that a copy lacks [defaults]")
struct SpaceDefaultTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  /// A copy with more columns and rules than the second one.
  private func pair(_ columns: String, _ index: String? = nil) throws -> [TestReplica] {
    let replicas = try ["name TEXT, \(columns)", "name TEXT"].enumerated().map { number, columns in
      try TestReplica(
        seed: UInt64(number + 1),
        ["CREATE TABLE t (id TEXT PRIMARY KEY, \(columns))"]
          + (number == 0 ? [index].compactMap(\.self) : []),
        withBlindSpots: [AttachedTable("t")], space: space)
    }
    try converge(replicas, space)
    return replicas
  }

  private func insert(_ id: String, _ replica: TestReplica) throws {
    try replica.execute("INSERT INTO t (id, name) VALUES ('\(id)', 'name of \(id)')")
    try replica.sync(space)
  }

  private func ids(_ replica: TestReplica) throws -> [String?] {
    try replica.rows("SELECT id FROM t ORDER BY id").map { $0[0].textValue }
  }

  @Test("A rule over a column with a default holds for the rows of copies without the column")
  func unique() throws {
    let replicas = try pair("place INTEGER NOT NULL DEFAULT 0 UNIQUE")
    try insert("a", replicas[0])
    try insert("b", replicas[1])
    try converge(replicas, space)
    #expect(try ids(replicas[0]) == ["a"])
    #expect(try ids(replicas[1]) == ["a"])
    #expect(try replicas[0].read { try $0.keptEdits(.all) }.isEmpty)
    let kept = try replicas[1].rejected()
    #expect(kept.map(\.content) == [["name": "name of b"]])
    // The value is free: the row comes back, and is edited and deleted as any other.
    try replicas[0].execute("UPDATE t SET place = 7")
    try converge(replicas, space)
    try replicas[1].write { try $0.retry(.one(kept[0].id)) }
    try converge(replicas, space)
    try replicas[1].execute("UPDATE t SET name = 'B' WHERE id = 'b'")
    try converge(replicas, space)
    #expect(
      try replicas[0].rows("SELECT * FROM t ORDER BY id") == [
        ["a", "name of a", 7], ["b", "B", 0],
      ])
    try replicas[1].execute("DELETE FROM t WHERE id = 'b'")
    try converge(replicas, space)
    #expect(try ids(replicas[0]) == ["a"])
    #expect(try replicas[1].rows("SELECT 1 FROM tandem_parked WHERE id = '[\"b\"]'").isEmpty)
  }

  @Test("The row of a refused insertion goes, and another edit of it is an insertion again")
  func editedMeanwhile() throws {
    let replicas = try pair("place INTEGER NOT NULL DEFAULT 0 UNIQUE")
    try insert("a", replicas[0])
    try replicas[1].pull(space)
    try replicas[1].execute("INSERT INTO t VALUES ('b', 'first')")
    let bytes = try #require(try replicas[1].freeze())
    try replicas[1].execute("UPDATE t SET name = 'second' WHERE id = 'b'")
    try replicas[1].settle(try space.push(bytes), bytes)
    try converge(replicas, space)
    #expect(try ids(replicas[1]) == ["a"])
    #expect(try replicas[1].rejectedContents().last == ["name": "second"])
  }

  @Test("The value that a commit states for a unique index has the default")
  func index() throws {
    let replicas = try pair(
      "live INT NOT NULL DEFAULT TRUE", "CREATE UNIQUE INDEX one ON t (live) WHERE live = 1")
    try insert("a", replicas[0])
    try insert("b", replicas[1])
    try converge(replicas, space)
    #expect(try ids(replicas[0]) == ["a"])
    #expect(try replicas[1].rejectedContents().count == 1)
  }

  @Test("Constants are stated as the column stores them, and nothing else is")
  func constants() throws {
    let replicas = try pair(
      """
      a INTEGER NOT NULL DEFAULT '5', b REAL NOT NULL DEFAULT -1, c TEXT NOT NULL DEFAULT 'it''s; -- (',
      d NOT NULL DEFAULT x'00ff', e NOT NULL DEFAULT 1.5e3, f INTEGER DEFAULT 1,
      g NOT NULL DEFAULT (random()), h NOT NULL DEFAULT CURRENT_TIMESTAMP, i NOT NULL DEFAULT "x y",
      j NOT NULL DEFAULT (1 + 1)
      """)
    try insert("b", replicas[1])
    let record = try space.records()[SyncKey(table: "t", id: ["b"])]
    #expect(
      record?.hasSameStorage(
        as: [
          "name": "name of b", "a": 5, "b": -1.0, "c": "it's; -- (", "d": .blob([0, 255]),
          "e": 1500.0, "j": 2,
        ]) == true, "\(record as Any)")
    try replicas[0].sync(space)
    #expect(try replicas[0].rows("SELECT a, f FROM t") == [[5, .null]])
  }
}
