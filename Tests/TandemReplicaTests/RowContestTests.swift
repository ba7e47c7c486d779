import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSync
import Testing

@Suite("Rows that need unique values of other rows")
struct RowContestTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  /// The keys and unique values of the changes that a file has noted.
  private func noted(
    _ replica: TestReplica, _ kind: ReplicaRejection.Kind
  ) throws -> Set<[FieldValue]> {
    let rejections = try replica.read { try $0.rejections() }.filter { $0.kind == kind }
    return Set(rejections.map { $0.primaryKey + [$0.content?["u"] ?? .null] })
  }

  /// The keys and local unique values of the conflicts that are open.
  private func open(_ replica: TestReplica) throws -> Set<[FieldValue]> {
    let conflicts = try replica.conflicts(includingResolved: false)
    return Set(conflicts.map { $0.primaryKey + [$0.local?["u"] ?? .null] })
  }

  private func expectSoundReferences(
    _ replicas: [TestReplica], _ location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in replicas {
      #expect(try replica.rows("PRAGMA foreign_key_check").isEmpty, sourceLocation: location)
    }
  }

  // MARK: Rows that stay

  /// Two files with rows `k1`, `k2` and `k5`, and a child of `k5`. Only the second one has a unique index.
  private func unlikePair() throws -> [TestReplica] {
    let replicas = try zip(1...2, ["u INTEGER", "u INTEGER UNIQUE"]).map { seed, column in
      try TestReplica(
        seed: UInt64(seed),
        [
          "CREATE TABLE t (id TEXT PRIMARY KEY, \(column))",
          "CREATE TABLE s (id TEXT PRIMARY KEY, t TEXT NOT NULL REFERENCES t)",
        ], withBlindSpots: [AttachedTable("t"), AttachedTable("s")], space: space)
    }
    try replicas[0].execute("INSERT INTO t VALUES ('k1', 1), ('k2', 2), ('k5', 5)")
    try replicas[0].execute("INSERT INTO s VALUES ('c', 'k5')")
    try converge(replicas, space)
    return replicas
  }

  @Test("A row with a lost edit and no free value stays as it is, and nothing of it is sent")
  func staysWithoutFreeValue() throws {
    let replicas = try unlikePair()
    // Other rows have the space's values of k5, the new one and the former one.
    try replicas[0].execute("UPDATE t SET u = iif(id = 'k2', 5, 1)")
    try replicas[1].execute("UPDATE t SET u = 7 WHERE id = 'k5'")
    try replicas[0].sync(space)
    let records = try space.records()
    try converge(replicas, space)
    #expect(try space.records() == records)
    #expect(
      try replicas[1].rows("SELECT * FROM t ORDER BY id") == [["k1", 1], ["k2", 5], ["k5", 7]])
    try expectSoundReferences(replicas)
    #expect(try open(replicas[1]) == [["k5", 7]])
    #expect(try noted(replicas[1], .record) == [["k5", 1]])
    // The version of the space is tried again.
    try replicas[0].execute("UPDATE t SET u = 3 WHERE id = 'k1'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id", [["k1", 3], ["k2", 5], ["k5", 1]])
    #expect(try noted(replicas[1], .record).isEmpty)
  }

  @Test("… and so does a row that both files have added, until it is changed")
  func additionStays() throws {
    let replicas = try unlikePair()
    for (replica, u) in zip(replicas, [1, 9]) {
      try replica.execute("INSERT INTO t VALUES ('new', \(u))")
    }
    try replicas[1].execute("INSERT INTO s VALUES ('c-new', 'new')")
    try converge(replicas, space)
    #expect(try replicas[0].rows("SELECT u FROM t WHERE id = 'new'") == [[1]])
    #expect(try replicas[1].rows("SELECT u FROM t WHERE id = 'new'") == [[9]])
    try expectSoundReferences(replicas)
    #expect(try open(replicas[1]) == [["new", 9]])
    #expect(try noted(replicas[1], .record) == [["new", 1]])
    try replicas[1].execute("UPDATE t SET u = 11 WHERE id = 'new'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id", [["k1", 1], ["k2", 2], ["k5", 5], ["new", 11]])
    #expect(try noted(replicas[1], .record).isEmpty)
  }
}
