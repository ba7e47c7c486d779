import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("What the log of a tracked table does not say, or says at length", .timeLimit(.minutes(20)))
struct TrackedBlindSpotTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A table with a unique index on an expression, by which REPLACE removes rows unseen by triggers.
  private func databaseWithBlindSpot() async throws -> Database {
    let database = try await folder.database(
      "CREATE TABLE t (k INTEGER PRIMARY KEY, s)", "CREATE UNIQUE INDEX i ON t(lower(s))",
      "CREATE TABLE other (x)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    _ = try await database.track(table: "t")
    return database
  }

  @Test("what this process removes is delivered, even if another commits before it is read")
  func ownChange() async throws {
    let database = try await databaseWithBlindSpot()
    var iterator = LiveQuery(table: "t").differences(in: database).makeAsyncIterator()
    #expect(try await iterator.next()?.inserted.count == 2)
    try await database.run("INSERT OR REPLACE INTO t VALUES (3, 'A')")
    try folder.otherConnection().execute("INSERT INTO other VALUES (1)")
    let difference = try #require(try await iterator.next())
    #expect(difference.deleted.map { $0["k"] } == [1])
    #expect(difference.inserted.map { $0["k"] } == [3])
  }

  @Test("the explanation of a query tells the blind spots of its table")
  func explanation() async throws {
    let database = try await databaseWithBlindSpot()
    let query = LiveQuery(table: "t")
    let told = try await query.explanation(in: database).description
    #expect(told.contains("whoever wrote; of other processes, it cannot see rows that REPLACE"))
    #expect(told.contains("because of the index i"))
    try await database.run("DROP INDEX i")
    _ = try await database.track(table: "t")
    #expect(try await query.explanation(in: database).description.hasSuffix("whoever wrote"))
  }

  /// How another program puts a row at the rowid of one of another key.
  static let insertions = [
    "INSERT OR REPLACE INTO t (rowid, name, v) VALUES (2, 'z', 7)",
    "REPLACE INTO t (v, _rowid_, name) VALUES (7, '3', 'z')",
    "INSERT OR REPLACE INTO t (oid, name, v) SELECT rowid, name || '!', v FROM t WHERE v < 3",
    "INSERT OR REPLACE INTO t (rowid, name, v) VALUES (-1, 'z', 7)",
  ]

  @Test(
    "a row that INSERT OR REPLACE removes by naming its rowid is delivered", arguments: insertions)
  func namedRowid(insertion: String) async throws {
    let database = try await folder.database(
      "CREATE TABLE t (name TEXT PRIMARY KEY, v)",
      "INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)",
      "INSERT INTO t (rowid, name, v) VALUES (-1, 'd', 4)")
    #expect(try await database.track(table: "t") == [])
    var iterator = LiveQuery(table: "t").differences(in: database).makeAsyncIterator()
    let key: @Sendable (Record) -> RecordKey = { RecordKey([$0["name"]]) }
    let before = try await iterator.next()?.applying(to: [:], identifiedBy: key)
    let other = try folder.otherConnection()
    try other.execute(insertion)
    try other.execute("UPDATE t SET v = 9 WHERE name = 'a'")
    let rows = try await iterator.next()?.applying(to: try #require(before), identifiedBy: key)
    let after = try freshRows("SELECT * FROM t", key: ["name"], in: other)
    #expect(rows == after)
  }

  /// What another program updates, of a table with keys and indexes of all kinds, and how many entries
  /// the log gets of it.
  static let updates: [(update: String, entryCount: Int64)] = [
    ("UPDATE t SET v = 9", 3), ("UPDATE t SET v = 9, u = u", 6), ("UPDATE t SET id = id", 3),
    ("UPDATE t SET id = 7 WHERE id = 1", 3), ("UPDATE t SET rowid = 7 WHERE id = 1", 3),
    ("UPDATE t SET \"OID\" = 7 WHERE id = 1", 3),
    ("UPDATE OR REPLACE t SET u = 'b' WHERE id = 1", 2),
    ("UPDATE OR REPLACE t SET _rowid_ = 3 WHERE id = 1", 3),
    ("INSERT INTO t VALUES (1, 'q', 1) ON CONFLICT (id) DO UPDATE SET id = 8", 3),
    ("INSERT INTO t VALUES (9, 'a', 1) ON CONFLICT (u) DO UPDATE SET v = 8", 2),
  ]

  @Test("an update notes its rows, and no more than it must", arguments: updates)
  func updateEntries(update: String, entryCount: Int64) async throws {
    let database = try await folder.database(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE, v)",
      "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
    _ = try await database.track(table: "t")
    var iterator = LiveQuery(table: "t").differences(in: database).makeAsyncIterator()
    let key: @Sendable (Record) -> RecordKey = { RecordKey([$0["id"]]) }
    let before = try await iterator.next()?.applying(to: [:], identifiedBy: key)
    let other = try folder.otherConnection()
    let counting = "SELECT count(*) FROM tandem_changes_t"
    let former = try #require(try other.integer(counting))
    try other.execute(update)
    #expect(try other.integer(counting) == former + entryCount)
    try other.execute("INSERT INTO t VALUES (100, 'y', 'something to wait for')")
    let rows = try await iterator.next()?.applying(to: try #require(before), identifiedBy: key)
    let after = try freshRows("SELECT * FROM t", key: ["id"], in: other)
    #expect(rows == after)
  }

  /// What a trigger does after a row has been written, and a statement by which another program fires it.
  static let stops = [
    "BEGIN SELECT RAISE(IGNORE); END", "BEGIN SELECT RAISE(FAIL, 'stopped'); END",
    "BEGIN INSERT INTO other VALUES (1); END",
  ]
  static let stoppedStatements = [
    ("INSERT", "INSERT OR FAIL INTO t VALUES (7, 'x'), (8, 'y')"),
    ("UPDATE", "UPDATE OR FAIL t SET s = 'z' WHERE k < 3"),
    ("DELETE", "DELETE FROM t WHERE k < 3"),
  ]

  @Test(
    "a row that stays although a later trigger stopped the statement is delivered",
    arguments: stops, stoppedStatements)
  func stoppedStatement(stop: String, change: (event: String, sql: String)) async throws {
    let key: @Sendable (Record) -> RecordKey = { RecordKey([$0["k"]]) }
    for isTrackedAgain in [false, true] {
      let folder = try TemporaryFolder()
      let database = try await folder.database(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, s)", "CREATE TABLE other (x UNIQUE)",
        "INSERT INTO other VALUES (1)", "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
      _ = try await database.track(table: "t")
      try await database.run("CREATE TRIGGER later AFTER \(change.event) ON t \(stop)")
      if isTrackedAgain { _ = try await database.track(table: "t") }
      let query = LiveQuery(table: "t")
      let told = try await query.explanation(in: database).description
      #expect(
        told.hasSuffix(
          isTrackedAgain
            ? "whoever wrote" : "runs again, because its tracking is out of date: track it again"))
      var iterator = query.differences(in: database).makeAsyncIterator()
      let before = try await iterator.next()?.applying(to: [:], identifiedBy: key)
      let other = try folder.otherConnection()
      try? other.execute(change.sql)
      // Something to wait for, which the trigger does not stop.
      try other.execute(
        change.event == "UPDATE" ? "DELETE FROM t WHERE k = 3" : "UPDATE t SET s = 'd' WHERE k = 3")
      var rows = try #require(before)
      let after = try freshRows("SELECT * FROM t", key: ["k"], in: other)
      // One difference or two.
      while rows[RecordKey([3])]?["s"] == "c" {
        rows = try #require(
          try await iterator.next()?.applying(to: rows, identifiedBy: key))
      }
      #expect(rows == after)
    }
  }

  /// What another program does to a row that others refer to.
  static let cascades = [
    "DELETE FROM t WHERE k = 1", "UPDATE t SET k = 7 WHERE k = 1",
    "INSERT OR REPLACE INTO t VALUES (9, 'a')",
  ]

  @Test(
    "a row that stays changed although a trigger stopped the action of a foreign key is delivered",
    arguments: cascades)
  func stoppedAction(change: String) async throws {
    let database = try await folder.database(
      "CREATE TABLE t (k INTEGER PRIMARY KEY, s UNIQUE)",
      "CREATE TABLE child (t REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE)",
      "CREATE TRIGGER stop AFTER DELETE ON child BEGIN SELECT RAISE(FAIL, 'stopped'); END",
      "CREATE TRIGGER stop_too AFTER UPDATE ON child BEGIN SELECT RAISE(FAIL, 'stopped'); END",
      "INSERT INTO t VALUES (1, 'a'), (2, 'b')", "INSERT INTO child VALUES (1)")
    _ = try await database.track(table: "t")
    var iterator = LiveQuery(table: "t").differences(in: database).makeAsyncIterator()
    let key: @Sendable (Record) -> RecordKey = { RecordKey([$0["k"]]) }
    var rows = try #require(try await iterator.next()?.applying(to: [:], identifiedBy: key))
    let other = try folder.otherConnection()
    #expect(throws: DatabaseError.self) { try other.execute(change) }
    try other.execute("UPDATE t SET s = 'c' WHERE k = 2")
    while rows[RecordKey([2])]?["s"] == "b" {
      rows = try #require(try await iterator.next()?.applying(to: rows, identifiedBy: key))
    }
    #expect(rows == (try freshRows("SELECT * FROM t", key: ["k"], in: other)))
    #expect(rows[RecordKey([1])] == nil)
  }

  @Test("tables of Tandem's own are not tracked, and to untrack them changes nothing")
  func ownTables() async throws {
    let database = try await folder.database("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    _ = try await database.track(table: "t")
    let triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name"
    let before = try await database.read { try $0.connection.rows(triggers) }
    let own = [
      "tandem_changes_t", "TANDEM_CHANGES_T", "tandem_migrations", "tandem_mirror",
      "tandem_mirror_directory",
    ]
    for table in own {
      #expect(try await database.untrack(table: table) == false)
      let tracking = await #expect(throws: DatabaseError.self) {
        _ = try await database.track(table: table)
      }
      #expect(tracking?.message.contains("Tandem's own") == true)
    }
    #expect(try await database.read { try $0.connection.rows(triggers) } == before)
    #expect(before.contains { $0.contains("tandem_track_prune_t") })
    let log = LiveQuery("SELECT * FROM tandem_changes_t", key: "seq")
    #expect(try await log.explanation(in: database).isIncremental)
  }
}
