import Synchronization
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("An observer of commits")
struct CommitObserverTests {
  private let folder: TemporaryFolder
  private let database: Database
  private let log = Log()

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
    try database.write { try $0.execute("CREATE TABLE t (n)") }
    try log.observe(database)
  }

  /// The events of an observer, and the count of rows it reads after each commit.
  private final class Log: Sendable {
    private let events = Mutex<[String]>([])

    var text: String { events.withLock { $0.joined(separator: " ") } }

    func append(_ event: String) { events.withLock { $0.append(event) } }

    func observe(_ database: Database) throws {
      try database.withWriter { try $0.observe { _ in Recorder(self) } }
    }
  }

  private final class Recorder: CommitObserver {
    private let log: Log

    init(_ log: Log) {
      self.log = log
      log.append("attach")
    }

    deinit { log.append("detach") }

    func didBegin(_ connection: DatabaseConnection) { log.append("begin") }
    func didCommit(_ connection: DatabaseConnection) {
      #expect(!connection.isInTransaction)
      log.append("commit(\((try? connection.integer("SELECT count(*) FROM t")) ?? -1))")
    }
    func didRollback(_ connection: DatabaseConnection) {
      #expect(!connection.isInTransaction)
      log.append("rollback")
    }
  }

  @Test("it learns of each write before the write returns, and reads what was committed")
  func commits() throws {
    try database.write { try $0.execute("INSERT INTO t VALUES (1), (2)") }
    #expect(log.text == "attach begin commit(2)")
    try database.write { _ in }
    #expect(log.text == "attach begin commit(2) begin commit(2)")
  }

  @Test("reads and savepoints are not reported, rollbacks are")
  func rollbacks() throws {
    struct Refusal: Error {}
    try database.read { _ in }
    #expect(log.text == "attach")
    #expect(throws: Refusal.self) {
      try database.write { transaction in
        try transaction.execute("INSERT INTO t VALUES (1)")
        throw Refusal()
      }
    }
    try database.write { transaction in
      _ = try? transaction.savepoint { _ in throw Refusal() }
    }
    #expect(log.text == "attach begin rollback begin commit(0)")
  }

  @Test("a commit that fails is a rollback")
  func failedCommit() throws {
    try database.write { transaction in
      try transaction.execute("CREATE TABLE parent (id PRIMARY KEY)")
      try transaction.execute(
        "CREATE TABLE child (id REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
    }
    let error = try databaseError {
      try database.write { _ = try $0.execute("INSERT INTO child VALUES (1)") }
    }
    #expect(error.code.primary == .constraint)
    #expect(log.text == "attach begin commit(0) begin rollback")
  }

  @Test("a write that cannot begin is not reported")
  func lockedOut() throws {
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(busyTimeout: .zero))
    let log = Log()
    try log.observe(database)
    let other = try DatabaseConnection(path: folder.file())
    try other.execute("BEGIN IMMEDIATE")
    #expect(try databaseError { try database.write { _ in } }.code.primary == .busy)
    #expect(log.text == "attach")
  }

  @Test("it is released when it is replaced, and when the writer closes")
  func detaches() throws {
    let second = Log()
    try second.observe(database)
    #expect(log.text == "attach detach")
    try database.close()
    #expect(second.text == "attach detach")
  }

  @Test("our targets get the writer outside transactions")
  func writer() async throws {
    #expect(try await database.withWriter { $0.isInTransaction } == false)
  }
}
