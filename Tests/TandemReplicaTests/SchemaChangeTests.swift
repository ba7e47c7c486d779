import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import TestRandom
import Testing

@Suite("Changes of the schema of attached tables")
struct SchemaChangeTests {
  static let schema = ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, body TEXT)"]
  static let query = "SELECT * FROM note ORDER BY id"

  let space: TestSpace

  init() throws { space = try TestSpace() }

  private func replica(
    _ seed: UInt64, columns: [String]? = nil, merging: ReplicaMerging = ReplicaMerging()
  ) throws -> TestReplica {
    try TestReplica(
      seed: seed, Self.schema, tables: [AttachedTable("note", columns: columns)], space: space,
      merging: merging)
  }

  /// Two files with two rows, in step.
  private func pair() throws -> (TestReplica, TestReplica) {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m'), ('n', 'N', 'of n')")
    try converge([a, b], space)
    return (a, b)
  }

  private func addColumn(_ replica: TestReplica, _ declaration: String) throws {
    try replica.execute("ALTER TABLE note ADD COLUMN \(declaration)")
  }

  @Test("A key that gets another type is another key: the former ones are deleted")
  func typeOfKey() throws {
    let (a, _) = try pair()
    try a.execute("INSERT INTO note VALUES ('1', 'one', NULL)")
    try converge([a], space)
    try a.write { try $0.beginSchemaChange() }
    try a.execute("CREATE TABLE n (id INT PRIMARY KEY, title TEXT, body TEXT)")
    try a.execute("INSERT INTO n SELECT * FROM note")
    try a.execute("DROP TABLE note")
    try a.execute("ALTER TABLE n RENAME TO note")
    try a.write { try $0.endSchemaChange() }
    try converge([a], space)
    let keys = try space.records().keys.map(\.id)
    #expect(Set(keys) == [["m"], ["n"], [1]])
    #expect(try a.read { try $0.verify() && $0.summary().isUpToDate })
  }

  @Test("A new column is synchronized, and a copy that lacks it keeps its values aside")
  func addedColumn() throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET title = 'before' WHERE id = 'm'")
    try addColumn(a, "likes INTEGER")
    // No trigger sees this edit.
    try a.execute("UPDATE note SET likes = 7 WHERE id = 'n'")
    try a.execute("INSERT INTO note VALUES ('o', 'O', NULL, 1)")
    try b.execute("UPDATE note SET body = 'of b'")
    try converge([a, b], space)
    #expect(
      try a.rows(Self.query)
        == [["m", "before", "of b", .null], ["n", "N", "of b", 7], ["o", "O", .null, 1]])
    #expect(
      try b.rows("SELECT fields FROM tandem_parked ORDER BY id") == [
        [#"{"likes":7}"#], [#"{"likes":1}"#],
      ])
    // An edit of the copy that lacks the column does not change it.
    try b.execute("UPDATE note SET title = 'of b' WHERE id = 'n'")
    try b.execute("REPLACE INTO note VALUES ('o', 'replaced', NULL)")
    try converge([b, a], space)
    #expect(
      try a.rows("SELECT title, likes FROM note ORDER BY id")
        == [["before", .null], ["of b", 7], ["replaced", 1]])
    // When the copy gets the column, it gets the values.
    try addColumn(b, "likes INTEGER")
    try converge([b, a], space)
    try expectEqualRows([a, b], Self.query)
    #expect(try b.rows("SELECT * FROM tandem_parked").isEmpty)
    try b.execute("UPDATE note SET likes = likes + 1 WHERE id = 'o'")
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT likes FROM note WHERE id = 'o'", [[2]])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
  }

  @Test("The default of a new column is no edit, but reaches copies that have no value")
  func defaults() throws {
    let (a, b) = try pair()
    try addColumn(a, "likes INTEGER NOT NULL DEFAULT 5")
    try a.execute("UPDATE note SET likes = 7 WHERE id = 'm'")
    try a.sync(space)
    try addColumn(b, "likes INTEGER NOT NULL DEFAULT 5")
    try b.execute("UPDATE note SET likes = 8 WHERE id = 'n'")
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT likes FROM note ORDER BY id", [[7], [8]])
    #expect(try b.conflicts(includingResolved: false).isEmpty)
    // What replaced a value of the space is in the record.
    #expect(try b.conflicts().map { [$0.local?["likes"], $0.remote?["likes"]] } == [[8, 5]])
  }

  @Test("Two values of a new column that were written apart are a conflict")
  func conflict() throws {
    let (a, b) = try pair()
    for (replica, value) in [(a, 1), (b, 2)] {
      try addColumn(replica, "likes INTEGER DEFAULT 0")
      try replica.execute("UPDATE note SET likes = \(value) WHERE id = 'm'")
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT likes FROM note ORDER BY id", [[1], [0]])
    let conflict = try #require(try b.conflicts(includingResolved: false).first)
    #expect(conflict.kind == .editEdit && conflict.fields == ["likes"])
    #expect(conflict.local?["likes"] == 2 && conflict.remote?["likes"] == 1)
  }

  @Test("A row of a copy that lacks a column gets the default of the column, everywhere")
  func missingValue() throws {
    let (a, b) = try pair()
    try addColumn(a, "likes INTEGER NOT NULL DEFAULT 5")
    try converge([a, b], space)
    try b.execute("INSERT INTO note VALUES ('o', 'O', NULL)")
    try converge([b, a, b], space)
    #expect(try a.rows("SELECT id, likes FROM note WHERE likes = 5").count == 3)
    #expect(try space.records().values.allSatisfy { $0["likes"] == 5 })
    #expect(try a.rows("SELECT * FROM tandem_kept WHERE kind = 'edit'").isEmpty)
  }

  @Test("A column that is dropped stays in the space and in other copies")
  func droppedColumn() throws {
    let (a, b) = try pair()
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
    try addColumn(a, "body TEXT")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query)
  }

  /// Drops the column `body` between the beginning and the end of a change of the schema.
  private func dropBody(_ replica: TestReplica) throws {
    try replica.write { try $0.beginSchemaChange() }
    try replica.execute("ALTER TABLE note DROP COLUMN body")
    try replica.write { try $0.endSchemaChange() }
  }

  private func bodies(_ replica: TestReplica) throws -> [[FieldValue]] {
    try replica.rows("SELECT id, body FROM note ORDER BY id")
  }

  @Test("Edits of a dropped column that were not sent reach the other copies")
  func unsentEdits() throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET body = 'unsent' WHERE id = 'm'")
    try a.execute("UPDATE note SET body = NULL WHERE id = 'n'")
    try a.execute("INSERT INTO note VALUES ('o', 'O', 'new')")
    try dropBody(a)
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

  @Test("Edits of a dropped column are sent by a file that was never synchronized")
  func unsentBeforeFirst() throws {
    let (a, b) = (try replica(1), try replica(2))
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m')")
    try dropBody(a)
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "of m"]])
  }

  @Test("An edit of a dropped column conflicts with one of another copy, and loses with a record")
  func unsentConflict() throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET body = 'of a' WHERE id = 'm'")
    try b.execute("UPDATE note SET body = 'of b' WHERE id = 'm'")
    try b.sync(space)
    try dropBody(a)
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
    arguments: [true, false])
  func unsentOutbox(isRefused: Bool) throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET title = 'of a', body = 'of a' WHERE id = 'm'")
    let bytes = try #require(try a.freeze())
    if isRefused {
      try b.execute("UPDATE note SET title = 'of b' WHERE id = 'm'")
      try b.sync(space)
    }
    let outcome = try space.push(bytes)
    try a.execute("UPDATE note SET body = 'later' WHERE id = 'm'")
    try dropBody(a)
    try a.settle(outcome, bytes)
    try converge([a, b], space)
    #expect(try bodies(b) == [["m", "later"], ["n", "of n"]])
    #expect(try a.conflicts().map(\.fields) == (isRefused ? [["title"]] : []))
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
    try files[0].write { try $0.beginSchemaChange() }
    try files[0].execute("ALTER TABLE note DROP COLUMN likes")
    try files[0].write { try $0.endSchemaChange() }
    try converge(files, space)
    // Nor is it sent again.
    try files[0].execute("UPDATE note SET title = 'later'")
    try converge(files, space)
    #expect(try files[1].rows("SELECT likes, title FROM note") == [[16, "later"]])
    #expect(try files[0].read { try $0.status() }.pendingCount == 0)
  }

  @Test(
    "An edit of a dropped column conflicts with one of another column of the same unit",
    arguments: [true, false])
  func unsentUnit(isRecord: Bool) throws {
    let check = isRecord ? "" : ", CHECK (low <= high)"
    let schema = ["CREATE TABLE bounds (id TEXT PRIMARY KEY, low INTEGER, high INTEGER\(check))"]
    let table = AttachedTable("bounds", granularity: isRecord ? .record : .field)
    let (a, b) = try (
      TestReplica(seed: 1, schema, tables: [table], space: space),
      TestReplica(seed: 2, schema, tables: [table], space: space)
    )
    try a.execute("INSERT INTO bounds VALUES ('m', 1, 5)")
    try converge([a, b], space)
    try b.execute("UPDATE bounds SET low = 4")
    try b.sync(space)
    try a.execute("UPDATE bounds SET high = 2")
    try a.write { try $0.beginSchemaChange() }
    try a.execute("CREATE TABLE other (id TEXT PRIMARY KEY, low INTEGER)")
    try a.execute("INSERT INTO other SELECT id, low FROM bounds")
    try a.execute("DROP TABLE bounds")
    try a.execute("ALTER TABLE other RENAME TO bounds")
    try a.write { try $0.endSchemaChange() }
    try converge([a, b], space)
    #expect(try b.rows("SELECT low, high FROM bounds") == [[4, 5]])
    let conflict = try #require(try a.conflicts().first)
    #expect(conflict.local?["high"] == 2 && conflict.remote?["low"] == 4)
    #expect(conflict.resolution == .remote && conflict.fields == ["high"])
    #expect(try a.read { try $0.status() }.pendingCount == 0)
  }

  @Test("An edit of a column that came back is newer than one that was kept when it was dropped")
  func newerThanDropped() throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET body = 'of a' WHERE id = 'm'")
    try dropBody(a)
    try addColumn(a, "body TEXT")
    try a.execute("UPDATE note SET body = 'newest' WHERE id = 'm'")
    try converge([a, b], space)
    let versions = try a.conflicts().flatMap { [$0.local?["body"], $0.remote?["body"]] }
    #expect(try bodies(b).contains(["m", "newest"]) || versions.contains("newest"))
    try expectEqualRows([a, b], Self.query)
  }

  @Test("An edit of a dropped column does not make a withheld version of its row a row of its own")
  func withheldBesideDropped() throws {
    let columns = "id TEXT PRIMARY KEY, title TEXT, body TEXT"
    let (a, b) = try space.unlikePair(
      columns, "\(columns), CHECK (title <> 'bad')", rows: "INSERT INTO t VALUES ('m', 'M', 'of m')"
    )
    try b.execute("UPDATE t SET body = 'of b'")
    try b.write { try $0.beginSchemaChange() }
    try b.execute("ALTER TABLE t DROP COLUMN body")
    try b.write { try $0.endSchemaChange() }
    try a.execute("UPDATE t SET title = 'bad'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT title, body FROM t") == [["bad", "of b"]])
    #expect(try b.read { try $0.keptEdits(.rejected) }.map(\.kind) == [.record])
  }

  @Test("A kept edit that is written again brings the values of a dropped column")
  func keptEditOfDroppedColumn() throws {
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
    try dropBody(a)
    let rejected = try #require(try a.read { try $0.keptEdits(.rejected) }.first)
    try a.write { try $0.resolve(.one(rejected.id), by: .fields(["title": "other"])) }
    let conflict = try #require(try a.conflicts(includingResolved: false).first)
    try a.write { try $0.resolve(.one(conflict.id), by: .local) }
    try converge([a, b], space)
    #expect(
      try b.rows(Self.query) == [
        ["d", "edited here", "of d"], ["m", "same", "of b"], ["n", "other", "of a"],
      ])
  }

  @Test("An edit of a dropped column of a deleted record is kept as a conflict")
  func unsentOfDeleted() throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET body = 'of a'")
    try dropBody(a)
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
    let (a, b) = try pair()
    try a.execute("UPDATE note SET body = 'of a' WHERE id = 'm'")
    try dropBody(a)
    try addColumn(a, "body TEXT")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["m", "M", "of a"], ["n", "N", "of n"]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("The values of a column that was dropped and came back are edits")
  func replacedColumn() throws {
    let (a, b) = try pair()
    try b.execute("INSERT INTO note VALUES ('o', 'O', NULL)")
    try converge([b, a], space)
    try dropBody(a)
    try addColumn(a, "body TEXT")
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
    let (a, b) = try pair()
    try dropBody(a)
    try converge([a, b], space)
    try b.execute("DELETE FROM note")
    try b.sync(space)
    try addColumn(a, "body TEXT")
    try a.execute("UPDATE note SET title = 'edited'")
    try a.execute("UPDATE note SET body = 'edited' WHERE id = 'n'")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], Self.query, [["m", "edited", "of m"], ["n", "edited", "edited"]])
  }

  @Test("A migration may change columns, rows and the table itself")
  func migration() throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET body = 'edited' WHERE id = 'm'")
    try a.database.migrate([
      DatabaseMigration("drop body") { transaction in
        try transaction.execute("ALTER TABLE note DROP COLUMN body")
        try transaction.execute("ALTER TABLE note ADD COLUMN likes INTEGER NOT NULL DEFAULT 0")
      },
      DatabaseMigration("build anew") { transaction in
        try transaction.execute(
          "CREATE TABLE other (id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, likes INTEGER)")
        try transaction.execute("INSERT INTO other SELECT id, upper(title || id), likes FROM note")
        try transaction.execute("DELETE FROM other WHERE id = 'n'")
        try transaction.execute("INSERT INTO other VALUES ('o', 'O', 4)")
        try transaction.execute("DROP TABLE note")
        try transaction.execute("ALTER TABLE other RENAME TO note")
      },
    ])
    // The triggers are there at once.
    try a.execute("UPDATE note SET title = 'later' WHERE id = 'o'")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], "SELECT id, title FROM note ORDER BY id", [["m", "MM"], ["o", "later"]])
    #expect(try a.rows("SELECT likes FROM note ORDER BY id") == [[0], [4]])
    // The edit that was not sent before the column was dropped.
    #expect(try b.rows("SELECT body FROM note ORDER BY id") == [["edited"], [.null]])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
  }

  @Test("A table that another program builds anew without changing it loses nothing")
  func rebuilt() throws {
    let (a, b) = try pair()
    try b.execute("UPDATE note SET body = 'of b' WHERE id = 'n'")
    try b.sync(space)
    try a.execute("UPDATE note SET title = 'unsent' WHERE id = 'm'")
    for statement in [
      "CREATE TABLE other (id TEXT PRIMARY KEY, title TEXT, body TEXT, likes INTEGER DEFAULT 3)",
      "INSERT INTO other (id, title, body) SELECT * FROM note", "DROP TABLE note",
      "ALTER TABLE other RENAME TO note",
    ] {
      try a.execute(statement)
    }
    #expect(try a.read { try $0.summary().isUpToDate } == false)
    try converge([a, b], space)
    #expect(try a.rows(Self.query) == [["m", "unsent", "of m", 3], ["n", "N", "of b", 3]])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
  }

  @Test("A table that another program builds anew with other rows is repaired, with a record")
  func changedWhileBuilt() throws {
    let (a, b) = try pair()
    for statement in [
      "CREATE TABLE other (id TEXT PRIMARY KEY, title TEXT, likes INTEGER DEFAULT 3)",
      "INSERT INTO other (id, title) SELECT id, lower(title) FROM note", "DROP TABLE note",
      "ALTER TABLE other RENAME TO note", "UPDATE note SET likes = 4 WHERE id = 'n'",
    ] {
      try a.execute(statement)
    }
    try converge([a, b], space)
    #expect(try a.rows(Self.query) == [["m", "M", 3], ["n", "N", 4]])
    #expect(try a.conflicts().map { $0.local?["title"] } == ["m", "n"])
    #expect(try b.rows("SELECT fields FROM tandem_parked").count == 2)
  }

  @Test("A renamed column is a new one with the values of the old one")
  func renamedColumn() throws {
    let (a, b) = try pair()
    try a.execute("ALTER TABLE note RENAME COLUMN title TO name")
    try a.execute("UPDATE note SET name = 'edited' WHERE id = 'm'")
    try converge([a, b], space)
    #expect(try a.rows(Self.query) == [["m", "edited", "of m"], ["n", "N", "of n"]])
    try b.execute("UPDATE note SET title = 'of b' WHERE id = 'n'")
    try b.execute("ALTER TABLE note RENAME COLUMN title TO name")
    try converge([b, a], space)
    let record = try #require(try space.records().first { $0.key.id == ["m"] }?.value)
    #expect(record["title"] == "M" && record["name"] == "edited")
    try expectEqualRows([a, b], Self.query, [["m", "edited", "of m"], ["n", "of b", "of n"]])
    // Only a person can know that no edit was replaced.
    #expect(try b.conflicts().map(\.resolution) == [.remote, .local])
  }

  @Test("A copy that was attached with chosen columns does not take over new ones")
  func chosenColumns() throws {
    let a = try replica(1, columns: ["title"])
    try addColumn(a, "likes INTEGER")
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m', 1)")
    try converge([a], space)
    #expect(try space.records().values.map { $0.layout.names } == [["title"]])
  }

  @Test("A shadow that was dropped comes back, and rows that it knew are recorded")
  func droppedShadow() throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET title = 'edited' WHERE id = 'm'")
    try a.execute("DROP TABLE tandem_shadow_note")
    try a.sync(space)
    try converge([a, b], space)
    #expect(try a.conflicts().map { $0.local?["title"] } == ["edited"])
    try a.execute("UPDATE note SET title = 'again' WHERE id = 'm'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT title FROM note ORDER BY id", [["again"], ["N"]])
  }

  @Test("A change of the schema while a commit waits for its outcome loses nothing")
  func outbox() throws {
    let (a, b) = try pair()
    try a.execute("UPDATE note SET title = 'frozen' WHERE id = 'm'")
    let bytes = try #require(try a.freeze())
    try addColumn(a, "likes INTEGER NOT NULL DEFAULT 5")
    try a.execute("UPDATE note SET likes = 6, body = 'later' WHERE id = 'm'")
    _ = try space.push(bytes)
    // The answer is lost, and the commit is sent again.
    try converge([a, b], space)
    #expect(try a.rows(Self.query) == [["m", "frozen", "later", 6], ["n", "N", "of n", 5]])
    try expectEqualRows([a, b], "SELECT title, body FROM note ORDER BY id")
    #expect(try a.conflicts().isEmpty)
  }

  @Test("Before the first synchronization, the schema may change in any way")
  func beforeFirstSync() throws {
    let a = try replica(1)
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m')")
    for statement in [
      "CREATE TABLE other (id TEXT PRIMARY KEY, title TEXT, likes INTEGER DEFAULT 3)",
      "INSERT INTO other (id, title) SELECT id, title FROM note", "DROP TABLE note",
      "ALTER TABLE other RENAME TO note", "INSERT INTO note VALUES ('n', 'N', 4)",
    ] {
      try a.execute(statement)
    }
    let b = try replica(2)
    try converge([a, b], space)
    #expect(try a.rows(Self.query) == [["m", "M", 3], ["n", "N", 4]])
    #expect(try b.rows(Self.query) == [["m", "M", .null], ["n", "N", .null]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("Another key and a missing table are refused until they are put right")
  func refusals() throws {
    let (a, _) = try pair()
    try a.execute("ALTER TABLE note RENAME TO memo")
    let gone = #expect(throws: ReplicaError.self) { try a.sync(space) }
    #expect(gone?.code == .schema && gone?.message.contains("note is gone") ?? false)
    try a.execute("ALTER TABLE memo RENAME TO note")
    try a.execute("ALTER TABLE note RENAME COLUMN id TO key")
    let key = #expect(throws: ReplicaError.self) { try a.sync(space) }
    #expect(
      key?.message.contains("primary key \"key\", but was attached with \"id\"") ?? false, "\(key!)"
    )
    try a.execute("ALTER TABLE note RENAME COLUMN key TO id")
    try a.execute("UPDATE note SET title = 'fine' WHERE id = 'm'")
    try converge([a], space)
    #expect(try a.conflicts().isEmpty)
    #expect(try space.records().values.map { $0["title"] }.contains("fine"))
  }

  @Test("Files whose schemas change at random end equal, and no edit is lost", arguments: 1...12)
  func random(seed: UInt64) throws {
    let issues = try RandomSchemas(seed: seed).run()
    #expect(issues.isEmpty, "seed \(seed): \(issues)")
  }
}

/// Three files of one table, whose columns come and go.
private final class RandomSchemas {
  private static let columns = ["c1", "c2", "c3"]

  private var random: SplitMix64
  private let space: TestSpace
  private var replicas: [TestReplica] = []
  private var editCount = 0
  /// The values that nobody has overwritten in the file where they were written.
  private var pending: Set<String> = []
  private var log: [String] = []

  init(seed: UInt64) throws {
    random = SplitMix64(seed: seed &* 31)
    space = try TestSpace(seed: seed &+ 500)
    for number in 0..<3 {
      let replica = try TestReplica(
        seed: seed &* 10 &+ UInt64(number), ["CREATE TABLE note (id TEXT PRIMARY KEY, c1 TEXT)"],
        tables: [AttachedTable("note", granularity: seed % 3 != 0 ? .field : .record)], space: space
      )
      replica.maxPageChangeCount = Int.random(in: 1...4, using: &random)
      replicas.append(replica)
    }
  }

  /// Returns what is wrong at the end.
  func run() throws -> [String] {
    for _ in 0..<80 {
      let replica = replicas[Int.random(in: 0..<3, using: &random)]
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5: try edit(replica)
      case 5..<7: try changeSchema(replica)
      case 7: try loseAnswer(replica)
      default: try replica.sync(space)
      }
    }
    // With the same columns, all have the same rows.
    for replica in replicas {
      for column in Self.columns where try !names(replica).contains(column) {
        try replica.execute("ALTER TABLE note ADD COLUMN \(column) TEXT")
      }
    }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id, c1, c2, c3 FROM note ORDER BY id")
    let kept = try values(replicas[0])
    let records = try replicas.map { replica in
      "\(try replica.rows("SELECT base || '', \"local\", remote FROM tandem_kept"))"
    }.joined()
    let lost = pending.subtracting(kept).filter { !records.contains($0) }
    return lost.isEmpty ? [] : lost.sorted() + log
  }

  private func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int.random(in: 0..<choices.count, using: &random)]
  }

  private func names(_ replica: TestReplica) throws -> [String] {
    try replica.rows("SELECT name FROM pragma_table_info('note') WHERE pk = 0").compactMap {
      if case .text(let name) = $0[0] { name } else { nil }
    }
  }

  /// The values that edits wrote, in some columns.
  private func values(_ replica: TestReplica, _ columns: [String]? = nil) throws -> Set<String> {
    var values: Set<String> = []
    for column in try columns ?? names(replica) {
      for row in try replica.rows("SELECT \(column) FROM note") {
        if case .text(let text) = row[0], text.hasPrefix("e") { values.insert(text) }
      }
    }
    return values
  }

  private func execute(_ replica: TestReplica, _ sql: String) throws {
    log.append("\(replicas.firstIndex { $0 === replica } ?? -1): \(sql)")
    try replica.execute(sql)
  }

  private func edit(_ replica: TestReplica) throws {
    editCount += 1
    let (id, value) = (pick(["a", "b", "c"]), "e\(editCount).")
    let before = try values(replica)
    if let column = try names(replica).randomElement(using: &random), pick([true, true, false]) {
      try execute(
        replica,
        pick([
          "UPDATE note SET \(column) = '\(value)' WHERE id = '\(id)'",
          "INSERT OR REPLACE INTO note (id, \(column)) VALUES ('\(id)', '\(value)')",
        ]))
    } else {
      // The deletion has seen the values that are kept aside as well.
      var aside = try replica.rows("SELECT fields FROM tandem_parked WHERE id = '[\"\(id)\"]'")
      if try !replica.rows("SELECT 1 FROM sqlite_schema WHERE name = 'tandem_dropped_note'").isEmpty
      {
        aside += try replica.rows(
          "SELECT '\"' || tandem_value FROM tandem_dropped_note WHERE id = '\(id)'")
      }
      pending = pending.filter { value in !"\(aside)".contains("\"\(value)") }
      try execute(replica, "DELETE FROM note WHERE id = '\(id)'")
    }
    let after = try values(replica)
    pending.subtract(before.subtracting(after))
    pending.formUnion(after.subtracting(before))
  }

  private func changeSchema(_ replica: TestReplica) throws {
    let present = try names(replica)
    if let column = pick(Self.columns + [nil]), !present.contains(column) {
      let rule = pick(["", " DEFAULT 'd'", " NOT NULL DEFAULT 'd'"])
      return try execute(replica, "ALTER TABLE note ADD COLUMN \(column) TEXT\(rule)")
    }
    let kept = present.filter { _ in pick([true, true, false]) }
    let way = Int.random(in: 0..<3, using: &random)
    // What was written only here goes with its column, if the program does not begin and end the
    // change. A migration keeps the values of columns that were there at the last synchronization.
    let known = try replica.rows("SELECT name FROM pragma_table_info('tandem_shadow_note')")
    let lost = present.filter { column in
      !kept.contains(column) && (way == 2 || way == 1 && !known.contains([.text(column)]))
    }
    let inSpace = Set(
      try space.records().values.flatMap(\.values).compactMap {
        if case .text(let text) = $0 { text } else { nil }
      })
    pending.subtract(try values(replica, lost).subtracting(inSpace))
    let list = (["id"] + kept).joined(separator: ", ")
    let definitions = ["id TEXT PRIMARY KEY"] + kept.map { "\($0) TEXT" }
    let statements = [
      "CREATE TABLE other (\(definitions.joined(separator: ", ")))",
      "INSERT INTO other SELECT \(list) FROM note", "DROP TABLE note",
      "ALTER TABLE other RENAME TO note",
    ]
    switch way {
    case 0:
      try replica.write { try $0.beginSchemaChange() }
      for sql in statements { try execute(replica, sql) }
      try edit(replica)
      try replica.write { try $0.endSchemaChange() }
    case 1:
      try replica.database.migrate(
        migrations(of: replica) + [
          DatabaseMigration("\(log.count)") { transaction in
            for sql in statements { try transaction.execute(SQL(text: sql)) }
          }
        ])
      log.append("migrated: \(statements[0])")
    default: for sql in statements { try execute(replica, sql) }
    }
  }

  /// The migrations that a file has run.
  private func migrations(of replica: TestReplica) throws -> [DatabaseMigration] {
    guard try replica.rows("SELECT 1 FROM sqlite_schema WHERE name = 'tandem_migrations'") == [[1]]
    else { return [] }
    return try replica.rows("SELECT name FROM tandem_migrations ORDER BY position").compactMap {
      guard case .text(let name) = $0[0] else { return nil }
      return DatabaseMigration(name) { _ in }
    }
  }

  /// Sends a commit whose answer is lost.
  private func loseAnswer(_ replica: TestReplica) throws {
    _ = try replica.write { try $0.schema() }
    try space.declare(try replica.read { try $0.declarations() })
    guard let bytes = try replica.outbox() ?? replica.freeze() else { return }
    log.append("an answer is lost")
    _ = try space.push(bytes)
  }
}
