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
  static let query = "SELECT * FROM note ORDER BY id"

  let space: TestSpace

  init() throws { space = try TestSpace() }

  @Test("A key that gets another type is another key: the former ones are deleted")
  func typeOfKey() throws {
    let (a, _) = try space.notePair()
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
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET title = 'before' WHERE id = 'm'")
    try a.addColumn("likes INTEGER")
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
    try b.addColumn("likes INTEGER")
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
    let (a, b) = try space.notePair()
    try a.addColumn("likes INTEGER NOT NULL DEFAULT 5")
    try a.execute("UPDATE note SET likes = 7 WHERE id = 'm'")
    try a.sync(space)
    try b.addColumn("likes INTEGER NOT NULL DEFAULT 5")
    try b.execute("UPDATE note SET likes = 8 WHERE id = 'n'")
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT likes FROM note ORDER BY id", [[7], [8]])
    #expect(try b.conflicts(includingResolved: false).isEmpty)
    // What replaced a value of the space is in the record.
    #expect(try b.conflicts().map { [$0.local?["likes"], $0.remote?["likes"]] } == [[8, 5]])
  }

  @Test(
    "A counter that all copies add or rename has no conflict, and counts on",
    arguments: ["ADD COLUMN likes INTEGER NOT NULL DEFAULT 5", "RENAME COLUMN hits TO likes"])
  func newCounter(change: String) throws {
    let files = try space.pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, hits INTEGER)"], "t",
      rows: ["INSERT INTO t VALUES ('m', 5), ('n', 5)"])
    for file in files {
      file.merging = ReplicaMerging(["t": TableMerging(fields: ["likes": .counter])])
      try file.execute("ALTER TABLE t \(change)")
    }
    try converge(files, space)
    for file in files { try file.execute("UPDATE t SET likes = likes + 1") }
    try converge(files, space)
    try expectEqualRows(files, "SELECT id, likes FROM t ORDER BY id", [["m", 7], ["n", 7]])
    #expect(try files.allSatisfy { try $0.conflicts(includingResolved: false).isEmpty })
  }

  @Test("Two values of a new column that were written apart are a conflict")
  func conflict() throws {
    let (a, b) = try space.notePair()
    for (replica, value) in [(a, 1), (b, 2)] {
      try replica.addColumn("likes INTEGER DEFAULT 0")
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
    let (a, b) = try space.notePair()
    try a.addColumn("likes INTEGER NOT NULL DEFAULT 5")
    try converge([a, b], space)
    try b.execute("INSERT INTO note VALUES ('o', 'O', NULL)")
    try converge([b, a, b], space)
    #expect(try a.rows("SELECT id, likes FROM note WHERE likes = 5").count == 3)
    #expect(try space.records().values.allSatisfy { $0["likes"] == 5 })
    #expect(try a.rows("SELECT * FROM tandem_kept WHERE kind = 'edit'").isEmpty)
  }

  @Test("A migration may change columns, rows and the table itself")
  func migration() throws {
    let (a, b) = try space.notePair()
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

  @Test(
    "A migration drops a column after a program has created an index, or dropped one of Tandem's triggers",
    arguments: [
      "CREATE UNIQUE INDEX by_title ON note (title)",
      "DROP TRIGGER tandem_keep_delete_note",
    ], [true, false])
  func migrationOfForeignSchema(change: String, isSynchronized: Bool) throws {
    let (a, b) = (try space.notes(1), try space.notes(2))
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m'), ('n', 'N', 'of n')")
    if isSynchronized { try converge([a, b], space) }
    try a.execute(change)
    try a.execute("UPDATE note SET title = 'edited' WHERE id = 'm'")
    // The trigger of the index is not there yet.
    try a.execute("REPLACE INTO note VALUES ('o', 'N', 'of o')")
    try a.database.migrate([
      DatabaseMigration("drop body") { transaction in
        try transaction.execute("ALTER TABLE note DROP COLUMN body")
        try transaction.execute("UPDATE note SET title = title || '!'")
      }
    ])
    try a.execute("UPDATE note SET title = title || '?' WHERE id = 'm'")
    try converge([a, b], space)
    let rows = try a.rows("SELECT id, title FROM note ORDER BY id")
    #expect(rows.contains(["m", "edited!?"]))
    try expectEqualRows([a, b], "SELECT id, title FROM note ORDER BY id", rows)
    #expect(try a.read { try $0.verify() && $0.summary().isUpToDate })
  }

  @Test(
    "A migration after a program has created an index makes no conflicts of other copies' edits")
  func migrationBesideRemoteEdit() throws {
    let (a, b) = try space.notePair()
    try b.execute("UPDATE note SET title = 'of b' WHERE id = 'm'")
    try b.sync(space)
    try a.execute("CREATE UNIQUE INDEX by_title ON note (title)")
    try a.execute("UPDATE note SET body = 'of a' WHERE id = 'n'")
    try a.database.migrate([
      DatabaseMigration("another table") { try $0.execute("CREATE TABLE other (id)") }
    ])
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["m", "of b", "of m"], ["n", "N", "of a"]])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
  }

  @Test(
    "A column that leaves and comes back between two synchronizations makes no conflicts",
    arguments: [
      ["DROP COLUMN body", "ADD COLUMN body TEXT"],
      ["RENAME COLUMN body TO text", "RENAME COLUMN text TO body"],
    ])
  func returnedColumn(changes: [String]) throws {
    let (a, b) = try space.notePair()
    try b.execute("UPDATE note SET title = 'of b' WHERE id = 'm'")
    try b.sync(space)
    for change in changes {
      try a.changeSchema("ALTER TABLE note \(change)")
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["m", "of b", "of m"], ["n", "N", "of n"]])
    #expect(try a.conflicts(includingResolved: false).isEmpty && b.conflicts().isEmpty)
  }

  @Test("An addition to a counter that a copy gets late counts beside another edit of its row")
  func lateCounter() throws {
    let (a, b) = try space.notePair()
    for replica in [a, b] {
      replica.merging = ReplicaMerging(["note": TableMerging(fields: ["likes": .counter])])
    }
    try b.addColumn("likes INTEGER NOT NULL DEFAULT 0")
    try b.execute("UPDATE note SET likes = 1000 WHERE id = 'm'")
    try b.sync(space)
    try a.execute("UPDATE note SET title = 'of a' WHERE id = 'm'")
    try a.addColumn("likes INTEGER NOT NULL DEFAULT 0")
    try a.execute("UPDATE note SET likes = likes + 16 WHERE id = 'm'")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], "SELECT title, likes FROM note WHERE id = 'm'", [["of a", 1016]])
  }

  @Test("A table that another program builds anew without changing it loses nothing")
  func rebuilt() throws {
    let (a, b) = try space.notePair()
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
    let (a, b) = try space.notePair()
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
    let (a, b) = try space.notePair()
    try a.execute("ALTER TABLE note RENAME COLUMN title TO name")
    try a.execute("UPDATE note SET name = 'edited' WHERE id = 'm'")
    try converge([a, b], space)
    #expect(try a.rows(Self.query) == [["m", "edited", "of m"], ["n", "N", "of n"]])
    try b.execute("UPDATE note SET title = 'of b' WHERE id = 'n'")
    try b.execute("ALTER TABLE note RENAME COLUMN title TO name")
    try converge([b, a], space)
    let record = try #require(try space.records().first { $0.key.id == ["m"] }?.value)
    #expect(record["title"] == "M" && record["name"] == "edited")
    try expectEqualRows([a, b], Self.query, [["m", "edited", "of m"], ["n", "N", "of n"]])
    // Only a person can know which of them are edits.
    let conflicts = try b.conflicts(includingResolved: false)
    #expect(conflicts.map { $0.local?["name"] } == ["M", "of b"])
    try b.write { try $0.resolve(.one(conflicts[1].id), by: .local) }
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT name FROM note ORDER BY id", [["edited"], ["of b"]])
  }

  @Test("Edits from before a migration that renames their column meet under both names")
  func renamedEdits() throws {
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET title = 'of a' WHERE id = 'm'")
    try b.execute("UPDATE note SET title = 'of b' WHERE id = 'n'")
    for file in [a, b] {
      try file.database.migrate([
        DatabaseMigration("rename title") {
          try $0.execute("ALTER TABLE note RENAME COLUMN title TO name")
        }
      ])
    }
    try converge([a, b, a], space)
    try expectEqualRows([a, b], "SELECT name FROM note ORDER BY id", [["of a"], ["of b"]])
    let records = try space.records()
    #expect(Set(records.map { $0.value["title"] }) == ["of a", "of b"])
    // The former value of a row that this file has not edited replaces nothing.
    #expect(try b.conflicts().map { [$0.local?["name"], $0.remote?["name"]] } == [["M", "of a"]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test(
    "Values of a column that is renamed to a name from before are open conflicts with the former ones"
  )
  func renamedToFormerName() throws {
    let (a, b) = try space.notePair()
    try a.addColumn("other TEXT")
    try a.execute("UPDATE note SET other = upper(body)")
    try a.sync(space)
    try a.dropColumn("body")
    try a.sync(space)
    try a.execute("ALTER TABLE note RENAME COLUMN other TO body")
    try converge([a, b], space)
    let conflicts = try a.conflicts(includingResolved: false)
    #expect(conflicts.map { $0.local?["body"] } == ["OF M", "OF N"])
    #expect(conflicts.map { $0.remote?["body"] } == ["of m", "of n"])
    #expect(conflicts.allSatisfy { $0.fields == ["body"] })
    try a.write { try $0.resolve(.all, by: .local) }
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT body FROM note ORDER BY id", [["OF M"], ["OF N"]])
  }

  @Test("A copy that was attached with chosen columns does not take over new ones")
  func chosenColumns() throws {
    let a = try space.notes(1, columns: ["title"])
    try a.addColumn("likes INTEGER")
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m', 1)")
    try converge([a], space)
    #expect(try space.records().values.map { $0.layout.names } == [["title"]])
  }

  @Test("A shadow that was dropped comes back, and rows that it knew are recorded")
  func droppedShadow() throws {
    let (a, b) = try space.notePair()
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
    let (a, b) = try space.notePair()
    try a.execute("UPDATE note SET title = 'frozen' WHERE id = 'm'")
    let bytes = try #require(try a.freeze())
    try a.addColumn("likes INTEGER NOT NULL DEFAULT 5")
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
    let a = try space.notes(1)
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m')")
    for statement in [
      "CREATE TABLE other (id TEXT PRIMARY KEY, title TEXT, likes INTEGER DEFAULT 3)",
      "INSERT INTO other (id, title) SELECT id, title FROM note", "DROP TABLE note",
      "ALTER TABLE other RENAME TO note", "INSERT INTO note VALUES ('n', 'N', 4)",
    ] {
      try a.execute(statement)
    }
    let b = try space.notes(2)
    try converge([a, b], space)
    #expect(try a.rows(Self.query) == [["m", "M", 3], ["n", "N", 4]])
    #expect(try b.rows(Self.query) == [["m", "M", .null], ["n", "N", .null]])
    #expect(try a.conflicts().isEmpty)
  }

  @Test("Another key and a missing table are refused until they are put right")
  func refusals() throws {
    let (a, _) = try space.notePair()
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

/// Files of notes, whose table changes.
extension TestSpace {
  func notes(_ seed: UInt64, columns: [String]? = nil) throws -> TestReplica {
    try TestReplica(
      seed: seed, ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, body TEXT)"],
      tables: [AttachedTable("note", columns: columns)], space: self)
  }

  /// Two files with two rows, in step.
  func notePair() throws -> (TestReplica, TestReplica) {
    let (a, b) = (try notes(1), try notes(2))
    try a.execute("INSERT INTO note VALUES ('m', 'M', 'of m'), ('n', 'N', 'of n')")
    try converge([a, b], self)
    return (a, b)
  }
}

extension TestReplica {
  func addColumn(_ declaration: String) throws {
    try execute("ALTER TABLE note ADD COLUMN \(declaration)")
  }

  /// Drops a column between the beginning and the end of a change of the schema.
  func dropColumn(_ name: String, of table: String = "note") throws {
    try changeSchema("ALTER TABLE \(table) DROP COLUMN \(name)")
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
