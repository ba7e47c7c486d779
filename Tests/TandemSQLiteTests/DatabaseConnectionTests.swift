import CSQLite
import Foundation
import TandemRecords
import TestFolder
import TestRandom
import Testing

@testable import TandemSQLite

struct DatabaseConnectionTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  // MARK: Opening

  @Test("a connection has write-ahead logging, foreign keys and full synchronisation")
  func settings() throws {
    let connection = try folder.open()
    #expect(try connection.valueRows("PRAGMA journal_mode") == [["wal"]])
    #expect(try connection.integer("PRAGMA foreign_keys") == 1)
    #expect(try connection.integer("PRAGMA synchronous") == 3)
    #expect(connection.path == folder.file())
  }

  @Test(
    "a busy timeout of no time or less throws at once, in whatever unit it is given",
    arguments: [Duration.zero, .microseconds(-1), .seconds(-1), .seconds(Int64.min)])
  func noBusyTimeout(duration: Duration) throws {
    let connection = try folder.open()
    let other = try DatabaseConnection(path: folder.file(), busyTimeout: duration)
    try connection.transaction {
      let error = try databaseError { try other.transaction {} }
      #expect(error.code.primary == .busy)
    }
  }

  @Test("foreign keys are enforced")
  func foreignKeys() throws {
    let connection = try folder.open(
      "test.db", "CREATE TABLE a (id INTEGER PRIMARY KEY)",
      "CREATE TABLE b (a REFERENCES a (id))")
    let error = try databaseError { try connection.execute("INSERT INTO b VALUES (1)") }
    #expect(error.code.primary == .constraint)
  }

  @Test("a database in memory has no file")
  func inMemory() throws {
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("CREATE TABLE t (a)")
    #expect(try connection.tableNames() == ["t"])
    #expect(!FileManager.default.fileExists(atPath: ":memory:"))
  }

  @Test(
    "characters that mean something in a URI are part of the name",
    arguments: ["a?mode=memory", "a%20b", "a#b", "file:a.db", "file:a?mode=ro", "é 日本.db", "a'\"b"])
  func specialNames(name: String) throws {
    do {
      let connection = try folder.open(name, "CREATE TABLE t (a)")
      #expect(connection.path == folder.file(name))
      #expect(folder.fileNames.contains(name))
    }
    #expect(folder.fileNames == [name])
  }

  @Test("a relative path that begins as a URI does names a file all the same")
  func uri() throws {
    // Nothing may be created in the working folder, so the file must be missing.
    let path = "file:\(folder.file("memory.db"))?mode=memory"
    let error = try databaseError { _ = try DatabaseConnection(path: path) }
    #expect(error.code.primary == .cannotOpen)
    #expect(error.path == path)
  }

  @Test("a path that is empty or contains a NUL is an error", arguments: ["", "a\0b", "\0"])
  func impossiblePaths(path: String) throws {
    let error = try databaseError { _ = try DatabaseConnection(path: path) }
    #expect(error.code == .cannotOpen)
    #expect(error.path == path)
  }

  @Test(
    "a missing file is created if and only if that is asked for",
    arguments: [DatabaseConfiguration.Access.readOnly, .readWrite])
  func missing(access: DatabaseConfiguration.Access) throws {
    let error = try databaseError {
      _ = try DatabaseConnection(path: folder.file(), access: access)
    }
    #expect(error.code.primary == .cannotOpen)
    #expect(error.path == folder.file())
    #expect(error.message.contains("does not exist"))
    #expect(folder.fileNames.isEmpty)
    _ = try DatabaseConnection(path: folder.file())
    #expect(folder.fileNames == ["test.db"])
  }

  @Test(
    "a folder is no database, and neither is a file in a folder that is missing",
    arguments: [DatabaseConfiguration.Access.readOnly, .readWrite, .readWriteCreate])
  func folders(access: DatabaseConfiguration.Access) throws {
    for path in [folder.path, folder.file("missing/test.db")] {
      let error = try databaseError { _ = try DatabaseConnection(path: path, access: access) }
      #expect(error.code.primary == .cannotOpen)
      #expect(error.path == path)
      #expect(error.message.contains("folder") || error.message.contains("does not exist"))
    }
  }

  // MARK: Files that are no databases, or no whole ones

  @Test(
    "a file that is no database is an error, and stays as it is",
    arguments: [
      "[]", "id,name\n1,Ada\n", "SQLite format 3", "SQLite format 3\0", "\0\0",
      String(repeating: "SQLite format 3\0", count: 1_000),
    ])
  func noDatabase(contents: String) throws {
    let data = Data(contents.utf8)
    try data.write(to: URL(fileURLWithPath: folder.file()))
    for access in [DatabaseConfiguration.Access.readOnly, .readWrite, .readWriteCreate] {
      let error = try databaseError {
        _ = try DatabaseConnection(path: folder.file(), access: access)
      }
      #expect(error.code.primary == .notADatabase)
      #expect(error.description.contains("it may be another kind of file, or encrypted"))
      #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file())) == data)
      #expect(folder.fileNames == ["test.db"])
    }
  }

  @Test("an empty file is an empty database")
  func emptyFile() throws {
    try Data().write(to: URL(fileURLWithPath: folder.file()))
    #expect(try DatabaseConnection(path: folder.file(), access: .readOnly).tableNames().isEmpty)
    #expect(try DatabaseConnection(path: folder.file()).tableNames().isEmpty)
  }

  /// The bytes of a closed database of a few pages, with an index.
  private func databaseBytes() throws -> [UInt8] {
    do {
      let connection = try folder.open(
        "test.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, b)",
        "CREATE INDEX i ON t (a)")
      try connection.transaction {
        for id in 0..<200 {
          try connection.execute(
            "INSERT INTO t VALUES (?, ?, ?)", .integer(Int64(id)),
            .text(String(repeating: "\(id) ", count: 10)), .blob([1, 2, 3]))
        }
      }
    }
    return Array(try Data(contentsOf: URL(fileURLWithPath: folder.file())))
  }

  /// Reads all there is in a file of these bytes; the error that it ends with.
  private func read(_ bytes: [UInt8]) throws -> DatabaseError? {
    try Data(bytes).write(to: URL(fileURLWithPath: folder.file("broken.db")))
    do {
      let connection = try DatabaseConnection(path: folder.file("broken.db"), access: .readOnly)
      for name in try connection.tableNames() {
        guard let schema = try connection.schema(ofTable: name) else { continue }
        let columns = try #require(RecordLayout(schema.columnNames))
        let key = columns.names.indices.filter { schema.primaryKey.contains(columns.names[$0]) }
        guard !key.isEmpty else { continue }
        let scan = try TableScan(connection, table: schema, columns: columns, key: key)
        while try scan.advance() { _ = try scan.record() }
        _ = try connection.valueRows("SELECT a FROM t INDEXED BY i ORDER BY a")
      }
      return nil
    } catch let error as DatabaseError {
      return error
    }
  }

  @Test("a file that lacks a page is an error, wherever it ends")
  func truncated() throws {
    let bytes = try databaseBytes()
    #expect(try read(bytes) == nil)
    // SQLite takes a file of one byte for an empty one, and what its last page lacks for zeros.
    for count in stride(from: 2, through: bytes.count - 4096, by: 509) {
      let error = try #require(try read(Array(bytes[..<count])), "\(count) of \(bytes.count) bytes")
      #expect([.corrupt, .notADatabase].contains(error.code.primary), "\(error)")
      #expect(error.path == folder.file("broken.db"))
    }
    for count in stride(from: bytes.count - 4096, to: bytes.count, by: 509) {
      _ = try read(Array(bytes[..<count]))
    }
  }

  @Test("a damaged file never crashes, and what is found is an error", arguments: 0..<40)
  func damaged(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var bytes = try databaseBytes()
    var errorCount = 0
    for _ in 0..<20 {
      for _ in 0..<Int.random(in: 1...50, using: &random) {
        // Most of the bytes that matter stand at the start of a page.
        let page = Int.random(in: 0..<bytes.count / 4096, using: &random)
        let offset = Int.random(
          in: 0..<[16, 128, 4096].randomElement(using: &random)!, using: &random)
        bytes[page * 4096 + offset] = UInt8.random(in: 0...255, using: &random)
      }
      if try read(bytes) != nil { errorCount += 1 }
    }
    #expect(errorCount > 0, "seed \(seed)")
  }

  // MARK: Reading only

  @Test("a connection that only reads writes nothing, and refuses to")
  func readOnly() throws {
    _ = try folder.open("test.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.file()))
    do {
      let reader = try DatabaseConnection(path: folder.file(), access: .readOnly)
      #expect(try reader.integer("SELECT a FROM t") == 1)
      for sql in [
        "INSERT INTO t VALUES (2)", "DELETE FROM t", "CREATE TABLE u (a)", "DROP TABLE t",
        "PRAGMA user_version=7",
      ] {
        #expect(try databaseError { try reader.execute(sql) }.code.primary == .readOnly, "\(sql)")
      }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file())) == before)
    #expect(folder.fileNames == ["test.db"])
  }

  @Test("a connection that only reads leaves a file in its journal mode, and sees later commits")
  func readOnlyKeepsJournal() throws {
    try folder.runElsewhere("CREATE TABLE t (a)")
    let reader = try DatabaseConnection(path: folder.file(), access: .readOnly)
    #expect(try reader.valueRows("PRAGMA journal_mode") == [["delete"]])
    try folder.runElsewhere("INSERT INTO t VALUES (1)")
    #expect(try reader.integer("SELECT count(*) FROM t") == 1)
  }

  // MARK: Closing

  @Test("when the connection and its statements are gone, so are the log and its index")
  func closing() throws {
    do {
      let connection = try folder.open(
        "test.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1), (2)")
      #expect(folder.fileNames == ["test.db", "test.db-shm", "test.db-wal"])
      let unfinished = try connection.prepare("SELECT a FROM t")
      #expect(try unfinished.step())
    }
    #expect(folder.fileNames == ["test.db"])
  }

  @Test("a statement that is still in use keeps the file open")
  func statementOutlives() throws {
    var statement: Statement?
    do {
      let connection = try folder.open("test.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
      statement = try connection.prepare("SELECT a FROM t")
    }
    #expect(folder.fileNames.count == 3)
    #expect(try statement?.step() == true)
    #expect(try statement?.value(at: 0) == 1)
    statement = nil
    #expect(folder.fileNames == ["test.db"])
  }

  #if os(Linux)
    @Test("no file stays open, neither after success nor after any failure to open")
    func descriptors() throws {
      try Data("no database".utf8).write(to: URL(fileURLWithPath: folder.file("text.db")))
      for _ in 0..<3 {
        let connection = try folder.open("test.db", "CREATE TABLE IF NOT EXISTS t (a)")
        #expect(try openFiles().count == 3)
        _ = try? connection.execute("nonsense")
        _ = try? connection.transaction { throw CancellationError() }
        _ = try? DatabaseConnection(path: folder.file("text.db"))
        _ = try? DatabaseConnection(path: folder.path)
        _ = try? DatabaseConnection(path: folder.file("missing.db"), access: .readOnly)
        #expect(try openFiles().allSatisfy { $0.contains("test.db") })
      }
      #expect(try openFiles().isEmpty)
    }

    /// The files of the test's folder that this process has open.
    private func openFiles() throws -> [String] {
      let manager = FileManager.default
      return try manager.contentsOfDirectory(atPath: "/proc/self/fd")
        .compactMap { try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        .filter { $0.contains(URL(fileURLWithPath: folder.path).lastPathComponent) }
    }
  #endif

  // MARK: Conveniences

  @Test("an integer is read, null is nil, no row is nil, and anything else is an error")
  func integer() throws {
    let connection = try folder.open()
    #expect(try connection.integer("SELECT ?", .integer(.min)) == .min)
    #expect(try connection.integer("SELECT NULL") == nil)
    #expect(try connection.integer("SELECT 1 WHERE false") == nil)
    for value in ["1", 1.0, .blob([1])] as [FieldValue] {
      #expect(try databaseError { _ = try connection.integer("SELECT ?", value) }.code == .mismatch)
    }
  }

  @Test("the count of changes is that of the last statement that changes rows")
  func changeCount() throws {
    let connection = try folder.open("test.db", "CREATE TABLE t (a)")
    try connection.execute("INSERT INTO t VALUES (1), (2), (3)")
    #expect(connection.changeCount == 3)
    try connection.execute("UPDATE t SET a = 0 WHERE a > 1")
    #expect(connection.changeCount == 2)
    try connection.execute("DELETE FROM t WHERE false")
    #expect(connection.changeCount == 0)
  }

  @Test("the names of the application's tables leave out those of SQLite and of Tandem, and views")
  func tableNames() throws {
    let connection = try folder.open(
      "test.db", "CREATE TABLE b (id INTEGER PRIMARY KEY AUTOINCREMENT)",
      "CREATE TABLE a (x UNIQUE)",
      "CREATE TABLE tandem_mirror (x)", "CREATE TABLE tandems (x)", "CREATE VIEW v AS SELECT 1",
      "ANALYZE")
    #expect(try connection.tableNames() == ["a", "b", "tandems"])
  }

  // MARK: The cache of statements

  @Test("a statement comes from the cache reset and without parameters")
  func cache() throws {
    let connection = try folder.open()
    let sql = "SELECT ? UNION ALL SELECT 2"
    func use(_ body: (Statement) throws(DatabaseError) -> Void) throws -> ObjectIdentifier {
      try connection.withStatement(sql) { statement throws(DatabaseError) in
        try body(statement)
        return ObjectIdentifier(statement)
      }
    }
    let first = try use { statement throws(DatabaseError) in
      try statement.bind([1])
      #expect(try statement.step())
    }
    let second = try use { statement throws(DatabaseError) in
      #expect(try statement.step())
      #expect(try statement.value(at: 0) == .null)
    }
    #expect(first == second)
  }

  @Test("the same text inside a loop over its own rows is another statement")
  func reentrancy() throws {
    let connection = try folder.open(
      "test.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1), (2)")
    var sums: [FieldValue] = []
    try connection.withStatement("SELECT a FROM t ORDER BY a") { outer throws(DatabaseError) in
      while try outer.step() {
        try connection.withStatement("SELECT a FROM t ORDER BY a") {
          inner throws(DatabaseError) in
          while try inner.step() {
            sums.append(try outer.value(at: 0))
            sums.append(try inner.value(at: 0))
          }
        }
      }
    }
    #expect(sums == [1, 1, 1, 2, 2, 1, 2, 2])
  }

  @Test("the cache is bounded by its configuration")
  func cacheBound() throws {
    let connection = try DatabaseConnection(
      path: ":memory:", DatabaseConfiguration(maxCachedStatementCount: 2))
    func compiled() -> Int {
      var count = 0
      var statement = sqlite3_next_stmt(connection.handle.pointer, nil)
      while let current = statement {
        count += 1
        statement = sqlite3_next_stmt(connection.handle.pointer, current)
      }
      return count
    }
    for number in 1...5 {
      try connection.withStatement("SELECT \(number)") { statement throws(DatabaseError) in
        #expect(try statement.step())
      }
      #expect(compiled() == min(number, 2))
    }
  }

  @Test("a statement that cannot be compiled is not cached")
  func cacheErrors() throws {
    let connection = try folder.open()
    let read = {
      try connection.withStatement("SELECT a FROM t") { statement throws(DatabaseError) in
        try statement.step()
      }
    }
    #expect(throws: DatabaseError.self) { try read() }
    try connection.execute("CREATE TABLE t (a)")
    #expect(try !read())
  }

  @Test("a cached statement follows a change of the schema")
  func cacheAfterSchemaChange() throws {
    let connection = try folder.open("test.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    for count in 1...2 {
      let values = try connection.withStatement("SELECT * FROM t") {
        statement throws(DatabaseError) in
        #expect(try statement.step())
        return try statement.values()
      }
      #expect(values.count == count)
      try connection.execute("ALTER TABLE t ADD COLUMN b\(count)")
    }
  }
}
