import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Lists and limits of live queries against fresh ones", .timeLimit(.minutes(60)))
struct LiveListFuzzTests {
  static let seeds = FuzzSize.seeds(count: 25)
  static let transactionCount = 250

  @Test("after random transactions, lists and limited sets equal a fresh query")
  func listsEqualFreshQuery() async throws {
    var counts = ListFuzzCourse.Counts()
    for (offset, seed) in Self.seeds.enumerated() {
      let folder = try TemporaryFolder()
      var course = try await ListFuzzCourse(seed: seed, path: folder.path(of: "test.db"))
      try await course.run(transactionCount: Self.transactionCount)
      await course.database.close()
      counts.checked += course.counts.checked
      counts.placed += course.counts.placed
      FuzzSize.report("lists", offset, of: Self.seeds.count)
    }
    // Otherwise, nothing but fresh queries would have been compared with themselves.
    #expect(counts.placed > counts.checked / 2)
  }
}

/// One world, and what the list and set differences of its ordered and limited queries add up to.
struct ListFuzzCourse {
  struct Counts {
    var checked = 0
    /// How many of them by placing rows.
    var placed = 0
  }

  let database: Database
  let seed: UInt64
  private(set) var counts = Counts()
  private var world: FuzzWorld
  private let feed: ChangeFeed
  private var watchers: [Watcher] = []

  struct Watcher {
    var query: FuzzWorld.ListQuery
    var subscription: ChangeSubscription
    var result: OrderedResult
    var set: KeyedResult
    var plan: (schemaVersion: Int64?, value: QueryPlan)?
    var list: [KeyedRow] = []
    var rows: [RecordKey: Record] = [:]

    mutating func currentPlan(in connection: DatabaseConnection) throws -> QueryPlan {
      let version = try connection.integer("PRAGMA schema_version")
      if let plan, plan.schemaVersion == version { return plan.value }
      let value = try QueryPlan(.query(query.sql, key: query.key), in: connection)
      plan = (version, value)
      return value
    }
  }

  init(seed: UInt64, path: String) async throws {
    self.seed = seed
    world = FuzzWorld(seed: seed)
    database = try Database(path: path)
    try await database.withWriter { try $0.execute("PRAGMA synchronous=OFF") }
    for sql in world.schema { try await database.run(sql) }
    feed = try await database.changeFeed()
    for query in world.listQueries {
      let definition = QueryDefinition.query(query.sql, key: query.key)
      let reserveCount = Int.random(in: 0...3, using: &world.random)
      watchers.append(
        Watcher(
          query: query, subscription: feed.subscribe(),
          result: OrderedResult(definition, reserveCount: reserveCount),
          set: KeyedResult(definition, reserveCount: reserveCount)))
    }
  }

  mutating func run(transactionCount: Int) async throws {
    for number in 0..<transactionCount {
      try step()
      // Steps block their thread, which other tests need too.
      await Task.yield()
      for offset in watchers.indices where Int.random(in: 0...2, using: &world.random) == 0 {
        try check(offset, number)
      }
    }
    for watcher in watchers { feed.unsubscribe(watcher.subscription) }
  }

  private mutating func step() throws {
    let hasSchemaChange = Int.random(in: 0..<100, using: &world.random) < 2
    var statements = (0...Int.random(in: 0...3, using: &world.random)).map { _ in
      world.statement()
    }
    if hasSchemaChange { statements.insert(world.schemaChange(), at: 0) }
    try database.write { transaction in
      for sql in statements {
        do throws(DatabaseError) {
          try transaction.connection.execute(sql)
        } catch {
          guard [.constraint, .mismatch].contains(error.code.primary) else { throw error }
        }
      }
    }
  }

  private mutating func check(_ offset: Int, _ number: Int) throws {
    let feed = feed
    var next = watchers[offset]
    let subscription = next.subscription
    let (list, set, fresh, isPlaced, isTold) = try database.read { transaction in
      let connection = transaction.connection
      let changes = try feed.beginSnapshot(connection, for: subscription)
      let reading = LiveReading(connection: connection) {
        feed.setInterests($0, of: subscription)
      }
      let plan = try next.currentPlan(in: connection)
      if next.query.isPlaced {
        // Only what cannot be read row by row is not placed.
        #expect((plan.list.order != nil) == (plan.rereading != nil), "\(plan.explanation)")
        #expect(plan.rereading != nil || next.query.sql.text.contains("FROM a"))
      }
      let list = try next.result.advance(changes, reading)
      let set = try next.set.advance(changes, reading).difference
      return (
        list, set, try next.query.freshRows(in: connection, plan),
        plan.list.order != nil && !changes.isUnknown,
        !changes.isEmpty || list.isEmpty && set.isEmpty
      )
    }
    counts.checked += 1
    if isPlaced { counts.placed += 1 }
    let place =
      "\(FuzzSize.repetition(seed)); transaction \(number), placed \(isPlaced), \(next.query.sql.text)"
    try #require(isTold, "\(place): nobody would have been woken")
    let applied = list.applying(to: next.list)
    try #require(
      applied == fresh,
      "\(place): list \(applied?.map(\.record.values) ?? []), fresh \(fresh.map(\.record.values))")
    let moveCount = ListDifference(from: next.list, to: fresh, identifiedBy: \.key).moves.count
    try #require(list.moves.count == moveCount, "\(place)")
    let key = next.query.key
    let rows = set.applying(to: next.rows) { record in RecordKey(key.map { record[$0] }) }
    let freshRows = Dictionary(uniqueKeysWithValues: fresh.map { ($0.key, $0.record) })
    try #require(areIdentical(rows, freshRows), "\(place): set \(set)")
    next.list = fresh
    next.rows = freshRows
    watchers[offset] = next
  }
}

extension FuzzWorld {
  /// A query whose order matters.
  struct ListQuery {
    var sql: SQL
    var key: [String]
    /// The ORDER BY that makes the order complete, as SQLite is to be asked for it.
    var freshSQL: String
    /// Whether rows are placed by what they hold, if they can be read one by one.
    var isPlaced = true

    /// The rows as SQLite gives them now.
    func freshRows(
      in connection: DatabaseConnection, _ plan: QueryPlan
    ) throws -> [KeyedRow] {
      let statement = try connection.prepare(freshSQL)
      defer { statement.reset() }
      var rows: [KeyedRow] = []
      while try statement.step() { rows.append(try plan.currentRow(statement)) }
      return rows
    }
  }

  /// Ordered and limited queries, each with the same written in full.
  var listQueries: [ListQuery] {
    let key = keyColumns.joined(separator: ", ")
    // The key in full, in the order in which it is named, whatever its columns' collations.
    let last = keyColumns.map { "\($0) COLLATE BINARY" }.joined(separator: ", ")
    let columns = "SELECT \(key), v AS x, u, upper(s) AS t FROM a"
    let query = { (body: String, order: String, limit: String, isPlaced: Bool) in
      ListQuery(
        sql: SQL(text: "\(body)\(order.isEmpty ? "" : " ORDER BY \(order)") \(limit)"),
        key: keyColumns,
        freshSQL: "\(body) ORDER BY \(order.isEmpty ? "" : order + ", ")\(last) \(limit)",
        isPlaced: isPlaced)
    }
    let ofOthers = { (sql: String, order: String, limit: String, isPlaced: Bool) in
      ListQuery(
        sql: SQL(text: "\(sql) ORDER BY \(order) \(limit)"), key: ["id"],
        freshSQL: "\(sql) ORDER BY \(order), id \(limit)", isPlaced: isPlaced)
    }
    return [
      query(columns, "", "", true),
      query(columns, "v DESC", "", true),
      query("SELECT u AS r, v, s AS f, \(key) FROM a", "f COLLATE NOCASE, v NULLS LAST", "", true),
      query(columns, "u DESC NULLS FIRST, x", "", true),
      query(columns, "x NULLS LAST", "LIMIT 3", true),
      query(columns, "u DESC", "LIMIT 2", true),
      query(columns, "\(keyColumns[0]) DESC", "LIMIT 3", true),
      query("\(columns) WHERE v > 0", "", "LIMIT 3", true),
      query(columns, "t COLLATE RTRIM DESC, 2", "LIMIT 4", true),
      query(columns, "u", "LIMIT 0", true),
      query(columns, "u + 1", "LIMIT 3", false),
      query(columns, "v IS NULL, u", "", false),
      query(columns, "v", "LIMIT 3 OFFSET 1", false),
      ofOthers("SELECT id, w FROM b", "w DESC", "LIMIT 3", true),
      ofOthers("SELECT id, w FROM b", "2 DESC NULLS FIRST", "", true),
      ofOthers("SELECT id, v, w FROM both", "v", "LIMIT 3", false),
      ofOthers("SELECT id, v, w FROM both", "v DESC", "", false),
    ]
  }
}
