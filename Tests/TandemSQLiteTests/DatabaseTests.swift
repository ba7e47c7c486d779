import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite(.timeLimit(.minutes(20)))
struct DatabaseTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
    try database.write { try $0.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, text)") }
  }

  private static let count: SQL = "SELECT count(*) FROM t"

  @Test("what was written is read, by tasks and by threads")
  func readsWhatWasWritten() async throws {
    try await database.write { transaction in
      let changed = try transaction.execute("INSERT INTO t (n) VALUES (\(1)), (\(2))")
      #expect(changed == 2)
    }
    #expect(try await database.read { try $0.fetchValue("SELECT sum(n) FROM t") } == 3)
    func blocking() throws -> [Int] {
      try database.write { try $0.execute("INSERT INTO t (n) VALUES (3)") }
      return try database.read { try $0.fetchValues("SELECT n FROM t ORDER BY n") }
    }
    #expect(try blocking() == [1, 2, 3])
  }

  private struct Refusal: Error {}

  @Test("a thread gets the closure's result or error, and an error undoes what was written")
  func resultsAndErrors() throws {
    #expect(try database.write { _ in "done" } == "done")
    #expect(throws: Refusal.self) {
      try database.write { transaction in
        try transaction.execute("INSERT INTO t (n) VALUES (1)")
        throw Refusal()
      }
    }
    #expect(throws: Refusal.self) { try database.read { _ in throw Refusal() } }
    #expect(try database.read { try $0.fetchValue(Self.count) } == 0)
    // The connections are in order again.
    try database.write { try $0.execute("INSERT INTO t (n) VALUES (1)") }
    #expect(try database.read { try $0.fetchValue(Self.count) } == 1)
  }

  @Test("a task gets the closure's result or error, and an error undoes what was written")
  func resultsAndErrorsOfTasks() async throws {
    #expect(try await database.write { _ in "done" } == "done")
    await #expect(throws: Refusal.self) {
      try await database.write { transaction in
        try transaction.execute("INSERT INTO t (n) VALUES (1)")
        throw Refusal()
      }
    }
    await #expect(throws: Refusal.self) { try await database.read { _ in throw Refusal() } }
    #expect(try await database.read { try $0.fetchValue(Self.count) } == 0)
    try await database.write { try $0.execute("INSERT INTO t (n) VALUES (1)") }
    #expect(try await database.read { try $0.fetchValue(Self.count) } == 1)
  }

  @Test("when a write has returned, another program sees it")
  func visibleElsewhere() throws {
    try database.write { try $0.execute("INSERT INTO t VALUES (1, 'a')") }
    let other = try DatabaseConnection(path: folder.file(), access: .readOnly)
    #expect(try other.valueRows("SELECT * FROM t") == [[1, "a"]])
  }

  @Test("a read transaction cannot be made to write")
  func readsDoNotWrite() throws {
    let error = try databaseError {
      _ = try database.read {
        try $0.fetchValue("INSERT INTO t (n) VALUES (1) RETURNING n", as: Int.self)
      }
    }
    #expect(error.code.primary == .readOnly)
    #expect(try database.read { try $0.fetchValue(Self.count) } == 0)
  }

  @Test(
    "statements that begin or end transactions are refused, and the transaction goes on",
    arguments: ["BEGIN", " commit", "END", "ROLLBACK TO x", "\n\tSavepoint a", "release a"])
  func transactionControl(sql: String) throws {
    try database.write { transaction in
      try transaction.execute("INSERT INTO t (n) VALUES (1)")
      do {
        try transaction.execute(SQL(text: sql))
        Issue.record("\(sql) has run")
      } catch let error as DatabaseError {
        #expect(error.code == .misuse)
      }
      try transaction.execute("INSERT INTO t (n) VALUES (2)")
    }
    #expect(try database.read { try $0.fetchValue(Self.count) } == 2)
  }

  @Test("a transaction that a conflict has rolled back is found out, and nothing more is written")
  func endedTransaction() throws {
    let error = try databaseError {
      try database.write { transaction in
        _ = try? transaction.execute("INSERT OR ROLLBACK INTO t (n) VALUES (1), (1)")
        try transaction.execute("INSERT INTO t (n) VALUES (1)")
      }
    }
    #expect(error.code == .misuse)
    #expect(try database.read { try $0.fetchValue(Self.count) } == 0)
  }

  @Test(
    "using the database inside its own transaction is an error, not a standstill", arguments: 0..<3)
  func nested(attempt: Int) async throws {
    let database = database
    let attempts: [@Sendable () throws -> Void] = [
      { try database.write { _ in } }, { try database.checkpoint() }, { try database.close() },
    ]
    let nested = attempts[attempt]
    func blocking() throws { try database.write { _ in try nested() } }
    #expect(try databaseError(blocking).code == .misuse)
    let error = await #expect(throws: DatabaseError.self) {
      try await database.write { _ in try nested() }
    }
    #expect(error?.code == .misuse)
    // What was refused has changed nothing.
    #expect(try await database.read { try $0.fetchValue(Self.count) } == 0)
    try await database.write { _ in }
  }

  @Test("a read inside a read is an error; inside a write, it sees what was there before")
  func nestedReads() throws {
    let error = try databaseError { try database.read { _ in try database.read { _ in } } }
    #expect(error.code == .misuse)
    try database.write { transaction in
      try transaction.execute("INSERT INTO t (n) VALUES (1)")
      #expect(try database.read { try $0.fetchValue(Self.count) } == 0)
    }
  }

  @Test("in memory, one connection reads and writes")
  func inMemory() throws {
    let database = try Database(path: ":memory:")
    try database.write { try $0.execute("CREATE TABLE t (n)") }
    try database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    #expect(try database.read { try $0.fetchValue(Self.count) } == 1)
    let error = try databaseError {
      _ = try database.read { try $0.fetchValue("DELETE FROM t RETURNING n", as: Int.self) }
    }
    #expect(error.code.primary == .readOnly)
    #expect(try database.write { try $0.execute("DELETE FROM t") } == 1)
  }

  @Test("in memory, a read leaves the compiled statements and the settings for writes as they are")
  func settingsInMemory() throws {
    let database = try Database(path: ":memory:")
    try database.write { try $0.execute("CREATE TABLE t (n)") }
    func count() throws -> Int { try database.withWriter { $0.compilationCount } }
    func readAndWrite() throws {
      _ = try database.read { try $0.fetchValue(Self.count, as: Int.self) }
      try database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    }
    try readAndWrite()
    let before = try count()
    try readAndWrite()
    #expect(try count() == before)
    // A pragma in a read does not outlast it.
    _ = try database.read { try $0.fetchValue("PRAGMA query_only = ON", as: Int.self) }
    try readAndWrite()
    _ = try? database.read { try $0.fetchValue("PRAGMA user_version = 7", as: Int.self) }
    #expect(try database.read { try $0.fetchValue("PRAGMA user_version", as: Int.self) } == 0)
    try readAndWrite()
    let error = try databaseError {
      _ = try database.read {
        _ = try $0.fetchValue("PRAGMA query_only = OFF", as: Int.self)
        return try $0.fetchValue("DELETE FROM t RETURNING n", as: Int.self)
      }
    }
    #expect(error.code.primary == .readOnly)
    // SQLite says of this one that it only reads.
    try database.write { try $0.execute("CREATE INDEX by_number ON t (n)") }
    _ = try database.read { try $0.fetchValue("SELECT n FROM t WHERE n = 1", as: Int.self) }
    _ = try? database.read { try $0.fetchValue("PRAGMA optimize", as: Int.self) }
    #expect(try database.read { try $0.schema(ofTable: "sqlite_stat1") } == nil)
  }
}

// MARK: - Closing

extension DatabaseTests {
  @Test("closing leaves the file alone in its folder, with all that was committed")
  func closesCleanly() throws {
    try database.write { try $0.execute("INSERT INTO t VALUES (1, 'a')") }
    _ = try database.read { try $0.fetchValue(Self.count, as: Int.self) }
    #expect(folder.fileNames == ["test.db", "test.db-shm", "test.db-wal"])
    try database.close()
    #expect(folder.fileNames == ["test.db"])
    #expect(try folder.open().valueRows("SELECT * FROM t") == [[1, "a"]])
  }

  private struct Row: Codable, DatabaseRecord {
    static let tableName = "t"
    static let keyColumnNames = ["n"]
    var n: Int
  }

  @Test("a database that is released closes as well, with the statements and records it has cached")
  func closesWhenReleased() throws {
    do {
      let database = try Database(path: folder.file("other.db"))
      try database.write { transaction in
        try transaction.execute("CREATE TABLE t (n PRIMARY KEY)")
        try transaction.insert(Row(n: 1))
        #expect(try transaction.fetchAll(Row.self).map(\.n) == [1])
      }
      #expect(folder.fileNames.contains("other.db-wal"))
    }
    #expect(folder.fileNames.contains("other.db"))
    #expect(!folder.fileNames.contains("other.db-wal"))
  }

  @Test("after closing, everything is refused, and closing again does nothing")
  func useAfterClose() async throws {
    await database.close()
    await database.close()
    func blocking() throws {
      try database.close()
      #expect(try databaseError { try database.write { _ in } }.code == .misuse)
      #expect(try databaseError { try database.read { _ in } }.code == .misuse)
    }
    try blocking()
    await #expect(throws: DatabaseError.self) { try await database.read { _ in } }
    await #expect(throws: DatabaseError.self) { try await database.write { _ in } }
    #expect(folder.fileNames == ["test.db"])
  }

  @Test("closing lets what runs finish, and refuses what waits")
  func closesAfterTheRunning() async throws {
    let database = database
    let (started, startedSignal) = AsyncStream<Void>.makeStream()
    let gate = Gate()
    async let running = database.write { transaction in
      startedSignal.finish()
      gate.wait()
      try transaction.execute("INSERT INTO t (n) VALUES (1)")
    }
    for await _ in started {}
    async let waiting: Bool = {
      do {
        try await database.write { try $0.execute("INSERT INTO t (n) VALUES (2)") }
        return true
      } catch let error as DatabaseError {
        return error.code != .misuse
      }
    }()
    async let closing: Void = database.close()
    gate.open()
    _ = try await running
    await closing
    // The second write was refused, or it came before the closing: it never runs after that.
    let rows = try folder.open().valueRows("SELECT n FROM t ORDER BY n")
    let bothRan = try await waiting
    #expect(rows == (bothRan ? [[1], [2]] : [[1]]))
  }
}

// MARK: - Configuration

extension DatabaseTests {
  @Test("opened for reading only, it reads, and writing says why not")
  func readOnly() throws {
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(access: .readOnly))
    #expect(try database.read { try $0.fetchValue(Self.count) } == 0)
    let error = try databaseError { try database.write { _ in } }
    #expect(error.code == .readOnly)
    #expect(error.message.contains("reading only"))
  }

  @Test("the log moves into the file when told, or when it is long enough")
  func checkpoints() throws {
    func logIsUsed(_ policy: DatabaseConfiguration.CheckpointPolicy) throws -> Int {
      let name = "\(policy).db"
      let database = try Database(
        path: folder.file(name), configuration: DatabaseConfiguration(checkpointPolicy: policy))
      try database.write { try $0.execute("CREATE TABLE t (n)") }
      for number in 0..<50 {
        try database.write { try $0.execute("INSERT INTO t VALUES (\(number))") }
      }
      let pageCount = try database.withWriter { try $0.integer("PRAGMA wal_autocheckpoint") }
      #expect(pageCount == (policy == .manual ? 0 : 4))
      let length = try fileLength(folder.file(name + "-wal"))
      try database.checkpoint()
      #expect(try fileLength(folder.file(name + "-wal")) == 0)
      return length
    }
    #expect(try logIsUsed(.manual) > logIsUsed(.automatic(pageCount: 4)) * 3)
  }

  @Test("a checkpoint says so when a reader keeps the log")
  func checkpointIsBusy() throws {
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(busyTimeout: .zero))
    try database.write { try $0.execute("INSERT INTO t (n) VALUES (1)") }
    try database.read { transaction in
      _ = try transaction.fetchValue(Self.count, as: Int.self)
      #expect(try databaseError { try database.checkpoint() }.code.primary == .busy)
    }
    try database.checkpoint()
  }

  @Test("opening without blocking gives the same database, and the same errors")
  func open() async throws {
    let other = try await Database.open(path: folder.file())
    #expect(try await other.read { try $0.fetchValue(Self.count) } == 0)
    await #expect(throws: DatabaseError.self) {
      try await Database.open(path: folder.file("missing/test.db"))
    }
  }
}
