import TandemRecords
import TandemReplica
import TandemSync
import TestRandom
import Testing

@Suite("Costs of versions that are set aside", .timeLimit(.minutes(20)))
struct SetAsideCostTests {
  @Test(
    "A chain of rows that wait for each other is placed in time that grows with its length",
    arguments: [false, true])
  func chain(firesTriggers: Bool) throws {
    // Twice as many rows take four times as many steps if all are tried again for each one that is placed.
    let counts = try [250, 500].map { try stepCount(placing: $0, firesTriggers) }
    #expect(counts[1] < 3 * counts[0], "\(counts)")
  }

  /// The steps of SQLite's virtual machine in a pull that frees the last of many rows, of which each one
  /// waits for a value of the next.
  private func stepCount(placing count: Int, _ firesTriggers: Bool) throws -> Int {
    let space = try TestSpace()
    // No row of the first file has to wait.
    let (a, b) = try space.unlikePair(
      "id TEXT PRIMARY KEY, u INTEGER", "id TEXT PRIMARY KEY, u INTEGER UNIQUE",
      rows: """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= \(count))
        INSERT INTO t SELECT printf('%04d', i), i FROM n
        """)
    if firesTriggers {
      try b.execute("CREATE TABLE log (id)")
      try b.execute(
        "CREATE TRIGGER note AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.id); END")
    }
    try a.execute("UPDATE t SET u = u + 1 WHERE u <= \(count)")
    try a.sync(space)
    try receive(b, from: space)
    #expect(try b.rejectedContents().count == count)
    try a.execute("UPDATE t SET u = 0 WHERE id = (SELECT max(id) FROM t)")
    try a.sync(space)
    let stepCount = try b.stepCount { try b.pull(space) }
    try receive(b, from: space)
    try expectEqualRows([a, b], "SELECT * FROM t ORDER BY id")
    #expect(try b.rejectedContents().isEmpty)
    return stepCount
  }
}
