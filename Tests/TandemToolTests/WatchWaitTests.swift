import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem watch --wait: files and tables that come and go", .timeLimit(.minutes(20)))
struct WatchWaitTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let wal = "PRAGMA journal_mode=WAL"
  private static let creation = "CREATE TABLE place (id INTEGER PRIMARY KEY, name)"

  private func watch(_ arguments: String...) throws -> RunningTool {
    try RunningTool(
      ["watch", folder.path(of: "test.db"), "--wait", "--table", "place"] + arguments)
  }

  @Test("it waits for the file, and then for the table")
  func notYet() async throws {
    let tool = try watch("--json", "--initial", "--once", "2")
    #expect(await tool.errorLine()?.contains("waiting: ") == true)
    try await shell("sqlite3 test.db '\(Self.wal); CREATE TABLE other (x)'")
    // It may find the file locked first.
    while try !#require(await tool.errorLine()).contains("there is no table place") {}
    try await shell("sqlite3 test.db '\(Self.creation)'")
    #expect(await tool.errorLine()?.contains("watching") == true)
    #expect(await tool.line() == #"{"inserted":[],"updated":[],"deleted":[]}"#)
    try await shell("sqlite3 test.db 'INSERT INTO place VALUES (1, 2)'")
    #expect(
      await tool.line() == #"{"inserted":[{"id":1,"name":2}],"updated":[],"deleted":[]}"#)
    #expect(await tool.end() == 0)
  }

  /// How a table or file goes and comes back with other rows. (A file with a write-ahead log must not be
  /// replaced while a program has it open.)
  static let returns = [
    "sqlite3 test.db 'DROP TABLE place'; sqlite3 test.db '\(rows)'",
    "sqlite3 new.db '\(rows)'; mv new.db test.db", "rm test.db; sqlite3 test.db '\(rows)'",
  ]
  private static let rows =
    "BEGIN; \(creation); INSERT INTO place VALUES (2, 7), (3, 3); COMMIT"

  @Test("what comes back is compared with what was shown", arguments: returns)
  func comesBack(change: String) async throws {
    try await shell(
      "sqlite3 test.db '\(Self.creation); INSERT INTO place VALUES (1, 1), (2, 2)'")
    let set = try watch("--json", "--quiet", "--once", "2", "--initial")
    let list = try watch("--json", "--quiet", "--once", "2", "--initial", "--list")
    #expect(await set.line()?.contains(#"{"id":2,"name":2}"#) == true)
    #expect(await list.line()?.contains(#"{"id":2,"name":2}"#) == true)
    try await shell(change)
    #expect(
      await set.line() == #"{"inserted":[{"id":3,"name":3}],"#
        + #""updated":[{"old":{"id":2,"name":2},"new":{"id":2,"name":7}}],"#
        + #""deleted":[{"id":1,"name":1}]}"#)
    #expect(
      await list.line() == #"{"deletions":[{"offset":0,"element":{"id":1,"name":1}}],"#
        + #""insertions":[{"offset":1,"element":{"id":3,"name":3}}],"moves":[],"#
        + #""updates":[{"oldOffset":1,"newOffset":0,"old":{"id":2,"name":2},"#
        + #""new":{"id":2,"name":7}}]}"#)
    #expect(await set.end() == 0)
    #expect(await list.end() == 0)
  }

  @Test(
    "a file beside the write-ahead log of the former one is not opened",
    arguments: ["--wait", "--quiet"])
  func formerLog(option: String) async throws {
    try await shell(
      "sqlite3 test.db '\(Self.wal); \(Self.creation); INSERT INTO place VALUES (1, 1)'")
    let tool = try RunningTool(
      ["watch", folder.path(of: "test.db"), "--table", "place", "--initial", option])
    #expect(await tool.line()?.hasPrefix("+ id=1") == true)
    try await shell("sqlite3 test.db 'INSERT INTO place VALUES (2, 2)'")
    #expect(await tool.line()?.hasPrefix("+ id=2") == true)
    try await shell("sqlite3 new.db '\(Self.rows)'; cp new.db copy.db; mv new.db test.db")
    var last: String?
    while let line = await tool.errorLine() { last = line }
    #expect(
      last?.contains("test.db-wal is the write-ahead log of the file that was here before") == true)
    #expect(await tool.end() == 1)
    try await shell(
      "cmp copy.db test.db && rm test.db-wal test.db-shm && sqlite3 test.db 'PRAGMA integrity_check'"
    )
  }

  /// A file that another program has open while it is replaced.
  struct HeldFile: CustomTestStringConvertible {
    var testDescription: String
    var path = "test.db"
    var creation: String
    /// A part of the first message of the watch.
    var greeting = "watching"
    /// What the other program executes then.
    var statements: [String] = []
    /// A part of the watch's next message, or of what it shows.
    var message: String?
    var line: String?
  }

  static let heldFiles = [
    HeldFile(
      testDescription: "a table that is not there yet", creation: "\(wal); CREATE TABLE other (x)",
      greeting: "there is no table place", statements: ["INSERT INTO other VALUES (1)"]),
    HeldFile(
      testDescription: "a table that was dropped", creation: "\(wal); \(creation)",
      statements: ["DROP TABLE place"], message: "no such table: place"),
    HeldFile(
      testDescription: "a symbolic link", path: "data/real.db", creation: "\(wal); \(creation)",
      statements: ["INSERT INTO place VALUES (1, 1)"], line: "+ id=1"),
    HeldFile(
      testDescription: "a log that came later", creation: creation,
      statements: [wal, "INSERT INTO place VALUES (1, 1)"], line: "+ id=1"),
    HeldFile(testDescription: "a log that is empty at first", creation: "\(wal); \(creation)"),
  ]

  @Test("a new file stays as it is while another program has the former one", arguments: heldFiles)
  func heldFile(_ held: HeldFile) async throws {
    try await shell(
      "mkdir data; sqlite3 \(held.path) '\(held.creation)'; [ -e test.db ] || ln -s \(held.path) test.db"
    )
    let holder = try DatabaseConnection(
      path: folder.path(of: held.path), access: .readWrite, journal: .asItIs)
    let tool = try watch()
    #expect(await tool.errorLine()?.contains(held.greeting) == true)
    for statement in held.statements { try holder.execute(statement) }
    if let line = held.line { #expect(await tool.line()?.hasPrefix(line) == true) }
    if let message = held.message {
      #expect(await tool.errorLine()?.contains(message) == true)
    }
    try await shell("sqlite3 new.db '\(Self.rows)'; cp new.db copy.db; mv new.db \(held.path)")
    var last: String?
    while let line = await tool.errorLine() {
      last = line
      // Otherwise it would watch the new file, without end.
      if line.contains("watching") { tool.signal(SIGINT) }
    }
    #expect(last?.contains("\(held.path)-wal") == true, "\(last ?? "")")
    #expect(await tool.end() == 1)
    try holder.execute("CREATE TABLE last (x)")
    try await shell("cmp copy.db \(held.path)")
  }

  @Test("a new file is watched beside its own log")
  func ownLog() async throws {
    try await shell(
      "sqlite3 test.db '\(Self.wal); \(Self.creation); INSERT INTO place VALUES (1, 1)'")
    let tool = try watch("--initial", "--once", "2")
    #expect(await tool.line()?.hasPrefix("+ id=1") == true)
    let holder = try DatabaseConnection(path: folder.path(of: "new.db"))
    try holder.execute(Self.creation)
    try holder.execute("INSERT INTO place VALUES (1, 1), (2, 2)")
    // The log goes with its file.
    try await shell(
      "rm test.db-* test.db; for end in -shm -wal ''; do mv new.db$end test.db$end; done")
    #expect(await tool.line()?.hasPrefix("+ id=2") == true)
    #expect(await tool.end() == 0)
  }

  @Test("without a common key, all rows are deleted and inserted")
  func otherKey() async throws {
    try await shell(
      "sqlite3 test.db '\(Self.wal); \(Self.creation); INSERT INTO place VALUES (1, 1)'")
    let tool = try watch("--json", "--once", "2", "--initial")
    _ = await tool.line()
    _ = await tool.errorLine()
    try await shell("sqlite3 test.db 'DROP TABLE place'")
    #expect(await tool.errorLine()?.contains("waiting: ") == true)
    try await shell(
      "sqlite3 test.db 'BEGIN; CREATE TABLE place (name PRIMARY KEY); INSERT INTO place VALUES (1); COMMIT'"
    )
    #expect(
      await tool.line()
        == #"{"inserted":[{"name":1}],"updated":[],"deleted":[{"id":1,"name":1}]}"#)
    #expect(await tool.end() == 0)
  }

  @Test("a signal ends the wait, with a summary of all that was shown")
  func signal() async throws {
    try await shell(
      "sqlite3 test.db '\(Self.wal); \(Self.creation); INSERT INTO place VALUES (1, 1)'")
    let tool = try watch("--initial")
    #expect(await tool.line()?.hasPrefix("+ id=1") == true)
    _ = await tool.errorLine()
    try await shell("rm test.db-* test.db")
    #expect(await tool.errorLine()?.contains("waiting: ") == true)
    tool.signal(SIGINT)
    var last: String?
    while let line = await tool.errorLine() { last = line }
    #expect(last == "tandem: 1 difference: 1 inserted, 0 updated, 0 deleted")
    #expect(await tool.end() == 0)
  }
}
