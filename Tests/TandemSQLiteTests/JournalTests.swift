import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

/// The journal mode of a file changes at the first write, if at all.
struct JournalTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.runElsewhere("CREATE TABLE t (n)")
  }

  private func bytes() throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: folder.file()))
  }

  private func mode(_ database: Database) throws -> String? {
    try database.read { transaction in
      // A connection reports the mode that it found at its last read.
      _ = try transaction.tableNames()
      return try transaction.fetchValue("PRAGMA journal_mode")
    }
  }

  @Test(
    "opening and reading leave a file as it is",
    arguments: [DatabaseConfiguration.Access.readOnly, .readWrite, .readWriteCreate])
  func reading(access: DatabaseConfiguration.Access) throws {
    let before = try bytes()
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(access: access))
    #expect(try database.read { try $0.tableNames() } == ["t"])
    #expect(try mode(database) == "delete")
    try database.close()
    #expect(try bytes() == before)
    #expect(folder.fileNames == ["test.db"])
  }

  @Test("the first write turns on the write-ahead log, and later ones find it")
  func writeAhead() async throws {
    let database = try Database(path: folder.file())
    #expect(try mode(database) == "delete")
    try await database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    #expect(try mode(database) == "wal")
    try await database.write { try $0.execute("INSERT INTO t VALUES (2)") }
    #expect(try await database.read { try $0.fetchValue("SELECT count(*) FROM t") } == 2)
  }

  @Test("a journal that is to stay stays")
  func asItIs() throws {
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(journal: .asItIs))
    try database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    #expect(try mode(database) == "delete")
    #expect(folder.fileNames == ["test.db"])
  }

  @Test("a first write that cannot turn it on because of a reader says so, and the next one does")
  func readerInTheWay() throws {
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(busyTimeout: .zero))
    try database.read { transaction in
      _ = try transaction.fetchValue("SELECT count(*) FROM t", as: Int.self)
      #expect(try databaseError { try database.write { _ in } }.code.primary == .busy)
    }
    try database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    #expect(try mode(database) == "wal")
  }
}
