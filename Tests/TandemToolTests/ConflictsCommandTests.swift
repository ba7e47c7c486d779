import Foundation
import TestFolder
import TestTool
import Testing

@Suite("tandem conflicts, rejected and detach", .timeLimit(.minutes(20)))
struct ConflictsCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("two copies edited apart come in step; the conflict shows three versions, and is resolved")
  func story() async throws {
    try await attachCopies("--table note --policy likes=counter")
    try await shell(
      """
      sqlite3 a.db "UPDATE note SET title = 'Big plan', likes = likes + 1 WHERE id = 'plan'"
      sqlite3 b.db "UPDATE note SET title = 'Small plan', likes = likes + 1 WHERE id = 'plan';
        DELETE FROM note WHERE id = 'trip'"
      """)
    let sent = try await shell("$tandem sync a.db --json -q").output.split(separator: "\n")
    let end = try #require(sent.last)
    #expect(end.hasPrefix(#"{"event":"end","revision":""#))
    #expect(
      end.hasSuffix(#".2","pushed":1,"pulled":0,"conflicts":0,"rejected":0,"pending":0}"#), "\(end)"
    )
    let merged = try await shell("$tandem sync b.db", status: 1)
    #expect(merged.error.contains("b.db: 1 open conflict: tandem conflicts b.db"))
    #expect(merged.error.components(separatedBy: "open conflict").count == 2)
    #expect(merged.error.contains(/in step at revision [0-9]+\n/))
    let shown = try await shell("$tandem conflicts b.db", status: 1)
    #expect(
      shown.output == """
        conflict 1: note "plan", edit/edit in title
          base    {"title":"Plan","likes":5}
          local   {"title":"Small plan","likes":6}
          remote  {"title":"Big plan","likes":6}

        """)
    #expect(
      try await shell("$tandem conflicts b.db --json", status: 1).output
        == #"[{"id":1,"table":"note","key":"plan","kind":"edit/edit","#
        + #""reason":"both sides changed title","base":{"title":"Plan","likes":5},"local":{"title":"Small plan","likes":6},"#
        + #""remote":{"title":"Big plan","likes":6},"resolution":"unresolved"}]"# + "\n")
    let resolved = try await shell("$tandem conflicts b.db resolve 1 --take local")
    #expect(resolved.error == "tandem: b.db: conflict 1 is resolved; send it: tandem sync b.db\n")
    try await shell("$tandem sync b.db && $tandem sync a.db && $tandem diff a.db b.db --table note")
    #expect(
      try await shell("sqlite3 a.db 'SELECT * FROM note'").output == "plan|Small plan|7\n")
    #expect(
      try await shell("$tandem conflicts b.db --json").output.contains(#""resolution":"local"}]"#))
  }

  @Test("a table that was rebuilt unnoticed: what was edited is an open conflict, resolved at once")
  func rebuilt() async throws {
    try await attachCopies("--table note")
    try await shell(
      """
      sqlite3 a.db "BEGIN; CREATE TABLE n (id TEXT PRIMARY KEY, title TEXT, likes INTEGER);
        INSERT INTO n SELECT id, title || '!', likes FROM note; INSERT INTO n VALUES ('new', 'New', 0);
        DROP TABLE note; ALTER TABLE n RENAME TO note; COMMIT"
      """)
    let repaired = try await shell("$tandem sync a.db", status: 1)
    #expect(repaired.error.contains("3 open conflicts: tandem conflicts a.db"), "\(repaired.error)")
    let resolved = try await shell("$tandem conflicts a.db resolve all --take local")
    #expect(resolved.error == "tandem: a.db: 3 conflicts resolved; send it: tandem sync a.db\n")
    try await shell("$tandem sync a.db && $tandem sync b.db")
    #expect(
      try await shell("sqlite3 b.db 'SELECT id, title FROM note ORDER BY id'").output
        == "new|New\nplan|Plan!\ntrip|Trip!\n")
    let again = try await shell("$tandem conflicts a.db resolve all --take local")
    #expect(again.error == "tandem: a.db: no conflict is open\n")
  }

  @Test(
    "a row that the resolution of another conflict deletes is kept as its own resolution keeps it")
  func cascade() async throws {
    try await shell(
      """
      for name in a b; do
        sqlite3 $name.db "CREATE TABLE parent (id TEXT PRIMARY KEY NOT NULL, name TEXT);
          CREATE TABLE child (id TEXT PRIMARY KEY NOT NULL,
            parent TEXT REFERENCES parent ON DELETE CASCADE, name TEXT)"
        $tandem attach $name.db --space s.space --table parent --table child -q
        $tandem sync $name.db -q
      done
      sqlite3 a.db "INSERT INTO child VALUES ('c', NULL, 'of a')"
      $tandem sync a.db -q
      sqlite3 a.db "INSERT INTO parent VALUES ('p', 'of a')"
      $tandem sync a.db -q
      sqlite3 b.db "INSERT INTO parent VALUES ('p', 'of b'); INSERT INTO child VALUES ('c', NULL, 'of b')"
      """)
    try await shell("$tandem sync b.db -q", status: 1)
    try await shell(
      """
      sqlite3 b.db "UPDATE child SET parent = 'p', name = 'edited after the conflict'"
      $tandem conflicts b.db resolve all --take base -q
      """)
    #expect(try await shell("sqlite3 b.db 'SELECT * FROM child'").output == "")
    let conflicts = try await shell("$tandem conflicts b.db --json").output
    #expect(conflicts.contains("edited after the conflict"), "\(conflicts)")
  }

  @Test(
    "each version resolves a conflict, and so do new values",
    arguments: [
      ("local", "plan|mine|5"), ("remote", "plan|theirs|5"), ("base", "plan|Plan|5"),
      (#"'{"title":"both"}'"#, "plan|both|5"), ("null", ""),
    ])
  func resolve(version: String, row: String) async throws {
    try await attachCopies()
    try await shell(
      """
      sqlite3 a.db "UPDATE note SET title = 'theirs' WHERE id = 'plan'"; $tandem sync a.db
      sqlite3 b.db "UPDATE note SET title = 'mine' WHERE id = 'plan'"; $tandem sync b.db
      [ $? = 1 ] && $tandem conflicts b.db resolve 1 --take \(version) -q &&
      $tandem sync b.db -q && $tandem sync a.db -q
      """)
    for file in ["a.db", "b.db"] {
      #expect(
        try await shell("sqlite3 \(file) \"SELECT * FROM note WHERE id = 'plan'\"").output
          == (row.isEmpty ? "" : row + "\n"))
    }
  }

  @Test("a change that a constraint forbids is shown, and can be tried again or discarded")
  func rejected() async throws {
    try await shell(
      """
      sqlite3 a.db 'CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT UNIQUE)'; cp a.db b.db
      for f in a b; do
        $tandem attach $f.db --space s --table t && $tandem sync $f.db || exit 9
      done
      sqlite3 a.db "INSERT INTO t VALUES ('x', 'same')"; sqlite3 b.db "INSERT INTO t VALUES ('y', 'same')"
      $tandem sync a.db
      """)
    #expect(try await shell("$tandem sync b.db", status: 1).error.contains("1 rejected change"))
    #expect(
      try await shell("$tandem status b.db --json", status: 1).output
        .hasPrefix(#"{"state":"rejected""#))
    let shown = try await shell("$tandem rejected b.db --json", status: 1).output
    #expect(
      shown.hasPrefix(#"[{"id":1,"table":"t","key":"y","kind":"edit","reason":""#), "\(shown)")
    #expect(
      shown.hasSuffix(
        #""base":null,"local":{"name":"same"},"remote":null,"resolution":"unresolved"}]"# + "\n"),
      "\(shown)")
    #expect(
      try await shell("$tandem rejected b.db retry 1", status: 2).error
        .contains("does not accept this version of 'y': t 'x' has name 'same'"))
    try await shell("sqlite3 b.db \"UPDATE t SET name = 'other' WHERE id = 'x'\"")
    let again = try await shell("$tandem rejected b.db retry 1")
    #expect(
      again.error
        == "tandem: b.db: rejected change 1 is in its row again; send it: tandem sync b.db\n")
    try await shell("$tandem sync b.db && $tandem sync a.db && $tandem diff a.db b.db --table t")
    #expect(try await shell("$tandem rejected b.db --json").output == "[]\n")
    #expect(
      try await shell("$tandem rejected b.db discard 1", status: 2).error
        .contains("no open conflict or rejected change 1"))
  }

  @Test("retry all ends with 2 if it changed nothing, 1 if some are left, 0 if none is left")
  func retryAll() async throws {
    try await shell(
      """
      sqlite3 a.db 'CREATE TABLE t (id TEXT PRIMARY KEY, name TEXT UNIQUE)'; cp a.db b.db
      for f in a b; do
        $tandem attach $f.db --space s --table t && $tandem sync $f.db || exit 9
      done
      sqlite3 a.db "INSERT INTO t VALUES ('x', 'one'), ('y', 'two')"
      sqlite3 b.db "INSERT INTO t VALUES ('v', 'one'), ('w', 'two')"; $tandem sync a.db
      """)
    #expect(try await shell("$tandem sync b.db", status: 1).error.contains("2 rejected changes"))
    for word in ["1", "all"] {
      let refused = try await shell("$tandem rejected b.db retry \(word)", status: 2)
      #expect(!refused.error.contains("send it"), "\(refused.error)")
    }
    try await shell("sqlite3 b.db \"UPDATE t SET name = 'other' WHERE id = 'x'\"")
    #expect(
      try await shell("$tandem rejected b.db retry all", status: 1).error
        .contains("1 rejected change made again; 1 rejected change left"))
    try await shell("sqlite3 b.db \"UPDATE t SET name = 'another' WHERE id = 'y'\"")
    try await shell("$tandem rejected b.db retry all")
    #expect(
      try await shell("$tandem rejected b.db retry all").error.contains(
        "no rejected change is open"))
  }

  @Test("detach leaves the file as it was before attach", arguments: ["DELETE", "WAL"])
  func detach(mode: String) async throws {
    try await shell("sqlite3 a.db \"PRAGMA journal_mode=\(mode); \(Self.notes)\"")
    let dump = "sqlite3 a.db .dump 'PRAGMA journal_mode' 'SELECT * FROM sqlite_schema'"
    let before = try await shell(dump).output
    try await shell("$tandem attach a.db --space s --table note && $tandem sync a.db")
    #expect(try await shell(dump).output != before)
    let result = try await shell("$tandem detach a.db")
    #expect(
      result.error == "tandem: a.db is detached from \(folder.path(of: "s"))\n", "\(result.error)")
    #expect(try await shell(dump).output == before)
  }

  @Test("detach and rejected ask before the only copy of a version goes; NULL keys are counted")
  func onlyCopies() async throws {
    try await attachCopies()
    try await shell(
      """
      sqlite3 a.db "UPDATE note SET title = 'theirs' WHERE id = 'plan'" && $tandem sync a.db -q
      sqlite3 b.db "UPDATE note SET title = 'mine' WHERE id = 'plan'"; $tandem sync b.db -q
      sqlite3 b.db "INSERT INTO note VALUES (NULL, 'no key', 0)"
      """)
    let kept = try await shell("$tandem detach b.db", status: 1)
    #expect(kept.error.contains("1 open conflict has versions that may exist only in"))
    #expect(kept.error.contains("--discard-conflicts"))
    let status = try await shell("$tandem status b.db", status: 1)
    #expect(status.output.contains("; 1 row not synchronized, with a NULL key\n"))
    #expect(
      try await shell("$tandem rejected b.db retry all").error.contains(
        "no rejected change is open"))
    let none = try await shell("$tandem rejected b.db retry some", status: 2)
    #expect(none.error.contains("write the number of a rejected change, or all, instead of 'some'"))
    let detached = try await shell("$tandem detach b.db --discard-conflicts")
    #expect(detached.error.contains("; 1 open conflict removed"))
    let attached = try await shell("$tandem attach b.db --space shared.space --table note")
    #expect(attached.error.contains("b.db: 1 row of note not synchronized: the key (id) is NULL"))
  }

  @Test(
    "a file whose table no longer fits can be detached",
    arguments: ["", "CREATE TABLE note (other TEXT PRIMARY KEY, title TEXT, likes INTEGER)"])
  func detachWithoutTable(creation: String) async throws {
    try await attachCopies()
    try await shell("sqlite3 a.db 'DROP TABLE note; \(creation)'")
    let refused = try await shell("$tandem sync a.db", status: 1)
    #expect(refused.error.contains("detach the file"), "\(refused.error)")
    let detached = try await shell("$tandem detach a.db")
    #expect(detached.error.hasPrefix("tandem: a.db is detached from "), "\(detached.error)")
    #expect(
      try await shell("sqlite3 a.db .schema").output == (creation.isEmpty ? "" : creation + ";\n"))
  }
}
