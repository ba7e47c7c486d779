import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Plans of live queries")
struct LiveQueryPlanTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func database() async throws -> Database {
    try await folder.database(
      "CREATE TABLE a (id INTEGER PRIMARY KEY, v INT, w INT, s TEXT)",
      "CREATE TABLE b (id TEXT PRIMARY KEY, a INT)", "CREATE INDEX av ON a(v)",
      "CREATE INDEX aw ON a(w)", "CREATE VIEW c AS SELECT id, v FROM a WHERE v > 0",
      "CREATE VIRTUAL TABLE f USING fts5(t)", "CREATE TABLE one (id INTEGER PRIMARY KEY)")
  }

  static let rowQueries = [
    "SELECT * FROM a", "SELECT id, v + w AS sum FROM a WHERE s LIKE 'x%' ORDER BY v DESC",
    "SELECT id FROM a WHERE v = 1 OR w = 2", "SELECT id, upper(s) AS \"limit\" FROM a -- LIMIT",
    "SELECT rowid AS id, v FROM a WHERE v IN (1, 2)", "SELECT x.id, 'DISTINCT' AS d FROM a AS x",
    "SELECT id, CASE WHEN v BETWEEN 1 AND 2 THEN 'GROUP' END AS g FROM a /* JOIN */",
    "SELECT id, v FROM [a] WHERE CAST(s AS INT) IS NOT NULL;",
  ]

  @Test(
    "rows of one table that stand for themselves are read again one by one", arguments: rowQueries)
  func readsRows(_ sql: String) async throws {
    let explanation = try await LiveQuery(SQL(text: sql), key: "id").explanation(in: database())
    #expect(explanation.isIncremental, "\(explanation)")
  }

  static let wholeQueries = [
    "SELECT max(id) AS id FROM a", "SELECT id FROM a LIMIT 3 OFFSET 1", "SELECT DISTINCT id FROM a",
    "SELECT v AS id, count(*) AS n FROM a GROUP BY v", "SELECT id, random() AS r FROM a",
    "SELECT id, row_number() OVER (ORDER BY v) AS n FROM a", "SELECT id, date('now') AS d FROM a",
    "SELECT id, CURRENT_TIME AS t FROM a", "SELECT a.id FROM a JOIN b ON b.a = a.id",
    "SELECT a.id FROM a, b WHERE b.a = a.id", "SELECT x.id FROM a x, a y WHERE x.v = y.id",
    "SELECT id FROM a WHERE v = (SELECT max(v) FROM a)",
    "SELECT id FROM a WHERE id IN (SELECT a FROM b)",
    "SELECT id FROM a UNION SELECT a FROM b", "WITH x AS (SELECT id FROM a) SELECT id FROM x",
    "SELECT id FROM c", "SELECT v AS id FROM a", "SELECT id + 0 AS id FROM a",
    "SELECT rowid AS id FROM b",
    "SELECT rowid AS id, t FROM f", "SELECT value AS id FROM json_each('[1]')",
    "SELECT name AS id FROM sqlite_schema", "SELECT id, last_insert_rowid() AS r FROM a",
    "SELECT id, changes() AS c FROM a", "SELECT id, min(v, w) AS m FROM a",
    // SQLite answers these from an index, and reports neither a SELECT nor a loop for it.
    "SELECT id, v FROM a WHERE v IN (SELECT id FROM a)", "SELECT id FROM a WHERE v in main.one",
    "SELECT id FROM a WHERE id NOT IN (SELECT v FROM a)", "SELECT id FROM one WHERE id + 1 IN one",
    "SELECT id FROM one WHERE id + 1 IN/**/\"one\"",
  ]

  @Test("other results are read again as a whole", arguments: wholeQueries)
  func readsAll(_ sql: String) async throws {
    let explanation = try await LiveQuery(SQL(text: sql), key: "id").explanation(in: database())
    #expect(!explanation.isIncremental, "\(explanation)")
    #expect(explanation.description.contains("runs again after"))
  }

  @Test(
    "a query without a table runs once, and does not claim that its values never change",
    arguments: ["SELECT 1 AS id", "SELECT 1 AS id, random() AS r, CURRENT_TIME AS t"])
  func readsNothing(sql: String) async throws {
    let explanation = try await LiveQuery(SQL(text: sql), key: "id").explanation(in: database())
    #expect(
      explanation.description == "runs once: it reads no table, so no commit changes its result")
  }

  @Test("a key with a collation is compared by its bytes, and the explanation says so")
  func collation() async throws {
    let database = try await folder.database(
      "CREATE TABLE tag (name TEXT COLLATE NOCASE PRIMARY KEY, note TEXT COLLATE NOCASE)",
      "INSERT INTO tag VALUES ('a', 'x')")
    let query = LiveQuery(table: "tag")
    let told = try await query.explanation(in: database).description
    #expect(told.contains("name is compared by its bytes, not by its collation NOCASE"))
    #expect(!told.contains("note"))
    var iterator = query.differences(in: database).makeAsyncIterator()
    _ = try await iterator.next()
    try await database.run("UPDATE tag SET name = 'A'")
    let difference = try await iterator.next()
    #expect(difference?.deleted.map { $0["name"] } == ["a"])
    #expect(difference?.inserted.map { $0["name"] } == ["A"])
    let plain = try await LiveQuery("SELECT id FROM a", key: "id").explanation(in: self.database())
    #expect(!plain.description.contains("collation"))
  }

  @Test("a query that is read as a whole minds only the tables and columns it reads")
  func interests() async throws {
    let interests = try await database().read { transaction in
      try QueryPlan(
        .query("SELECT sum(v) AS id FROM a WHERE w > 0", key: ["id"]), in: transaction.connection
      ).interests
    }
    #expect(interests == [TableInterest(table: "a", key: .none, columns: [1, 2])])
  }
}
