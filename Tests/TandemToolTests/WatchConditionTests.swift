import Foundation
import TestFolder
import TestTool
import Testing

@Suite("tandem watch: mistakes, and files in any condition", .timeLimit(.minutes(20)))
struct WatchConditionTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let twoTables =
    "CREATE TABLE place (id INTEGER PRIMARY KEY, name); CREATE TABLE b (x)"

  static let mistakes: [(arguments: String, status: Int32, words: String)] = [
    ("", 2, "has the tables b, place; choose one with --table"),
    ("--table plac", 1, "there is no table plac; did you mean place?"),
    ("--table zzzzzz", 1, "there is no table zzzzzz (SQLite error 1)"),
    ("--table seen", 1, "seen is a view, whose rows have no key of their own: watch --query"),
    ("--table hidden", 1, "has no primary key and no rowid; watch a query and name its key"),
    ("--query 'SELECT id FROM place'", 2, "a query needs --key"),
    ("--query 'SELECT id FROM place' --key name", 1, "no column name to be its key; it has id"),
    ("--query 'SELECT id FROM place' --key id --table b", 2, "choose one of --table and --query"),
    ("--table place --key id", 2, "--key needs --query"),
    ("--query 'DELETE FROM place RETURNING id' --key id", 1, "changes nothing can be watched"),
    ("--query 'SELEKT 1' --key id", 1, "syntax error"),
    ("--query 'SELECT 1 AS id; SELECT 2' --key id", 1, "more than one statement"),
    ("--query 'SELECT id FROM plac' --key id", 1, "no such table: plac"),
    ("--query 'SELECT id FROM place WHERE id = ?' --key id", 1, "0 values for 1 parameters"),
    ("--query 'SELECT 1 AS id UNION ALL SELECT 1' --key id", 1, "two rows have the same key 1"),
    ("--query 'SELECT NULL AS id' --key id", 1, "no value in the key column id"),
    ("--wait", 2, "--wait needs --table or --query"),
    ("--query 'SELEKT 1' --key id --wait", 1, "syntax error"),
    ("--table place --once 0", 2, "--once takes a number of at least 1, not '0'"),
    ("--table place --once x", 2, "--once takes a number of at least 1, not 'x'"),
    ("--table place --initail", 2, "did you mean --initial?"),
  ]

  @Test("a mistake ends it at its start, with a sentence that says what to do", arguments: mistakes)
  func mistake(arguments: String, status: Int32, words: String) async throws {
    try await shell(
      """
      sqlite3 test.db "\(Self.twoTables); CREATE VIEW seen AS SELECT * FROM place;
        CREATE TABLE hidden (rowid, oid, _rowid_);"
      """.replacing("CREATE TABLE hidden", with: arguments.isEmpty ? "-- " : "CREATE TABLE hidden"))
    let result = try await Tool.shell("$tandem watch test.db \(arguments)", in: folder)
    #expect(result.status == status)
    #expect(result.error.contains(words), "\(result.error)")
    #expect(result.output.isEmpty && !result.error.contains("watching"))
  }

  @Test("a file that is missing, no database, or empty is an error that says so")
  func files() async throws {
    try folder.write("this is a text and no database, however long it may be\n", to: "text.db")
    for (path, words) in [
      ("missing.db", "cannot open it: it does not exist"), (".", "is a directory"),
      ("text.db", "file is not a database; it may be another kind of file, or encrypted"),
      ("/dev/null", "cannot open it: it is no regular file"),
    ] {
      let result = try await Tool.shell("$tandem watch \(path)", in: folder)
      #expect(result.status == 1)
      #expect(result.error.contains(words), "\(result.error)")
    }
    #expect(try folder.contents().keys.sorted() == ["text.db"], "nothing is made")
  }

  @Test("a mistake, or an error while it watches, leaves no log beside the file")
  func noLogStays() async throws {
    try await shell("sqlite3 test.db 'PRAGMA journal_mode=WAL; \(Self.twoTables)'")
    for arguments in ["", "--table plac", "--query 'SELEKT' --key id", "--query 'SELECT 1'"] {
      let result = try await Tool.shell("$tandem watch test.db \(arguments)", in: folder)
      #expect(result.status != 0)
      #expect(try folder.contents().keys.sorted() == ["test.db"], "\(arguments)")
    }
    let tool = try await watch("--table", "place")
    // It stands still until the other program has closed the file, so that it is the last to do so.
    tool.signal(SIGSTOP)
    try await shell("sqlite3 test.db 'DROP TABLE place'")
    tool.signal(SIGCONT)
    #expect(await tool.end() == 1)
    #expect(try folder.contents().keys.sorted() == ["test.db"])
  }

  @Test("a null in the primary key ends the watch, which says what to watch instead")
  func nullKey() async throws {
    try await shell("sqlite3 test.db 'CREATE TABLE t (id TEXT PRIMARY KEY, v)'")
    let advice =
      #"choose a key that is unique and never null, such as the rowid of SELECT rowid, * FROM "t""#
    let tool = try await watch()
    _ = await tool.errorLine()
    try await shell("sqlite3 test.db 'INSERT INTO t VALUES (NULL, 1)'")
    #expect(await tool.errorLine()?.contains(advice) == true)
    #expect(await tool.end() == 1)
    let result = try await Tool.shell("$tandem watch test.db --table t", in: folder)
    #expect(result.status == 1 && result.error.contains(advice), "\(result.error)")
    let other = try await Tool.shell(
      "$tandem watch test.db --query 'SELECT rowid, * FROM t' --key rowid --initial --once 1 -q",
      in: folder)
    #expect(other.status == 0 && other.output.contains("rowid=1"), "\(other)")
  }

  private func watch(_ arguments: String...) async throws -> RunningTool {
    let tool = try RunningTool(["watch", folder.path(of: "test.db")] + arguments)
    #expect(await tool.errorLine()?.contains("watching") == true)
    return tool
  }

  @Test("a file that is deleted, moved or replaced while it is watched ends the watch with exit 1")
  func goneFile() async throws {
    for removal in [
      "rm test.db", "mv test.db moved.db", "sqlite3 new.db 'CREATE TABLE t (x)'; mv new.db test.db",
    ] {
      for mode in ["WAL", "DELETE"] {
        try await shell(
          "rm -f *.db*; sqlite3 test.db 'PRAGMA journal_mode=\(mode); CREATE TABLE t (id INTEGER PRIMARY KEY)'"
        )
        let tool = try await watch("--json")
        if mode != "WAL" { #expect(await tool.errorLine()?.contains("mode is delete") == true) }
        try await shell(removal)
        let error = await tool.errorLine()
        let words =
          mode == "WAL"
          ? ["is the write-ahead log of the file that was here before"]
          : ["the file was deleted, moved or replaced", "with --wait, tandem watch waits"]
        for words in words { #expect(error?.contains(words) == true, "\(removal), \(mode)") }
        #expect(await tool.end() == 1)
      }
    }
  }

  @Test("a table that is dropped while it is watched ends the watch with exit 1")
  func droppedTable() async throws {
    try await shell("sqlite3 test.db '\(Self.twoTables)'")
    let tool = try await watch("--table", "place")
    _ = await tool.errorLine()
    try await shell("sqlite3 test.db 'DROP TABLE place'")
    let error = await tool.errorLine()
    #expect(error?.contains("no such table: place; with --wait, tandem watch waits") == true)
    #expect(await tool.end() == 1)
  }

  @Test("tracking is suggested only for a table that is not tracked", arguments: [false, true])
  func suggestedTracking(isTracked: Bool) async throws {
    try await shell("sqlite3 test.db 'CREATE TABLE t (id INTEGER PRIMARY KEY)'")
    if isTracked { try await shell("$tandem track test.db --table t") }
    let tool = try await watch("--json")
    // The helper has read the first line, which describes the query.
    let advice = try #require(await tool.errorLine())
    #expect(advice.contains("journal mode is delete"), "\(advice)")
    #expect(advice.contains("tandem track") == !isTracked, "\(advice)")
    tool.signal(SIGINT)
    #expect(await tool.end() == 0)
  }

  @Test("a file with a rollback journal is watched as it is, and also once it has a log")
  func rollbackJournal() async throws {
    try await shell("sqlite3 test.db 'CREATE TABLE t (id INTEGER PRIMARY KEY)'")
    let tool = try await watch("--json")
    #expect(await tool.errorLine()?.contains("journal mode is delete") == true)
    try await shell("sqlite3 test.db 'INSERT INTO t VALUES (1)'")
    #expect(await tool.line()?.contains(#"[{"id":1}]"#) == true)
    #expect(try await shell("sqlite3 test.db 'PRAGMA journal_mode'").output == "delete\n")
    try await shell("sqlite3 test.db 'PRAGMA journal_mode=WAL; INSERT INTO t VALUES (2)'")
    #expect(await tool.line()?.contains(#"[{"id":2}]"#) == true)
    try await shell("sqlite3 test.db 'INSERT INTO t VALUES (3)'")
    #expect(await tool.line()?.contains(#"[{"id":3}]"#) == true)
    tool.signal(SIGINT)
    #expect(await tool.end() == 0)
  }

  @Test("a file that is reached by a link is watched where it is")
  func link() async throws {
    try await shell(
      """
      sqlite3 real.db 'PRAGMA journal_mode=WAL; CREATE TABLE t (id INTEGER PRIMARY KEY)'
      ln -s real.db test.db
      """)
    let tool = try await watch("--json", "--once", "2")
    for id in 1...2 {
      try await shell("sqlite3 real.db 'INSERT INTO t VALUES (\(id))'")
      #expect(await tool.line()?.contains(#"[{"id":\#(id)}]"#) == true)
    }
    #expect(await tool.end() == 0)
  }

  @Test("a database whose files may not be written is watched, or refused with a sentence")
  func readOnlyFolder() async throws {
    // Permissions do not bind root, who runs tests in containers.
    let user = getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : ""
    try await shell(
      """
      sqlite3 journal.db 'CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)'
      sqlite3 log.db 'PRAGMA journal_mode=WAL; CREATE TABLE t (id INTEGER PRIMARY KEY)' >log
      chmod 555 . && chmod 444 *.db
      """)
    let arguments = "--initial --json --once 1 --quiet"
    let journal = try await Tool.shell("\(user) $tandem watch journal.db \(arguments)", in: folder)
    #expect(journal.output.contains(#"{"id":1}"#) && journal.status == 0, "\(journal)")
    let log = try await Tool.shell("\(user) $tandem watch log.db \(arguments)", in: folder)
    #expect(
      log.status == 1 && log.error.contains("only where SQLite may write beside it"), "\(log)")
    try await shell("chmod 755 .")
  }

  @Test("when the reader of its output goes away, it ends quietly, even while nothing happens")
  func closedOutput() async throws {
    let result = try await shell(
      """
      sqlite3 test.db 'CREATE TABLE t (id INTEGER PRIMARY KEY)'
      $tandem watch test.db --initial --json --quiet | head -1
      """)
    #expect(result.output == #"{"inserted":[],"updated":[],"deleted":[]}"# + "\n")
    #expect(result.error.isEmpty)
  }

  @Test("help says what it prints, how it ends, and what makes it cheap")
  func help() async throws {
    let result = try await Tool.run(["watch", "--help"])
    for word in [
      "usage: tandem watch DATABASE", "Ctrl-C", "tandem track", "--wait", "write-ahead log",
      #"{"inserted":[ROW]"#,
    ] {
      #expect(result.output.contains(word))
    }
    #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
  }
}
