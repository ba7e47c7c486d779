import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSync
import Testing

/// A table of the second file does not accept a version, so its row keeps former values. Edits of such a
/// row are merged with the version that it never had.
@Suite("Edits of rows whose version of the space is set aside")
struct SetAsideEditTests {
  let space: TestSpace
  let a: TestReplica
  let b: TestReplica

  init() throws {
    space = try TestSpace()
    (a, b) = try space.unlikePair(
      "id TEXT PRIMARY KEY, u, n INTEGER DEFAULT 0, body TEXT",
      "id TEXT PRIMARY KEY, u UNIQUE, n INTEGER DEFAULT 0, body TEXT",
      rows: "INSERT INTO t VALUES ('k1', 1, 0, 'x'), ('k2', 2, 0, 'x')")
  }

  /// The first file makes an edit that the second one cannot have, because `u` is not unique then.
  private func edit(_ assignments: String) throws {
    try a.execute("UPDATE t SET u = 1, \(assignments) WHERE id = 'k2'")
    try a.sync(space)
    try b.sync(space)
    #expect(try b.rows("SELECT * FROM t WHERE id = 'k2'") == [["k2", 2, 0, "x"]])
  }

  private func setPolicies(_ fields: [FieldName: TableMerging.Field]) {
    for replica in [a, b] { replica.merging.tables["t"] = TableMerging(fields: fields) }
  }

  @Test("A deletion does not destroy a version that the row never had")
  func deletion() throws {
    try edit("body = 'long'")
    try b.execute("DELETE FROM t WHERE id = 'k2'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT * FROM t WHERE id = 'k2'") == [["k2", 1, 0, "long"]])
    // The version has no row, and is there as soon as it can be.
    #expect(try b.rejectedContents().map { $0?["body"] } == ["long"])
    let conflict = try #require(try b.conflicts().first)
    #expect(conflict.kind == .deleteEdit && conflict.resolution == .remote)
    #expect(conflict.base?["body"] == "x" && conflict.remote?["body"] == "long")
    try a.execute("UPDATE t SET u = 9 WHERE id = 'k1'")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], "SELECT * FROM t ORDER BY id", [["k1", 9, 0, "x"], ["k2", 1, 0, "long"]])
    #expect(try b.rejectedContents().isEmpty)
  }

  @Test(
    "An edit is no part of a combination with a value of its unit that the row never showed",
    arguments: [ConflictGranularity.field, .record])
  func unit(_ granularity: ConflictGranularity) throws {
    let space = try TestSpace()
    let columns = "id TEXT PRIMARY KEY, low INTEGER, high INTEGER"
    let check = granularity == .field ? ", CHECK (low <= high)" : ""
    func file(_ seed: UInt64, _ columns: String) throws -> TestReplica {
      try TestReplica(
        seed: seed, ["CREATE TABLE t (\(columns)\(check))"],
        tables: [AttachedTable("t", granularity: granularity)], space: space)
    }
    let (a, b) = try (file(1, columns), file(2, "\(columns), CHECK (low < 4)"))
    try a.execute("INSERT INTO t VALUES ('m', 1, 5)")
    try converge([a, b], space)
    try a.execute("UPDATE t SET low = 4")
    try converge([a, b], space)
    #expect(try b.rows("SELECT low, high FROM t") == [[1, 5]])
    try b.execute("UPDATE t SET high = 2")
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT low, high FROM t", [[1, 2]])
    let conflict = try #require(try b.conflicts().first)
    #expect(conflict.local?["high"] == 2 && conflict.local?["low"] == 1)
    #expect(conflict.remote?["low"] == 4 && conflict.resolution == .local)
    #expect(try b.rejected().isEmpty)
  }

  @Test("A deletion wins by its policy, and the version that the row never had is recorded")
  func winningDeletion() throws {
    for replica in [a, b] { replica.merging.tables["t"] = TableMerging(record: .keepLocal) }
    try edit("body = 'long'")
    try b.execute("DELETE FROM t WHERE id = 'k2'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT id FROM t", [["k1"]])
    let conflict = try #require(try b.conflicts().first)
    #expect(conflict.kind == .deleteEdit && conflict.remote?["body"] == "long")
    #expect(try b.rejectedContents().isEmpty)
  }

  @Test("A row that gets another key leaves the version that it never had under the former one")
  func otherKey() throws {
    try edit("body = 'long'")
    try b.execute("UPDATE t SET id = 'k3' WHERE id = 'k2'")
    try converge([a, b], space)
    #expect(
      try a.rows("SELECT * FROM t ORDER BY id")
        == [["k1", 1, 0, "x"], ["k2", 1, 0, "long"], ["k3", 2, 0, "x"]])
    #expect(try b.conflicts().map(\.kind) == [.deleteEdit])
  }

  @Test("Each addition counts")
  func counter() throws {
    setPolicies(["n": .counter])
    try edit("n = n + 5")
    try b.execute("UPDATE t SET n = n + 1 WHERE id = 'k2'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT n FROM t WHERE id = 'k2'") == [[6]])
    // A later addition counts from the value that the row has.
    try b.execute("UPDATE t SET n = n + 1 WHERE id = 'k2'")
    try b.sync(space)
    try a.execute("UPDATE t SET n = n + 10 WHERE id = 'k2'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT n FROM t WHERE id = 'k2'") == [[17]])
    try a.execute("UPDATE t SET u = 9 WHERE id = 'k1'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT n FROM t ORDER BY id", [[0], [17]])
  }

  @Test("An addition that is rejected counts when it is made again")
  func rejectedCounter() throws {
    setPolicies(["n": .counter])
    try edit("n = n + 5")
    try b.execute("UPDATE t SET n = n + 1, body = 'b' WHERE id = 'k2'")
    // The first file changes the same fields meanwhile, so that the space answers with a conflict.
    try a.execute("UPDATE t SET n = n + 10, body = 'a' WHERE id = 'k2'")
    try a.sync(space)
    let bytes = try #require(try b.freeze())
    try b.settle(try space.push(bytes), bytes)
    try converge([a, b], space)
    #expect(try a.rows("SELECT n FROM t WHERE id = 'k2'") == [[15]])
    try a.execute("UPDATE t SET u = 9 WHERE id = 'k1'")
    try converge([a, b], space)
    let note = try #require(try b.rejected().first)
    try b.write { try $0.setPolicy(.counter, "n", of: "t") }
    #expect(note.base?["n"] == 0 && note.content?["n"] == 1)
    try b.write { try $0.retry(.one(note.id)) }
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT n FROM t WHERE id = 'k2'", [[16]])
  }

  @Test("The policy of a field decides about a version that the row never had")
  func policies() throws {
    setPolicies(["n": .policy(.maximum), "body": .policy(.keepRemote)])
    try edit("n = 9, body = 'from a'")
    try b.execute("UPDATE t SET n = 5, body = 'from b' WHERE id = 'k2'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT * FROM t WHERE id = 'k2'") == [["k2", 1, 9, "from a"]])
    let conflict = try #require(try b.conflicts().first)
    #expect(conflict.local?["body"] == "from b" && conflict.remote?["body"] == "from a")
    try a.execute("UPDATE t SET u = 9 WHERE id = 'k1'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT * FROM t WHERE id = 'k2'", [["k2", 1, 9, "from a"]])
  }

  @Test("A field without a policy gets the edit, and the other version is recorded")
  func noPolicy() throws {
    try edit("body = 'from a'")
    try b.execute("UPDATE t SET body = 'from b' WHERE id = 'k2'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT * FROM t WHERE id = 'k2'") == [["k2", 1, 0, "from b"]])
    let conflict = try #require(try b.conflicts().first)
    #expect(conflict.resolution == .local && conflict.remote?["body"] == "from a")
  }

  @Test("A conflict is resolved without the fields that the row does not have")
  func resolution() throws {
    try edit("body = 'from a'")
    try a.execute("UPDATE t SET n = 7 WHERE id = 'k2'")
    try b.execute("UPDATE t SET n = 8 WHERE id = 'k2'")
    try a.sync(space)
    try b.sync(space)
    let conflict = try #require(try b.conflicts(includingResolved: false).first)
    try b.write { try $0.resolve(.one(conflict.id), by: .local) }
    try converge([a, b], space)
    #expect(try a.rows("SELECT * FROM t WHERE id = 'k2'") == [["k2", 1, 8, "from a"]])
    #expect(try b.rows("SELECT u, n FROM t WHERE id = 'k2'") == [[2, 8]])
  }

  @Test("Two equal edits that were rejected are two")
  func equalEdits() throws {
    setPolicies(["n": .counter])
    for _ in 0..<2 {
      try b.execute("UPDATE t SET u = 7, n = n + 1 WHERE id = 'k2'")
      try a.execute("UPDATE t SET u = 7 WHERE id = 'k1'")
      try a.sync(space)
      try b.sync(space)
      try a.execute("UPDATE t SET u = 1 WHERE id = 'k1'")
      try a.sync(space)
      try b.sync(space)
    }
    #expect(try b.rejected().map(\.kind) == [.edit, .edit])
  }
}
