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

@Suite("Live queries against fresh ones", .timeLimit(.minutes(5)))
struct LiveQueryFuzzTests {
  /// `TANDEM_FUZZ` multiplies it.
  static let worldCount = FuzzSize.worldCount
  static let transactionCount = 250
  /// How many worlds run beside each other.
  static let shareCount = 2

  @Test("after random transactions, the differences applied so far equal a fresh query")
  func differencesEqualFreshQuery() async throws {
    let incrementalCount = try await withThrowingTaskGroup(of: Int.self) { group in
      for share in 0..<Self.shareCount {
        group.addTask {
          var count = 0
          for world in stride(from: share, to: Self.worldCount, by: Self.shareCount) {
            count += try await Self.run(seed: UInt64(world + 1))
          }
          return count
        }
      }
      return try await group.reduce(0, +)
    }
    // Otherwise, nothing but fresh queries would have been compared with themselves.
    #expect(incrementalCount > Self.worldCount * Self.transactionCount / 2)
  }

  private static func run(seed: UInt64) async throws -> Int {
    let folder = try TemporaryFolder()
    var course = try await FuzzCourse(seed: seed, path: folder.path(of: "test.db"))
    try await course.run(transactionCount: transactionCount)
    await course.database.close()
    return course.incrementalCount
  }
}

/// One world, its live queries, and what their differences add up to.
struct FuzzCourse {
  let database: Database
  let seed: UInt64
  private(set) var incrementalCount = 0
  private var world: FuzzWorld
  private let other: DatabaseConnection
  private let feed: ChangeFeed
  private let othersShare: Int
  private var watchers: [Watcher] = []

  struct Watcher {
    var sql: String
    var key: [String]
    var subscription: ChangeSubscription
    var result: KeyedResult
    var model: [RecordKey: Record] = [:]
  }

  init(seed: UInt64, path: String) async throws {
    self.seed = seed
    world = FuzzWorld(seed: seed)
    database = try Database(path: path)
    try await database.withWriter { try $0.execute("PRAGMA synchronous=OFF") }
    for sql in world.schema { try await database.run(sql) }
    if Bool.random(using: &world.random) {
      for table in ["a", "b"] { _ = try await database.track(table: table) }
    }
    othersShare = Int.random(in: 0...1, using: &world.random) == 0 ? 5 : 50
    other = try DatabaseConnection(path: path)
    try other.execute("PRAGMA synchronous=OFF")
    feed = try await database.changeFeed()
    for (sql, key) in world.queries {
      watchers.append(
        Watcher(
          sql: sql, key: key, subscription: feed.subscribe(),
          result: KeyedResult(.query(SQL(text: sql), key: key), startingFrom: [])))
    }
  }

  mutating func run(transactionCount: Int) async throws {
    for number in 0..<transactionCount {
      try step()
      // Steps block their thread, which other tests need too.
      await Task.yield()
      for offset in watchers.indices where Int.random(in: 0...3, using: &world.random) == 0 {
        try check(offset, number)
      }
    }
    for watcher in watchers { feed.unsubscribe(watcher.subscription) }
  }

  /// One transaction, by this database or by another connection.
  private mutating func step() throws {
    let statements = (0...Int.random(in: 0...3, using: &world.random)).map { _ in world.statement()
    }
    let change = Int.random(in: 0..<100, using: &world.random)
    let schemaChange = change < 2 ? world.schemaChange() : nil
    let rollsBack = change > 95
    let hasSavepoint = change > 85
    let body = { (connection: DatabaseConnection) throws -> Void in
      if let schemaChange { try connection.execute(schemaChange) }
      for (offset, sql) in statements.enumerated() {
        if hasSavepoint, offset == 1 { try connection.execute("SAVEPOINT s") }
        do throws(DatabaseError) {
          try connection.execute(sql)
        } catch {
          guard [.constraint, .mismatch].contains(error.code.primary) else { throw error }
        }
      }
      if hasSavepoint, statements.count > 1 {
        try connection.execute("ROLLBACK TO s")
        try connection.execute("RELEASE s")
      }
      if rollsBack { throw CancellationError() }
    }
    do {
      if Int.random(in: 0..<100, using: &world.random) < othersShare {
        try other.transaction { try body(other) }
      } else {
        try database.write { try body($0.connection) }
      }
    } catch is CancellationError {}
  }

  private mutating func check(_ offset: Int, _ number: Int) throws {
    var watcher = watchers[offset]
    let feed = feed
    let subscription = watcher.subscription
    let (difference, fresh, isIncremental) = try database.read { transaction in
      let connection = transaction.connection
      let changes = try feed.beginSnapshot(connection, for: subscription)
      let difference = try watcher.result.advance(
        changes,
        LiveReading(connection: connection) {
          feed.setInterests($0, of: subscription)
        })
      let sql = String(watcher.sql.split(separator: ";")[0])
      return (
        difference, try freshRows(sql, key: watcher.key, in: connection), !changes.isUnknown
      )
    }
    if isIncremental { incrementalCount += 1 }
    let key = watcher.key
    let applied = difference.applying(to: watcher.model) { record in
      RecordKey(key.map { record[$0] })
    }
    let isEqual = applied == fresh
    try #require(
      isEqual,
      """
      seed \(seed), transaction \(number), incremental \(isIncremental), query \(watcher.sql): \
      applied \(applied?.values.filter { !fresh.values.contains($0) }.map(\.values) ?? []), \
      fresh \(fresh.values.filter { applied?.values.contains($0) != true }.map(\.values))
      """)
    watcher.model = fresh
    watchers[offset] = watcher
  }
}

/// How much to do: `TANDEM_FUZZ=10` does ten times as much.
enum FuzzSize {
  static var factor: Int {
    getenv("TANDEM_FUZZ").flatMap { Int(String(cString: $0)) } ?? 1
  }

  static var worldCount: Int { 400 * factor }
}
