import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

/// Edits of programs that wrote without Tandem's triggers. They are found, and none is lost without a
/// record.
@Suite("Edits that no trigger noted")
struct UncapturedEditTests {
  private let space: TestSpace
  private let a: TestReplica
  private let b: TestReplica
  private let rows = "SELECT id, name, price FROM place ORDER BY id"

  init() throws {
    space = try TestSpace()
    let schema = ["CREATE TABLE place (id TEXT PRIMARY KEY, name TEXT, price INTEGER)"]
    a = try TestReplica(seed: 1, schema, tables: [AttachedTable("place")], space: space)
    b = try TestReplica(seed: 2, schema, tables: [AttachedTable("place")], space: space)
  }

  /// The names in the local versions of all conflicts.
  private func overruledNames(_ replica: TestReplica) throws -> [FieldValue] {
    try replica.conflicts().compactMap { $0.local?["name"] }
  }

  @Test("The first pull takes no row for the base: rows that no trigger noted are sent")
  func beforeFirstPull() throws {
    try a.executeUnnoticed("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    try converge([a, b], space)
    try expectEqualRows([a, b], rows, [["1", "Büsingen", 1]])
  }

  @Test("Dropped triggers before the first pull: the rows are sent")
  func droppedBeforeFirstPull() throws {
    let triggers = try a.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    for case .text(let name) in triggers.map({ $0[0] }) { try a.execute("DROP TRIGGER \(name)") }
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    try converge([a, b], space)
    try expectEqualRows([a, b], rows, [["1", "Büsingen", 1]])
  }

  @Test("A pull that would overwrite such an edit is not applied, and the repair records it")
  func overwritten() throws {
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    try converge([a, b], space)
    try a.executeUnnoticed("UPDATE place SET name = 'Campione'")
    try b.execute("UPDATE place SET name = 'Livigno'")
    try converge([b, a], space)
    try expectEqualRows([a, b], rows, [["1", "Livigno", 1]])
    #expect(try overruledNames(a) == ["Campione"])
    // Nothing says which version is later: the application decides.
    let conflict = try #require(try a.read { try $0.keptEdits(.conflicts) }.first)
    #expect(conflict.resolution == .unresolved)
    try a.write { try $0.resolve(.one(conflict.id), by: .local) }
    try converge([a, b], space)
    try expectEqualRows([a, b], rows, [["1", "Campione", 1]])
  }

  @Test("The pull that follows a new column records such edits, and deletes no such row silently")
  func newColumn() throws {
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1), ('2', 'Livigno', 2)")
    try converge([a, b], space)
    try a.executeUnnoticed("INSERT INTO place VALUES ('3', 'Campione', 3)")
    try a.executeUnnoticed("UPDATE place SET name = 'Samnaun' WHERE id = '2'")
    try a.execute("ALTER TABLE place ADD COLUMN currency TEXT DEFAULT 'CHF'")
    try a.execute("UPDATE place SET currency = 'EUR' WHERE id = '1'")
    try converge([a, b], space)
    try expectEqualRows([a, b], rows, [["1", "Büsingen", 1], ["2", "Livigno", 2]])
    #expect(try overruledNames(a).sorted { "\($0)" < "\($1)" } == ["Campione", "Samnaun"])
    #expect(try a.rows("SELECT currency FROM place ORDER BY id") == [["EUR"], ["CHF"]])
  }

  @Test(
    "The pull that follows a column that was dropped or renamed records such an edit",
    arguments: ["DROP COLUMN price", "RENAME COLUMN price TO cost"],
    ["", "UPDATE place SET currency = 'EUR' WHERE id = '2'"])
  func droppedColumn(change: String, later: String) throws {
    for replica in [a, b] { try replica.execute("ALTER TABLE place ADD COLUMN currency TEXT") }
    try a.execute(
      "INSERT INTO place VALUES ('1', 'Büsingen', 1, NULL), ('2', 'Livigno', 2, NULL)")
    try converge([a, b], space)
    try b.execute("UPDATE place SET name = 'Baarle' WHERE id = '1'")
    try b.sync(space)
    try a.executeUnnoticed("UPDATE place SET name = 'Samnaun' WHERE id = '2'")
    if !later.isEmpty { try a.execute(later) }
    try a.database.migrate([
      DatabaseMigration("change") { try $0.execute(SQL(text: "ALTER TABLE place \(change)")) }
    ])
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], "SELECT id, name FROM place ORDER BY id", [["1", "Baarle"], ["2", "Livigno"]])
    #expect(try overruledNames(a).contains("Samnaun"))
    #expect(try b.conflicts().isEmpty)
  }

  @Test("A change of the schema that is announced finds such a row before it drops a column")
  func announcedColumn() throws {
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    try converge([a, b], space)
    try a.executeUnnoticed("INSERT INTO place VALUES ('2', 'Campione', 2)")
    try a.dropColumn("price", of: "place")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT id, name FROM place", [["1", "Büsingen"]])
    #expect(try overruledNames(a).contains("Campione"))
  }

  @Test("The pull that follows a new column records nothing if the triggers noted all edits")
  func newColumnOnly() throws {
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1), ('2', 'Livigno', 2)")
    try converge([a, b], space)
    try b.execute("DELETE FROM place WHERE id = '2'")
    try b.execute("INSERT INTO place VALUES ('3', 'Campione', 3)")
    try a.execute("UPDATE place SET price = 5 WHERE id = '1'")
    try a.execute("ALTER TABLE place ADD COLUMN currency TEXT DEFAULT 'CHF'")
    try converge([b, a], space)
    try expectEqualRows([a, b], rows, [["1", "Büsingen", 5], ["3", "Campione", 3]])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
  }

  @Test("All conflicts of a repair are resolved at once, by the last version of each field")
  func manyConflicts() throws {
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1), ('2', 'Livigno', 2)")
    try converge([a, b], space)
    for name in ["Campione", "Samnaun"] {
      try a.executeUnnoticed("UPDATE place SET name = '\(name) ' || id")
      try a.executeUnnoticed("DELETE FROM place WHERE id = '2'")
      try a.write { _ = try $0.verify() }
      try converge([a, b], space)
    }
    #expect(try a.read { try $0.keptEdits(.conflicts) }.count == 4)
    #expect(try a.write { try $0.resolve(.conflicts, by: .local) } == 4)
    #expect(try a.read { try $0.keptEdits(.conflicts) }.isEmpty)
    try converge([a, b], space)
    try expectEqualRows([a, b], rows, [["1", "Samnaun 1", 1]])
    #expect(try a.write { try $0.resolve(.conflicts, by: .local) } == 0)
  }

  @Test("Rows that a repair deleted come back together with the rows that they refer to")
  func deletedParents() throws {
    let schema = [
      "CREATE TABLE parent (id TEXT PRIMARY KEY)",
      "CREATE TABLE child (id TEXT PRIMARY KEY, parent TEXT REFERENCES parent)",
    ]
    let space = try TestSpace()
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0, schema, tables: [AttachedTable("child"), AttachedTable("parent")], space: space)
    }
    try converge(replicas, space)
    try replicas[0].executeUnnoticed("INSERT INTO parent VALUES ('p')")
    try replicas[0].executeUnnoticed("INSERT INTO child VALUES ('c', 'p')")
    try replicas[0].write { _ = try $0.verify() }
    try converge(replicas, space)
    #expect(try replicas[0].write { try $0.resolve(.conflicts, by: .local) } == 2)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM child", [["c", "p"]])
  }

  @Test("A commit on a wrong base is not repeated without end")
  func wrongBase() throws {
    try converge([a, b], space)
    try a.executeUnnoticed("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    try a.execute("UPDATE place SET price = 2")
    try converge([a, b], space)
    try expectEqualRows([a, b], rows, [["1", "Büsingen", 2]])
  }

  @Test("A repair records what a merge with a wrong former version overwrites")
  func wrongFormerVersion() throws {
    try converge([a, b], space)
    try a.executeUnnoticed("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    // The trigger keeps the row as it is, though the statement leaves it.
    try a.execute("INSERT OR IGNORE INTO place VALUES ('1', 'Campione', 2)")
    try b.execute("INSERT INTO place VALUES ('1', 'Livigno', 3)")
    try converge([b, a], space)
    try expectEqualRows([a, b], rows, [["1", "Livigno", 3]])
    #expect(try overruledNames(a) == ["Büsingen"])
  }

  @Test("A refusal of an earlier change does not undo such an edit")
  func refused() throws {
    try a.sync(space)
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    let bytes = try #require(try a.freeze())
    try a.executeUnnoticed("UPDATE place SET name = 'Campione'")
    let key = SyncKey(table: "place", id: [.text("1")])
    try a.settle(.refused([SyncObjection(key: key, reason: .tooLarge)]), bytes)
    #expect(try a.rows(rows) == [["1", "Campione", 1]])
  }

  @Test("A repair records a deletion that it undoes")
  func deletion() throws {
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    try converge([a, b], space)
    try a.executeUnnoticed("DELETE FROM place")
    try a.write { _ = try $0.verify() }
    try converge([a, b], space)
    try expectEqualRows([a, b], rows, [["1", "Büsingen", 1]])
    #expect(try a.conflicts().map(\.kind) == [.deleteEdit])
  }

  @Test("A repair takes records that are newer than the file for new ones")
  func newRecords() throws {
    try a.execute("INSERT INTO place VALUES ('1', 'Büsingen', 1)")
    try converge([a, b], space)
    try b.execute("INSERT INTO place VALUES ('2', 'Baarle', 2)")
    try b.sync(space)
    try a.executeUnnoticed("UPDATE place SET price = 9")
    try a.write { _ = try $0.verify() }
    try converge([a, b], space)
    try expectEqualRows([a, b], rows, [["1", "Büsingen", 1], ["2", "Baarle", 2]])
    #expect(try a.conflicts().map(\.key.id) == [["1"]])
  }
}
