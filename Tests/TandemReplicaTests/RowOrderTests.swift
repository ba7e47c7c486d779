import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import TestRandom
import Testing

/// Changes that one commit cannot have, in tables that refer to themselves and to each other: after each commit, the
/// space has a record for each reference.
@Suite struct RowOrderTests {
  private let space: TestSpace

  init() throws { space = try TestSpace() }
  private init(_ space: TestSpace) { self.space = space }

  private func pair(
    _ schema: [String], _ tables: [String], maxChangeCount: Int
  ) throws -> [TestReplica] {
    let replicas = try (1...2).map { seed in
      try TestReplica(
        seed: seed, schema, tables: tables.map { AttachedTable($0) }, space: space)
    }
    replicas[0].limits.maxCommitChangeCount = max(2, maxChangeCount / 2)
    replicas[0].limits.maxPartsChangeCount = maxChangeCount
    return replicas
  }

  /// Sends the edits of a file, and checks the space after each commit; returns the number of commits.
  private func send(
    _ replica: TestReplica, _ references: [(table: String, column: String, parent: String)],
    _ comment: Comment = "", _ location: SourceLocation = #_sourceLocation
  ) throws -> Int {
    try replica.pull(space)
    var count = 0
    while try replica.freeze() != nil, count < 200 {
      count += 1
      let bytes = try #require(try replica.outbox())
      let outcome = try replica.push(to: space)
      guard case .accepted = outcome else {
        Issue.record("\(comment): \(outcome)", sourceLocation: location)
        return count
      }
      try replica.settle(outcome, bytes)
      let records = try space.records()
      for (key, fields) in records {
        for reference in references where reference.table == key.table {
          let value = fields[reference.column]
          let isThere =
            value.isNull || records[SyncKey(table: reference.parent, id: [value])] != nil
          #expect(
            isThere, "\(comment): \(key) refers to \(value), commit \(count)",
            sourceLocation: location)
        }
      }
      if try replica.state.pullNeed != .none { try replica.pull(space) }
    }
    return count
  }

  private static let node = "CREATE TABLE node (id INT PRIMARY KEY, up INTEGER REFERENCES node)"
  private static let up = [(table: "node", column: "up", parent: "node")]

  @Test(
    "A tree whose parents come after their children is sent level by level, and deleted in reverse [late]"
  )
  func tree() throws {
    let replicas = try pair([Self.node], ["node"], maxChangeCount: 7)
    try replicas[0].execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
      INSERT INTO node SELECT i, nullif(min(i + i % 5 + 1, 40), i) FROM n
      """)
    #expect(try send(replicas[0], Self.up) == 6)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM node ORDER BY id")
    // A part is deleted, the rest gets other parents.
    try replicas[0].execute("UPDATE node SET up = 40 WHERE id % 3 = 0 AND id < 40")
    try replicas[0].execute("UPDATE node SET up = NULL WHERE up % 2 = 0 AND up <> 40")
    try replicas[0].execute("DELETE FROM node WHERE id % 2 = 0 AND id <> 40")
    #expect(try replicas[0].rows("PRAGMA foreign_key_check").isEmpty)
    _ = try send(replicas[0], Self.up)
    try converge(replicas, space)
    try replicas[0].execute("DELETE FROM node")
    #expect(try send(replicas[0], Self.up) == 3)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT count(*) FROM node", [[0]])
    // A tree whose parents come first is deleted from its leaves on.
    try replicas[0].execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
      INSERT INTO node SELECT i, CASE WHEN i > 1 THEN max(1, i - 1 - i % 4) END FROM n
      """)
    #expect(try send(replicas[0], Self.up) == 5)
    try converge(replicas, space)
    try replicas[0].execute("DELETE FROM node")
    #expect(try send(replicas[0], Self.up) == 5)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT count(*) FROM node", [[0]])
  }

  @Test("A reference inside a cycle is sent as null first, and set by a later commit [late]")
  func cycle() throws {
    let replicas = try pair([Self.node], ["node"], maxChangeCount: 4)
    // A ring of ten rows, and a row that refers to itself.
    try replicas[0].execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
      INSERT INTO node SELECT i, (i + 1) % 10 FROM n
      """)
    try replicas[0].execute("INSERT INTO node VALUES (20, 20)")
    try replicas[0].pull(space)
    #expect(try replicas[0].freeze() != nil)
    let first = try replicas[0].parts().flatMap(\.changes)
    #expect(first.map(\.key.id) == [[9], [8], [7], [6]])
    #expect(first[0].verb == .insert([:]))
    // Taking it back leaves the row as it was.
    let id = try #require(try replicas[0].read { try $0.outbox(part: 1) }).id
    try replicas[0].write { try $0.takeBack(id) }
    #expect(try send(replicas[0], Self.up) == 3)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM node ORDER BY id")
    #expect(try replicas[1].rows("SELECT up FROM node WHERE id IN (9, 20)") == [[0], [20]])
    #expect(try replicas.allSatisfy { try $0.conflicts().isEmpty })
  }

  @Test("A cycle without nulls is in one commit, and is noted if no commit has room for it")
  func strictCycle() throws {
    let schema = [
      "CREATE TABLE c (id INT PRIMARY KEY, c INTEGER NOT NULL REFERENCES c)"
    ]
    let references = [(table: "c", column: "c", parent: "c")]
    let replicas = try pair(schema, ["c"], maxChangeCount: 5)
    // Pairs of rows, a ring of six, and rows that need the ring.
    try replicas[0].execute("INSERT INTO c VALUES (1, 2), (2, 1), (3, 4), (4, 3), (5, 6), (6, 5)")
    try replicas[0].execute(
      "INSERT INTO c VALUES (10, 11), (11, 12), (12, 13), (13, 14), (14, 15), (15, 10), (9, 12), (20, 9)"
    )
    #expect(try send(replicas[0], references) == 2)
    let sent: [[FieldValue]] = (1...6).map { [.integer($0)] }
    #expect(try space.records().keys.map(\.id).sorted { $0[0] < $1[0] } == sent)
    let notes = try replicas[0].rejected()
    #expect(notes.count == 8)
    #expect(notes.allSatisfy { $0.reason.contains("cycle") })
    #expect(try replicas[0].rows("SELECT count(*) FROM c") == [[14]])
    // With room for the ring, everything goes.
    replicas[0].limits.maxPartsChangeCount = 6
    #expect(try send(replicas[0], references) == 2)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM c ORDER BY id")
    #expect(try replicas[0].rejected().isEmpty)
  }

  @Test(
    "Each commit of rows that refer to each other at random leaves no reference without a record")
  func random() throws {
    let schema = [
      "CREATE TABLE a (id INT PRIMARY KEY, b INTEGER REFERENCES b, up INTEGER REFERENCES a, x)",
      "CREATE TABLE b (id INT PRIMARY KEY, a INTEGER REFERENCES a)",
      "CREATE TABLE d (id INT PRIMARY KEY, a INTEGER NOT NULL REFERENCES a)",
    ]
    let references = [
      (table: "a", column: "b", parent: "b"), (table: "a", column: "up", parent: "a"),
      (table: "b", column: "a", parent: "a"), (table: "d", column: "a", parent: "a"),
    ]
    for seed in 1...30 {
      var random = SplitMix64(seed: UInt64(seed))
      let space = try TestSpace(seed: UInt64(seed))
      let test = RowOrderTests(space)
      let replicas = try test.pair(
        schema, ["d", "a", "b"], maxChangeCount: Int.random(in: 3...20, using: &random))
      let count = Int.random(in: 4...30, using: &random)
      for number in 1...count {
        try replicas[0].execute("INSERT INTO a VALUES (\(number), NULL, NULL, NULL)")
        try replicas[0].execute("INSERT INTO b VALUES (\(number), NULL)")
        try replicas[0].execute(
          "INSERT INTO d VALUES (\(number), \(Int.random(in: 1...number, using: &random)))")
      }
      for round in 0..<2 {
        for _ in 0..<2 * count {
          let (table, column) = [("a", "b"), ("a", "up"), ("b", "a")].randomElement(using: &random)!
          let (row, value) = (
            Int.random(in: 1...count, using: &random), Int.random(in: 1...count, using: &random)
          )
          try replicas[0].execute("UPDATE \(table) SET \(column) = \(value) WHERE id = \(row)")
        }
        _ = try test.send(replicas[0], references, "seed \(seed), round \(round)")
        try converge(replicas, space)
      }
      for table in ["a", "b", "d"] {
        try expectEqualRows(replicas, "SELECT * FROM \(table) ORDER BY id")
      }
    }
  }
}
