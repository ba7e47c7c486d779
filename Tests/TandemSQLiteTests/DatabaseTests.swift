import TandemSQLite
import Testing

/// Reading, writing, and what one sees of the other.
@Suite struct DatabaseTests {
  let folder = try! DatabaseFolder()

  @Test("what was written is read, synchronously and asynchronously")
  func readsWhatWasWritten() async throws {
    let database = try folder.database()
    try await database.write { transaction in
      try transaction.execute("CREATE TABLE t (n INTEGER)")
      #expect(try transaction.execute("INSERT INTO t VALUES (\(1)), (\(2))") == 2)
    }
    let sum = try await database.read { try $0.fetchValue("SELECT sum(n) FROM t", as: Int.self) }
    #expect(sum == 3)
    func blocking() throws -> [Int] {
      try database.write { _ = try $0.execute("INSERT INTO t VALUES (3)") }
      return try database.read { try $0.fetchValues("SELECT n FROM t ORDER BY n") }
    }
    #expect(try blocking() == [1, 2, 3])
  }

  @Test("closing leaves the file alone in its folder")
  func closesCleanly() async throws {
    let database = try folder.database()
    try await database.write { _ = try $0.execute("CREATE TABLE t (n INTEGER)") }
    _ = try await database.read { try $0.fetchValue("SELECT count(*) FROM t", as: Int.self) }
    #expect(folder.fileNames == ["test.db", "test.db-shm", "test.db-wal"])
    await database.close()
    #expect(folder.fileNames == ["test.db"])
  }
}
