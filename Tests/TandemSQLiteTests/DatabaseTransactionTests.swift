import TandemRecords
import TandemSQLite
import TestFolder
import Testing

struct DatabaseTransactionTests {
  private let folder: TemporaryFolder
  private let writer: DatabaseConnection
  private let reader: DatabaseConnection

  init() throws {
    folder = try TemporaryFolder()
    writer = try folder.open("test.db", "CREATE TABLE t (a UNIQUE)")
    reader = try DatabaseConnection(path: folder.file(), access: .readOnly)
  }

  private func count(_ connection: DatabaseConnection) throws -> Int64? {
    try connection.integer("SELECT count(*) FROM t")
  }

  @Test("what the body returns is returned, and what it wrote is committed")
  func commit() throws {
    let result = try writer.transaction {
      #expect(writer.isInTransaction)
      try writer.execute("INSERT INTO t VALUES (1)")
      return "done"
    }
    #expect(result == "done")
    #expect(!writer.isInTransaction)
    #expect(try count(reader) == 1)
  }

  @Test("what the body throws is thrown, and what it wrote is undone", arguments: 0..<2)
  func rollback(kind: Int) throws {
    struct Refusal: Error, Equatable { var reason: Int }
    #expect(throws: Refusal(reason: 7)) {
      try writer.transaction(kind == 0 ? .deferred : .immediate) {
        try writer.execute("INSERT INTO t VALUES (1)")
        throw Refusal(reason: 7)
      }
    }
    #expect(!writer.isInTransaction)
    #expect(try count(writer) == 0)
  }

  @Test("the error of a statement is thrown as it is, though a rollback follows it")
  func statementError() throws {
    let error = try databaseError {
      try writer.transaction {
        try writer.execute("INSERT INTO t VALUES (1)")
        try writer.execute("INSERT INTO t VALUES (1)")
      }
    }
    #expect(error.message == "UNIQUE constraint failed: t.a")
    #expect(try count(writer) == 0)
  }

  @Test("a transaction that has been rolled back already is not rolled back again")
  func rolledBackAlready() throws {
    let error = try databaseError {
      try writer.transaction {
        try writer.execute("INSERT OR ROLLBACK INTO t VALUES (1)")
        try writer.execute("INSERT OR ROLLBACK INTO t VALUES (1)")
      }
    }
    #expect(error.code.primary == .constraint)
    #expect(!writer.isInTransaction)
    try writer.transaction { try writer.execute("INSERT INTO t VALUES (2)") }
    #expect(try count(reader) == 1)
  }

  @Test("a commit that fails is thrown, and nothing stays")
  func failedCommit() throws {
    try writer.execute("CREATE TABLE child (a REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED)")
    let error = try databaseError {
      try writer.transaction { try writer.execute("INSERT INTO child VALUES (1)") }
    }
    #expect(error.message == "FOREIGN KEY constraint failed")
    #expect(error.sql == "COMMIT")
    #expect(!writer.isInTransaction)
    #expect(try writer.integer("SELECT count(*) FROM child") == 0)
  }

  @Test("a transaction in another is an error, and the outer one goes on")
  func nested() throws {
    try writer.transaction {
      try writer.execute("INSERT INTO t VALUES (1)")
      let error = try databaseError { try writer.transaction {} }
      #expect(error.message.contains("within a transaction"))
      #expect(writer.isInTransaction)
    }
    #expect(try count(reader) == 1)
  }

  @Test("readers see all of a transaction or nothing, and what they began with until they end")
  func isolation() throws {
    try writer.transaction {
      try writer.execute("INSERT INTO t VALUES (1)")
      #expect(try count(reader) == 0)
      try writer.execute("INSERT INTO t VALUES (2)")
      #expect(try count(reader) == 0)
    }
    try reader.transaction(.deferred) {
      #expect(try count(reader) == 2)
      try writer.execute("DELETE FROM t")
      #expect(try count(reader) == 2)
    }
    #expect(try count(reader) == 0)
  }

  @Test(
    "a transaction that wrote nothing leaves the file as it was, as another connection sees it",
    arguments: [true, false])
  func nothingWritten(isEmpty: Bool) throws {
    let version = try reader.integer("PRAGMA data_version")
    try writer.transaction {
      if !isEmpty { try writer.execute("UPDATE t SET a = 1 WHERE false") }
    }
    try? writer.transaction {
      try writer.execute("INSERT INTO t VALUES (1)")
      throw CancellationError()
    }
    #expect(try reader.integer("PRAGMA data_version") == version)
    try writer.transaction { try writer.execute("INSERT INTO t VALUES (1)") }
    #expect(try reader.integer("PRAGMA data_version") != version)
  }

  @Test("a second writer waits for no longer than its timeout, and is told who is in the way")
  func busy() throws {
    let second = try DatabaseConnection(path: folder.file(), busyTimeout: .milliseconds(10))
    try writer.transaction {
      let error = try databaseError { try second.transaction {} }
      #expect(error.code.primary == .busy)
      #expect(error.path == folder.file())
      #expect(error.message == "database is locked")
      #expect(
        error.description.contains(
          "another program is writing to it: try again when it has finished"))
    }
    try second.transaction { try second.execute("INSERT INTO t VALUES (1)") }
    #expect(try count(reader) == 1)
  }

  @Test("a deferred transaction does not take the writers' lock before it writes")
  func deferred() throws {
    let second = try DatabaseConnection(path: folder.file(), busyTimeout: .zero)
    try writer.transaction(.deferred) {
      _ = try count(writer)
      try second.transaction { try second.execute("INSERT INTO t VALUES (1)") }
      // What was read is no longer true, so writing on that ground is refused.
      let error = try databaseError { try writer.execute("INSERT INTO t VALUES (2)") }
      #expect(error.code.primary == .busy)
    }
    #expect(try count(reader) == 1)
  }

  @Test("a snapshot joins the transaction that is open, and ends its own")
  func snapshot() throws {
    try reader.snapshot {
      #expect(reader.isInTransaction)
      try reader.snapshot { #expect(reader.isInTransaction) }
      #expect(reader.isInTransaction)
    }
    #expect(!reader.isInTransaction)
  }
}
