import Foundation
import TestFolder
import TestTool
import Testing

@Suite("tandem track and untrack", .timeLimit(.minutes(20)))
struct TrackCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let schema = """
    CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT UNIQUE, note);
    CREATE TABLE pair (a TEXT COLLATE NOCASE, b, PRIMARY KEY (b, a)) WITHOUT ROWID;
    CREATE TABLE place_replace (x);
    CREATE VIEW seen AS SELECT * FROM place;
    CREATE TRIGGER own AFTER INSERT ON place BEGIN UPDATE place SET note = 'new' WHERE id = new.id; END;
    INSERT INTO place VALUES (1, 'a', ''), (2, 'b', ''), (3, 'c', '');
    """

  /// Everything in the file that can be told.
  private func state() async throws -> String {
    try await shell("sqlite3 test.db .dump 'PRAGMA journal_mode' 'SELECT * FROM sqlite_schema'")
      .output
  }

  @Test("untrack leaves no trace, whatever was written between", arguments: ["DELETE", "WAL"])
  func noTrace(mode: String) async throws {
    try await shell("sqlite3 test.db \"PRAGMA journal_mode=\(mode); \(Self.schema)\"")
    let before = try await state()
    for table in ["place", "PAIR", "place_replace", "place"] {
      let name = table.lowercased()
      #expect(
        try await shell("$tandem track test.db --table \(table)").error
          .hasPrefix("tandem: \(name) is tracked"))
    }
    #expect(try await state() != before)
    try await shell(
      """
      sqlite3 test.db "BEGIN; REPLACE INTO place VALUES (4, 'a', ''); DELETE FROM pair;
        INSERT INTO pair VALUES ('x', 1); SELECT count(*) > 0 FROM tandem_changes_place; ROLLBACK;
        INSERT INTO place_replace VALUES (1); DELETE FROM place_replace" >answers
      """)
    #expect(try folder.text(of: "answers") == "1\n")
    for table in ["place", "pair", "PLACE_REPLACE"] {
      #expect(
        try await shell("$tandem untrack test.db --table \(table)").error
          == "tandem: \(table) is no longer tracked\n")
    }
    #expect(try await state() == before)
    #expect(
      try await shell("$tandem untrack test.db --table place").error
        == "tandem: place was not tracked\n")
    #expect(try await state() == before)
  }

  @Test("a table that was renamed or dropped since leaves no trace either")
  func renamed() async throws {
    try await shell("sqlite3 test.db \"\(Self.schema)\"")
    for table in ["place_replace", "pair"] {
      try await shell("$tandem track test.db --table \(table)")
    }
    try await shell(
      "sqlite3 test.db 'ALTER TABLE place_replace RENAME TO renamed; DROP TABLE pair'")
    for table in ["renamed", "pair"] { try await shell("$tandem untrack test.db --table \(table)") }
    let names = try await shell("sqlite3 test.db 'SELECT name FROM sqlite_schema'").output
    #expect(!names.contains("tandem"), "\(names)")
  }

  @Test("a name that a renamed table had can be tracked again")
  func reusedName() async throws {
    try await shell("sqlite3 test.db 'CREATE TABLE t (x)'; $tandem track test.db --table t")
    try await shell(
      "sqlite3 test.db 'ALTER TABLE t RENAME TO u; CREATE TABLE t (id TEXT PRIMARY KEY)'")
    try await shell("$tandem track test.db --table t; $tandem track test.db --table u")
    try await shell("sqlite3 test.db \"INSERT INTO t VALUES ('a'); INSERT INTO u VALUES (5)\"")
    let keys = try await shell(
      """
      sqlite3 test.db 'SELECT k1 FROM tandem_changes_t UNION ALL SELECT k1 FROM tandem_changes_u' |
        grep .
      """)
    #expect(keys.output == "a\n1\n")
  }

  @Test("of a tracked table, only the rows that another program changed are read again")
  func readsTouchedRows() async throws {
    for isTracked in [false, true] {
      try await shell(
        "rm -f test.db; sqlite3 test.db \"PRAGMA journal_mode=WAL; \(Self.schema)\" >log")
      if isTracked { try await shell("$tandem track test.db --table place") }
      let tool = try RunningTool(
        ["watch", folder.path(of: "test.db"), "--table", "place", "--json", "--once", "1"])
      let greeting = await tool.errorLine()
      #expect(greeting?.hasSuffix("whoever wrote") == isTracked, "\(greeting ?? "")")
      // What triggers do not see is not read, though it is there: the rest of the table is left alone.
      try await shell(
        """
        sqlite3 test.db 'BEGIN' '.dbconfig enable_trigger off' \
          "UPDATE place SET note = 'unseen' WHERE id = 1" '.dbconfig enable_trigger on' \
          "UPDATE place SET note = 'seen' WHERE id = 2" 'COMMIT' >log
        """)
      let line = try #require(await tool.line())
      #expect(line.contains(#""note":"seen""#))
      #expect(line.contains(#""note":"unseen""#) == !isTracked, "\(line)")
      #expect(await tool.end() == 0)
    }
  }

  @Test("what tracking cannot see is said")
  func blindSpots() async throws {
    try await shell(
      "sqlite3 test.db 'CREATE TABLE t (id INTEGER PRIMARY KEY, s); CREATE UNIQUE INDEX i ON t(lower(s))'"
    )
    let error = try await shell("$tandem track test.db --table t").error
    #expect(
      error.contains("t: tracking cannot see rows that REPLACE removes because of the index i"))
    #expect(error.contains("t is tracked"))
  }

  static let mistakes: [(command: String, status: Int32, words: String)] = [
    ("track test.db", 2, "--table is missing: the name of the table"),
    ("untrack test.db --table ''", 2, "--table is missing"),
    ("track --table place", 2, "missing DATABASE"),
    ("track test.db --table plaec", 1, "there is no table plaec; did you mean place?"),
    ("untrack test.db --table plaec", 1, "there is no table plaec; did you mean place?"),
    (
      "track test.db --table seen", 1,
      "seen cannot be tracked: only tables whose rows have a key can"
    ),
    ("track test.db --table hidden", 1, "hidden cannot be tracked"),
    ("track test.db --table words", 1, "words cannot be tracked"),
    ("track missing.db --table place", 1, "cannot open it: it does not exist"),
    ("untrack missing.db --table place", 1, "cannot open it: it does not exist"),
    ("track text.db --table place", 1, "file is not a database"),
  ]

  @Test("a mistake changes nothing, and says what to do", arguments: mistakes)
  func mistake(command: String, status: Int32, words: String) async throws {
    try folder.write("this is a text and no database, however long it may be\n", to: "text.db")
    try await shell(
      """
      sqlite3 test.db "\(Self.schema) CREATE TABLE hidden (rowid, oid, _rowid_);
        CREATE VIRTUAL TABLE words USING fts5(t)"
      """)
    let before = try await state()
    let result = try await shell("$tandem \(command)", status: status)
    #expect(result.error.contains(words) && result.output.isEmpty, "\(result.error)")
    #expect(try await state() == before)
    #expect(!FileManager.default.fileExists(atPath: folder.path(of: "missing.db")))
  }
}
