import CSQLite
import Foundation
import TandemRecords
import TestFolder
import Testing

@testable import TandemSQLite

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

  @Test("a write inside a read of a file without a log is rejected at once, with the remedy")
  func writeInsideRead() throws {
    let insertion: SQL = "INSERT INTO t VALUES (1)"
    for journal in [DatabaseConfiguration.Journal.writeAhead, .asItIs] {
      let database = try Database(
        path: folder.file(),
        configuration: DatabaseConfiguration(journal: journal, busyTimeout: .seconds(3_600)))
      let error = try databaseError {
        try database.read {
          _ = try $0.tableNames(); try database.write { try $0.execute(insertion) }
        }
      }
      #expect(error.code == .misuse)
      #expect(error.message.contains("write outside the read"))
      #expect(
        error.message.contains("the first write establishes the log") == (journal == .writeAhead))
      try database.write { try $0.execute(insertion) }
      if journal == .writeAhead {
        try database.read { _ in _ = try database.write { try $0.execute(insertion) } }
      }
      try database.close()
      try folder.runElsewhere("PRAGMA journal_mode=DELETE")
    }
  }

  @Test("a log that another program established is found by a write inside a read")
  func logOfOthers() throws {
    let database = try Database(
      path: folder.file(),
      configuration: DatabaseConfiguration(journal: .asItIs, busyTimeout: .seconds(3_600)))
    try folder.runElsewhere("PRAGMA journal_mode=WAL")
    try database.read { transaction in
      _ = try transaction.tableNames()
      _ = try database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    }
    #expect(try database.read { try $0.fetchValue("SELECT count(*) FROM t") } == 1)
    try database.close()
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
    let reader = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(access: .readOnly))
    try reader.read { transaction in
      _ = try transaction.fetchValue("SELECT count(*) FROM t", as: Int.self)
      #expect(try databaseError { try database.write { _ in } }.code.primary == .busy)
    }
    try database.write { try $0.execute("INSERT INTO t VALUES (1)") }
    #expect(try mode(database) == "wal")
  }

  @Test("a first write waits for a writer of a file without a write-ahead log")
  func writerInTheWay() throws {
    let holder = try DatabaseConnection(
      path: folder.file(), DatabaseConfiguration(journal: .asItIs))
    try holder.execute("BEGIN IMMEDIATE")
    let connection = try DatabaseConnection(path: folder.file(), DatabaseConfiguration())
    // The writer is done once the first attempt to establish the log has met its lock.
    sqlite3_trace_v2(
      connection.handle.pointer, UInt32(SQLITE_TRACE_PROFILE),
      { _, context, statement, _ in
        guard let context, let sql = sqlite3_sql(statement.map { OpaquePointer($0) }),
          String(cString: sql) == "PRAGMA journal_mode=WAL"
        else { return 0 }
        let holder = Unmanaged<DatabaseConnection>.fromOpaque(context).takeUnretainedValue()
        if holder.isInTransaction { try? holder.execute("COMMIT") }
        return 0
      }, Unmanaged.passUnretained(holder).toOpaque())
    defer { sqlite3_trace_v2(connection.handle.pointer, 0, nil, nil) }
    try connection.transaction(.immediate) { try connection.execute("INSERT INTO t VALUES (1)") }
    #expect(try connection.integer("SELECT count(*) FROM t") == 1)
    #expect(try !connection.blocksWriters())
  }
}
