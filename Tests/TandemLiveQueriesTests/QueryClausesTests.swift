import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Orders and limits of statements")
struct QueryClausesTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func plan(_ sql: SQL) async throws -> QueryPlan {
    let database = try await folder.database(
      "CREATE TABLE a (id INTEGER PRIMARY KEY, v INT, s TEXT COLLATE NOCASE, t COLLATE RTRIM)",
      "CREATE TABLE b (id TEXT PRIMARY KEY, v INT)", "CREATE VIEW c AS SELECT * FROM b")
    return try await database.read {
      try QueryPlan(.query(sql, key: ["id"]), in: $0.connection)
    }
  }

  typealias Term = QueryOrder.Term

  static let understood: [(String, [Term])] = [
    ("SELECT * FROM a", []),
    ("SELECT * FROM a ORDER BY v", [Term(offset: 1)]),
    (
      "SELECT * FROM a ORDER BY 2 DESC, A.\"id\" ASC -- why",
      [Term(offset: 1, isDescending: true, putsNullsLast: true), Term(offset: 0)]
    ),
    (
      "SELECT * FROM a ORDER BY s, t;",
      [Term(offset: 2, collation: .noCase), Term(offset: 3, collation: .rightTrimmed)]
    ),
    (
      "SELECT * FROM a ORDER BY s COLLATE BINARY NULLS LAST", [Term(offset: 2, putsNullsLast: true)]
    ),
    (
      "SELECT * FROM a ORDER BY v COLLATE \"nocase\" DESC NULLS FIRST",
      [Term(offset: 1, collation: .noCase, isDescending: true)]
    ),
    ("SELECT id, s AS v FROM a ORDER BY v", [Term(offset: 1, collation: .noCase)]),
    ("SELECT id, v AS w FROM a ORDER BY v, w", [Term(offset: 1), Term(offset: 1)]),
    ("SELECT rowid, id AS x, v FROM a ORDER BY oid", [Term(offset: 0)]),
    ("SELECT id, v + 1 AS w FROM b ORDER BY w", [Term(offset: 1)]),
    ("SELECT id, v + 1 AS [a \"w] FROM b ORDER BY `a \"w` /* why */", [Term(offset: 1)]),
    (
      "SELECT id, upper(s) AS w FROM a ORDER BY w COLLATE RTRIM",
      [Term(offset: 1, collation: .rightTrimmed)]
    ),
    ("SELECT id, v FROM a WHERE s = 'ORDER BY x' ORDER BY v", [Term(offset: 1)]),
  ]

  @Test("these ORDER BY clauses are kept in memory", arguments: 0..<13)
  func understands(_ place: Int) async throws {
    let (sql, terms) = Self.understood[place]
    let plan = try await plan(SQL(text: sql))
    #expect(plan.list.order?.terms == terms, "\(sql): \(plan.explanation)")
    #expect(plan.rereading != nil)
  }

  static let others = [
    "SELECT id FROM a ORDER BY v", "SELECT id, v FROM a ORDER BY v + 1",
    "SELECT id, v FROM a ORDER BY -v", "SELECT id, v FROM a ORDER BY (v)",
    "SELECT id, s || t AS w FROM a ORDER BY w",
    "SELECT id, v FROM a ORDER BY v COLLATE tandem_utf8",
    "SELECT id, v + 1 FROM b ORDER BY \"v + 1\"", "SELECT id, v FROM a ORDER BY 'v'",
    "SELECT id, v FROM a ORDER BY \"nothing\"", "SELECT id, v FROM a ORDER BY main.a.v",
    "SELECT id, v COLLATE NOCASE AS w FROM b ORDER BY w",
    "SELECT id, v FROM a ORDER BY v, length(s)",
  ].filter { !$0.contains("tandem_utf8") }

  @Test(
    "that are more than columns leave the order to SQLite, and the rows as a set to us",
    arguments: others)
  func leavesToSQLite(_ sql: String) async throws {
    let plan = try await plan(SQL(text: sql))
    #expect(plan.list.order == nil, "\(sql)")
    #expect(plan.rereading != nil, "\(sql): \(plan.explanation)")
    #expect(plan.explanation.contains("as a list, runs again: ORDER BY "))
  }

  static let limits: [(SQL, Int?)] = [
    ("SELECT id, v FROM a ORDER BY v LIMIT 3", 3), ("SELECT id FROM a LIMIT 0;", 0),
    ("SELECT id, v FROM a WHERE v > \(1) ORDER BY v DESC LIMIT \(2)", 2),
    ("SELECT id, v FROM a WHERE v > \(1) LIMIT 4 -- or so", 4),
    ("SELECT id FROM a LIMIT \(-1)", nil),
  ]

  @Test("of one integer, literal or bound, are kept with a reserve", arguments: 0..<5)
  func keepsLimits(_ place: Int) async throws {
    let (sql, limit) = Self.limits[place]
    let plan = try await plan(sql)
    #expect(plan.list.order != nil && plan.rereading != nil, "\(plan.explanation)")
    #expect(plan.list.window?.limit == limit)
  }

  static let otherLimits: [SQL] = [
    "SELECT id FROM a LIMIT 3 OFFSET 1", "SELECT id FROM a LIMIT 1, 3",
    "SELECT id FROM a LIMIT 1 + 2", "SELECT id, v FROM a ORDER BY v + 1 LIMIT 3",
    "SELECT id FROM a LIMIT \("3")", "SELECT id FROM a LIMIT 0x3",
    SQL(text: "SELECT id FROM a LIMIT ?1", parameters: [3]),
    "SELECT a.id FROM a JOIN b USING (id) ORDER BY a.id LIMIT 3",
  ]

  @Test("that are more make the query run again", arguments: 0..<8)
  func runsAgain(_ place: Int) async throws {
    let plan = try await plan(Self.otherLimits[place])
    #expect(plan.rereading == nil, "\(plan.explanation)")
    #expect(plan.explanation.contains("runs again after commits that change"))
  }

  @Test("in UTF-16, texts are ordered by SQLite alone")
  func otherEncoding() throws {
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("PRAGMA encoding = 'UTF-16le'")
    try connection.execute("CREATE TABLE a (id TEXT PRIMARY KEY)")
    let plan = try QueryPlan(.table("a"), in: connection)
    #expect(plan.list.order == nil && plan.rereading != nil)
  }

  @Test("quotes, comments and parentheses hide no words and show none")
  func tokens() {
    let sql = "SELECT 'a''b' x, [a]]b], \"c\"\"d\" --e\n, /* f */ `g` (h (i)) ?2 :j 1e5; k"
    let tokens = SQLTokens(sql)
    #expect(tokens.words == ["SELECT", "X", "B", "H", "I"])
    #expect(tokens.statement.hasSuffix("1e5"))
    #expect(tokens.tokens.first { tokens.isWord($0, "I") }?.depth == 2)
    #expect(tokens.tokens.compactMap(tokens.name).contains("c\"d"))
    #expect(SQLTokens("").statement == "")
    #expect(SQLTokens("'x").tokens.count == 1)
  }
}
