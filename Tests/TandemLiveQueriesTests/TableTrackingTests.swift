import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Tracked tables", .timeLimit(.minutes(20)))
struct TableTrackingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func schema(of database: Database) async throws -> [String] {
    try await database.read { try $0.connection.rows("SELECT * FROM sqlite_schema ORDER BY rowid") }
  }

  @Test("untracking leaves no trace, and tracking twice changes nothing")
  func noTrace() async throws {
    let database = try await folder.database(
      "CREATE TABLE a (id INTEGER PRIMARY KEY, u UNIQUE)", "CREATE TABLE a_b (id TEXT PRIMARY KEY)")
    let before = try await schema(of: database)
    #expect(try await database.track(table: "A") == [])
    _ = try await database.track(table: "a_b")
    let tracked = try await schema(of: database)
    #expect(try await database.track(table: "a") == [])
    #expect(try await schema(of: database) == tracked)
    try await database.run("INSERT INTO a VALUES (1, 1)")
    #expect(try await database.untrack(table: "a"))
    #expect(try await database.untrack(table: "a") == false)
    #expect(try await database.untrack(table: "A_B"))
    #expect(
      try await schema(of: database).map { $0.split(separator: "|")[1] }
        == before.map { $0.split(separator: "|")[1] })
  }

  @Test("a view, a virtual table and a missing one cannot be tracked")
  func untrackable() async throws {
    let database = try await folder.database(
      "CREATE VIEW v AS SELECT 1 AS id", "CREATE VIRTUAL TABLE f USING fts5(t)")
    for table in ["v", "f", "missing"] {
      await #expect(throws: DatabaseError.self) { try await database.track(table: table) }
    }
  }

  static let blindSpots: [(table: String, words: [String])] = [
    ("(k INTEGER PRIMARY KEY, s); CREATE UNIQUE INDEX i ON t(lower(s))", ["the index i"]),
    ("(id INTEGER PRIMARY KEY, v, g AS (id % 3) UNIQUE)", ["on a generated column"]),
    ("(name TEXT PRIMARY KEY, v)", []), ("(name TEXT PRIMARY KEY, g AS (name || '!') UNIQUE)", []),
    ("(rowid, oid, _rowid_ PRIMARY KEY)", []), ("(name TEXT PRIMARY KEY) WITHOUT ROWID", []),
    ("(rowid INTEGER PRIMARY KEY, u NOT NULL DEFAULT 1 UNIQUE)", []), ("(u UNIQUE)", []),
  ]

  @Test("what cannot be seen is told, and nothing else", arguments: blindSpots)
  func blindSpot(table: String, words: [String]) async throws {
    let database = try await folder.database()
    for sql in "CREATE TABLE t \(table)".split(separator: ";") {
      try await database.run(String(sql))
    }
    let told = try await database.track(table: "t")
    #expect(told.count == words.count)
    for (sentence, words) in zip(told, words) { #expect(sentence.contains(words)) }
  }

  @Test("a table whose unique indexes changed since is no longer taken for tracked")
  func outOfDate() async throws {
    let database = try await folder.database("CREATE TABLE t (k INTEGER PRIMARY KEY, u)")
    let query = LiveQuery(table: "t")
    let isTracked = {
      try await query.explanation(in: database).description.contains("whoever wrote")
    }
    #expect(try await !isTracked())
    _ = try await database.track(table: "t")
    #expect(try await isTracked())
    try await database.run("CREATE UNIQUE INDEX i ON t(u)")
    #expect(try await !isTracked())
    _ = try await database.track(table: "t")
    #expect(try await isTracked())
  }

  @Test("the log is bounded, and a reader that fell behind it reads everything again")
  func fellBehind() async throws {
    let database = try await folder.database("CREATE TABLE t (k INTEGER PRIMARY KEY, v)")
    _ = try await database.track(table: "t")
    try await database.run("INSERT INTO t VALUES (0, 0)")
    var iterator = LiveQuery(table: "t").differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next()?.inserted.count == 1)
    let count = TableTracking.maxEntryCount + 2_000
    let other = try folder.otherConnection()
    try other.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO t SELECT i, 0 FROM n
      """)
    let entryCount = try #require(try other.integer("SELECT count(*) FROM tandem_changes_t"))
    #expect(entryCount <= TableTracking.maxEntryCount + 1_000)
    #expect(try await iterator.next()?.inserted.count == count)
    try other.execute("UPDATE t SET v = 1 WHERE k = 0")
    #expect(try await iterator.next()?.updated.count == 1)
  }

  @Test(
    "a log that somebody emptied makes readers read everything again, however many entries follow",
    arguments: [1, 2, 3])
  func emptiedLog(entryCount: Int) async throws {
    let database = try await folder.database(
      "CREATE TABLE t (k INTEGER PRIMARY KEY, v)",
      "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)")
    _ = try await database.track(table: "t")
    try await database.run("UPDATE t SET v = 1 WHERE k <= \(entryCount)")
    var iterator = LiveQuery(table: "t").differences(in: database).makeAsyncIterator()
    _ = try await iterator.next()
    let other = try folder.otherConnection()
    for value in 7...8 {
      try other.transaction {
        try other.execute("DELETE FROM tandem_changes_t")
        try other.execute("UPDATE t SET v = \(value)")
      }
      #expect(try await iterator.next()?.updated.count == 4)
    }
  }

  /// What is inserted in batches.
  struct Item: Codable, Identifiable, Equatable, DatabaseRecord {
    static var tableName: String { "t" }
    var id: Int64
    var name: String
  }

  @Test("a large batch of records reaches this process and others, and so does what follows it")
  func batch() async throws {
    let database = try await folder.database("CREATE TABLE t (id INTEGER PRIMARY KEY, name)")
    _ = try await database.track(table: "t")
    let other = try Database(path: folder.path(of: "test.db"))
    let query = LiveQuery(Item.self)
    var own = query.differences(in: database).makeAsyncIterator()
    var others = query.differences(in: other).makeAsyncIterator()
    #expect(try await own.next()?.inserted == [])
    #expect(try await others.next()?.inserted == [])
    let items = (1...10_000).map { Item(id: $0 * 3, name: "Item \($0)") }
    for change in 0..<2 {
      try await database.write { transaction in
        if change == 0 { try transaction.insert(contentsOf: items) }
        if change == 1 { try transaction.connection.execute("DELETE FROM t WHERE id > 30") }
      }
      for difference in [try await own.next(), try await others.next()] {
        #expect(difference?.inserted.count == (change == 0 ? 10_000 : 0))
        #expect(difference?.deleted.count == (change == 0 ? 0 : 9_990))
      }
    }
  }
}
