import CSQLite
import TandemRecords
import TandemReplica
import Testing

@testable import TandemSQLite

private final class StepCounter: Sendable {
  nonisolated(unsafe) var count = 0
}

/// The time in which a file decides on the rows that the space has deleted.
@Suite("Costs of deletions")
struct DeletionCostTests {
  private let space: TestSpace

  init() throws { space = try TestSpace() }

  @Test("The rows above one that stays are found in time that grows with their number")
  func chain() throws {
    let count = 3_000
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE n (id TEXT PRIMARY KEY, up TEXT REFERENCES n ON DELETE CASCADE, v)",
          "CREATE INDEX up ON n (up)",
        ], tables: [AttachedTable("n")], space: space)
    }
    // Each row refers to one that has a greater key.
    try replicas[0].execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO n SELECT printf('%05d', i), CASE i WHEN \(count) THEN NULL ELSE printf('%05d', i + 1) END, 0
      FROM n
      """)
    try converge(replicas, space)
    try replicas[0].execute("DELETE FROM n")
    try replicas[1].execute("UPDATE n SET v = 1 WHERE id = '00001'")
    try replicas[0].sync(space)
    // Each row is looked at a bounded number of times: thousands of times if the search is repeated.
    let rowCount = try replicas[1].database.write { transaction in
      let handle = transaction.connection.handle
      let counter = StepCounter()
      sqlite3_trace_v2(
        handle.pointer, UInt32(SQLITE_TRACE_ROW),
        { _, context, _, _ in
          guard let context else { return 0 }
          Unmanaged<StepCounter>.fromOpaque(context).takeUnretainedValue().count += 1
          return 0
        }, Unmanaged.passUnretained(counter).toOpaque())
      return counter
    }
    try replicas[1].pull(space)
    try replicas[1].database.write {
      _ = sqlite3_trace_v2($0.connection.handle.pointer, 0, nil, nil)
    }
    #expect(rowCount.count > count && rowCount.count < 50 * count)
    #expect(try replicas[1].rows("SELECT count(*) FROM n") == [[.integer(Int64(count))]])
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM n ORDER BY id")
  }
  @Test("Deletions are decided in time that grows with their number, also without an index")
  func unindexedReferences() throws {
    // Twice as many rows take four times as many steps if each deletion reads all children.
    let counts = try [1_500, 3_000].map { try stepCount(deleting: $0) }
    #expect(counts[1] < 3 * counts[0], "\(counts)")
  }

  /// The steps of SQLite's virtual machine in a pull that deletes parents with their children.
  private func stepCount(deleting count: Int) throws -> Int {
    let space = try TestSpace()
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE p (id TEXT PRIMARY KEY)",
          "CREATE TABLE c (id TEXT PRIMARY KEY, p TEXT REFERENCES p ON DELETE CASCADE)",
        ], tables: [AttachedTable("p"), AttachedTable("c")], space: space)
    }
    try replicas[0].execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(2 * count))
      INSERT INTO p SELECT i FROM n
      """)
    try replicas[0].execute("INSERT INTO c SELECT id, id FROM p")
    try converge(replicas, space)
    // No index: the cascade itself would read all children for each parent.
    try replicas[0].execute("DELETE FROM c WHERE CAST(id AS INTEGER) <= \(count)")
    try replicas[0].execute("PRAGMA foreign_keys=OFF")
    try replicas[0].execute("DELETE FROM p WHERE CAST(id AS INTEGER) <= \(count)")
    try replicas[0].sync(space)
    let stepCount = try replicas[1].stepCount { try replicas[1].pull(space) }
    #expect(try replicas[1].rows("SELECT count(*) FROM p") == [[.integer(Int64(count))]])
    return stepCount
  }
}

extension TestReplica {
  /// The steps of SQLite's virtual machine that the writer of the file takes while `body` runs.
  func stepCount(_ body: () throws -> Void) throws -> Int {
    let counter = StepCounter()
    try database.withWriter { connection in
      _ = sqlite3_trace_v2(
        connection.handle.pointer, UInt32(SQLITE_TRACE_PROFILE),
        { _, context, statement, _ in
          guard let context, let statement else { return 0 }
          let steps = sqlite3_stmt_status(
            OpaquePointer(statement), SQLITE_STMTSTATUS_VM_STEP, 1)
          Unmanaged<StepCounter>.fromOpaque(context).takeUnretainedValue().count += Int(steps)
          return 0
        }, Unmanaged.passUnretained(counter).toOpaque())
    }
    try body()
    try database.withWriter {
      _ = sqlite3_trace_v2($0.handle.pointer, 0, nil, nil)
    }
    return counter.count
  }
}
