import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem backup and restore", .timeLimit(.minutes(20)))
struct BackupCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Two spaces with a replica each, which has one row.
  private func makeSpaces() async throws {
    try await shell(
      """
      mkdir spaces
      for name in notes lists; do
        sqlite3 $name.db "CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT); INSERT INTO t VALUES ('1', 'first')"
        "$tandem" attach $name.db --space spaces/$name.space --table t -q && "$tandem" sync $name.db -q
      done
      """)
  }

  /// The only backup, or the newest one.
  private func newest() throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "out")).sorted()
    return folder.path(of: "out/\(try #require(names.last))")
  }

  @Test(
    "Replicas go on with a restored space, and those that are ahead of it notice and lose nothing")
  func restoredSpaces() async throws {
    try await makeSpaces()
    try await shell(#""$tandem" backup --data spaces out -q"#)
    try await shell(
      """
      sqlite3 notes.db "INSERT INTO t VALUES ('2', 'later')" && "$tandem" sync notes.db -q
      mv spaces lost && "$tandem" restore --data spaces out
      sqlite3 lists.db "INSERT INTO t VALUES ('2', 'after')" && "$tandem" sync lists.db -q
      """)
    let refused = try await shell(#""$tandem" sync notes.db"#, status: 1)
    #expect(refused.error.contains("--lost-history"))
    try await shell(
      #""$tandem" sync notes.db --lost-history union -q && "$tandem" sync notes.db -q --verify"#)
    #expect(try await shell(#"sqlite3 notes.db "SELECT * FROM t""#).output == "1|first\n2|later\n")
    try await shell(
      """
      for name in notes lists; do
        sqlite3 new-$name.db "CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT)"
        "$tandem" attach new-$name.db --space spaces/$name.space --table t -q && "$tandem" sync new-$name.db -q
      done
      """)
    #expect(
      try await shell(#"sqlite3 new-notes.db "SELECT * FROM t""#).output == "1|first\n2|later\n")
    #expect(
      try await shell(#"sqlite3 new-lists.db "SELECT * FROM t""#).output == "1|first\n2|after\n")
  }

  @Test(
    "A space that did not change takes no place in a further backup, and old backups are removed")
  func unchangedSpaces() async throws {
    try await makeSpaces()
    try await shell(#""$tandem" backup --data spaces out -q"#)
    let first = try newest()
    try await shell(
      #"sqlite3 notes.db "INSERT INTO t VALUES ('2', 'x')" && "$tandem" sync notes.db -q"#)
    let second = try await shell(#""$tandem" backup --data spaces out --json"#)
    #expect(
      second.output.hasSuffix(#","spaces":2,"unchanged":1,"failed":[],"removed":[]}"# + "\n"))
    let path = try newest()
    #expect(path != first)
    let (lists, notes) = ("\(path)/lists.space", "\(path)/notes.space")
    #expect(try links(lists) == 2)
    #expect(try links(notes) == 1)
    #expect(
      try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
    #expect(
      try FileManager.default.attributesOfItem(atPath: notes)[.posixPermissions] as? Int == 0o600)
    let third = try await shell(#""$tandem" backup --data spaces out --keep 1 --json"#)
    #expect(third.output.contains(#""unchanged":2,"failed":[],"removed":["out/"#))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "out")).count == 1)
    try await shell(#""$tandem" backup --check out"#)
  }

  private func links(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.referenceCount] as? Int
  }

  @Test("A damaged page of a backup is found, whichever it is, and nothing of it is restored")
  func damagedBackup() async throws {
    try await makeSpaces()
    try await shell(#""$tandem" backup --data spaces out -q"#)
    let path = "\(try newest())/notes.space"
    let whole = try Data(contentsOf: URL(filePath: path))
    for page in 0..<whole.count / 4_096 {
      var damaged = whole
      damaged.replaceSubrange(
        page * 4_096..<(page + 1) * 4_096, with: repeatElement(0xFF, count: 4_096))
      try damaged.write(to: URL(filePath: path))
      let check = try await shell(#""$tandem" backup --check out --json"#, status: 1)
      #expect(check.output.contains(#""spaces":1,"unchanged":0,"failed":["notes"]"#), "\(page)")
    }
    let restored = try await shell(#""$tandem" restore --data new out"#, status: 1)
    #expect(restored.error.contains("notes.space"))
    #expect(try await shell("ls -A new").output == "")
  }

  @Test("A damaged space is named, the others are backed up, and no backup is removed for it")
  func damagedSpace() async throws {
    try await makeSpaces()
    try await shell(#""$tandem" backup --data spaces out -q"#)
    try await shell("sqlite3 spaces/notes.space 'PRAGMA wal_checkpoint(TRUNCATE)'")
    let handle = try FileHandle(forUpdating: URL(filePath: folder.path(of: "spaces/notes.space")))
    try handle.seek(toOffset: 4_096)
    try handle.write(contentsOf: Data(repeating: 0xFF, count: 8_192))
    try handle.close()
    let result = try await shell(#""$tandem" backup --data spaces out --keep 1 --json"#, status: 1)
    #expect(result.error.contains("the space notes is not in the backup"))
    #expect(
      result.output.contains(
        #"Z-partial","spaces":1,"unchanged":1,"failed":["notes"],"removed":[]"#))
    // Nor is one of some spaces the newest: it lacks what may be needed.
    try await shell(#""$tandem" backup --data spaces --space lists out -q"#)
    let check = try await shell(#""$tandem" backup --check out --json"#)
    #expect(!check.output.contains("partial") && check.output.contains(#""spaces":2"#))
    try await shell(#""$tandem" restore --data new out -q && ls new/notes.space new/lists.space"#)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "out")).count == 3)
  }

  @Test("A backup that is killed does not count, and one during commits is of one moment")
  func interruptedBackup() async throws {
    try await makeSpaces()
    try await shell(
      """
      (for number in $(seq 100 140); do
        sqlite3 notes.db "INSERT INTO t VALUES ('$number', hex(randomblob(20000)))" && "$tandem" sync notes.db -q
      done) &
      for delay in 0.01 0.02 0.03 0.05 0.08 0.13; do
        timeout -s KILL $delay "$tandem" backup --data spaces out -q
        "$tandem" backup --data spaces out -q || exit 1
      done
      wait
      for backup in out/*; do "$tandem" backup --check $backup || exit 1; done
      """)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "out"))
        .count { !$0.hasPrefix(".") } >= 6)
  }

  @Test(
    "A backup that lost a file, or has a changed or another one, is noticed, and is not restored")
  func incompleteBackup() async throws {
    try await makeSpaces()
    try await shell(
      """
      "$tandem" token create --tokens tokens --account ada --space notes >secret
      "$tandem" backup --data spaces --tokens tokens out -q && mv out/* whole
      (cd whole && sha256sum --check --quiet SHA256SUMS)
      """)
    for (change, failed) in [
      ("rm copy/lists.space copy/tokens", #"["lists","tokens"]"#),
      ("cp copy/lists.space copy/notes.space", #"["notes"]"#),
      ("cp copy/lists.space copy/more.space", #"["more"]"#),
      ("echo >>copy/tokens", #"["tokens"]"#),
    ] {
      let check = try await shell(
        "rm -rf copy && cp -a whole copy && \(change) && \"$tandem\" backup --check copy --json",
        status: 1)
      #expect(check.output.contains(#""failed":\#(failed)"#), "\(change): \(check.output)")
      let restored = try await shell(
        #""$tandem" restore --data new --tokens new-tokens copy"#, status: 1)
      #expect(restored.error.contains("copy/"), "\(restored.error)")
      #expect(try await shell("ls -A new; ls new-tokens 2>/dev/null || true").output == "")
    }
    // The rest can be restored by name.
    try await shell(
      #"""
      rm -rf copy && cp -a whole copy && rm copy/lists.space
      "$tandem" restore --data new --space notes copy -q && ls new/notes.space
      """#)
    let damaged = try await shell(
      #"""
      rm -rf new copy && cp -a whole copy && sed -i '/lists/s/^..../zzzz/' copy/SHA256SUMS
      "$tandem" restore --data new --space notes copy -q && ls new/notes.space
      ! "$tandem" restore --data new --space lists copy && "$tandem" backup --check copy
      """#, status: 1)
    #expect(damaged.error.contains("the list of the backup does not have it"))
    #expect(damaged.error.contains("a line of it is damaged; name single spaces by --space"))
    // A backup of an earlier version has no list.
    let old = try await shell(
      #"rm -rf copy && cp -a whole copy && rm copy/SHA256SUMS copy/lists.space && "$tandem" backup --check copy"#
    )
    #expect(old.error.contains("has no list of its files"))
  }

  @Test("Access tokens are kept and brought back, for their owner alone")
  func tokens() async throws {
    try await makeSpaces()
    try await shell(
      """
      "$tandem" token create --tokens tokens --account ada --space notes -q >secret || \
        "$tandem" token create --tokens tokens --account ada --space notes >secret
      "$tandem" backup --data spaces --tokens tokens out -q
      "$tandem" restore --data new --tokens new-tokens out -q && cmp tokens new-tokens
      """)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(of: "new-tokens"))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let late = try await shell(
      #""$tandem" restore --data new3 --tokens nodir/tokens out"#, status: 1)
    #expect(late.error.contains("nodir/tokens"))
    #expect(try await shell("ls -A new3").output == "")
    try await shell(
      #"echo nonsense >>"$(ls -d out/*)/tokens" && sed -i "s/^[0-9a-f].* ada/x &/" out/*/tokens"#)
    let damaged = try await shell(#""$tandem" backup --check out --json"#, status: 1)
    #expect(damaged.output.contains(#""failed":["tokens"]"#))
    let refused = try await shell(
      #""$tandem" restore --data new2 --tokens new-tokens out"#, status: 1)
    #expect(refused.error.contains("it exists"))
  }

  @Test(
    "A backup onto a full or read-only disk fails, leaves nothing, and removes no other",
    .enabled(if: mayMount, "unshare(1) may not make a namespace of mounts here"))
  func unwritable() async throws {
    try await makeSpaces()
    try await shell(
      """
      sqlite3 notes.db "INSERT INTO t VALUES ('big', hex(randomblob(300000)))" && "$tandem" sync notes.db -q
      mkdir out
      """)
    let result = try await shell(
      """
      unshare -rm sh -c '
        mount -t tmpfs -o size=1000k tmpfs out && "'$tandem'" backup --data spaces --keep 1 out -q && ls -A out >first
        "'$tandem'" backup --data spaces --keep 1 out; echo "full $?"
        ls -A out | cmp - first && "'$tandem'" backup --check out -q && echo same
        mount -o remount,ro out && "'$tandem'" backup --data spaces --keep 1 out; echo "read-only $?"
        ls -A out | cmp - first && echo same'
      """)
    #expect(result.output == "full 1\nsame\nread-only 1\nsame\n")
    #expect(
      result.error.contains("full") && result.error.contains("read-only file system"),
      "\(result.error)")
  }

  @Test("Two backups at once are both whole, and what one removes is no harm to the other")
  func simultaneous() async throws {
    try await makeSpaces()
    try await shell(
      """
      "$tandem" backup --data spaces out -q
      for round in 1 2 3 4 5 6 7 8; do
        "$tandem" backup --data spaces --keep 2 out -q & first=$!
        "$tandem" backup --data spaces --keep 2 out -q & second=$!
        wait $first || exit 8
        wait $second || exit 9
      done
      for backup in out/*; do "$tandem" backup --check $backup || exit 1; done
      """)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "out"))
    #expect(names.count { !$0.hasPrefix(".") } == 2 && names.count == 2, "\(names)")
  }

  @Test("What could replace or mix data is refused")
  func refusals() async throws {
    try await makeSpaces()
    try await shell(#""$tandem" backup --data spaces out -q"#)
    for (arguments, part, status) in [
      ("backup --data spaces spaces/out", "outside spaces", 2),
      ("backup --data nothing out", "cannot read the directory nothing", 1),
      ("backup --data spaces --space note out", "did you mean notes?", 1),
      ("backup --data spaces --space notes --keep 1 out", "leave it out with --space", 2),
      ("backup out", "--data", 2), ("backup --data spaces", "missing OUT", 2),
      ("backup --check --data spaces out", "leave it out", 2),
      ("backup --check .", "it is no backup", 1),
      ("restore --data spaces out", "it exists; move it", 1),
      ("restore out", "--data", 2), ("restore --data new nothing", "nothing", 1),
      ("restore --data new --space note out", "did you mean notes?", 1),
    ] as [(String, String, Int32)] {
      let result = try await shell("\"$tandem\" \(arguments)", status: status)
      #expect(result.error.contains(part), "\(arguments): \(result.error)")
    }
    let server = try RunningTool([
      "serve", "--data", folder.path(of: "served"), "--listen", "127.0.0.1:0",
    ])
    _ = try #require(await server.line())
    let locked = try await shell(#""$tandem" restore --data served out"#, status: 1)
    #expect(locked.error.contains("another server serves"))
    server.signal(SIGTERM)
    #expect(await server.end() == 0)
    // The log of another file of this name would be taken for that of the restored one.
    try await shell("mkdir new && touch new/notes.space-wal")
    let mixed = try await shell(#""$tandem" restore --data new out"#, status: 1)
    #expect(mixed.error.contains("notes.space-wal"))
    #expect(try await shell("ls -A new").output == "notes.space-wal\n")
  }
}

/// True if tests may mount file systems that only they see.
private let mayMount = system("unshare -rm true 2>/dev/null") == 0
