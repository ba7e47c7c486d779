import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Live queries that are easily less than fresh", .timeLimit(.minutes(20)))
struct LiveFreshnessTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A query that is asked what changed, and so need not be waited for.
  struct Course {
    let database: Database
    let sql: String
    let subscription: ChangeSubscription
    private let feed: ChangeFeed
    private var set: KeyedResult
    private var list: OrderedResult

    init(_ sql: String, in database: Database) async throws {
      self.database = database
      self.sql = sql
      feed = try await database.changeFeed()
      subscription = feed.subscribe()
      let definition = QueryDefinition.query(SQL(text: sql), key: ["id"])
      set = KeyedResult(definition)
      list = OrderedResult(definition)
    }

    /// What changed since the last time, as a set and as a list, the rows that there are, and whether
    /// somebody who waits would have been woken.
    mutating func advance() throws -> (
      set: SetDifference<Record>, list: ListDifference<KeyedRow>, fresh: [RecordKey: Record],
      wakes: Bool
    ) {
      var (nextSet, nextList) = (set, list)
      let (feed, subscription, sql) = (feed, subscription, sql)
      let result = try database.read { transaction in
        let connection = transaction.connection
        let changes = try feed.beginSnapshot(connection, for: subscription)
        let reading = LiveReading(connection: connection) {
          feed.setInterests($0, of: subscription)
        }
        return (
          try nextSet.advance(changes, reading).difference, try nextList.advance(changes, reading),
          try freshRows(sql, key: ["id"], in: connection), !changes.isEmpty
        )
      }
      (set, list) = (nextSet, nextList)
      return result
    }

    /// What the query throws now.
    mutating func error() -> DatabaseError? {
      do {
        _ = try advance()
        return nil
      } catch {
        return error as? DatabaseError
      }
    }
  }

  // MARK: Columns compared by name

  static let tables = [
    "CREATE TABLE a (id INTEGER PRIMARY KEY, k, x)",
    "CREATE TABLE b (bid INTEGER PRIMARY KEY, k, y)",
    "INSERT INTO a VALUES (1, 1, 'x')", "INSERT INTO b VALUES (7, 1, 'y')",
  ]

  static let views = [
    "CREATE VIEW joined AS SELECT a.id AS id, a.x AS x, b.y AS y FROM a JOIN b USING (k)",
    "CREATE VIEW outer_joined AS SELECT id, y FROM joined",
    "CREATE VIEW ones AS SELECT 1 AS one FROM a NATURAL JOIN b",
  ]

  static let joins = [
    "SELECT a.id, a.x, b.y FROM a JOIN b USING (k)", "SELECT a.id FROM a JOIN b USING (k)",
    "SELECT id FROM a NATURAL JOIN b", "SELECT id, x, y FROM joined",
    "SELECT id, y FROM outer_joined", "SELECT 1 AS id, count(*) AS n FROM ones",
    "SELECT id, (SELECT count(*) FROM ones) AS n FROM a",
  ]

  @Test("a join by names of columns minds these columns, also within a view", arguments: joins)
  func joinsByName(_ sql: String) async throws {
    let database = try await folder.database()
    for statement in Self.tables + Self.views { try await database.run(statement) }
    var course = try await Course(sql, in: database)
    _ = try course.advance()
    try await database.run("UPDATE b SET k = 2")
    let (difference, _, fresh, wakes) = try course.advance()
    #expect(wakes && difference.count == 1)
    #expect(difference.deleted.count == 1 - fresh.count)
  }

  @Test("other queries mind no more columns than they read, whatever views there are")
  func otherColumns() async throws {
    let database = try await folder.database()
    for statement in Self.tables + Self.views { try await database.run(statement) }
    let interests = try await database.read { transaction in
      try QueryPlan(
        .query("SELECT sum(x) AS id FROM a", key: ["id"]), in: transaction.connection
      ).interests
    }
    #expect(interests == [TableInterest(table: "a", key: .none, columns: [2])])
  }

  // MARK: Tables that answer an IN

  static let memberships = [
    "SELECT id, parent FROM node WHERE parent IN (SELECT id FROM node)",
    "SELECT id, parent FROM node WHERE id NOT IN (SELECT parent FROM node)",
    "SELECT id FROM single WHERE id + 1 IN single",
  ]

  @Test(
    "a row that another row of its table lets in or shuts out is delivered", arguments: memberships)
  func membership(_ sql: String) async throws {
    let database = try await folder.database(
      "CREATE TABLE node (id INTEGER PRIMARY KEY, parent INT)",
      "CREATE INDEX by_parent ON node(parent)", "CREATE TABLE single (id INTEGER PRIMARY KEY)",
      "INSERT INTO node VALUES (1, 0), (2, 1), (5, 4)", "INSERT INTO single VALUES (1), (2), (6)")
    var course = try await Course(sql, in: database)
    let before = try course.advance().fresh
    try await database.run(
      "INSERT INTO node VALUES (4, 5)", "DELETE FROM node WHERE id = 1",
      "DELETE FROM single WHERE id = 2", "INSERT INTO single VALUES (7)")
    let (difference, _, fresh, wakes) = try course.advance()
    #expect(wakes && fresh != before)
    #expect(difference.applying(to: before) { RecordKey([$0["id"]]) } == fresh)
  }

  // MARK: Integers that a real cannot hold

  @Test("integers beyond 2^53 in a table without rowid are not confused with reals")
  func largeIntegers() async throws {
    let database = try await folder.database(
      "CREATE TABLE post (score REAL, id INTEGER PRIMARY KEY, text TEXT) WITHOUT ROWID",
      "CREATE TABLE part (score REAL, size REAL, id INT, page INT, PRIMARY KEY (id, page)) WITHOUT ROWID",
      "CREATE TABLE item (v, score REAL, id INTEGER PRIMARY KEY) WITHOUT ROWID",
      "INSERT INTO post VALUES (1, 1730000000000000001, 'a'), (2, 7, 'b')",
      "INSERT INTO part VALUES (1, 1, 7, 1730000000000000001)",
      "INSERT INTO item VALUES (9007199254740993, 0, 7)")
    var posts = try await Course("SELECT id, text FROM post", in: database)
    var parts = try await Course("SELECT page AS id, size FROM part", in: database)
    var pages = LiveQuery(table: "part").differences(in: database).makeAsyncIterator()
    var items = try await Course("SELECT id, v FROM item", in: database)
    _ = try (posts.advance(), parts.advance(), items.advance())
    #expect(try await pages.next()?.inserted.count == 1)
    try await database.run(
      "DELETE FROM post", "DELETE FROM part", "UPDATE item SET v = 9007199254740992.0")
    #expect(
      try posts.advance().set.deleted.map { $0["id"] } == [7, 1_730_000_000_000_000_001])
    #expect(try parts.advance().set.deleted.count == 1)
    #expect(try await pages.next()?.deleted.count == 1)
    #expect(try items.advance().set.updated.count == 1)
    let explanation = try await LiveQuery(table: "post").explanation(in: database)
    #expect(explanation.isIncremental)
  }

  // MARK: Keys without a value

  @Test("a null in a key is an error as soon as it is committed, as it is at the start")
  func nullKey() async throws {
    for isTracked in [false, true] {
      let database = try await folder.database(
        "DROP TABLE IF EXISTS t", "CREATE TABLE t (id TEXT PRIMARY KEY, v)",
        "INSERT INTO t VALUES ('a', 1)")
      if isTracked { _ = try await database.track(table: "t") }
      var course = try await Course("SELECT * FROM t", in: database)
      var kept = try await Course("SELECT * FROM t WHERE id NOT NULL", in: database)
      _ = try (course.advance(), kept.advance())
      let null = "INSERT INTO t VALUES (NULL, 2), ('b', 2)"
      if isTracked {
        try folder.otherConnection().execute(null)
      } else {
        try await database.run(null)
      }
      let failure = course.error()
      let error = try #require(failure)
      #expect(error.message.contains("no value in the key column id"))
      #expect(error.message.hasSuffix(#"such as the rowid of SELECT rowid, * FROM "t""#))
      // A query that leaves such rows out does not mind them.
      let difference = try kept.advance().set
      #expect(difference.inserted == [["id": "b", "v": 2]])
      var advised = LiveQuery(#"SELECT rowid, * FROM "t""#, key: "rowid")
        .values(in: database).makeAsyncIterator()
      #expect(try await advised.next()?.count == 3)
      await database.close()
    }
  }

  // MARK: Forms of values

  static let queries = [
    "SELECT * FROM t", "SELECT * FROM t ORDER BY v DESC LIMIT 3",
    "SELECT t.id, v FROM t JOIN one ON one = 1", "SELECT id, v FROM t ORDER BY v + 0",
  ]

  @Test(
    "a value that takes another form is a change, and what is old is what was new",
    arguments: queries, [false, true])
  func forms(_ sql: String, byOthers: Bool) async throws {
    let database = try await folder.database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, v)", "CREATE TABLE one (one)",
      "INSERT INTO one VALUES (1)", "INSERT INTO t VALUES (1, 1), (2, 5)")
    let other = try folder.otherConnection()
    var course = try await Course(sql, in: database)
    var known: FieldValue = 1
    _ = try course.advance()
    for value: FieldValue in [1.0, 2, 2.0, "2", .blob([0x32]), .null, 0.0, .real(-0.0), 0, 1] {
      let update: @Sendable (DatabaseConnection) throws -> Void = {
        try $0.execute("UPDATE t SET v = ? WHERE id = 1", value)
      }
      if byOthers {
        try update(other)
      } else {
        try await database.write { try update($0.connection) }
      }
      let (set, list, _, _) = try course.advance()
      let updates = set.updated.map { ($0.old, $0.new) }
      let listUpdates = list.updates.map { ($0.old.record, $0.new.record) }
      for (old, new) in updates + listUpdates {
        #expect(old["v"].hasSameStorage(as: known) && new["v"].hasSameStorage(as: value))
      }
      #expect(updates.count == 1 && listUpdates.count == 1, "\(known) to \(value)")
      known = value
    }
    try await database.run("UPDATE t SET v = v")
    let (set, list, _, _) = try course.advance()
    #expect(set.isEmpty && list.isEmpty)
  }
}
