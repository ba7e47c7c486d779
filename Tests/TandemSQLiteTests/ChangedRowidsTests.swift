import Foundation
import TandemDifferences
import TandemRecords
import TestFolder
import Testing

@testable import TandemSQLite

/// The rowids that a comparison by pages leaves to be read.
struct ChangedRowidsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Two files of 5,000 rows, the new one after further statements.
  private func versions(
    _ columns: String = "id INTEGER PRIMARY KEY, v", _ changes: String...
  ) throws -> (old: DatabaseConnection, new: DatabaseConnection) {
    try folder.execute(
      "old.db", "CREATE TABLE t (\(columns))",
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO t SELECT i, 'value ' || i FROM n
      """)
    try FileManager.default.copyItem(atPath: folder.file("old.db"), toPath: folder.file("new.db"))
    for change in changes { try folder.execute("new.db", change) }
    return (try open("old.db"), try open("new.db"))
  }

  private func open(_ name: String) throws -> DatabaseConnection {
    try DatabaseConnection(path: folder.file(name), access: .readOnly)
  }

  private func ranges(
    _ old: DatabaseConnection, _ new: DatabaseConnection,
    afterBeginning body: () throws -> Void = {}
  ) throws -> [ClosedRange<Int64>]? {
    try find(old, new, afterBeginning: body)?.ranges.ranges
  }

  private func find(
    _ old: DatabaseConnection, _ new: DatabaseConnection,
    afterBeginning body: () throws -> Void = {}
  ) throws -> (ranges: RowidRanges, rowCount: Int)? {
    let tables = try [old, new].map { connection in
      try ComparedTable(connection.table(), key: ["id"], of: connection, allowsAnyKey: false)
    }
    return try old.transaction(.deferred) {
      try new.transaction(.deferred) {
        try body()
        return try ChangedRowids.find(from: tables[0], to: tables[1])
      }
    }
  }

  @Test("one changed row of many is the only one to read, wherever its page is now")
  func oneRow() throws {
    let update = "UPDATE t SET v = 'other' WHERE rowid = 2500"
    var (old, new) = try versions("id INTEGER PRIMARY KEY, v", update)
    #expect(try ranges(old, new) == [2_500...2_500])
    try folder.execute("new.db", "VACUUM")
    new = try open("new.db")
    #expect(try ranges(old, new) == [2_500...2_500])
    #expect(try ranges(old, try open("old.db")) == [])
  }

  @Test("only the rows of pages that differ are read, also behind the first one of these")
  func equalPages() throws {
    let (old, new) = try versions(
      "id INTEGER PRIMARY KEY, v", "UPDATE t SET v = 'other' WHERE rowid IN (100, 2500)")
    let found = try #require(try find(old, new))
    #expect(found.ranges.ranges == [100...100, 2_500...2_500])
    // A page has about 200 of the 5,000 rows.
    #expect(found.rowCount < 1_000)
  }

  @Test("rows with keys of their own are found by rowid too, also with few between them")
  func gaps() throws {
    let (old, new) = try versions(
      "id TEXT PRIMARY KEY, v", "UPDATE t SET v = 1 WHERE rowid IN (7, 9, 100)",
      "DELETE FROM t WHERE rowid = 5000", "INSERT INTO t VALUES ('new', 2)")
    #expect(try ranges(old, new) == [7...9, 100...100, 5_000...5_000])
  }

  @Test("a row on several pages is compared on all of them")
  func overflow() throws {
    let (old, new) = try versions(
      "id INTEGER PRIMARY KEY, v", "UPDATE t SET v = hex(zeroblob(10000)) WHERE id = 7")
    #expect(try ranges(old, new) == [7...7])
    try FileManager.default.copyItem(
      atPath: folder.file("new.db"), toPath: folder.file("newer.db"))
    try folder.execute(
      "newer.db", "UPDATE t SET v = substr(v, 2) || '1' WHERE id = 7")
    #expect(try ranges(new, try open("newer.db")) == [7...7])
  }

  @Test("pages are not compared if that would not be certain, or no shorter way")
  func uncertain() throws {
    let (old, new) = try versions()
    // A snapshot that began before nobody knows which part of the log it sees.
    #expect(try ranges(old, new) { _ = try new.schemaVersion() } == nil)
    // Rows that are not committed are in no file.
    let writer = try DatabaseConnection(path: folder.file("new.db"))
    let hasPages = try writer.transaction { try DatabasePages(writer) != nil }
    #expect(!hasPages)
    let memory = try DatabaseConnection(path: ":memory:")
    let hasMemoryPages = try memory.transaction(.deferred) { try DatabasePages(memory) != nil }
    #expect(!hasMemoryPages)
    try folder.execute("new.db", "ALTER TABLE t ADD COLUMN w DEFAULT 1")
    #expect(try ranges(old, try open("new.db")) == nil)
    try folder.execute("new.db", "ALTER TABLE t DROP COLUMN w", "UPDATE t SET v = v || '!'")
    #expect(try ranges(old, try open("new.db"))?.count == 1)
  }

  @Test("a table without rowid, and a null in a key, are left to the comparison of all rows")
  func otherTables() throws {
    var (old, new) = try versions("id TEXT PRIMARY KEY, v) WITHOUT ROWID --")
    #expect(try ranges(old, new) == nil)
    try folder.execute("old.db", "DROP TABLE t", "CREATE TABLE t (id TEXT PRIMARY KEY, v)")
    try folder.execute("old.db", "INSERT INTO t VALUES (NULL, 1), ('a', 2)", "VACUUM")
    (old, new) = (try open("old.db"), try open("old.db"))
    let comparison = TableComparison(from: try old.table(), to: try new.table(), key: ["id"])
    #expect(throws: DatabaseError.self) {
      try comparison.forEachChange(from: old, to: new) { _ in }
    }
  }
}
