import CSQLite
import TestFolder
import Testing

@testable import TandemSQLite

@Suite("Snapshots of a file that another program keeps locked", .timeLimit(.minutes(20)))
struct SnapshotLockTests {
  let folder: TemporaryFolder
  let other: DatabaseConnection
  let database: Database

  /// A file without a write-ahead log, written and read by those who wait for locks without end: whoever
  /// watches it may be stopped while it reads.
  init() throws {
    let patience = Duration.seconds(3_600)
    folder = try TemporaryFolder()
    other = try DatabaseConnection(path: folder.file(), busyTimeout: patience)
    try other.execute("PRAGMA journal_mode=DELETE")
    try other.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
    database = try Database(
      path: folder.file(),
      configuration: DatabaseConfiguration(access: .readOnly, busyTimeout: patience))
  }

  @Test("asking for the feed reads nothing, and so waits for nothing")
  func feed() async throws {
    try other.execute("BEGIN EXCLUSIVE")
    let feed = try await database.changeFeed()
    #expect(feed.isIdle)
    try other.execute("COMMIT")
  }

  @Test("one that cannot begin says so at once, and the next tells what changed")
  func snapshots() async throws {
    let feed = try await database.changeFeed()
    let subscription = feed.subscribe()
    defer { feed.unsubscribe(subscription) }
    let snapshot = {
      try self.database.read { try feed.beginSnapshot($0.connection, for: subscription) }
    }
    for isFirst in [true, false] {
      try other.execute("BEGIN EXCLUSIVE")
      try other.execute("INSERT INTO t VALUES (\(isFirst ? 1 : 2))")
      #expect(try databaseError { _ = try snapshot() }.code.primary == .busy)
      // The second time, nothing but a version number that can be read tells of the commit.
      try other.execute("COMMIT")
      #expect(try snapshot().isUnknown)
      #expect(try snapshot().isEmpty)
    }
  }

  @Test("a file that cannot be read for the second look counts as changed")
  func secondLook() async throws {
    let feed = try await database.changeFeed()
    let subscription = feed.subscribe()
    defer { feed.unsubscribe(subscription) }
    let writer = try DatabaseConnection(path: folder.file(), busyTimeout: .zero)
    try writer.execute("PRAGMA journal_mode=DELETE")
    let snapshot = { (isDisturbed: Bool) in
      try self.database.read { transaction in
        let handle = transaction.connection.handle
        if isDisturbed { try self.commit(writer, whileReading: handle) }
        defer { sqlite3_trace_v2(handle.pointer, 0, nil, nil) }
        return try feed.beginSnapshot(transaction.connection, for: subscription)
      }
    }
    #expect(try snapshot(false).isUnknown)
    #expect(try snapshot(false).isEmpty)
    #expect(try snapshot(true).isUnknown)
    try writer.execute("COMMIT")
  }

  /// Begins to write, and makes the writer try to commit when the connection reads its first row: from
  /// then on, it keeps all further readers out.
  private func commit(_ writer: DatabaseConnection, whileReading handle: DatabaseHandle) throws {
    try writer.execute("BEGIN IMMEDIATE")
    try writer.execute("INSERT INTO t VALUES (1)")
    sqlite3_trace_v2(
      handle.pointer, UInt32(SQLITE_TRACE_ROW),
      { _, context, statement, _ in
        // Other statements read no row of the file.
        guard let context, let sql = sqlite3_sql(statement.map { OpaquePointer($0) }),
          String(cString: sql) == "PRAGMA schema_version"
        else { return 0 }
        try? Unmanaged<DatabaseConnection>.fromOpaque(context).takeUnretainedValue()
          .execute("COMMIT")
        return 0
      }, Unmanaged.passUnretained(writer).toOpaque())
  }

  @Test("a reader that is not to wait for locks finds out at once that there is one")
  func impatience() throws {
    try other.execute("BEGIN EXCLUSIVE")
    let error = try databaseError {
      try database.read { transaction in
        try transaction.connection.interruption.withoutWaiting { () throws(DatabaseError) in
          _ = try transaction.connection.integer("SELECT k FROM t")
        }
      }
    }
    #expect(error.code.primary == .busy)
    try other.execute("COMMIT")
    #expect(try database.read { try $0.connection.valueRows("SELECT * FROM t") }.isEmpty)
  }
}
