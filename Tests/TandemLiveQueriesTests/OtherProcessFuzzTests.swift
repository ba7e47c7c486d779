import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite(
  "Live queries against fresh ones while another process writes", .timeLimit(.minutes(60)))
struct OtherProcessFuzzTests {
  static let seeds = FuzzSize.seeds(count: 20)

  @Test("while sqlite3 and this process write at once, no state is torn, and the last one is right")
  func differencesEqualFreshQuery() async throws {
    var intermediateCount = 0
    for (offset, seed) in Self.seeds.enumerated() {
      let folder = try TemporaryFolder()
      var course = try await TwoProcessCourse(seed: seed, path: folder.path(of: "test.db"))
      intermediateCount += try await course.run()
      FuzzSize.report("two processes", offset, of: Self.seeds.count)
    }
    // Otherwise, nothing would have been seen but the beginning and the end.
    #expect(intermediateCount >= Self.seeds.count)
  }
}

/// One world in which two processes write at the same time.
struct TwoProcessCourse {
  static let batchCount = 20
  /// Transactions of the other process in a batch, and of this one beside it.
  static let otherCount = 20
  static let ownCount = 5

  private var course: FuzzCourse
  private let shell: SQLiteShell
  private var followers: [Follower] = []
  /// How many transactions the other process is to commit.
  private var otherCommitCount: Int64 = 0

  private static let accounts = "SELECT id, amount FROM account"

  init(seed: UInt64, path: String) async throws {
    course = try await FuzzCourse(seed: seed, path: path)
    try await course.database.run(
      "CREATE TABLE account (id INTEGER PRIMARY KEY, amount INT)",
      "INSERT INTO account VALUES (1, 0), (2, 0), (3, 0)",
      "CREATE TABLE progress (commits INT)", "INSERT INTO progress VALUES (0)")
    if course.isTracked { _ = try await course.database.track(table: "account") }
    shell = try SQLiteShell(path: path)
    let queries = [(sql: Self.accounts, key: ["id"])] + course.world.queries
    for (sql, key) in queries {
      followers.append(Follower(sql, key: key, in: course.database, seed: seed))
    }
  }

  /// Runs it to its end; returns at how many states between the first and the last it looked.
  mutating func run() async throws -> Int {
    var states: Set<Int64> = []
    for batch in 0..<Self.batchCount {
      try shell.send((0..<Self.otherCount).map { _ in otherTransaction() }.joined())
      // However late the other process starts, it is in the middle of its work once.
      if batch == 0 { try #require(try await comesToHold { try otherProgress() > 0 }) }
      for number in 0..<Self.ownCount {
        try await transfer()
        try course.step(byOthers: false)
        try course.checkSome(at: batch * Self.ownCount + number)
        states.insert(try otherProgress())
      }
    }
    try shell.end()
    try course.checkAll(at: -1)
    course.end()
    try #require(try otherProgress() == otherCommitCount, "the other process did all its work")
    for follower in followers { try await follower.arrive() }
    await course.database.close()
    return states.subtracting([0, otherCommitCount]).count
  }

  /// A random transaction that also moves money in two steps, and counts itself.
  private mutating func otherTransaction() -> String {
    let transaction = FuzzTransaction(&course.world)
    if !transaction.rollsBack { otherCommitCount += 1 }
    let (from, to) = accountPair()
    return transaction.script(
      "UPDATE account SET amount = amount - 7 WHERE id = \(from)",
      "UPDATE account SET amount = amount + 7 WHERE id = \(to)",
      "UPDATE progress SET commits = commits + 1")
  }

  private mutating func transfer() async throws {
    let (from, to) = accountPair()
    try await course.database.run(
      "UPDATE account SET amount = amount - 1 WHERE id = \(from)",
      "UPDATE account SET amount = amount + 1 WHERE id = \(to)")
  }

  private mutating func accountPair() -> (from: Int, to: Int) {
    let from = Int.random(in: 1...3, using: &course.world.random)
    return (from, from % 3 + 1)
  }

  private func otherProgress() throws -> Int64 {
    try course.database.read { try $0.fetchValue("SELECT commits FROM progress") ?? -1 }
  }
}

/// A task that follows a live query and applies what it delivers.
private struct Follower {
  private typealias Rows = [RecordKey: Record]

  private let sql: String
  private let key: [String]
  private let database: Database
  private let seed: UInt64
  private let states: AsyncStream<Rows>
  private let task: Task<Void, any Error>

  init(_ sql: String, key: [String], in database: Database, seed: UInt64) {
    // As everywhere, what follows the statement is cut off.
    let sql = String(sql.split(separator: ";")[0])
    self.sql = sql
    self.key = key
    self.database = database
    self.seed = seed
    let (states, state) = AsyncStream<Rows>.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.states = states
    task = Task {
      defer { state.finish() }
      var rows: Rows = [:]
      for try await difference in LiveQuery(SQL(text: sql), key: key).differences(in: database) {
        rows = try Self.apply(difference, to: rows, key: key, seed: seed)
        state.yield(rows)
      }
    }
  }

  private static func apply(
    _ difference: SetDifference<Record>, to rows: Rows, key: [String], seed: UInt64
  ) throws -> Rows {
    let rows = try #require(
      difference.applying(to: rows) { record in RecordKey(key.map { record[$0] }) },
      "\(FuzzSize.repetition(seed))")
    let amounts = rows.values.map { Int($0["amount"].description) ?? 0 }
    try #require(amounts.reduce(0, +) == 0, "a torn transfer; \(FuzzSize.repetition(seed))")
    return rows
  }

  /// Returns when it has arrived at what the query finds now, which nobody changes any more.
  func arrive() async throws {
    let (sql, key) = (sql, key)
    let last = try await database.read { try freshRows(sql, key: key, in: $0.connection) }
    var hasArrived = false
    for await rows in states where areIdentical(rows, last) {
      hasArrived = true
      break
    }
    task.cancel()
    try await task.value
    #expect(hasArrived, "\(sql); \(FuzzSize.repetition(seed))")
  }
}
