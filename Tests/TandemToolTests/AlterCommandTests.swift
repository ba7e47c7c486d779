import TestFolder
import TestTool
import Testing

@Suite("tandem alter and status", .timeLimit(.minutes(20)))
struct AlterCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("during a change of the schema, only rows that differ from the last synchronization wait")
  func pendingWhilePaused() async throws {
    try await shell(
      """
      sqlite3 a.db "CREATE TABLE note (id TEXT PRIMARY KEY COLLATE NOCASE, done, n INTEGER);
        WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10)
        INSERT INTO note SELECT 'k' || i, 0, 0 FROM c"
      $tandem attach a.db --space s.space --table note && $tandem sync a.db
      sqlite3 a.db "UPDATE note SET done = 1 WHERE id = 'k1'" && $tandem alter a.db --begin
      """)
    func pending() async throws -> Substring? {
      try await shell("$tandem status a.db | grep ^pending").output.split(
        whereSeparator: \.isWhitespace
      )
      .last
    }
    #expect(try await pending() == "1")
    try await shell(
      """
      sqlite3 a.db "UPDATE note SET done = 2 WHERE id = 'k2'; DELETE FROM note WHERE id = 'k3';
        INSERT INTO note VALUES ('new', 1, 1); UPDATE note SET done = '0' WHERE id = 'k4';
        UPDATE note SET n = 1 WHERE id = 'k5'; UPDATE note SET n = 0 WHERE id = 'k5'"
      """)
    #expect(try await pending() == "5")
    try await shell(
      "sqlite3 a.db 'ALTER TABLE note DROP COLUMN n; ALTER TABLE note ADD COLUMN w'")
    #expect(try await pending() == "5")
    try await shell("$tandem alter a.db --end")
    #expect(try await pending() == "5")
  }

  @Test("a policy for a column of the key is refused by attach and alter with one message")
  func policiesOfKeys() async throws {
    let message =
      "there is a policy for the column id, which is part of the primary key of note: rows with "
      + "different keys are never merged; leave the policy out"
    try await shell("sqlite3 a.db 'CREATE TABLE note (id TEXT PRIMARY KEY, likes INTEGER, v)'")
    for choice in ["--table note --policy id=counter", "--table note:v --policy note.id=local"] {
      let refused = try await shell("$tandem attach a.db --space s.space \(choice)", status: 1)
      #expect(refused.error == "tandem: \(message)\n")
    }
    let chosen = try await shell(
      "$tandem attach a.db --space s.space --table note:v --policy likes=counter", status: 1)
    #expect(chosen.error.contains("of the table note the columns v are synchronized"))
    try await shell("$tandem attach a.db --space s.space --table note")
    let altered = try await shell(
      "$tandem alter a.db --policy likes=counter --policy id=local", status: 1)
    #expect(altered.error == "tandem: \(message)\n")
    // All are set, or none.
    #expect(try await !shell("$tandem status a.db").output.contains("policies"))
  }
}
