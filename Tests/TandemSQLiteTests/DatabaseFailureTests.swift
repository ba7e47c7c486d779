import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// What goes wrong with files, and whether it is said clearly.
@Suite(.timeLimit(.minutes(20)))
struct DatabaseFailureTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open(_ configuration: DatabaseConfiguration = DatabaseConfiguration()) throws
    -> Database
  {
    try Database(path: folder.file(), configuration: configuration)
  }

  private func fill(rows: Int = 2_000) throws {
    let database = try open()
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")
      for number in 0..<rows {
        try transaction.execute("INSERT INTO t VALUES (\(number), \("row number \(number)"))")
      }
    }
    try database.close()
  }

  private func write(_ bytes: some Sequence<UInt8>) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: folder.file()))
  }

  @Test(
    "a file that another program has locked: busy, after the named time, and then it works again")
  func locked() throws {
    try fill()
    let database = try open(DatabaseConfiguration(busyTimeout: .milliseconds(20)))
    let other = try DatabaseConnection(path: folder.file())
    try other.execute("BEGIN IMMEDIATE")
    let error = try databaseError { try database.write { _ in } }
    #expect(error.code.primary == .busy)
    #expect(error.description.contains("another program"))
    #expect(try database.read { try $0.fetchValue("SELECT count(*) FROM t") } == 2_000)
    try other.execute("ROLLBACK")
    try database.write { try $0.execute("DELETE FROM t") }
  }

  @Test("a lock that is let go within the time is waited for")
  func waitsForTheLock() async throws {
    try fill()
    let database = try open(DatabaseConfiguration(busyTimeout: .seconds(600)))
    let path = folder.file()
    let (locked, signal) = AsyncStream<Void>.makeStream()
    let gate = Gate()
    let holder = TestThread {
      guard let other = try? DatabaseConnection(path: path) else { return signal.finish() }
      try? other.transaction {
        signal.finish()
        gate.wait()
      }
    }
    for await _ in locked {}
    async let writing = database.write { try $0.execute("DELETE FROM t WHERE n < 10") }
    gate.open()
    #expect(try await writing == 10)
    await holder.join()
  }

  @Test("a file that is missing: cannot open, unless it may be created")
  func missing() throws {
    for access in [DatabaseConfiguration.Access.readWrite, .readOnly] {
      let error = try databaseError { _ = try open(DatabaseConfiguration(access: access)) }
      #expect(error.code.primary == .cannotOpen)
      #expect(error.message.contains("does not exist"))
      #expect(folder.fileNames == [])
    }
    _ = try open()
    #expect(folder.fileNames.contains("test.db"))
  }

  @Test("a folder in a file's place: cannot open")
  func isAFolder() throws {
    try FileManager.default.createDirectory(
      atPath: folder.file(), withIntermediateDirectories: false)
    #expect(try databaseError { _ = try open() }.code.primary == .cannotOpen)
  }

  /// A database with ten rows, which may take four more pages.
  private func openNearlyFull() throws -> Database {
    try fill(rows: 10)
    let database = try open()
    try database.withWriter { connection in
      let pages = try #require(try connection.integer("PRAGMA page_count"))
      _ = try connection.integer("PRAGMA max_page_count=\(pages + 4)")
    }
    return database
  }

  @Test(
    "a file that is full: nothing of the transaction stays, and what fits is written afterwards")
  func full() throws {
    let database = try openNearlyFull()
    let error = try databaseError {
      try database.write { transaction in
        try transaction.execute("UPDATE t SET text = 'changed'")
        for number in 100..<10_000 {
          try transaction.execute("INSERT INTO t VALUES (\(number), \("row number \(number)"))")
        }
      }
    }
    #expect(error.code.primary == .full)
    #expect(error.description.contains("free some space"))
    let rows = try database.read { transaction in
      try transaction.fetchValues("SELECT text FROM t ORDER BY n", as: String.self)
    }
    #expect(rows == (0..<10).map { "row number \($0)" })
    try database.write { try $0.execute("INSERT INTO t VALUES (10, 'fits')") }
  }

  @Test("a full file that the closure does not notice: the write fails all the same")
  func fullAndIgnored() throws {
    let database = try openNearlyFull()
    let error = try databaseError {
      try database.write { transaction in
        for number in 100..<10_000 {
          _ = try? transaction.execute(
            "INSERT INTO t VALUES (\(number), \("row number \(number)"))")
        }
      }
    }
    #expect(error.code == .misuse)
    #expect(try database.read { try $0.fetchValue("SELECT count(*) FROM t") } == 10)
  }

  @Test("a damaged file: corrupt, when what is damaged is read or written, and no crash")
  func corrupt() throws {
    try fill()
    var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder.file())))
    for offset in 4096 * 2..<bytes.count { bytes[offset] = 0xA5 }
    try write(bytes)
    let database = try open()
    let error = try databaseError {
      _ = try database.read { try $0.fetchValues("SELECT text FROM t", as: String.self) }
    }
    #expect(error.code.primary == .corrupt)
    #expect(error.description.contains("backup"))
    let writing = try databaseError {
      try database.write { _ = try $0.execute("UPDATE t SET text = 1") }
    }
    #expect(writing.code.primary == .corrupt)
    #expect(try database.read { try $0.fetchValue("SELECT 1") } == 1)
  }

  @Test("a file of another kind, or one that looks encrypted: not a database, and it is left alone")
  func notADatabase() throws {
    var generator = SplitMix64(seed: 1)
    let random = (0..<8_192).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let text = Array("id,name\n1,Büsingen\n".utf8) + Array(repeating: 10, count: 2_000)
    for bytes in [random, text] {
      for access in [DatabaseConfiguration.Access.readWriteCreate, .readOnly] {
        try write(bytes)
        let error = try databaseError { _ = try open(DatabaseConfiguration(access: access)) }
        #expect(error.code.primary == .notADatabase)
        #expect(error.description.contains("encrypted"))
        #expect(try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder.file()))) == bytes)
        #expect(folder.fileNames == ["test.db"])
      }
    }
  }

  #if canImport(Glibc)
    @Test("a file that may only be read: reading works, writing says read-only")
    func readOnlyFile() throws {
      try fill()
      // In write-ahead mode, a reader without the right to write needs the files of another.
      let keeper = try open()
      try keeper.write { try $0.execute("DELETE FROM t WHERE n >= 10") }
      try unprivileged {
        let database = try open(DatabaseConfiguration(access: .readOnly))
        #expect(try database.read { try $0.fetchValue("SELECT count(*) FROM t") } == 10)
        let error = try databaseError {
          let database = try open()
          try database.write { try $0.execute("DELETE FROM t") }
        }
        #expect([.readOnly, .cannotOpen].contains(error.code.primary))
      }
      #expect(try keeper.read { try $0.fetchValue("SELECT count(*) FROM t") } == 10)
    }

    /// Runs `body` while the files may be read, and not written, by this user, who is root perhaps.
    private func unprivileged(_ body: () throws -> Void) throws {
      for name in folder.fileNames {
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o444], ofItemAtPath: folder.file(name))
      }
      try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder.path)
      defer {
        try? FileManager.default.setAttributes(
          [.posixPermissions: 0o755], ofItemAtPath: folder.path)
      }
      try withoutOverridingPermissions(body)
    }

    /// Runs `body` without root's capabilities to read and write everything, which a thread may give up
    /// for itself. (Another user might not even get to the folder of temporary files.)
    private func withoutOverridingPermissions(_ body: () throws -> Void) throws {
      typealias Call =
        @convention(c) (
          UnsafeMutablePointer<UInt32>, UnsafeMutablePointer<UInt32>
        ) -> Int32
      let get = unsafeBitCast(try #require(dlsym(nil, "capget")), to: Call.self)
      let set = unsafeBitCast(try #require(dlsym(nil, "capset")), to: Call.self)
      // Version 3, of this thread; what is effective comes first. 1 and 2 are CAP_DAC_OVERRIDE and
      // CAP_DAC_READ_SEARCH.
      var header: [UInt32] = [0x2008_0522, 0]
      var capabilities = [UInt32](repeating: 0, count: 6)
      try #require(get(&header, &capabilities) == 0)
      var fewer = capabilities
      fewer[0] &= ~(1 << 1 | 1 << 2)
      try #require(set(&header, &fewer) == 0)
      defer { _ = set(&header, &capabilities) }
      try body()
    }
  #endif
}
