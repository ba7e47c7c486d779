import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

@Suite("Content that no message can hold, and state that another program has changed")
struct ReplicaBoundTests {
  private let space: TestSpace
  private let a: TestReplica
  private let b: TestReplica

  init() throws {
    let space = try TestSpace()
    func replica(_ seed: UInt64) throws -> TestReplica {
      try TestReplica(
        seed: seed, ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)"],
        tables: [AttachedTable("note")], space: space)
    }
    self.space = space
    a = try replica(1)
    b = try replica(2)
  }

  @Test("A conflict with a record over the limit can be read and resolved, like all others")
  func longVersion() throws {
    try a.execute("INSERT INTO note VALUES ('n', 'short')")
    try a.sync(space)
    let length = SyncLimits().maxRecordByteCount + 1
    try b.execute("INSERT INTO note VALUES ('n', printf('%.\(length)c', 'x'))")
    try b.pull(space)
    let conflict = try #require(try b.conflicts(includingResolved: false).first)
    guard case .text(let title)? = conflict.local?["title"] else {
      Issue.record("the local version is missing")
      return
    }
    #expect(title.utf8.count == length)
    try b.write { try $0.resolve(.one(conflict.id), by: .remote) }
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT * FROM note", [["n", "short"]])
    // No message can hold the version that lost. It is not reported as a deletion instead.
    let overruled = try space.database.read {
      try $0.connection.rows("SELECT fields FROM overruled")
    }
    #expect(overruled == [])
    #expect(try b.conflicts().first?.local == conflict.local)
  }

  @Test(
    "Very many rows are frozen together, and those that are not sent stay",
    arguments: [true, false], [10_000, 700])
  func manyRows(hasUnsendableRow: Bool, maxChangeCount: Int) throws {
    let count = 1_201
    try a.execute(
      """
      WITH numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(count))
      INSERT INTO note SELECT printf('%05d', n), 'title ' || n FROM numbers
      """)
    try a.sync(space)
    a.limits.maxPartsChangeCount = maxChangeCount
    a.limits.maxCommitChangeCount = 300
    try a.execute("UPDATE note SET title = title || '!'")
    // Every seventh row is as it was, and the last one of the first part cannot be sent.
    try a.execute("UPDATE note SET title = rtrim(title, '!') WHERE id % 7 = 0")
    if hasUnsendableRow {
      try a.execute("UPDATE note SET title = CAST(x'ff' AS TEXT) WHERE id = '00500'")
    }
    let sent = (1...count).filter { $0 % 7 != 0 && !(hasUnsendableRow && $0 == 500) }
      .prefix(maxChangeCount)
    #expect(try a.freeze() != nil)
    let parts = try a.parts()
    #expect(parts.dropLast().allSatisfy { $0.changes.count == 300 })
    let changes = parts.flatMap(\.changes)
    #expect(changes.map(\.key.id) == sent.map { [.text(format5($0))] })
    // The rest of a commit that is full has not been looked at.
    let rest = maxChangeCount < count ? Array((sent.last ?? 0) + 1...count) : []
    let left = (hasUnsendableRow ? [500] : []) + rest
    #expect(
      try a.rows("SELECT id, title FROM tandem_shadow_note ORDER BY id")
        == left.map { [.text(format5($0)), .text("title \($0)")] })
    #expect(
      try a.rows("SELECT id, title FROM tandem_aside_note ORDER BY id")
        == sent.map { [.text(format5($0)), .text("title \($0)")] })
  }

  private func format5(_ number: Int) -> String {
    String(repeating: "0", count: 5 - String(number).count) + String(number)
  }

  @Test("A key over the limit is noted, and can be read")
  func longKey() throws {
    let length = SyncLimits().maxRecordByteCount + 1
    try a.execute("INSERT INTO note VALUES (printf('%.\(length)c', 'k'), 'title')")
    try a.pull(space)
    #expect(try a.freeze() == nil)
    let rejection = try #require(try a.rejected().first)
    #expect(rejection.reason.hasPrefix("the key is longer"))
  }

  /// Adds a row whose key is too long, and others before and after a synchronization.
  private func addRowsAroundLongKey() throws {
    let length = 1_100
    try a.execute("INSERT INTO note VALUES (printf('%.\(length)c', 'k'), 'long'), ('n', 'short')")
    try a.sync(space)
    #expect(try space.records().count == 1)
    let edits = try a.rejected()
    #expect(edits.map(\.reason).first?.hasPrefix("the key is longer than 1024 bytes") == true)
    try a.execute("INSERT INTO note VALUES ('o', 'later')")
  }

  @Test("A key of 1,100 bytes does not stop the file")
  func keyOverLimit() throws {
    try addRowsAroundLongKey()
    try a.sync(space)
    try b.sync(space)
    #expect(try b.rows("SELECT id FROM note ORDER BY id") == [["n"], ["o"]])
  }

  @Test(
    "A row whose key is too long may be deleted, or get another key",
    arguments: [
      ("DELETE FROM note WHERE length(id) > 2", [["n"], ["o"]]),
      ("UPDATE note SET id = 'k' WHERE length(id) > 2", [["k"], ["n"], ["o"]]),
    ] as [(String, [[FieldValue]])])
  func correctedKey(correction: String, ids: [[FieldValue]]) throws {
    try addRowsAroundLongKey()
    try a.execute(correction)
    try converge([a, b], space)
    #expect(try a.rejected().isEmpty)
    try expectEqualRows([a, b], "SELECT id FROM note ORDER BY id", ids)
  }

  @Test(
    "A sequence that no space has is damage, not a number to count on", arguments: [-1, Int.max])
  func sequence(number: Int) throws {
    try a.sync(space)
    try a.execute("UPDATE tandem_state SET sequence = \(number)")
    #expect(throws: ReplicaError.self) { try a.state }
  }

  @Test("A comparison of everything that is needed stays needed when a commit conflicts")
  func repairAfterConflict() throws {
    try a.execute("INSERT INTO note VALUES ('n', 'title'), ('m', 'title')")
    try converge([a, b], space)
    try b.execute("UPDATE note SET title = 'of b' WHERE id = 'n'")
    try b.sync(space)
    try a.execute("UPDATE note SET title = 'of a' WHERE id = 'n'")
    let bytes = try #require(try a.freeze())
    // Another program drops the triggers, so that they miss an edit.
    let triggers = try a.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    for case .text(let name) in triggers.map({ $0[0] }) { try a.execute("DROP TRIGGER \(name)") }
    try a.execute("UPDATE note SET title = 'missed' WHERE id = 'm'")
    try a.settle(try space.push(bytes), bytes)
    #expect(try a.state.pullNeed == .repair)
    try converge([a, b], space)
    #expect(try a.conflicts().contains { $0.local?["title"] == "missed" })
  }
}
