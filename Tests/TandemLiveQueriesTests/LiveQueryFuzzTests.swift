import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Live queries against fresh ones", .timeLimit(.minutes(60)))
struct LiveQueryFuzzTests {
  static let seeds = FuzzSize.seeds(count: 60)
  static let transactionCount = 250
  /// How many worlds run beside each other.
  static let shareCount = 2

  @Test("after random transactions, the differences applied so far equal a fresh query")
  func differencesEqualFreshQuery() async throws {
    let (census, incrementalCount) = try await withThrowingTaskGroup(
      of: (FuzzCensus, Int).self
    ) { group in
      for share in 0..<Self.shareCount {
        group.addTask {
          var sum = (FuzzCensus(), 0)
          for offset in stride(from: share, to: Self.seeds.count, by: Self.shareCount) {
            let (census, incrementalCount) = try await Self.run(seed: Self.seeds[offset])
            sum = (sum.0 + census, sum.1 + incrementalCount)
            FuzzSize.report("in process", offset, of: Self.seeds.count)
          }
          return sum
        }
      }
      return try await group.reduce((FuzzCensus(), 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
    }
    #expect(census.transactionCount == Self.seeds.count * Self.transactionCount)
    guard Self.seeds.count > 100 else { return }
    #expect(census.missing == [])
    // Otherwise, nothing but fresh queries would have been compared with themselves.
    #expect(incrementalCount > census.transactionCount / 2)
  }

  private static func run(seed: UInt64) async throws -> (FuzzCensus, Int) {
    let folder = try TemporaryFolder()
    var course = try await FuzzCourse(seed: seed, path: folder.path(of: "test.db"))
    try await course.run(transactionCount: transactionCount)
    await course.database.close()
    return (course.census, course.incrementalCount)
  }
}

/// One world, its live queries, and what their differences add up to.
struct FuzzCourse {
  let database: Database
  let seed: UInt64
  /// Whether the tables are tracked.
  let isTracked: Bool
  private(set) var incrementalCount = 0
  private(set) var census = FuzzCensus()
  var world: FuzzWorld
  private let other: DatabaseConnection
  private let feed: ChangeFeed
  private let othersShare: Int
  private var watchers: [Watcher] = []
  /// What has been run, for errors.
  private var history: [String] = []

  static let tables = ["a", "b", "c"]

  struct Watcher {
    var sql: String
    var key: [String]
    var subscription: ChangeSubscription
    var result: KeyedResult
    var model: [RecordKey: Record] = [:]
    /// The number of transactions that it has seen.
    var seenCount = 0
  }

  init(seed: UInt64, path: String) async throws {
    self.seed = seed
    world = FuzzWorld(seed: seed)
    database = try Database(
      path: path, configuration: DatabaseConfiguration(busyTimeout: patience))
    try await database.withWriter { try $0.execute("PRAGMA synchronous=OFF") }
    for sql in world.schema { try await database.run(sql) }
    isTracked = Bool.random(using: &world.random)
    if isTracked {
      for table in Self.tables { _ = try await database.track(table: table) }
    }
    othersShare = Int.random(in: 0...1, using: &world.random) == 0 ? 5 : 50
    other = try DatabaseConnection(path: path, busyTimeout: patience)
    try other.execute("PRAGMA synchronous=OFF")
    feed = try await database.changeFeed()
    for (sql, key) in world.queries {
      watchers.append(
        Watcher(
          sql: sql, key: key, subscription: feed.subscribe(),
          result: KeyedResult(.query(SQL(text: sql), key: key))))
    }
  }

  mutating func run(transactionCount: Int) async throws {
    for number in 0..<transactionCount {
      try step(byOthers: Int.random(in: 0..<100, using: &world.random) < othersShare)
      // Steps block their thread, which other tests need too.
      await Task.yield()
      try checkSome(at: number)
    }
    end()
  }

  /// One transaction, by this database or by another connection.
  mutating func step(byOthers: Bool) throws {
    if isTracked, Int.random(in: 0..<20, using: &world.random) == 0 { try trackAgain() }
    let transaction = FuzzTransaction(&world)
    history.append((byOthers ? "others: " : "") + transaction.script())
    var census = census
    do {
      if byOthers {
        try other.transaction { try transaction.run(in: other, noting: &census) }
      } else {
        try database.write { try transaction.run(in: $0.connection, noting: &census) }
      }
    } catch is CancellationError {}
    self.census = census
  }

  /// Brings the tracking up to date with triggers and indexes that are new.
  private mutating func trackAgain() throws {
    history.append("track again\n")
    try database.write { transaction in
      for table in Self.tables {
        let connection = transaction.connection
        try connection.track(TableTracking(table: table, in: connection))
      }
    }
  }

  /// Compares some of the queries; `number` says when, for the error.
  mutating func checkSome(at number: Int) throws {
    for offset in watchers.indices where Int.random(in: 0...3, using: &world.random) == 0 {
      try check(offset, number)
    }
  }

  /// Compares all queries.
  mutating func checkAll(at number: Int) throws {
    for offset in watchers.indices { try check(offset, number) }
  }

  /// Ends the queries.
  func end() {
    for watcher in watchers { feed.unsubscribe(watcher.subscription) }
  }

  private mutating func check(_ offset: Int, _ number: Int) throws {
    var watcher = watchers[offset]
    let feed = feed
    let subscription = watcher.subscription
    let (difference, fresh, changes) = try database.read { transaction in
      let connection = transaction.connection
      let changes = try feed.beginSnapshot(connection, for: subscription)
      let difference = try watcher.result.advance(
        changes,
        LiveReading(connection: connection) {
          feed.setInterests($0, of: subscription)
        })
      let sql = String(watcher.sql.split(separator: ";")[0])
      return (
        difference.difference, try freshRows(sql, key: watcher.key, in: connection), changes
      )
    }
    let isIncremental = !changes.isUnknown
    if isIncremental { incrementalCount += 1 }
    let key = watcher.key
    let applied = difference.applying(to: watcher.model) { record in
      RecordKey(key.map { record[$0] })
    }
    let isKnown = (difference.deleted + difference.updated.map(\.old)).allSatisfy { old in
      watcher.model[RecordKey(key.map { old[$0] })]?.hasSameStorage(as: old) == true
    }
    let isEqual = areIdentical(applied, fresh)
    // Without changes, nobody would have been woken to look.
    let isTold = !changes.isEmpty || difference.isEmpty
    try #require(
      isEqual && isKnown && isTold,
      """
      \(FuzzSize.repetition(seed)); transaction \(number), incremental \(isIncremental), query \(watcher.sql): \
      applied \(applied?.values.filter { !fresh.values.contains($0) }.map(\.values) ?? []), \
      fresh \(fresh.values.filter { applied?.values.contains($0) != true }.map(\.values)), after
      \(history[watcher.seenCount...].joined())
      """)
    watcher.model = fresh
    watcher.seenCount = history.count
    watchers[offset] = watcher
  }
}
