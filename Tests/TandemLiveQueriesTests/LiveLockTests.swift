import TandemDifferences
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemLiveQueries

@Suite("Live queries on files that others keep locked", .timeLimit(.minutes(20)))
struct LiveLockTests {
  let folder: TemporaryFolder
  /// Another program, whose locks keep readers out, as there is no write-ahead log.
  let other: DatabaseConnection

  init() throws {
    folder = try TemporaryFolder()
    other = try folder.otherConnection()
    try other.execute("PRAGMA journal_mode=DELETE")
    try other.execute("CREATE TABLE place (id INTEGER PRIMARY KEY)")
  }

  func database() throws -> Database {
    try Database(
      path: folder.path(of: "test.db"),
      configuration: DatabaseConfiguration(access: .readOnly, busyTimeout: .milliseconds(1)))
  }

  /// Inserts a row and commits, after plain reads have given up many times.
  func insertSlowly(_ id: Int, beside database: Database) async throws {
    try other.execute("INSERT INTO place VALUES (\(id))")
    for _ in 0..<50 {
      let error = try await #require(throws: DatabaseError.self) {
        try await database.read { _ = try $0.fetchValue("SELECT 1 FROM place", as: Int.self) }
      }
      #expect(error.code.primary == .busy)
    }
    try other.execute("COMMIT")
  }

  /// Locks the file and begins a sequence; the task waits for the first difference.
  func beginLocked(in database: Database) async throws
    -> Task<SetDifference<Record>?, any Error>
  {
    try other.execute("BEGIN EXCLUSIVE")
    let (started, start) = AsyncStream<Void>.makeStream()
    let task = Task {
      var iterator = LiveQuery(table: "place").differences(in: database).makeAsyncIterator()
      start.finish()
      return try await iterator.next()
    }
    for await _ in started {}
    return task
  }

  @Test("a sequence waits while its file is locked, when it begins and later, and then delivers")
  func waits() async throws {
    let database = try database()
    let (counts, count) = AsyncStream<Int>.makeStream()
    try other.execute("BEGIN EXCLUSIVE")
    let task = Task {
      defer { count.finish() }
      for try await difference in LiveQuery(table: "place").differences(in: database) {
        count.yield(difference.inserted.count)
      }
    }
    try other.execute("INSERT INTO place VALUES (1)")
    try other.execute("COMMIT")
    var iterator = counts.makeAsyncIterator()
    var total = await iterator.next() ?? 0
    for id in 2...4 {
      try other.execute("BEGIN EXCLUSIVE")
      try await insertSlowly(id, beside: database)
      while total < id, let more = await iterator.next() { total += more }
      #expect(total == id)
    }
    task.cancel()
    try await task.value
    await database.close()
  }

  @Test("a sequence that begins while its file is locked waits, and delivers what is there then")
  func begins() async throws {
    let database = try database()
    let task = try await beginLocked(in: database)
    try await insertSlowly(1, beside: database)
    #expect(try await task.value == SetDifference(inserted: [["id": 1]]))
    await database.close()
  }

  @Test("cancelling the task ends the wait for a lock that nobody lets go of")
  func cancels() async throws {
    let database = try database()
    let task = try await beginLocked(in: database)
    task.cancel()
    #expect(try await task.value == nil)
    await database.close()
    try other.execute("COMMIT")
  }

  // MARK: Time for others

  /// A run that asks before it pauses, and pauses until it is told to go on.
  private func run(
    in database: Database, _ ask: @escaping @Sendable (Duration) async -> Void
  ) -> LiveRun<SetState<Record>> {
    LiveRun(
      .table("place"), in: database,
      state: SetState(
        deliversEmptyStart: true, SetPresentation(onUpdate: nil, decode: { $0 })),
      sleep: { await ask($0) })
  }

  @Test("before everything is read again, others have time to commit more than once")
  func pauses() async throws {
    let database = try database()
    let (pauses, pause) = AsyncStream<Duration>.makeStream()
    let (ends, end) = AsyncStream<Void>.makeStream()
    let run = run(in: database) { duration in
      pause.yield(duration)
      for await _ in ends { break }
    }
    _ = try await run.next()
    let next = Task { try await run.next() }
    try other.execute("INSERT INTO place VALUES (0)")
    var iterator = pauses.makeAsyncIterator()
    #expect(try #require(await iterator.next()) > .zero)
    for id in 1...20 { try other.execute("INSERT INTO place VALUES (\(id))") }
    end.yield()
    #expect(try await next.value?.inserted.count == 21)
    await database.close()
  }

  @Test("no time is lost where rows are read one by one, or others can write meanwhile")
  func needlessPauses() async throws {
    for isTracked in [true, false] {
      if !isTracked { try other.execute("PRAGMA journal_mode=WAL") }
      let database = try Database(
        path: folder.path(of: "test.db"),
        configuration: DatabaseConfiguration(journal: .asItIs, busyTimeout: patience))
      if isTracked { _ = try await database.track(table: "place") }
      let run = run(in: database) { duration in Issue.record("a pause of \(duration)") }
      _ = try await run.next()
      for id in 1...3 {
        try other.execute("INSERT INTO place VALUES (\(isTracked ? id : id + 10))")
        #expect(try await run.next()?.inserted.count == 1)
      }
      if isTracked { _ = try await database.untrack(table: "place") }
      await database.close()
    }
  }

  @Test("a pause is a multiple of what the read cost, up to a limit")
  func pauseDuration() {
    var pause = ReadPause()
    #expect(pause.duration == .zero)
    pause.didRead(for: .milliseconds(20))
    #expect(pause.duration == .milliseconds(80))
    pause.didRead(for: .seconds(60))
    #expect(pause.duration == .seconds(10))
    pause.didRead(for: .zero)
    #expect(pause.duration == .zero)
  }
}
