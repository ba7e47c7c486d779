import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("Columns that are dropped")
struct DroppedColumnTests {
  static let query = "SELECT * FROM note ORDER BY id"

  let space: TestSpace

  init() throws { space = try TestSpace() }

  @Test("A column that is dropped stays in the space and in other copies")
  func droppedColumn() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET title = 'edited' WHERE id = 'm'")
    // SQLite refuses it while triggers name the column.
    #expect(throws: DatabaseError.self) { try a.execute("ALTER TABLE note DROP COLUMN body") }
    try a.write { try $0.beginSchemaChange() }
    #expect(throws: ReplicaError.self) { try a.sync(space) }
    try a.execute("ALTER TABLE note DROP COLUMN body")
    try a.execute("UPDATE note SET title = 'meanwhile' WHERE id = 'n'")
    try a.execute("INSERT INTO note VALUES ('o', 'new')")
    try a.write { try $0.endSchemaChange() }
    #expect(try a.rows("SELECT count(*) FROM tandem_shadow_note") == [[3]])
    try a.execute("INSERT INTO note VALUES ('p', 'later')")
    try b.execute("UPDATE note SET body = 'of b' WHERE id = 'n'")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], "SELECT id, title FROM note ORDER BY id",
      [["m", "edited"], ["n", "meanwhile"], ["o", "new"], ["p", "later"]])
    #expect(
      try b.rows("SELECT body FROM note ORDER BY id") == [["of m"], ["of b"], [.null], [.null]])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
    // The column may come back, with its values.
    try a.addColumn("body TEXT")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query)
  }

  private func bodies(_ replica: TestReplica) throws -> [[FieldValue]] {
    try replica.rows("SELECT id, body FROM note ORDER BY id")
  }

  @Test("Edits of a dropped column that were not sent reach the other copies")
  func unsentEdits() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = 'unsent' WHERE id = 'm'")
    try a.execute("UPDATE note SET body = NULL WHERE id = 'n'")
    try a.execute("INSERT INTO note VALUES ('o', 'O', 'new')")
    try a.dropColumn("body")
    #expect(try a.read { try $0.status() }.pendingCount == 3)
    #expect(try !a.read { try $0.summary() }.isUpToDate)
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "unsent"], ["n", .null], ["o", "new"]])
    #expect(try a.read { try $0.status() }.pendingCount == 0)
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
    // They are sent once.
    try b.execute("UPDATE note SET body = 'of b'")
    try converge([b, a, b], space)
    #expect(try bodies(b) == [["m", "of b"], ["n", "of b"], ["o", "of b"]])
  }

  @Test(
    "Edits that no trigger noted are kept although a change of the schema drops their column next",
    arguments: [(true, false), (true, true), (false, false)])
  func unnoticedEdits(isMigration: Bool, areTriggersBack: Bool) throws {
    let (a, b) = try space.notePair()
    for statement in [
      "CREATE TABLE other (id TEXT PRIMARY KEY, title TEXT, body TEXT)",
      "INSERT INTO other SELECT * FROM note", "DROP TABLE note",
      "ALTER TABLE other RENAME TO note", "UPDATE note SET body = 'unseen' WHERE id = 'm'",
      "INSERT INTO note VALUES ('o', 'O', 'new')",
    ] {
      try a.execute(statement)
    }
    // As by a synchronization that does not reach the server.
    if areTriggersBack { try a.write { _ = try $0.schema() } }
    if isMigration {
      try a.database.migrate([
        DatabaseMigration("drop body") { try $0.execute("ALTER TABLE note DROP COLUMN body") }
      ])
    } else {
      try a.dropColumn("body")
    }
    try converge([a, b], space)
    let kept = try a.conflicts().compactMap { $0.local?["body"] }.filter { !$0.isNull }
    #expect(Set(kept) == ["unseen", "new"])
    #expect(try bodies(b) == [["m", "of m"], ["n", "of n"]])
    #expect(try a.read { try $0.status() }.pendingCount == 0)
    #expect(try a.rows("SELECT count(*) FROM tandem_dropped_note") == [[0]])
  }

  @Test("The default of a column that came back for a while is no edit, and meets none")
  func defaultOfReturned() throws {
    let schema = ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER DEFAULT 0)"]
    let tables = [AttachedTable("note", granularity: .record)]
    let (a, b) = (
      try TestReplica(seed: 1, schema, tables: tables, space: space),
      try TestReplica(seed: 2, schema, tables: tables, space: space)
    )
    try a.execute("INSERT INTO note VALUES ('m', 'M', 3)")
    try converge([a, b], space)
    try a.dropColumn("likes")
    try a.execute("UPDATE note SET title = 'edited'")
    try a.execute("ALTER TABLE note ADD COLUMN likes INTEGER DEFAULT 0")
    try a.dropColumn("likes")
    try converge([a, b], space)
    #expect(try b.rows("SELECT title, likes FROM note") == [["edited", 3]])
    #expect(try a.conflicts(includingResolved: false).isEmpty)
  }

  @Test(
    "Edits of a column that is dropped and comes back twice are sent, even beside a commit that waits",
    arguments: [true, false])
  func returnedTwice(isWaiting: Bool) throws {
    let schema = ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER DEFAULT 0)"]
    let (a, b) = (
      try TestReplica(seed: 1, schema, tables: [AttachedTable("note")], space: space),
      try TestReplica(seed: 2, schema, tables: [AttachedTable("note")], space: space)
    )
    for file in [a, b] {
      file.merging = ReplicaMerging(["note": TableMerging(fields: ["likes": .counter])])
    }
    try a.execute("INSERT INTO note VALUES ('m', 'M', 10)")
    try converge([a, b], space)
    try b.execute("UPDATE note SET likes = likes + 1")
    try b.execute("INSERT INTO note VALUES ('n', 'N', 5)")
    let bytes = isWaiting ? try b.freeze() : nil
    // The space has it; its answer is lost.
    let outcome = try bytes.map { try space.push($0) }
    try b.execute("UPDATE note SET likes = likes + 2")
    for _ in 0..<2 {
      try b.dropColumn("likes")
      try b.execute("ALTER TABLE note ADD COLUMN likes INTEGER DEFAULT 0")
    }
    if let bytes, let outcome { try b.settle(outcome, bytes) }
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT id, likes FROM note ORDER BY id", [["m", 13], ["n", 7]])
  }

  @Test(
    "A deletion stays one although its table got a column with a default",
    arguments: [true, false])
  func deletionBesideNewColumn(isNoticed: Bool) throws {
    let (a, b) = try space.notePair()
    if !isNoticed { try a.execute("DELETE FROM note WHERE id = 'm'") }
    try a.execute("ALTER TABLE note ADD COLUMN extra INTEGER DEFAULT 7")
    if isNoticed {
      try a.write { _ = try $0.schema() }
      try a.execute("DELETE FROM note WHERE id = 'm'")
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT id FROM note", [["n"]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("A column that comes back with a default gets the values of rows that were never sent")
  func backWithDefault() throws {
    let (a, b) = (try space.notes(1), try space.notes(2))
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m')")
    try a.dropColumn("body")
    try a.addColumn("body TEXT DEFAULT 'none'")
    try converge([a, b], space)
    #expect(try bodies(a) == [["m", "of m"]])
    #expect(try bodies(b) == [["m", "of m"]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("A value that may have been changed unnoticed does not replace an edit of the same field")
  func unnoticedBesideKnownEdit() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = 'unsent' WHERE id = 'm'")
    try a.dropColumn("body")
    try a.addColumn("body TEXT")
    try a.write { _ = try $0.schema() }
    for statement in [
      "CREATE TABLE other (id TEXT PRIMARY KEY, title TEXT, body TEXT DEFAULT 'none')",
      "INSERT INTO other (id, title) SELECT id, title FROM note", "DROP TABLE note",
      "ALTER TABLE other RENAME TO note", "UPDATE note SET title = 'unseen' WHERE id = 'n'",
    ] {
      try a.execute(statement)
    }
    try a.dropColumn("body")
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "unsent"], ["n", "of n"]])
  }

  @Test("A text that is not UTF-8 in a dropped column is a rejected change, with its bytes")
  func unreadableEdit() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = CAST(x'ff41' AS TEXT) WHERE id = 'm'")
    try a.dropColumn("body")
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "of m"], ["n", "of n"]])
    let rejected = try a.rejected()
    #expect(rejected.map { $0.local?["body"] } == [.blob([0xFF, 0x41])])
  }

  @Test(
    "A column that one migration drops and the next one creates again gets the values of the space back"
  )
  func droppedAndBack() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = 'unsent' WHERE id = 'm'")
    try a.database.migrate([
      DatabaseMigration("drop body") { try $0.execute("ALTER TABLE note DROP COLUMN body") },
      DatabaseMigration("add body") { try $0.execute("ALTER TABLE note ADD COLUMN body TEXT") },
    ])
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], "SELECT id, body FROM note ORDER BY id", [["m", "unsent"], ["n", "of n"]])
  }

  @Test("Edits of a dropped column are sent by a file that was never synchronized")
  func unsentBeforeFirst() throws {
    let (a, b) = (try space.notes(1), try space.notes(2))
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m')")
    try a.dropColumn("body")
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "of m"]])
  }

  @Test("An edit of a dropped column conflicts with one of another copy, and loses with a record")
  func unsentConflict() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = 'of a' WHERE id = 'm'")
    try b.execute("UPDATE note SET body = 'of b' WHERE id = 'm'")
    try b.sync(space)
    try a.dropColumn("body")
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "of b"], ["n", "of n"]])
    let conflict = try #require(try a.conflicts().first)
    #expect(conflict.fields == ["body"] && conflict.resolution == .remote)
    #expect(
      conflict.base?["body"] == "of m" && conflict.local?["body"] == "of a"
        && conflict.remote?["body"] == "of b")
    // The other copies see it in the log.
    #expect(try a.rows("SELECT count(*) FROM tandem_kept WHERE reported_in = 0") == [[1]])
  }

  @Test(
    "A commit that waits for its answer while its column is dropped loses nothing",
    arguments: [
      ([], []), (["UPDATE note SET title = 'of b' WHERE id = 'm'"], [["title"]]),
    ] as [([String], [[String]])])
  func unsentOutbox(edits: [String], conflicts: [[String]]) throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET title = 'of a', body = 'of a' WHERE id = 'm'")
    let bytes = try #require(try a.freeze())
    for edit in edits { try b.execute(edit) }
    try b.sync(space)
    let outcome = try space.push(bytes)
    try a.execute("UPDATE note SET body = 'later' WHERE id = 'm'")
    try a.dropColumn("body")
    try a.settle(outcome, bytes)
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "later"], ["n", "of n"]])
    #expect(try a.conflicts().map(\.fields) == conflicts)
  }

  @Test("An addition to a counter counts once although its column is dropped before it is sent")
  func unsentCounter() throws {
    let schema = ["CREATE TABLE note (id TEXT PRIMARY KEY, likes INTEGER, title TEXT)"]
    let merging = ReplicaMerging(["note": TableMerging(fields: ["likes": .counter])])
    let files = try [1, 2].map {
      try TestReplica(
        seed: $0, schema, tables: [AttachedTable("note")], space: space, merging: merging)
    }
    try files[0].execute("INSERT INTO note VALUES ('m', 5, 'M')")
    try converge(files, space)
    try files[0].execute("UPDATE note SET likes = likes + 10")
    try files[1].execute("UPDATE note SET likes = likes + 1")
    try files[1].sync(space)
    try files[0].dropColumn("likes")
    try converge(files, space)
    // Nor is it sent again.
    try files[0].execute("UPDATE note SET title = 'later'")
    try converge(files, space)
    #expect(try files[1].rows("SELECT likes, title FROM note") == [[16, "later"]])
    #expect(try files[0].read { try $0.status() }.pendingCount == 0)
  }

  @Test(
    "An edit of a dropped column conflicts with one of another column of the same unit",
    arguments: [ConflictGranularity.field, .record])
  func unsentUnit(granularity: ConflictGranularity) throws {
    let (a, b) = try boundsPair(granularity)
    try b.execute("UPDATE bounds SET low = 4")
    try b.sync(space)
    try a.execute("UPDATE bounds SET high = 2")
    try dropHigh(a)
    try converge([a, b], space)
    #expect(try b.rows("SELECT low, high FROM bounds") == [[4, 5]])
    let conflict = try #require(try a.conflicts().first)
    #expect(conflict.local?["high"] == 2 && conflict.remote?["low"] == 4)
    #expect(conflict.resolution == .remote && conflict.fields == ["high"])
    #expect(try a.read { try $0.status() }.pendingCount == 0)
  }

  /// Two files of bounds with a title, of which no commit holds an edit.
  private func boundsPair(
    _ granularity: ConflictGranularity = .field, merging: TableMerging = TableMerging()
  ) throws -> (TestReplica, TestReplica) {
    let columns = "id TEXT PRIMARY KEY, low INTEGER, high INTEGER, title TEXT"
    let files = try [1, 2].map {
      try TestReplica(
        seed: $0, ["CREATE TABLE bounds (\(columns), CHECK (low <= high))"],
        tables: [AttachedTable("bounds", granularity: granularity)], space: space,
        merging: ReplicaMerging(["bounds": merging]))
    }
    try files[0].execute("INSERT INTO bounds VALUES ('m', 1, 5, 'M')")
    try converge(files, space)
    return (files[0], files[1])
  }

  /// Builds the table of bounds anew, without the column `high` and the rule.
  private func dropHigh(_ replica: TestReplica) throws {
    try replica.write { try $0.beginSchemaChange() }
    try replica.execute("CREATE TABLE other (id TEXT PRIMARY KEY, low INTEGER, title TEXT)")
    try replica.execute("INSERT INTO other SELECT id, low, title FROM bounds")
    try replica.execute("DROP TABLE bounds")
    try replica.execute("ALTER TABLE other RENAME TO bounds")
    try replica.write { try $0.endSchemaChange() }
  }

  @Test("Edits of a unit are sent together although one of its columns was dropped")
  func unitOfDropped() throws {
    let (a, b) = try boundsPair()
    try b.execute("UPDATE bounds SET title = 'of b'")
    try b.sync(space)
    try a.execute("UPDATE bounds SET low = -10, high = 0")
    try dropHigh(a)
    try converge([a, b], space)
    #expect(try b.rows("SELECT low, high, title FROM bounds") == [[-10, 0, "of b"]])
    #expect(try a.conflicts().isEmpty && b.read { try $0.keptEdits(.all) }.isEmpty)
  }

  @Test(
    "A unit whose dropped column both sides changed stays as the space has it, whatever the rule of the field"
  )
  func contestedUnit() throws {
    let (a, b) = try boundsPair(
      merging: TableMerging(fields: ["high": .policy(.keepLocal)]))
    try b.execute("UPDATE bounds SET high = 9")
    try b.sync(space)
    try a.execute("UPDATE bounds SET low = -10, high = 0")
    try dropHigh(a)
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT low, title FROM bounds", [[1, "M"]])
    #expect(try b.rows("SELECT high FROM bounds") == [[9]])
    // The column that the table has can still be chosen.
    let open = try #require(try a.conflicts(includingResolved: false).first)
    #expect(open.fields == ["low"])
    try a.write { try $0.resolve(.one(open.id), by: .local) }
    try converge([a, b], space)
    #expect(try b.rows("SELECT low, high FROM bounds") == [[-10, 9]])
    #expect(try a.conflicts().contains { $0.local?["high"] == 0 && $0.resolution == .remote })
  }

  @Test(
    "A rule that keeps the local version of a unit or a record keeps that of a dropped column",
    arguments: [ConflictGranularity.field, .record])
  func keptUnit(granularity: ConflictGranularity) throws {
    let (a, b) = try boundsPair(granularity, merging: TableMerging(record: .keepLocal))
    try b.execute("UPDATE bounds SET low = 2")
    try b.sync(space)
    try a.execute("UPDATE bounds SET low = 6, high = 7")
    try dropHigh(a)
    try converge([a, b], space)
    #expect(try b.rows("SELECT low, high FROM bounds") == [[6, 7]])
    #expect(try a.conflicts().contains { $0.remote?["low"] == 2 && $0.resolution == .local })
  }

  @Test("A conflict of two columns names both, whatever other column was dropped")
  func unitBesideDropped() throws {
    let (a, b) = try boundsPair()
    try b.execute("UPDATE bounds SET high = 2")
    try b.sync(space)
    try a.execute("UPDATE bounds SET low = 4")
    try a.dropColumn("title", of: "bounds")
    try converge([a, b], space)
    let open = try #require(try a.conflicts(includingResolved: false).first)
    #expect(open.fields?.sorted() == ["high", "low"])
    try a.write { try $0.resolve(.one(open.id), by: .local) }
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT low, high FROM bounds", [[4, 5]])
  }

  @Test("An edit of a dropped column does not come back with a row that was deleted after it")
  func editOfRevived() throws {
    let (a, b) = try boundsPair()
    try b.execute("UPDATE bounds SET low = 4")
    try b.sync(space)
    try a.execute("UPDATE bounds SET high = 2")
    try dropHigh(a)
    try a.execute("DELETE FROM bounds")
    try converge([a, b], space)
    #expect(try b.rows("SELECT low, high FROM bounds") == [[4, 5]])
    #expect(try a.conflicts().contains { $0.local?["high"] == 2 && $0.resolution == .remote })
  }

  @Test(
    "An edit of a column that came back belongs together with those of its unit or record",
    arguments: [ConflictGranularity.field, .record])
  func returnedUnit(granularity: ConflictGranularity) throws {
    let (a, b) = try boundsPair(granularity)
    try b.execute("UPDATE bounds SET low = 4")
    try b.sync(space)
    try a.execute("UPDATE bounds SET high = 2")
    try dropHigh(a)
    try a.execute("ALTER TABLE bounds ADD COLUMN high INTEGER")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT low, high, title FROM bounds", [[4, 5, "M"]])
    let open = try a.conflicts(includingResolved: false)
    #expect(open.contains { $0.local?["high"] == 2 && $0.remote?["low"] == 4 })
  }

  @Test("An addition to a counter whose column came back before it was sent counts once")
  func returnedCounter() throws {
    let (a, b) = try boundsPair(merging: TableMerging(fields: ["high": .counter]))
    try b.execute("UPDATE bounds SET high = high + 1")
    try b.sync(space)
    try a.execute("UPDATE bounds SET high = high + 10")
    try dropHigh(a)
    try a.execute("ALTER TABLE bounds ADD COLUMN high INTEGER")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT high FROM bounds", [[16]])
  }

  @Test("Additions to a counter before its column was dropped, and after it came back, both count")
  func additionsBesideDrop() throws {
    let (a, b) = try boundsPair(merging: TableMerging(fields: ["high": .counter]))
    try b.execute("UPDATE bounds SET high = high + 1")
    try b.sync(space)
    try a.execute("UPDATE bounds SET high = high + 10")
    try dropHigh(a)
    try a.execute("ALTER TABLE bounds ADD COLUMN high INTEGER NOT NULL DEFAULT 3")
    try a.execute("UPDATE bounds SET high = high + 100")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT high FROM bounds", [[116]])
  }

  @Test("Equal additions to a counter count twice although one waited for its column and a commit")
  func equalAdditions() throws {
    let (a, b) = try boundsPair(merging: TableMerging(fields: ["high": .counter]))
    try a.execute("UPDATE bounds SET title = 'of a'")
    let bytes = try #require(try a.freeze())
    try a.execute("UPDATE bounds SET high = high + 1")
    try dropHigh(a)
    try b.execute("UPDATE bounds SET high = high + 1")
    try b.sync(space)
    try a.settle(try space.push(bytes), bytes)
    try a.execute("ALTER TABLE bounds ADD COLUMN high INTEGER")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT high, title FROM bounds", [[7, "of a"]])
  }

  @Test(
    "A new history decides on edits of dropped columns as on all others",
    arguments: [
      (false, .adoptRemote, "of b", "of n"), (false, .adoptLocal, "of a", "of a"),
      // The space has the value that the edit was made from.
      (false, .union, "of b", "of a"), (true, .adoptRemote, "of b", "of n"),
      (true, .adoptLocal, "of a", "of a"), (true, .union, "of b", "of n"),
    ] as [(Bool, EpochPolicy.Decision, FieldValue, FieldValue)])
  func newHistory(
    isBack: Bool, decision: EpochPolicy.Decision, first: FieldValue, second: FieldValue
  ) throws {
    let (a, b) = try pairOfNewHistory()
    try a.execute("UPDATE note SET body = 'of a'")
    try a.dropColumn("body")
    for _ in 0..<(isBack ? 1 : 0) { try a.addColumn("body TEXT") }
    a.decision = decision
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", first], ["n", second]])
    let versions = try a.conflicts().flatMap { [$0.local?["body"], $0.remote?["body"]] }
    #expect(versions.contains("of a") && versions.contains("of b"))
  }

  /// Two files with two rows, the second one in step with a new history of the space.
  private func pairOfNewHistory() throws -> (TestReplica, TestReplica) {
    let (a, b) = try space.notePair()
    try space.startNewHistory()
    b.decision = .adoptRemote
    try b.sync(space)
    try b.execute("UPDATE note SET body = 'of b' WHERE id = 'm'")
    try b.sync(space)
    return (a, b)
  }

  @Test("An edit of a column that came back waits until its row can be read")
  func returnedBesideUnreadable() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = 'of a' WHERE id = 'm'")
    try a.dropColumn("body")
    try a.execute("UPDATE note SET title = CAST(x'ff' AS TEXT) WHERE id = 'm'")
    try a.addColumn("body TEXT")
    try a.pull(space)
    #expect(try a.freeze() == nil)
    try b.execute("UPDATE note SET title = 'of b' WHERE id = 'm'")
    try b.sync(space)
    try a.execute("UPDATE note SET title = 'of b' WHERE id = 'm'")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["m", "of b", "of a"], ["n", "N", "of n"]])
  }

  @Test("An edit of a column that came back is newer than one that was kept when it was dropped")
  func newerThanDropped() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = 'of a' WHERE id = 'm'")
    try a.dropColumn("body")
    try a.addColumn("body TEXT")
    try a.execute("UPDATE note SET body = 'newest' WHERE id = 'm'")
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "newest"], ["n", "of n"]])
    #expect(try a.conflicts().isEmpty)
    try expectEqualRows([a, b], Self.query)
  }

  @Test("An edit of a dropped column does not make a withheld version of its row a row of its own")
  func withheldBesideDropped() throws {
    let columns = "id TEXT PRIMARY KEY, title TEXT, body TEXT"
    let (a, b) = try space.unlikePair(
      columns, "\(columns), CHECK (title <> 'bad')", rows: "INSERT INTO t VALUES ('m', 'M', 'of m')"
    )
    try b.execute("UPDATE t SET body = 'of b'")
    try b.dropColumn("body", of: "t")
    try a.execute("UPDATE t SET title = 'bad'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT title, body FROM t") == [["bad", "of b"]])
    #expect(try b.rejected().map(\.kind) == [.record])
  }

  @Test(
    "A kept edit that is written again brings the values of a dropped column",
    arguments: zip(
      [.fields(["title": "other"]), .record(["title": "other", "body": "of a"])]
        as [KeptEdit.Choice],
      [.local, .record(["title": "edited here", "body": "of d"])] as [KeptEdit.Choice]))
  func keptEditOfDroppedColumn(ofRejected: KeptEdit.Choice, ofConflict: KeptEdit.Choice) throws {
    let schema = ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT UNIQUE, body TEXT)"]
    let (a, b) = try (
      TestReplica(seed: 1, schema, tables: [AttachedTable("note")], space: space),
      TestReplica(seed: 2, schema, tables: [AttachedTable("note")], space: space)
    )
    try a.execute("INSERT INTO note VALUES ('d', 'deleted there', 'of d')")
    try converge([a, b], space)
    try b.execute("INSERT INTO note VALUES ('m', 'same', 'of b')")
    try b.execute("DELETE FROM note WHERE id = 'd'")
    try converge([b], space)
    a.merging = ReplicaMerging(["note": TableMerging(record: .unresolved)])
    try a.execute("INSERT INTO note VALUES ('n', 'same', 'of a')")
    try a.execute("UPDATE note SET title = 'edited here' WHERE id = 'd'")
    try converge([a, b], space)
    try a.dropColumn("body")
    let rejected = try #require(try a.rejected().first)
    try a.write { try $0.resolve(.one(rejected.id), by: ofRejected) }
    let conflict = try #require(try a.conflicts(includingResolved: false).first)
    try a.write { try $0.resolve(.one(conflict.id), by: ofConflict) }
    try converge([a, b], space)
    #expect(
      try b.rows(Self.query) == [
        ["d", "edited here", "of d"], ["m", "same", "of b"], ["n", "other", "of a"],
      ])
  }

  @Test("An edit of a dropped column of a deleted record is kept as a conflict")
  func unsentOfDeleted() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = 'of a'")
    try a.dropColumn("body")
    try b.execute("DELETE FROM note WHERE id = 'm'")
    try b.sync(space)
    try a.execute("DELETE FROM note WHERE id = 'n'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT id FROM note", [])
    let conflict = try #require(try a.conflicts().first)
    #expect(conflict.key.id == ["m"] && conflict.local?["body"] == "of a")
    #expect(try a.conflicts().count == 1)
  }

  @Test("A column that comes back before its edits were sent gets them")
  func unsentRestored() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET body = 'of a' WHERE id = 'm'")
    try a.dropColumn("body")
    try a.addColumn("body TEXT")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["m", "M", "of a"], ["n", "N", "of n"]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("The values of a column that was dropped and came back are edits")
  func replacedColumn() throws {
    let (a, b) = try space.notePair()
    try b.execute("INSERT INTO note VALUES ('o', 'O', NULL)")
    try converge([b, a], space)
    try a.dropColumn("body")
    try a.addColumn("body TEXT")
    try a.execute("UPDATE note SET body = 'anew ' || id")
    try converge([a, b], space)
    // The space had values that the new ones have not seen: they stay, and conflicts are open.
    #expect(try bodies(a) == [["m", "of m"], ["n", "of n"], ["o", "anew o"]])
    let conflicts = try a.conflicts(includingResolved: false)
    #expect(conflicts.map { $0.local?["body"] } == ["anew m", "anew n"])
    try expectEqualRows([a, b], Self.query)
  }

  @Test("A value that is kept aside outlives a deletion that its row beats")
  func parkedOfDeleted() throws {
    let (a, b) = try space.notePair()
    try a.dropColumn("body")
    try converge([a, b], space)
    try b.execute("DELETE FROM note")
    try b.sync(space)
    try a.addColumn("body TEXT")
    try a.execute("UPDATE note SET title = 'edited'")
    try a.execute("UPDATE note SET body = 'edited' WHERE id = 'n'")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], Self.query, [["m", "edited", "of m"], ["n", "edited", "edited"]])
  }
}
