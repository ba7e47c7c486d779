import TandemSQLite
import TestFolder
import TestRandom
import Testing

@Suite(.timeLimit(.minutes(20)))
struct DatabaseIsolationTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
    try database.write { transaction in
      try transaction.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)")
      for id in 0..<10 { try transaction.execute("INSERT INTO account VALUES (\(id), 100)") }
    }
  }

  @Test(
    "a read sees one state from its first statement to its end, whatever is committed meanwhile")
  func oneState() throws {
    let sum: SQL = "SELECT sum(balance) FROM account"
    try database.read { transaction in
      #expect(try transaction.fetchValue(sum) == 1000)
      try database.write { try $0.execute("UPDATE account SET balance = 0") }
      #expect(try transaction.fetchValue(sum) == 1000)
    }
    #expect(try database.read { try $0.fetchValue(sum) } == 0)
  }

  @Test("a statement that is left unfinished does not keep the next read in the past")
  func unfinishedStatement() throws {
    let reader = try Database(
      path: folder.file(),
      configuration: DatabaseConfiguration(access: .readOnly, maxReaderCount: 1))
    var unfinished: Statement?
    try reader.read { transaction in
      unfinished = try transaction.connection.prepare("SELECT balance FROM account")
      #expect(try unfinished?.step() == true)
    }
    try database.write { try $0.execute("UPDATE account SET balance = 0") }
    #expect(try reader.read { try $0.fetchValue("SELECT sum(balance) FROM account") } == 0)
    withExtendedLifetime(unfinished) {}
  }

  @Test("while tasks move money, every reader counts the same sum, twice")
  func transfers() async throws {
    let database = database
    let sum: SQL = "SELECT sum(balance) FROM account"
    try await withThrowingTaskGroup { group in
      for writer in 0..<4 {
        group.addTask {
          var generator = SplitMix64(seed: UInt64(writer))
          for _ in 0..<50 {
            let (from, to) = (
              Int.random(in: 0..<10, using: &generator), Int.random(in: 0..<10, using: &generator)
            )
            try await database.write { transaction in
              try transaction.execute(
                "UPDATE account SET balance = balance - 1 WHERE id = \(from)")
              try transaction.execute("UPDATE account SET balance = balance + 1 WHERE id = \(to)")
            }
          }
        }
      }
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<50 {
            let sums = try await database.read { transaction in
              let first = try transaction.fetchValue(sum, as: Int.self)
              return [first, try transaction.fetchValue(sum, as: Int.self)]
            }
            #expect(sums == [1000, 1000])
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("a read does not wait for a write that is under way, nor the write for the read")
  func nobodyWaits() async throws {
    let database = database
    let (started, signal) = AsyncStream<Void>.makeStream()
    let gate = Gate()
    async let writing: Void = database.write { transaction in
      try transaction.execute("UPDATE account SET balance = 1")
      signal.finish()
      gate.wait()
    }
    for await _ in started {}
    // The write is open; if a read waited for it, this test would not end.
    let sum = try await database.read { transaction in
      try transaction.fetchValue("SELECT sum(balance) FROM account", as: Int.self)
    }
    #expect(sum == 1000)
    gate.open()
    try await writing
  }

  @Test("no more reads run at the same time than the configuration says, and all of them run")
  func boundedReaders() async throws {
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(maxReaderCount: 3))
    let (arrivals, signal) = AsyncStream<Int>.makeStream()
    let gate = Gate()
    let running = Counter()
    try await withThrowingTaskGroup { group in
      for _ in 0..<12 {
        group.addTask {
          try await database.read { _ in
            signal.yield(running.increment())
            gate.wait()
          }
        }
      }
      var iterator = arrivals.makeAsyncIterator()
      for _ in 0..<3 { _ = await iterator.next() }
      #expect(running.value == 3)
      // One is let go, so one more arrives, twelve in all.
      for expected in 4...12 {
        gate.open()
        #expect(await iterator.next() == expected)
      }
      for _ in 0..<3 { gate.open() }
      try await group.waitForAll()
    }
  }

  @Test("threads that block take turns with tasks that wait")
  func threadsAndTasks() async throws {
    let database = database
    let add: @Sendable (borrowing WriteTransaction) throws -> Void = { transaction in
      try transaction.execute("UPDATE account SET balance = balance + 1 WHERE id = 0")
    }
    let threads = (0..<4).map { _ in
      TestThread { for _ in 0..<50 { try? database.write(add) } }
    }
    for _ in 0..<50 { try await database.write(add) }
    for thread in threads { await thread.join() }
    let balance = try await database.read { transaction in
      try transaction.fetchValue("SELECT balance FROM account WHERE id = 0", as: Int.self)
    }
    #expect(balance == 100 + 250)
  }
}
