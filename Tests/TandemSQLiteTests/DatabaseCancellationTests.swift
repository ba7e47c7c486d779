import TandemSQLite
import TestFolder
import Testing

@Suite(.timeLimit(.minutes(20)))
struct DatabaseCancellationTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
    try database.write { try $0.execute("CREATE TABLE t (n INTEGER)") }
  }

  /// Runs until it is interrupted.
  private static let endless: SQL = """
    INSERT INTO t WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
    SELECT max(n) FROM numbers
    """

  private func count() async throws -> Int? {
    try await database.read { try $0.fetchValue("SELECT count(*) FROM t") }
  }

  @Test("cancelling a write that runs ends it, undoes it, and leaves the writer in order")
  func cancelsTheRunning() async throws {
    let database = database
    let (started, signal) = AsyncStream<Void>.makeStream()
    let task = Task {
      try await database.write { transaction in
        try transaction.execute("INSERT INTO t VALUES (1)")
        signal.finish()
        try transaction.execute(Self.endless)
      }
    }
    for await _ in started {}
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await count() == 0)
    try await database.write { try $0.execute("INSERT INTO t VALUES (2)") }
    #expect(try await count() == 1)
  }

  @Test("cancelling a read that runs ends it, and leaves the reader in order")
  func cancelsTheReading() async throws {
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(maxReaderCount: 1))
    let (started, signal) = AsyncStream<Void>.makeStream()
    let task = Task {
      try await database.read { transaction in
        signal.finish()
        return try transaction.fetchValue(
          """
          WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
          SELECT max(n) FROM numbers
          """, as: Int.self)
      }
    }
    for await _ in started {}
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await database.read { try $0.fetchValue("SELECT 1") } == 1)
  }

  @Test("cancelling a write that waits for its turn ends it at once, and the others keep theirs")
  func cancelsTheWaiting() async throws {
    let database = database
    let (started, signal) = AsyncStream<Void>.makeStream()
    let gate = Gate()
    async let running: Void = database.write { transaction in
      signal.finish()
      gate.wait()
      try transaction.execute("INSERT INTO t VALUES (1)")
    }
    for await _ in started {}
    let waiting = (0..<100).map { number in
      Task { try await database.write { try $0.execute("INSERT INTO t VALUES (\(number))") } }
    }
    for task in waiting[..<50] { task.cancel() }
    // The writer is still taken: only because they are cancelled do these end.
    for task in waiting[..<50] {
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    gate.open()
    try await running
    for task in waiting[50...] { _ = try await task.value }
    #expect(try await count() == 51)
  }

  @Test("cancelling a write that waits for another program's lock ends it")
  func cancelsTheLocked() async throws {
    let path = folder.file()
    let database = try Database(
      path: path, configuration: DatabaseConfiguration(busyTimeout: .seconds(600)))
    let other = try DatabaseConnection(path: path)
    try other.execute("BEGIN IMMEDIATE")
    let task = Task { try await database.write { try $0.execute("INSERT INTO t VALUES (1)") } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try other.execute("COMMIT")
    try await database.write { try $0.execute("INSERT INTO t VALUES (2)") }
    #expect(try await count() == 1)
  }

  @Test("a task that is cancelled before it asks gets nothing")
  func cancelledBefore() async throws {
    let database = database
    let gate = AsyncStream<Void>.makeStream()
    let task = Task {
      for await _ in gate.stream {}
      return try await database.write { _ in Issue.record("the closure has run") }
    }
    task.cancel()
    gate.continuation.finish()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("an error of the closure's own comes out, cancelled or not")
  func ownErrors() async throws {
    struct Refusal: Error {}
    let database = database
    let (started, signal) = AsyncStream<Void>.makeStream()
    let gate = Gate()
    let task = Task {
      try await database.write { _ in
        signal.finish()
        gate.wait()
        throw Refusal()
      }
    }
    for await _ in started {}
    task.cancel()
    gate.open()
    await #expect(throws: Refusal.self) { try await task.value }
  }

  @Test("a closure that ignores its cancellation is rolled back all the same")
  func ignored() async throws {
    let database = database
    let (started, signal) = AsyncStream<Void>.makeStream()
    let gate = Gate()
    let task = Task {
      try await database.write { transaction in
        signal.finish()
        gate.wait()
        _ = try? transaction.execute("INSERT INTO t VALUES (1)")
      }
    }
    for await _ in started {}
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await count() == 0)
  }

  @Test("cancelling inside a loop over rows hits neither the rollback nor the next access")
  func pendingInterruption() async throws {
    let database = database
    let statements = Kept()
    for _ in 0..<20 {
      let (started, signal) = AsyncStream<Void>.makeStream()
      let gate = Gate()
      let task = Task {
        try await database.write { transaction in
          try transaction.execute("INSERT INTO t VALUES (1), (2), (3)")
          // As long as a statement has begun, SQLite keeps an interruption for the next one.
          let unfinished = try transaction.connection.prepare("SELECT n FROM t")
          _ = try unfinished.step()
          defer { statements.keep(unfinished) }
          try transaction.withCursor("SELECT n FROM t", as: Number.self) { cursor in
            while try cursor.next() != nil {
              signal.finish()
              gate.wait()
            }
          }
        }
      }
      for await _ in started {}
      task.cancel()
      for _ in 0..<3 { gate.open() }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await database.write { try $0.fetchValue("SELECT count(*) FROM t") } == 0)
    }
  }

  @Test("an interruption that SQLite reports as another error is a cancellation too")
  func cancelsTheDeclaration() async throws {
    let database = database
    let (started, signal) = AsyncStream<Void>.makeStream()
    let gate = Gate()
    let task = Task {
      try await database.read { transaction in
        signal.finish()
        gate.wait()
        // As SQLite does if it is interrupted while it declares the table of `pragma_table_list`, for
        // some microseconds of a statement with it.
        throw DatabaseError(
          code: .error, message: "interrupted", path: transaction.connection.path)
      }
    }
    for await _ in started {}
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  private struct Number: Decodable, RowDecodable {
    var n: Int
  }

  /// Statements that outlive their transaction. Unchecked: one access runs at a time.
  private final class Kept: @unchecked Sendable {
    private var statements: [Statement] = []

    func keep(_ statement: Statement) { statements.append(statement) }
  }

  @Test("cancelling at any moment leaves a write done or undone, and says which")
  func anyMoment() async throws {
    let database = database
    var committed = 0
    for number in 0..<300 {
      let task = Task {
        try await database.write { transaction in
          for _ in 0..<10 { try transaction.execute("INSERT INTO t VALUES (\(number))") }
        }
      }
      for _ in 0..<(number % 30) { await Task.yield() }
      task.cancel()
      do {
        try await task.value
        committed += 1
      } catch is CancellationError {}
    }
    #expect(try await count() == committed * 10)
  }

  @Test("blocking accesses run in a cancelled task too: they clean up")
  func blockingIgnoresCancellation() async throws {
    let database = database
    @Sendable func cleanUp() throws {
      try database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    }
    let gate = AsyncStream<Void>.makeStream()
    let task = Task {
      for await _ in gate.stream {}
      try cleanUp()
    }
    task.cancel()
    gate.continuation.finish()
    try await task.value
    #expect(try await count() == 1)
  }
}
