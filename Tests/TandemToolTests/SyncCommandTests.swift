import Foundation
import TestFolder
import TestTool
import Testing

@Suite("tandem attach, sync, status, alter, log and forget", .timeLimit(.minutes(20)))
struct SyncCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("a file that cannot be written is named as such, without SQL")
  func readOnlyFile() async throws {
    try await attachCopies()
    // A file of a later write format is read-only for SQLite, for every user.
    try await shell(
      "sqlite3 a.db 'PRAGMA journal_mode=DELETE' && printf '\\3' | dd of=a.db bs=1 seek=18 conv=notrunc"
    )
    let refused = try await shell("$tandem sync a.db", status: 2)
    #expect(
      refused.error
        == "tandem: a.db: cannot be written: it is read-only; let this user write the file and its "
        + "directory, or use a copy\n")
  }

  @Test("attach names what the space cannot check, unless it is quiet")
  func uncheckedConstraints() async throws {
    try await shell(
      """
      sqlite3 a.db "CREATE TABLE p (id TEXT PRIMARY KEY);
        CREATE TABLE q (id TEXT PRIMARY KEY);
        CREATE TABLE c (id TEXT PRIMARY KEY, p REFERENCES p, x REFERENCES q);
        CREATE UNIQUE INDEX one ON c (p) WHERE x IS NULL; INSERT INTO c VALUES ('o', 'none', 1)"
      cp a.db b.db
      """)
    let attach = { (words: String) in "$tandem attach \(words) --space s.space --table p --table c"
    }
    let notices = try await shell(attach("a.db")).error.split(separator: "\n").dropFirst()
    #expect(notices.count == 2)
    #expect(notices.contains { $0.hasPrefix("tandem: a.db: c refers to q, which is not attached") })
    #expect(
      notices.last?.hasPrefix("tandem: a.db: 1 row of c refers to rows of p that do not exist")
        == true)
    #expect(try await shell(attach("b.db -q")).error.isEmpty)
  }

  @Test("a write that bypassed the triggers is found by --verify, and kept as a conflict")
  func verify() async throws {
    try await attachCopies()
    try await shell("$tandem sync a.db --verify")
    try await shell(
      "sqlite3 a.db '.dbconfig enable_trigger off' 'UPDATE note SET likes = 77 WHERE likes = 5'")
    try await shell("$tandem sync a.db")
    let found = try await shell("$tandem sync a.db --verify --json", status: 1)
    #expect(found.output.contains(#"{"event":"status","status":"verifying"}"#), "\(found.output)")
    #expect(found.output.contains(#""pulled":1,"conflicts":1,"rejected":0,"pending":0"#))
    try await shell("$tandem conflicts a.db resolve all --take local && $tandem sync a.db --verify")
    try await shell("$tandem sync b.db --verify && $tandem diff a.db b.db --table note")
    #expect(try await shell("sqlite3 b.db 'SELECT max(likes) FROM note'").output == "77\n")
    try await shell("$tandem sync a.db --verify --watch", status: 2)
  }

  @Test("progress counts the rows of all commits and pages, those that are applied too")
  func progress() async throws {
    try await shell(
      """
      schema='CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER)'
      sqlite3 a.db "$schema; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < 12500) INSERT INTO note SELECT 'key' || i, 'title', i FROM n"
      sqlite3 b.db "$schema"
      for f in a b; do $tandem attach $f.db --space shared.space --table note; done
      """)
    let sent = try await shell("$tandem sync a.db --json").output.split(separator: "\n")
    #expect(rows(of: "sending", in: sent) == [10_000, 12_500])
    #expect(shares(of: "sending", in: sent) == [0.8, 1])
    let received = try await shell("$tandem sync b.db --json").output.split(separator: "\n")
    #expect(rows(of: "receiving", in: received) == [10_000, 12_500])
    #expect(shares(of: "receiving", in: received).last == 1)
    #expect(rows(of: "applying", in: received).last == 12_500)
    #expect(shares(of: "applying", in: received).last == 1)
    let remaining = received.filter { $0.contains(#""share":1"#) == false }.compactMap {
      $0.firstMatch(of: #/"remainingSeconds":([0-9.e-]+)/#)
    }
    // Of one long version, only applying knows how much is left.
    #expect(remaining.count == 1)
  }

  private func rows(of stage: String, in lines: [Substring]) -> [Int] {
    lines.filter { $0.contains(#""event":"progress","stage":"\#(stage)""#) }.compactMap {
      $0.firstMatch(of: #/"rows":(\d+)/#).flatMap { Int($0.1) }
    }
  }

  private func shares(of stage: String, in lines: [Substring]) -> [Double] {
    lines.filter { $0.contains(#""event":"progress","stage":"\#(stage)""#) }.compactMap {
      $0.firstMatch(of: #/"share":([0-9.]+)/#).flatMap { Double($0.1) }
    }
  }

  @Test(
    "a watch that cannot write its events ends",
    .enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
  func fullOutput() async throws {
    try await attachCopies()
    let ended = try await shell("$tandem sync a.db --watch --json >/dev/full", status: 2)
    #expect(ended.error.contains("cannot write output"))
  }

  @Test("a space that was restored or replaced blocks, as the status says")
  func restoredSpace() async throws {
    try await attachCopies()
    try await shell(
      """
      sqlite3 shared.space "VACUUM INTO 'backup'" && sqlite3 a.db "UPDATE note SET likes = 9" &&
      $tandem sync a.db && $tandem status a.db && rm shared.space* && mv backup shared.space
      """)
    let restored = try await shell("$tandem status a.db", status: 1)
    #expect(restored.output.hasPrefix("state      blocked\nreason     the space was restored"))
    #expect(restored.output.contains("--lost-history"))
    // A file that has not seen what was lost goes on.
    try await shell("$tandem status b.db")
  }

  @Test("the status is that of the file and of the space")
  func status() async throws {
    try await attachCopies()
    func state(_ file: String, status: Int32 = 0) async throws -> String {
      try await shell("$tandem status \(file) --json", status: status).output
    }
    let json = try await state("a.db")
    #expect(json.hasPrefix(#"{"state":"upToDate","replica":""#))
    #expect(json.contains(#""space":"\#(folder.path(of: "shared.space"))""#), "\(json)")
    #expect(
      json.hasSuffix(
        #".1","pending":0,"conflicts":0,"rejected":0,"tables":[{"name":"note","key":["id"],"#
          + #""columns":["title","likes"],"policies":{},"same":[],"pending":0,"nullKeys":0}],"notices":[]}"#
          + "\n"),
      "\(json)")
    try await shell("sqlite3 b.db \"UPDATE note SET likes = 9 WHERE id = 'plan'\"")
    #expect(try await state("b.db").contains(#""state":"pending""#))
    #expect(try await state("b.db").contains(#""pending":1,"nullKeys":0}]"#))
    try await shell("$tandem sync b.db")
    // The file knows nothing of the commit, but the space does.
    #expect(try await state("a.db").contains(#""state":"pending""#))
    #expect(try await shell("$tandem status a.db").output.contains("state      pending\n"))
    try await shell("mv shared.space moved")
    let lost = try await state("b.db", status: 1)
    #expect(
      lost.hasPrefix(#"{"state":"blocked","reason":"the space cannot be read: "#), "\(lost)")
    let result = try await shell("$tandem sync b.db --json", status: 1)
    #expect(result.error.contains("cannot open it: it does not exist"), "\(result.error)")
    let events = result.output.split(separator: "\n")
    #expect(
      events.count == 2 && events[0].hasPrefix(#"{"event":"status","status":"blocked","reason":"#)
        && events[1].hasPrefix(#"{"event":"end","#), "\(events)")
    #expect(!FileManager.default.fileExists(atPath: folder.path(of: "shared.space")))
    try await shell("$tandem attach b.db --space moved && $tandem sync b.db")
    #expect(try await state("b.db").contains(#""state":"upToDate""#))
    // Another space is not taken for it.
    try await shell(
      "sqlite3 c.db \"\(Self.notes)\" && $tandem attach c.db --space other --table note")
    let other = try await shell("$tandem attach b.db --space other", status: 1)
    #expect(other.error.contains("does not have the history"), "\(other.error)")
  }

  @Test("a watch that begins while the file of the space is missing waits for it")
  func watchWithoutSpace() async throws {
    try await attachCopies()
    try await shell("mv shared.space away")
    for arrives in [false, true] {
      let tool = try RunningTool(["sync", folder.path(of: "a.db"), "--watch", "--json", "-q"])
      let first = try #require(await tool.line())
      #expect(first.hasPrefix(#"{"event":"status","status":"offline","reason":""#), "\(first)")
      if arrives {
        try await shell("mv away shared.space")
        while let line = await tool.line(), !line.contains(#""status":"upToDate""#) {}
      }
      tool.signal(SIGINT)
      var last = ""
      while let line = await tool.line() { last = line }
      #expect(last.hasPrefix(#"{"event":"end""#), "\(last)")
      #expect(await tool.end() == 0)
      #expect(FileManager.default.fileExists(atPath: folder.path(of: "shared.space")) == arrives)
    }
  }

  @Test("a file that took the place of a space is not opened beside the log of the space")
  func replacedWhileWatched() async throws {
    try await attachCopies()
    let tool = try RunningTool(["sync", folder.path(of: "a.db"), "--watch", "--json", "-q"])
    while let line = await tool.line(), !line.contains(#""status":"upToDate""#) {}
    try await shell("sqlite3 a.db 'UPDATE note SET likes = 8'")
    while let line = await tool.line(), !line.contains(#".2"}"#) {}
    try await shell(
      """
      sqlite3 shared.space "VACUUM INTO 'new.space'" && cp new.space copy.space
      mv new.space shared.space && sqlite3 a.db 'UPDATE note SET likes = 9'
      """)
    var reason: String?
    repeat { reason = await tool.line() } while reason?.contains("shared.space-wal is") == false
    #expect(reason?.contains(#""status":"offline""#) == true)
    tool.signal(SIGINT)
    while await tool.line() != nil {}
    #expect(await tool.end() == 0)
    try await shell("cmp copy.space shared.space")
  }

  @Test("edits by other programs pass between two files while both are watched")
  func watch() async throws {
    try await attachCopies()
    var tools: [RunningTool] = []
    for file in ["a.db", "b.db"] {
      let tool = try RunningTool(["sync", folder.path(of: file), "--watch", "--json", "-q"])
      while let line = await tool.line(), !line.contains(#""status":"upToDate""#) {}
      tools.append(tool)
    }
    try await shell("sqlite3 a.db \"INSERT INTO note VALUES ('new', 'New', 1)\"")
    while let line = await tools[1].line(), !line.contains(#".2"}"#) {}
    #expect(try await shell("sqlite3 b.db 'SELECT count(*) FROM note'").output == "3\n")
    try await shell("sqlite3 b.db \"UPDATE note SET title = 'Newer' WHERE id = 'new'\"")
    while let line = await tools[0].line(), !line.contains(#".3"}"#) {}
    #expect(
      try await shell("sqlite3 a.db \"SELECT title FROM note WHERE id = 'new'\"").output
        == "Newer\n")
    for tool in tools {
      tool.signal(SIGINT)
      var last = ""
      while let line = await tool.line() { last = line }
      #expect(
        last.hasSuffix(#"pushed":1,"pulled":1,"conflicts":0,"rejected":0,"pending":0}"#), "\(last)")
      #expect(await tool.end() == 0)
    }
  }

  @Test("a column that is added while a file is watched is synchronized")
  func alteredWhileWatched() async throws {
    try await attachCopies()
    let tool = try RunningTool(["sync", folder.path(of: "a.db"), "--watch", "--json", "-q"])
    while let line = await tool.line(), !line.contains(#""status":"upToDate""#) {}
    try await shell("sqlite3 a.db \"UPDATE note SET likes = 8\"")
    while let line = await tool.line(), !line.contains(#".2"}"#) {}
    try await shell(
      """
      sqlite3 a.db "BEGIN IMMEDIATE; ALTER TABLE note ADD COLUMN done;
        UPDATE note SET done = 1; COMMIT"
      """)
    while let line = await tool.line(), !line.contains(#".3"}"#) {}
    tool.signal(SIGINT)
    while await tool.line() != nil {}
    #expect(await tool.end() == 0)
    #expect(try await shell("$tandem rejected a.db --json").output == "[]\n")
    #expect(
      try await shell("sqlite3 shared.space 'SELECT fields FROM record'").output
        .split(separator: "\n").allSatisfy { $0.contains(#""done":1"#) })
  }

  @Test("a decision is about the space that is there now, not about one that was there before")
  func decision() async throws {
    try await attachCopies()
    try await shell(
      """
      sqlite3 shared.space "VACUUM INTO 'backup'" && sqlite3 a.db "UPDATE note SET likes = 9" && $tandem sync a.db &&
      sqlite3 c.db "\(Self.notes) INSERT INTO note VALUES ('other', 'Other', 0)" &&
      $tandem attach c.db --space other.space --table note && $tandem sync c.db &&
      rm shared.space* && sqlite3 other.space "VACUUM INTO 'shared.space'"
      """)
    try await shell("$tandem sync a.db", status: 1)
    try await shell("rm shared.space* && mv backup shared.space")
    try await shell("$tandem sync a.db --lost-history union; $tandem sync b.db")
    let ids = "SELECT id FROM note ORDER BY id"
    for file in ["a.db", "b.db"] {
      #expect(try await shell("sqlite3 \(file) '\(ids)'").output == "plan\ntrip\n")
    }
  }

  @Test("a space that was replaced blocks the file until somebody decides")
  func lostHistory() async throws {
    try await attachCopies()
    try await shell("sqlite3 b.db \"UPDATE note SET title = 'kept' WHERE id = 'trip'\"")
    try await shell(
      """
      rm shared.space*; sqlite3 c.db 'CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER)'
      $tandem attach c.db --space shared.space --table note && $tandem sync c.db
      """)
    let blocked = try await shell("$tandem sync b.db", status: 1)
    #expect(blocked.error.contains("was restored or replaced"), "\(blocked.error)")
    #expect(blocked.error.contains("see --lost-history"))
    #expect(
      try await shell("$tandem status b.db --json", status: 1).output
        .hasPrefix(#"{"state":"blocked","reason":"the space was restored or replaced"#))
    try await shell("$tandem sync b.db --lost-history union && $tandem sync c.db")
    #expect(
      try await shell("sqlite3 c.db 'SELECT title FROM note ORDER BY id'").output == "Plan\nkept\n")
  }

  @Test("a name with a colon is quoted, and a policy is changed and shown when its column is gone")
  func quotedNamesAndPolicies() async throws {
    try await shell(
      """
      sqlite3 a.db 'CREATE TABLE "a:b" ("i,d" TEXT PRIMARY KEY, "x""y" INT)'; cp a.db b.db
      for f in a b; do
        $tandem attach $f.db --space s --table '"a:b":"x""y"' && $tandem sync $f.db || exit 9
      done
      sqlite3 a.db 'INSERT INTO "a:b" VALUES (1, 1)'; $tandem sync a.db && $tandem sync b.db
      """)
    for file in ["a.db", "b.db"] {
      let set = try await shell("$tandem alter \(file) --policy 'x\"y=counter'")
      #expect(set.error == "tandem: \(file): a:b.x\"y has the policy counter\n", "\(set.error)")
      try await shell("sqlite3 \(file) 'UPDATE \"a:b\" SET \"x\"\"y\" = \"x\"\"y\" + 1'")
    }
    try await shell("$tandem sync a.db && $tandem sync b.db && $tandem sync a.db")
    for file in ["a.db", "b.db"] {
      #expect(try await shell("sqlite3 \(file) 'SELECT * FROM \"a:b\"'").output == "1|3\n")
    }
    let altered = try await shell(
      "sqlite3 a.db 'ALTER TABLE \"a:b\" RENAME COLUMN \"x\"\"y\" TO z'; $tandem sync a.db")
    #expect(altered.error.contains("policy a:b.x\"y=counter is void"), "\(altered.error)")
    #expect(
      try await shell("$tandem alter a.db --policy \"x=none\"", status: 2).error.contains(
        "no attached"))
  }

  @Test("alter sets all of its policies or none, and says which ones are gone")
  func policies() async throws {
    try await attachCopies()
    let twice = try await shell(
      "$tandem alter a.db --policy title=text --policy likes=local --policy note.likes=remote",
      status: 2)
    #expect(twice.error.contains("--policy: note.likes has two policies"), "\(twice.error)")
    let status = try await shell("$tandem status a.db")
    #expect(!status.output.contains("title=text"), "\(status.output)")
    try await shell("$tandem alter a.db --policy title=text")
    let none = try await shell("$tandem alter a.db --policy title=none")
    #expect(none.error.contains("a.db: note.title has no policy any more"), "\(none.error)")
  }

  @Test("alter drops a column, which SQLite refuses otherwise; the other copy keeps it")
  func alter() async throws {
    try await attachCopies()
    try await shell("sqlite3 a.db 'ALTER TABLE note DROP COLUMN likes' 2>/dev/null", status: 1)
    let altered = try await shell(
      "$tandem alter a.db 'ALTER TABLE note DROP COLUMN likes' \"ALTER TABLE note ADD COLUMN done\""
    )
    #expect(
      altered.error == """
        tandem: a.db: note.done is synchronized from now on
        tandem: a.db: note.likes is kept aside from now on, for the other copies

        """)
    try await shell(
      """
      sqlite3 a.db "UPDATE note SET title = 'New', done = 1 WHERE id = 'trip'"
      $tandem sync a.db && $tandem sync b.db
      """)
    #expect(
      try await shell("sqlite3 b.db 'SELECT * FROM note'").output == "plan|Plan|5\ntrip|New|0\n")
    try await shell("sqlite3 b.db 'ALTER TABLE note ADD COLUMN done'; $tandem sync b.db")
    #expect(
      try await shell("sqlite3 b.db 'SELECT * FROM note'").output
        == "plan|Plan|5|\ntrip|New|0|1\n")
    for (sql, words) in [
      ("DROP TABLE note", "note is gone"), ("ALTER TABLE nota ADD x", "no such table"),
      ("SELECT", "incomplete"), ("SELECT 1; SELECT 2", "SELECT 2"),
    ] {
      let result = try await shell("$tandem alter b.db '\(sql)'", status: 1)
      #expect(result.error.contains(words), "\(result.error)")
    }
    #expect(try await shell("$tandem status b.db --json").output.contains("upToDate"))
  }

  @Test("alter --begin lets another program change the schema and rows, until --end")
  func alterByOthers() async throws {
    try await attachCopies()
    let begun = try await shell("$tandem alter a.db --begin")
    #expect(begun.error == "tandem: a.db: can be changed; then: tandem alter a.db --end\n")
    let status = try await shell("$tandem status a.db", status: 1)
    #expect(status.output.hasPrefix("state      blocked\nreason     "))
    #expect(status.output.contains("end the change first: tandem alter "))
    let paused = try await shell("$tandem sync a.db", status: 1)
    #expect(paused.error.hasSuffix("first: tandem alter DB --end\n"), "\(paused.error)")
    try await shell(
      """
      sqlite3 a.db "ALTER TABLE note DROP COLUMN likes; DELETE FROM note WHERE id = 'trip';
        INSERT INTO note VALUES ('new', 'New'); UPDATE note SET title = 'Big' WHERE id = 'plan'"
      $tandem alter a.db --end -q && $tandem sync a.db && $tandem sync b.db
      """)
    #expect(
      try await shell("sqlite3 b.db 'SELECT * FROM note ORDER BY id'").output
        == "new|New|\nplan|Big|5\n")
    #expect(
      try await shell("$tandem alter a.db --end").error
        == "tandem: a.db: is attached with the same columns as before\n")
  }

  @Test("the log shows each commit, and the versions that lost; forget bounds it")
  func log() async throws {
    try await attachCopies()
    try await shell(
      """
      for f in a b; do
        sqlite3 $f.db "UPDATE note SET title = 'of $f' WHERE id = 'plan'"; $tandem sync $f.db
      done
      [ $? = 1 ] && $tandem sync a.db
      """)
    let lines = try await shell("$tandem log --space shared.space").output.split(separator: "\n")
    #expect(lines.count == 5 && lines[0].hasPrefix("version  time "), "\(lines)")
    #expect(lines[1].hasPrefix("3        20"), "\(lines)")
    #expect(lines[3].hasSuffix("  1 in note") && lines[4].hasSuffix("  2 in note"), "\(lines)")
    #expect(
      lines[2] == #"  overruled: note "plan", edited version 1: {"title":"of b","likes":5}"#)
    let json = try await shell("$tandem log --space shared.space --count 1 --json").output
    #expect(
      json.hasPrefix(#"{"version":3,"time":"20"#) && json.contains(#""title":"of b""#), "\(json)")
    #expect(
      try await shell("$tandem forget --space shared.space --older-than 1d").error
        == "tandem: shared.space: 0 commits forgotten\n")
    #expect(
      try await shell("$tandem forget --space shared.space --older-than 0m --keep 1").error
        == "tandem: shared.space: 2 commits forgotten\n")
    #expect(
      try await shell("$tandem log --space shared.space --json").output
        .split(separator: "\n").count == 1)
  }

  @Test("a replica can be given a name by the beginning of its identity")
  func replicaNames() async throws {
    try await attachCopies()
    let status = try await shell("$tandem status a.db --json").output
    let id = try #require(status.firstMatch(of: #/"replica":"([0-9a-f]{32})"/#)).1
    let log = "$tandem log --space shared.space"
    let named = try await shell("\(log) --name \(id.prefix(8))=Laptop").output
    #expect(named.contains("  Laptop  ") && !named.contains(id), "\(named)")
    #expect(try await shell("\(log) --json").output.contains(#""name":"Laptop""#))
    #expect(try await shell("\(log) --name \(id)=").output.contains(id))
    let unknown = try await shell("\(log) --name xyz=Laptop", status: 1)
    #expect(unknown.error.contains("no replica of the space begin"), "\(unknown.error)")
    try await shell("\(log) --name Laptop", status: 2)
  }

  @Test("a log of a space that an earlier version made has no numbers of changes, and gets them")
  func formerLog() async throws {
    try await attachCopies()
    try await shell("sqlite3 shared.space 'DROP TABLE change_count'")
    let before = try await shell("$tandem log --space shared.space").output
    let commits = before.split(separator: "\n").dropFirst()
    #expect(commits.allSatisfy { $0.hasSuffix("  -") }, "\(before)")
    try await shell("sqlite3 a.db \"UPDATE note SET title = 'new'\"; $tandem sync a.db")
    let after = try await shell("$tandem log --space shared.space").output.split(separator: "\n")
    #expect(after[1].hasSuffix(" in note") && after[2].hasSuffix("  -"), "\(after)")
    try await shell("$tandem forget --space shared.space --older-than 0m")
  }

  @Test("a copy that was away while the space forgot loses no edit")
  func forgotten() async throws {
    try await attachCopies()
    try await shell(
      """
      sqlite3 a.db "DELETE FROM note WHERE id = 'trip'; INSERT INTO note VALUES ('new', 'New', 1)"
      $tandem sync a.db && $tandem forget --space shared.space --keep 0
      sqlite3 b.db "UPDATE note SET likes = 6 WHERE id = 'plan'; INSERT INTO note VALUES ('b', 'B', 2)"
      $tandem sync b.db && $tandem sync a.db && $tandem diff a.db b.db --table note
      """)
    #expect(
      try await shell("sqlite3 a.db 'SELECT id, likes FROM note ORDER BY id'").output
        == "b|2\nnew|1\nplan|6\n")
  }

  @Test("in a table of the granularity record, edits of different fields are a conflict")
  func granularity() async throws {
    try await attachCopies("--table note --granularity note=record")
    try await shell(
      """
      sqlite3 a.db "UPDATE note SET title = 'Big' WHERE id = 'plan'"; $tandem sync a.db
      sqlite3 b.db "UPDATE note SET likes = 6 WHERE id = 'plan'"; $tandem sync b.db
      """, status: 1)
    #expect(
      try await shell("$tandem conflicts b.db", status: 1).output.hasPrefix(
        "conflict 1: note \"plan\", edit/edit\n"))
    try await shell("sqlite3 c.db 'CREATE TABLE note (id TEXT PRIMARY KEY, title, likes)'")
    #expect(
      try await shell("$tandem attach c.db --space shared.space --table note", status: 1).error
        .contains("attach it with --granularity note=record"))
  }

  @Test("All tables are proposed without those of tools that change the schema")
  func allTables() async throws {
    try await shell(
      """
      sqlite3 all.db 'CREATE TABLE note (id TEXT PRIMARY KEY); CREATE TABLE "a:b" (id TEXT PRIMARY KEY);
        CREATE TABLE schema_migrations (version TEXT PRIMARY KEY); CREATE VIEW v AS SELECT 1;
        CREATE TABLE Alembic_Version (id); CREATE VIRTUAL TABLE f USING fts5 (x)'
      """)
    let error = try await shell("$tandem attach all.db --space s", status: 2).error
    #expect(
      error.contains(
        #"for all, write --table '"a:b"' --table note "#
          + "(without Alembic_Version, schema_migrations: they describe the schema of one copy)"))
    try await shell("$tandem attach all.db --space s --table note --table schema_migrations -q")
  }

  static let mistakes: [(command: String, status: Int32, words: String)] = [
    ("attach a.db --table note", 2, "--space is missing: the file or the name of the space"),
    ("attach a.db --space s", 2, "--table is missing: a table to synchronize"),
    ("attach a.db --space s --table note:", 2, "--table takes a table, or a table and its columns"),
    ("attach a.db --space s --table nota", 1, "a.db has no table nota to synchronize; it has"),
    ("attach a.db --space s --table note:titel", 1, "has no column titel; it has id, title, likes"),
    ("attach a.db --space s --table number", 1, "use a random key"),
    ("attach a.db --space s --table note --policy likes=countr", 2, "did you mean counter?"),
    ("attach a.db --space s --table note --policy like=counter", 2, "did you mean likes?"),
    (
      "attach a.db --space s --table note --policy note.likes=counter --policy likes=local", 2,
      "likes has two policies"
    ),
    (
      "attach a.db --space s --table note --table other --policy likes=counter", 2,
      "note and other have a column likes; write TABLE.COLUMN"
    ),
    (
      "attach a.db --space s --table note --granularity nota=record", 2,
      "--granularity nota: name the table by"
    ),
    (
      "attach a.db --space s --table note --granularity note=row", 2,
      "--granularity takes TABLE=field or TABLE=record"
    ),
    ("alter a.db", 2, "give one of: SQL statements, --begin, --end or --policy"),
    ("alter a.db --policy n=most", 2, "--policy takes COLUMN=POLICY"),
    ("alter a.db --policy n=countr", 2, "did you mean counter?"),
    ("attach a.db --space s --table '\"no:te\":title'", 1, "no table no:te"),
    ("attach a.db --space s --table '\"note'", 2, "--table takes a table"),
    ("attach a.db --space s --table real --policy n=counter", 1, "only integers are counted"),
    (
      "attach a.db --space s --table number", 1,
      "attach it with --renumber number, and a new row whose number another device was quicker to give"
    ),
    (
      "attach a.db --space s --table number --renumber number", 1,
      "rebuild it first (tandem rekey DB --table TABLE --autoincrement), then attach it with --renumber"
    ),
    ("attach a.db --space s --table note --renumber nope", 2, "name the table by --table as well"),
    ("attach a.db --space s --table note --renumber note", 1, "attach it without --renumber"),
    ("attach a.db --space s --table note --same note", 2, "--same takes a table and the columns"),
    (
      "attach a.db --space s --table note --same nope.title", 2, "name the table by --table as well"
    ),
    (
      "attach a.db --space s --table note --same note.title", 1,
      "no unique constraint on exactly title, so that two rows may have the same values (--same)"
    ),
    ("alter a.db --begin --end", 2, "give one of"), ("alter a.db --begin", 1, "is not attached"),
    ("alter a.db 'SELECT 1'", 1, "is not attached"),
    ("log", 2, "--space is missing"), ("log --space a.db", 1, "it is another database"),
    ("log --space missing", 1, "cannot be read: there is no such file"),
    ("forget --space s", 2, "say what to forget by --older-than or --keep"),
    ("forget --space missing --keep 1", 1, "there is no such file"),
    ("forget --space s --older-than 90", 2, "takes an age such as 90d"),
    ("attach missing.db --space s --table note", 1, "cannot open it: it does not exist"),
    ("sync a.db", 2, "a.db is not attached to a space; attach it first"),
    ("sync a.db --lost-history unio", 2, "did you mean union?"),
    ("status a.db", 2, "is not attached"), ("conflicts a.db", 2, "is not attached"),
    ("conflicts a.db resolve", 2, "write: resolve ID --take VERSION"),
    ("conflicts a.db resolve 1", 2, "--take is missing"),
    (
      "conflicts a.db resolve 1 --take lokal", 2,
      "--take takes local, remote, base, null, or a JSON"
    ),
    ("conflicts a.db resolve 1 --take local", 2, "is not attached"),
    ("conflicts a.db --take local", 2, "--take and --same need a conflict: resolve ID"),
    ("rejected a.db", 2, "is not attached"),
    ("detach a.db", 1, "is not attached"),
  ]

  @Test("rows that get another number are printed, with --json too")
  func renumbered() async throws {
    let attached = try await shell(
      """
      sqlite3 a.db "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, v)" && cp a.db b.db && cp a.db c.db
      for name in a b c; do
        $tandem attach -q $name.db --space s.space --table t --renumber t || exit 3
        sqlite3 $name.db "INSERT INTO t (v) VALUES ('$name')"
      done
      $tandem sync -q a.db; $tandem sync b.db; $tandem sync -q c.db --json; $tandem sync -q a.db
      sqlite3 a.db 'SELECT * FROM t'
      """)
    #expect(attached.error.contains("tandem: b.db: renumbered: t 1 is 2 from now on\n"))
    #expect(
      attached.output.contains(
        #"{"event":"renumbered","table":"t","from":1,"to":3}"#))
    #expect(attached.output.hasSuffix("1|a\n2|b\n3|c\n"))
  }

  @Test("40 expenses of a category that both copies made become expenses of one category")
  func same() async throws {
    let result = try await shell(
      """
      for f in a.db b.db; do
        sqlite3 $f "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE, color TEXT);
          CREATE TABLE expense (id TEXT PRIMARY KEY, category TEXT NOT NULL REFERENCES category, amount INTEGER)"
        $tandem attach -q $f --space trip.space --table category --table expense --same category.name || exit 3
      done
      sqlite3 a.db "INSERT INTO category VALUES ('a', 'Food', NULL); INSERT INTO expense VALUES ('a1', 'a', 12)"
      sqlite3 b.db "INSERT INTO category VALUES ('b', 'Food', 'red');
        WITH number(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < 40)
        INSERT INTO expense SELECT 'b' || n, 'b', n FROM number"
      $tandem sync -q a.db && $tandem sync -q b.db && $tandem sync -q a.db || exit 4
      sqlite3 a.db "SELECT category, count(*) FROM expense GROUP BY category; SELECT * FROM category"
      $tandem status b.db --json
      """)
    #expect(result.output.hasPrefix("a|41\na|Food|red\n"))
    #expect(result.output.contains(#""same":[["name"]]"#))
  }

  @Test("a mistake changes nothing, and says what to do", arguments: mistakes)
  func mistake(command: String, status: Int32, words: String) async throws {
    try await shell(
      """
      sqlite3 a.db "\(Self.notes) CREATE TABLE other (id TEXT PRIMARY KEY, likes);
        CREATE TABLE number (id INTEGER PRIMARY KEY); CREATE TABLE real (id TEXT PRIMARY KEY, n REAL)"; cp a.db before.db
      """)
    let result = try await shell("$tandem \(command)", status: status)
    #expect(result.error.contains(words) && result.output.isEmpty, "\(result.error)")
    try await shell("cmp a.db before.db && [ ! -e s ] && [ ! -e missing.db ]")
  }

  @Test("a file that is another database is no space, and one that is attached stays so")
  func wrongFiles() async throws {
    try await attachCopies()
    #expect(
      try await shell("$tandem attach a.db --space other --table note", status: 1).error
        .contains(
          "is attached to the space \(folder.path(of: "shared.space")), with the tables note; to attach "
            + "other tables or to another space, detach it, and attach it with all tables"))
    #expect(
      try await shell("$tandem attach shared.space --space other --table record", status: 1).error
        .contains("shared.space is a space, which other files are attached to"))
    try await shell("[ ! -e other ]")
    try await shell("$tandem detach a.db; sqlite3 c.db 'CREATE TABLE t (x)'")
    #expect(
      try await shell("$tandem attach a.db --space c.db --table note", status: 1).error
        .contains("c.db: it is another database; a space has a file of its own"))
    try await shell("sqlite3 d.db 'CREATE TABLE note (title TEXT PRIMARY KEY, id)'")
    #expect(
      try await shell("$tandem attach d.db --space shared.space --table note", status: 1).error
        .contains("give it the same primary key"))
    try await shell("$tandem status d.db", status: 2)
  }
}

extension ShellSuite {
  static var notes: String {
    """
    CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER);
    INSERT INTO note VALUES ('plan', 'Plan', 5), ('trip', 'Trip', 0);
    """
  }

  /// Two copies of a file with notes that are in step.
  func attachCopies(_ options: String = "--table note") async throws {
    try await shell(
      """
      sqlite3 a.db "\(Self.notes)" && cp a.db b.db &&
      $tandem attach a.db --space shared.space \(options) &&
      $tandem attach b.db --space shared.space \(options) &&
      $tandem sync a.db && $tandem sync b.db
      """)
  }
}
