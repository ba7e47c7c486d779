import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Rows that REPLACE removes from tracked tables", .timeLimit(.minutes(20)))
struct TrackedReplacementTests {
  /// A table, its rows, and what another program does to them.
  struct Replacement: CustomStringConvertible, Sendable {
    var table: String
    var key: String
    var rows: String
    var change: String
    /// A change that shows that something was delivered.
    var sequel = "SELECT 1"

    var description: String { "\(table): \(change)" }
  }

  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func byRowid(
    _ change: String, table: String = "t (name TEXT PRIMARY KEY, v)"
  ) -> Replacement {
    Replacement(
      table: table, key: table.hasPrefix("t (rowid") ? "rowid" : "name",
      rows: "('a', 1), ('b', 2), ('c', 3)", change: change, sequel: "UPDATE t SET v = 9 WHERE v = 3"
    )
  }

  private static func byDefault(
    _ change: String,
    table: String = "t (id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT 'x' UNIQUE)"
  ) -> Replacement {
    Replacement(table: table, key: "id", rows: "(1, 'x'), (3, 'y')", change: change)
  }

  private static func byGeneratedColumn(_ change: String) -> Replacement {
    Replacement(
      table: "t (id INTEGER PRIMARY KEY, v, g AS (id % 3) UNIQUE)", key: "id",
      rows: "(1, 1), (2, 2), (3, 3)", change: change)
  }

  static let replacements = [
    byRowid("UPDATE OR REPLACE t SET rowid = 2 WHERE name = 'a'"),
    byRowid("UPDATE OR REPLACE t SET v = 7, \"OID\" = 2 WHERE name = 'a'"),
    byRowid("UPDATE OR REPLACE t SET (v, _rowid_) = (7, rowid + 1) WHERE name = 'a'"),
    byRowid(
      "UPDATE OR REPLACE t SET oid = 2 WHERE rowid = 'a'", table: "t (rowid TEXT PRIMARY KEY, v)"),
    byRowid(
      "UPDATE OR REPLACE t SET rowid = 2 WHERE name = 'a'", table: "t (name, v, PRIMARY KEY (name))"
    ),
    byDefault("INSERT OR REPLACE INTO t VALUES (2, NULL)"),
    byDefault("UPDATE OR REPLACE t SET u = NULL WHERE id = 3"),
    byDefault(
      "INSERT OR REPLACE INTO t VALUES (2, NULL)",
      table: "t (id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT (lower('X')) UNIQUE)"),
    byDefault(
      "INSERT OR REPLACE INTO t VALUES (2, NULL)",
      table:
        "t (id INTEGER PRIMARY KEY, u TEXT NOT NULL DEFAULT 'x', g AS (u || '!') UNIQUE)"),
    byGeneratedColumn("INSERT OR REPLACE INTO t (id, v) VALUES (4, 9)"),
    byGeneratedColumn("UPDATE OR REPLACE t SET id = 5 WHERE id = 3"),
  ]

  @Test("they are delivered, by whatever they are replaced", arguments: replacements)
  func delivered(replacement: Replacement) async throws {
    let database = try await folder.database(
      "CREATE TABLE \(replacement.table)", "INSERT INTO t VALUES \(replacement.rows)")
    _ = try await database.track(table: "t")
    let query = LiveQuery(table: "t")
    let explanation = try await query.explanation(in: database)
    #expect(explanation.description.contains("whoever wrote"))
    var iterator = query.differences(in: database).makeAsyncIterator()
    let other = try folder.otherConnection()
    let key = replacement.key
    let before = try freshRows("SELECT * FROM t", key: [key], in: other)
    var rows = try #require(
      try await iterator.next()?.applying(to: [:]) { RecordKey([$0[key]]) })
    #expect(rows == before)
    try other.transaction {
      try other.execute(replacement.change)
      try other.execute(replacement.sequel)
    }
    rows = try #require(try await iterator.next()?.applying(to: rows) { RecordKey([$0[key]]) })
    let after = try freshRows("SELECT * FROM t", key: [key], in: other)
    #expect(rows == after)
    #expect(!Set(before.keys).subtracting(after.keys).isEmpty)
  }
}
