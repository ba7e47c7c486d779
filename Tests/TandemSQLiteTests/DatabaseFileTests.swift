import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// All connections of a database open one file, or say that they cannot.
@Suite(.timeLimit(.minutes(20)))
struct DatabaseFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A closed file with a table that holds one word.
  private static func make(_ path: String, word: String) throws {
    let database = try Database(path: path)
    try database.write { transaction in
      try transaction.execute("CREATE TABLE t (word TEXT)")
      try transaction.execute("INSERT INTO t VALUES (\(word))")
    }
    try database.close()
  }

  private static func words(_ path: String) throws -> [[FieldValue]] {
    try DatabaseConnection(path: path, access: .readOnly).valueRows("SELECT word FROM t")
  }

  @Test(
    "a program that ends without closing a database leaves its commits in the file itself",
    arguments: [false, true])
  func endOfProcess(isRead: Bool) async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String, isRead] in
      let database = try Database(path: "\(path)/test.db")
      try database.write { transaction in
        try transaction.execute("CREATE TABLE t (word TEXT)")
        try transaction.execute("INSERT INTO t VALUES ('left')")
      }
      // As a variable of a main file, which is never released.
      _ = Unmanaged.passRetained(database)
      guard isRead else { return }
      // A read that does not end keeps neither the process nor the commits.
      let begun = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        try? database.read { transaction in
          _ = try transaction.fetchValues("SELECT word FROM t", as: String.self)
          begun.signal()
          DispatchSemaphore(value: 0).wait()
        }
      }
      begun.wait()
    }
    try FileManager.default.copyItem(
      atPath: folder.path(of: "test.db"), toPath: folder.path(of: "copy.db"))
    #expect(try DatabaseFileTests.words(folder.path(of: "copy.db")) == [["left"]])
    let log = folder.path(of: "test.db-wal")
    #expect(FileManager.default.fileExists(atPath: log) == isRead)
  }

  @Test("after the working directory has changed, a relative path leads where it led")
  func otherDirectory() async throws {
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      for name in ["a", "b"] {
        try FileManager.default.createDirectory(
          atPath: "\(path)/\(name)", withIntermediateDirectories: true)
        try DatabaseFileTests.make("\(path)/\(name)/test.db", word: name)
      }
      try #require(chdir("\(path)/a") == 0)
      let database = try Database(path: "test.db")
      try #require(chdir("\(path)/b") == 0)
      let feed = try await database.changeFeed()
      let subscription = feed.subscribe()
      try await database.write { try $0.execute("INSERT INTO t VALUES ('written')") }
      let words = try await database.read { transaction in
        _ = try feed.beginSnapshot(transaction.connection, for: subscription)
        return try transaction.fetchValues("SELECT word FROM t", as: String.self)
      }
      #expect(words == ["a", "written"])
      try DatabaseConnection(path: "\(path)/a/test.db").execute("INSERT INTO t VALUES ('other')")
      let changes = try await database.read { transaction in
        try feed.beginSnapshot(transaction.connection, for: subscription)
      }
      #expect(changes.isUnknown, "it watches the file that it reads")
      await database.close()
      #expect(try DatabaseFileTests.words("\(path)/b/test.db") == [["b"]])
    }
  }

  /// What becomes of the file, and whether another one is in its place then.
  enum Removal: CaseIterable {
    case deletion, move, replacement

    /// The files that are there then, with their words.
    var rest: [(name: String, word: FieldValue)] {
      switch self {
      case .deletion: []
      case .move: [("moved.db", "old")]
      case .replacement: [("test.db", "new")]
      }
    }

    func perform(on path: String, in folder: TemporaryFolder) throws {
      switch self {
      case .deletion: try #require(unlink(path) == 0)
      case .move: try #require(rename(path, folder.file("moved.db")) == 0)
      case .replacement:
        try DatabaseFileTests.make(folder.file("new.db"), word: "new")
        try #require(rename(folder.file("new.db"), path) == 0)
      }
    }
  }

  @Test(
    "once the file is gone, no write succeeds, and no connection opens another in its place",
    arguments: Removal.allCases)
  func gone(removal: Removal) throws {
    try DatabaseFileTests.make(folder.file(), word: "old")
    let database = try Database(path: folder.file())
    try removal.perform(on: folder.file(), in: folder)
    let writing = try databaseError {
      try database.write { _ = try $0.execute("INSERT INTO t VALUES ('lost')") }
    }
    let reading = try databaseError {
      _ = try database.read { try $0.fetchValue("SELECT word FROM t", as: String.self) }
    }
    for error in [writing, reading] {
      #expect(error.code == .cannotOpen)
      #expect(error.message.contains("deleted, moved or replaced"))
      #expect(error.path == folder.file())
    }
    try database.close()
    for (name, word) in removal.rest {
      #expect(try DatabaseFileTests.words(folder.file(name)) == [[word]])
    }
  }

  @Test("the log beside another file in its place is not taken for its own")
  func goneBeforeFirstWrite() throws {
    let plain = DatabaseConfiguration(journal: .asItIs)
    let old = try Database(path: folder.file(), configuration: plain)
    try old.write { _ = try $0.execute("CREATE TABLE t (word TEXT)") }
    try old.close()
    let database = try Database(path: folder.file())
    try Removal.replacement.perform(on: folder.file(), in: folder)
    let other = try Database(path: folder.file())
    try other.write { _ = try $0.execute("INSERT INTO t VALUES ('in the log')") }
    let log = FileManager.default.contents(atPath: folder.file() + "-wal")
    let error = try databaseError {
      // So much that SQLite writes it to the log before the commit.
      try database.write { _ = try $0.execute("INSERT INTO t VALUES (randomblob(8000000))") }
    }
    #expect(error.code == .cannotOpen)
    try database.close()
    #expect(FileManager.default.contents(atPath: folder.file() + "-wal") == log)
    try other.close()
    #expect(try DatabaseFileTests.words(folder.file()) == [["new"], ["in the log"]])
    #expect(
      try DatabaseConnection(path: folder.file()).valueRows("PRAGMA integrity_check") == [["ok"]])
  }

  @Test(
    "a connection used alone refuses to commit into a file that is gone, but goes on reading",
    arguments: Removal.allCases)
  func goneFromConnection(removal: Removal) throws {
    try DatabaseFileTests.make(folder.file(), word: "old")
    let connection = try folder.open()
    for kind in [DatabaseConnection.TransactionKind.immediate, .deferred] {
      try connection.transaction(kind) { try connection.execute("UPDATE t SET word = word") }
    }
    let writing = try databaseError {
      try connection.transaction {
        try connection.execute("INSERT INTO t VALUES ('lost')")
        try removal.perform(on: folder.file(), in: folder)
      }
    }
    let beginning = try databaseError {
      try connection.transaction(.deferred) { try connection.execute("DELETE FROM t") }
    }
    for error in [writing, beginning] {
      #expect(error.code == .cannotOpen)
      #expect(error.message.contains("deleted, moved or replaced"))
    }
    #expect(!connection.isInTransaction)
    let words = try connection.transaction(.deferred) {
      try connection.valueRows("SELECT word FROM t")
    }
    #expect(words == [["old"]])
  }

  #if os(Linux)
    @Test("a file in a folder whose name is not UTF-8 is opened, written and watched")
    func otherEncoding() async throws {
      await #expect(processExitsWith: .success) { [path = folder.path as String] in
        try #require(chdir(path) == 0)
        let name: [CChar] = "caf".utf8.map { CChar($0) } + [CChar(bitPattern: 0xE9), 0]
        try #require(mkdir(name, 0o700) == 0 && chdir(name) == 0)
        let database = try Database(path: "y.db")
        let feed = try await database.changeFeed()
        let subscription = feed.subscribe()
        try await database.write { transaction in
          try transaction.execute("CREATE TABLE t (word TEXT)")
          try transaction.execute("INSERT INTO t VALUES ('written')")
        }
        let words = try await database.read { transaction in
          _ = try feed.beginSnapshot(transaction.connection, for: subscription)
          return try transaction.fetchValues("SELECT word FROM t", as: String.self)
        }
        #expect(words == ["written"])
        await database.close()
        try #require(unlink("y.db") == 0 && chdir("..") == 0 && rmdir(name) == 0)
      }
    }
  #endif

  @Test("a file that is back at its place is the same, and is written again")
  func back() throws {
    try DatabaseFileTests.make(folder.file(), word: "old")
    let database = try Database(path: folder.file())
    try #require(rename(folder.file(), folder.file("moved.db")) == 0)
    #expect(throws: DatabaseError.self) {
      try database.write { _ = try $0.execute("INSERT INTO t VALUES ('lost')") }
    }
    try #require(rename(folder.file("moved.db"), folder.file()) == 0)
    try database.write { _ = try $0.execute("INSERT INTO t VALUES ('kept')") }
    #expect(
      try database.read { try $0.fetchValues("SELECT word FROM t", as: String.self) }
        == ["old", "kept"])
  }

  @Test("a file reached by a link, and a database in memory, are used as ever")
  func others() throws {
    try DatabaseFileTests.make(folder.file(), word: "old")
    try #require(symlink(folder.file(), folder.file("link.db")) == 0)
    for path in [folder.file("link.db"), ":memory:"] {
      let database = try Database(path: path)
      try database.write { transaction in
        try transaction.execute("CREATE TABLE IF NOT EXISTS t (word TEXT)")
        try transaction.execute("INSERT INTO t VALUES ('last')")
      }
      #expect(
        try database.read { try $0.fetchValues("SELECT word FROM t", as: String.self) }.last
          == "last")
      try database.close()
    }
  }

  @Test("cancelling the task ends the wait for a file that is locked")
  func cancelledOpening() async throws {
    try DatabaseFileTests.make(folder.file(), word: "old")
    let other = try DatabaseConnection(path: folder.file())
    try other.execute("PRAGMA journal_mode=DELETE")
    try other.execute("BEGIN EXCLUSIVE")
    let path = folder.file()
    let opening = Task {
      try await Database.open(
        path: path, configuration: DatabaseConfiguration(busyTimeout: .seconds(3_600)))
    }
    opening.cancel()
    await #expect(throws: CancellationError.self) { _ = try await opening.value }
    try other.execute("ROLLBACK")
  }
}
