import TandemRecords
import TandemReplica
import TandemSQLite
import Testing

/// Changes that are made again, or that resolve conflicts, are checked one by one, also where SQLite checks
/// references at the end of the transaction.
@Suite("Foreign keys of changes that are made again")
struct DeferredKeyTests {
  private let space: TestSpace

  init() throws { space = try TestSpace() }

  private static let checks = ["", "DEFERRABLE INITIALLY DEFERRED"]

  private func pair(_ check: String) throws -> [TestReplica] {
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE p (id TEXT PRIMARY KEY, name TEXT)",
          "CREATE TABLE c (id TEXT PRIMARY KEY, p TEXT REFERENCES p \(check), u UNIQUE)",
        ], tables: [AttachedTable("p"), AttachedTable("c")], space: space)
    }
    try converge(replicas, space)
    return replicas
  }

  /// Writes as the application does: foreign keys are enforced.
  private func edit<Value: Sendable>(
    _ replica: TestReplica, _ body: (ReplicaTables) throws -> Value
  ) throws -> Value {
    try replica.database.write { try body(ReplicaTables($0.connection)) }
  }

  @Test(
    "Of rejected changes, those whose parent is not there stay rejected", arguments: checks)
  func retry(check: String) throws {
    let replicas = try pair(check)
    try replicas[0].execute("INSERT INTO c VALUES ('x1', NULL, 1), ('x2', NULL, 2)")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO p (id) VALUES ('p')")
    try replicas[1].execute("INSERT INTO c VALUES ('y1', 'p', 1), ('y2', NULL, 2)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE c SET u = NULL")
    try replicas[0].execute("DELETE FROM p")
    try converge(replicas, space)
    #expect(try edit(replicas[1]) { try $0.retry(.rejected) } == 1)
    #expect(try replicas[1].rows("SELECT id FROM c ORDER BY id") == [["x1"], ["x2"], ["y2"]])
    let left = try replicas[1].rejected()
    #expect(left.map(\.primaryKey) == [["y1"]])
    for retry: (ReplicaTables) throws -> Void in [
      { try $0.retry(.one(left[0].id)) }, { _ = try $0.retry(.rejected) },
    ] {
      let error = #expect(throws: ReplicaError.self) { try edit(replicas[1], retry) }
      #expect(error?.code == .constraint)
      #expect(
        error?.message.contains(
          "the table c does not accept this version of 'y1': it refers to a row that is not there")
          == true, "\(String(describing: error))")
    }
    try replicas[1].execute("INSERT INTO p (id) VALUES ('p')")
    #expect(try edit(replicas[1]) { try $0.retry(.rejected) } == 1)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id FROM c WHERE p = 'p'", [["y1"]])
  }

  @Test("Rejected rows that refer to each other are written together")
  func cycle() throws {
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          """
          CREATE TABLE n (
            id TEXT PRIMARY KEY, next TEXT REFERENCES n DEFERRABLE INITIALLY DEFERRED, u UNIQUE)
          """
        ], tables: [AttachedTable("n")], space: space)
    }
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO n VALUES ('x1', NULL, 1), ('x2', NULL, 2)")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO n VALUES ('y1', 'y2', 1), ('y2', 'y1', 2)")
    try converge(replicas, space)
    #expect(try replicas[1].rejectedContents().count == 2)
    try replicas[0].execute("UPDATE n SET u = NULL WHERE id = 'x1'")
    try converge(replicas, space)
    // One of them is still refused, so the other one refers to no row.
    #expect(throws: ReplicaError.self) { try edit(replicas[1]) { try $0.retry(.rejected) } }
    #expect(try replicas[1].rows("SELECT id FROM n ORDER BY id") == [["x1"], ["x2"]])
    try replicas[0].execute("UPDATE n SET u = NULL")
    try converge(replicas, space)
    #expect(try edit(replicas[1]) { try $0.retry(.rejected) } == 2)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, next FROM n WHERE next NOT NULL ORDER BY id",
      [["y1", "y2"], ["y2", "y1"]])
  }

  @Test(
    "A resolution whose row would refer to no row is named, and no conflict is resolved",
    arguments: checks)
  func resolutions(check: String) throws {
    let replicas = try pair(check)
    try replicas[0].execute("INSERT INTO p (id) VALUES ('p1'), ('p2'), ('p3')")
    try replicas[0].execute("INSERT INTO c (id) VALUES ('c1'), ('c2'), ('c3')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE c SET p = 'p3'")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE c SET p = CASE id WHEN 'c2' THEN 'p2' ELSE 'p1' END")
    try converge(replicas, space)
    let conflicts = try replicas[1].conflicts(includingResolved: false)
    #expect(conflicts.count == 3)
    let named = try #require(conflicts.first { $0.primaryKey == ["c2"] })
    try replicas[0].execute("DELETE FROM p WHERE id = 'p2'")
    try converge(replicas, space)
    let before = try replicas[1].rows("SELECT * FROM c ORDER BY id")
    let reason =
      "the table c does not accept this version of 'c2': it refers to a row that is not there"
    let all = #expect(throws: ReplicaError.self) {
      try edit(replicas[1]) { try $0.resolve(.conflicts, by: .local) }
    }
    #expect(all?.code == .constraint)
    #expect(
      all?.message.hasPrefix("conflict \(named.id): \(reason)") == true,
      "\(String(describing: all))")
    let one = #expect(throws: ReplicaError.self) {
      try edit(replicas[1]) { try $0.resolve(.one(named.id), by: .local) }
    }
    #expect(one?.message.hasPrefix(reason) == true, "\(String(describing: one))")
    #expect(try replicas[1].rows("SELECT * FROM c ORDER BY id") == before)
    #expect(try replicas[1].conflicts(includingResolved: false).count == 3)
    try replicas[1].execute("INSERT INTO p (id) VALUES ('p2')")
    #expect(try edit(replicas[1]) { try $0.resolve(.conflicts, by: .local) } == 3)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, p FROM c ORDER BY id", [["c1", "p1"], ["c2", "p2"], ["c3", "p1"]])
  }

  @Test("A resolution that deletes a row to which others refer is named", arguments: checks)
  func deletion(check: String) throws {
    let replicas = try pair(check)
    // Rows that both sides added have no base: it is chosen to delete them.
    for (replica, name) in zip(replicas, ["a", "b"]) {
      try replica.execute("INSERT INTO p VALUES ('p1', '\(name)'), ('p2', '\(name)')")
      try replica.sync(space)
    }
    try converge(replicas, space)
    let conflicts = try replicas[1].conflicts(includingResolved: false)
    #expect(conflicts.count == 2)
    let named = try #require(conflicts.first { $0.primaryKey == ["p1"] })
    try replicas[1].execute("INSERT INTO c (id, p) VALUES ('c', 'p1')")
    let error = #expect(throws: ReplicaError.self) {
      try edit(replicas[1]) { try $0.resolve(.conflicts, by: .base) }
    }
    #expect(
      error?.message.hasPrefix("conflict \(named.id): the table p does not accept") == true,
      "\(String(describing: error))")
    #expect(try replicas[1].rows("SELECT count(*) FROM p") == [[2]])
    try replicas[1].execute("DELETE FROM c")
    #expect(try edit(replicas[1]) { try $0.resolve(.conflicts, by: .base) } == 2)
    #expect(try replicas[1].rows("SELECT * FROM p").isEmpty)
  }
}
