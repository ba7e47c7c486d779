import TandemRecords
import TandemSQLite
import TandemSync
import Testing

@testable import TandemReplica

/// Rejected changes, and edits of dropped columns, refer to rows of their file. These may be gone, and their numbers may
/// have become those of other records.
@Suite("References that no row has any more", .timeLimit(.minutes(20)))
struct KeptReferenceTests {
  private static let cat =
    "CREATE TABLE cat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)"
  private static let pet =
    "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT, cat INTEGER REFERENCES cat)"
  private static let tables = [AttachedTable("cat", renumbers: true), AttachedTable("pet")]
  /// The pets with their categories.
  private static let pets =
    "SELECT pet.id, cat.name FROM pet JOIN cat ON cat.id = pet.cat ORDER BY 1"

  let space: TestSpace
  init() throws { space = try TestSpace() }

  private func pair(
    _ schema: [String] = [cat, pet], _ tables: [AttachedTable] = tables, rows: String...
  ) throws -> (TestReplica, TestReplica) {
    let files = try (1...2).map {
      try TestReplica(seed: $0, schema, tables: tables, space: space)
    }
    for row in rows { try files[0].execute(row) }
    try converge(files, space)
    return (files[0], files[1])
  }

  /// Two files, of which the second has a rejected category with the number 2, and a rejected pet in it.
  private func rejectedPair(
    _ tables: [AttachedTable] = tables
  ) throws -> (TestReplica, TestReplica) {
    let (a, b) = try pair([Self.cat, Self.pet], tables)
    try a.execute("INSERT INTO cat (name) VALUES ('same')")
    try a.sync(space)
    try b.execute("INSERT INTO cat (name) VALUES ('same')")
    try b.execute("INSERT INTO pet VALUES ('q', 'Q', 1)")
    try b.sync(space)
    return (a, b)
  }

  @Test(
    "An edit of a dropped column that refers to an own row which is gone does not get another row",
    arguments: [[], ["ALTER TABLE pet ADD COLUMN cat INTEGER REFERENCES cat"]])
  func droppedColumn(later: [String]) throws {
    let (a, b) = try pair(rows: "INSERT INTO pet VALUES ('p', 'Rex', NULL)")
    try b.execute("INSERT INTO cat (name) VALUES ('of b')")
    try b.execute("UPDATE pet SET cat = 1")
    try b.dropColumn("cat", of: "pet")
    try b.execute("DELETE FROM cat")
    for statement in later { try b.execute(statement) }
    try a.execute("INSERT INTO cat (name) VALUES ('of a')")
    try converge([a, b], space)
    #expect(try a.rows(Self.pets) == [])
    #expect(try b.rejected().map { $0.local?["cat"] } == [2])
  }

  @Test("A reference in a column that is not synchronized stays when its row is rejected")
  func privateColumn() throws {
    let (a, b) = try pair(
      [
        "CREATE TABLE cat (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
        "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT, cat TEXT REFERENCES cat ON DELETE SET NULL)",
      ], [AttachedTable("cat"), AttachedTable("pet", columns: ["name"], allowsBlindSpots: true)],
      rows: "INSERT INTO pet (id, name) VALUES ('p', 'Rex')")
    try a.execute("INSERT INTO cat VALUES ('a', 'Food')")
    try a.sync(space)
    try b.execute("INSERT INTO cat VALUES ('b', 'Food')")
    try b.execute("UPDATE pet SET cat = 'b'")
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT id, name FROM pet", [["p", "Rex"]])
    #expect(try b.rejected().map(\.table) == ["cat"])
  }

  @Test(
    "A new row whose reference becomes null is sent without it, and only the reference is kept",
    arguments: [0, 1])
  func setNull(rowCount: Int) throws {
    let (a, b) = try pair(
      [
        "CREATE TABLE tag (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)",
        """
        CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT,
          tag INTEGER REFERENCES tag ON DELETE SET NULL)
        """,
      ], [AttachedTable("tag", renumbers: true), AttachedTable("item", renumbers: true)])
    try a.execute("INSERT INTO tag (name) VALUES ('x')")
    try a.sync(space)
    try b.execute("INSERT INTO tag (name) VALUES ('x')")
    try b.execute("INSERT INTO item (what, tag) VALUES ('of b', 1)")
    try b.pull(space)
    // The row may get another number before it is sent.
    for _ in 0..<rowCount { try a.execute("INSERT INTO item (what) VALUES ('of a')") }
    try converge([a, b], space)
    try a.execute("UPDATE item SET what = 'better' WHERE what = 'of b'")
    try converge([a, b], space)
    #expect(try b.rejected().map { $0.base == nil } == [true, false])
    try b.write { _ = try $0.resolve(.rejected, by: .same) }
    try converge([b, a], space)
    try expectEqualRows(
      [a, b], "SELECT what, tag FROM item WHERE what <> 'of a'", [["better", 1]])
    #expect(try b.rejected() == [])
  }

  @Test("A rejected change that refers to a discarded row does not get another row")
  func discardedParent() throws {
    let (a, b) = try rejectedPair()
    let id = try #require(try b.rejected().first { $0.table == "cat" }).id
    try b.write { _ = try $0.discard(.one(id)) }
    try a.execute("INSERT INTO cat (name) VALUES ('other')")
    try converge([a, b], space)
    #expect(throws: ReplicaError.self) { try b.write { try $0.retry(.rejected) } }
    #expect(try b.rejected().map { $0.local?["cat"] } == [3])
  }

  @Test("A rejected change that refers to a row which was deleted does not get another row")
  func deletedParent() throws {
    let (a, b) = try pair(rows: "INSERT INTO pet VALUES ('p', 'Rex', NULL)")
    for sql in [
      "INSERT INTO cat (name) VALUES ('mine')", "UPDATE pet SET cat = 1", "DELETE FROM cat",
    ] {
      try b.database.write(foreignKeys: .ignored) { try $0.connection.execute(sql) }
    }
    try b.sync(space)
    try a.execute("INSERT INTO cat (name) VALUES ('of a')")
    try converge([a, b], space)
    #expect(throws: ReplicaError.self) { try b.write { try $0.retry(.rejected) } }
    #expect(try a.rows(Self.pets) == [])
  }

  @Test(
    "The references of a rejected row follow a rejected row in columns that are not synchronized")
  func privateReference() throws {
    let (a, b) = try pair(
      [
        Self.cat,
        "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT UNIQUE, cat INTEGER REFERENCES cat)",
      ],
      [
        AttachedTable("cat", renumbers: true),
        AttachedTable("pet", columns: ["name"], allowsBlindSpots: true),
      ])
    try a.execute("INSERT INTO cat (name) VALUES ('same')")
    try a.execute("INSERT INTO pet VALUES ('p', 'Q', 1)")
    try a.sync(space)
    try b.execute("INSERT INTO cat (name) VALUES ('same')")
    try b.execute("INSERT INTO pet VALUES ('q', 'Q', 1)")
    try b.sync(space)
    try a.execute("INSERT INTO cat (name) VALUES ('other')")
    try converge([a, b], space)
    for (table, name) in [("cat", "mine"), ("pet", "R")] {
      let id = try #require(try b.rejected().first { $0.table == table }).id
      try b.write { _ = try $0.resolve(.one(id), by: .fields(["name": .text(name)])) }
    }
    #expect(try b.rows("\(Self.pets) DESC LIMIT 1") == [["q", "mine"]])
  }

  @Test("Rows are not joined while no trigger can note it, and can be later")
  func joinWithoutTriggers() throws {
    let (a, b) = try pair(
      [
        "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE, color TEXT)",
        "CREATE TABLE expense (id TEXT PRIMARY KEY, category TEXT NOT NULL REFERENCES category)",
      ], [AttachedTable("category", same: [["name"]]), AttachedTable("expense")])
    try a.execute("INSERT INTO category VALUES ('a', 'Food', NULL)")
    try a.sync(space)
    try b.execute("INSERT INTO category VALUES ('b', 'Food', 'red')")
    try b.execute("INSERT INTO expense VALUES ('e', 'b')")
    while try !b.pullPage(space) {}
    // As after a trigger has ended the transaction.
    try b.write { tables in
      _ = try tables.quietly {
        try tables.applyStaged(b.merging, decision: nil, using: &b.random)
      }
    }
    #expect(try b.rejected().count == 2)
    try b.write { _ = try $0.resolve(.rejected, by: .same) }
    try converge([b, a], space)
    try expectEqualRows(
      [a, b], "SELECT c.id, color, e.id FROM category AS c JOIN expense AS e ON category = c.id",
      [["a", "red", "e"]])
  }

  @Test("Rejected rows get other numbers than those of the records of a history that is adopted")
  func adoption() throws {
    let b = try rejectedPair().1
    // A table that is not synchronized refers to the rejected row.
    try b.execute("CREATE TABLE toy (cat INTEGER REFERENCES cat)")
    try b.database.write(foreignKeys: .ignored) {
      try $0.connection.execute("INSERT INTO toy VALUES (2)")
    }
    let other = try TestSpace(seed: 9)
    let c = try TestReplica(seed: 3, [Self.cat, Self.pet], tables: Self.tables, space: other)
    try c.execute("INSERT INTO cat (name) VALUES ('one'), ('two'), ('three')")
    try c.sync(other)
    b.decision = .adoptRemote
    try b.sync(other)
    try b.execute("INSERT INTO pet VALUES ('mine', 'M', 2)")
    try converge([b, c], other)
    try b.write { _ = try $0.retry(.rejected) }
    try converge([b, c], other)
    try expectEqualRows([b, c], Self.pets, [["mine", "two"], ["q", "same"]])
    try expectEqualRows(
      [b, c], "SELECT name FROM cat ORDER BY id", [["one"], ["two"], ["three"], ["same"]])
    #expect(try b.rows("SELECT name FROM toy JOIN cat ON cat = id") == [["same"]])
  }

  @Test("References stay with a row that a program adds under the number of a rejected one")
  func takenNumber() throws {
    let b = try rejectedPair().1
    try b.execute("INSERT INTO cat VALUES (2, 'own')")
    try b.sync(space)
    try b.execute("INSERT INTO pet VALUES ('mine', 'M', 2)")
    try converge([b], space)
    #expect(try b.rows(Self.pets) == [["mine", "own"]])
    #expect(try b.rejected().first { $0.table == "pet" }?.local?["cat"] == 3)
  }

  @Test("A rejected row keeps the values of columns that its table has lost")
  func lostColumn() throws {
    let (a, b) = try pair(
      ["CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE, color TEXT)"],
      [AttachedTable("category")])
    try a.execute("INSERT INTO category VALUES ('a', 'Food', NULL)")
    try a.sync(space)
    try b.execute("INSERT INTO category VALUES ('b', 'Food', 'red')")
    try b.dropColumn("color", of: "category")
    try b.sync(space)
    #expect(try b.rejected().map { $0.local?["color"] } == ["red"])
    try b.write { _ = try $0.resolve(.rejected, by: .fields(["name": "More"])) }
    try converge([b, a], space)
    #expect(try a.rows("SELECT color FROM category WHERE id = 'b'") == [["red"]])
    #expect(try b.read { try $0.keptEdits(.all) } == [])
  }

  @Test(
    "Rejected rows follow a joined one by a column that their table has lost",
    arguments: ["RENAME COLUMN cat TO category", "DROP COLUMN cat"])
  func lostReference(change: String) throws {
    let (a, b) = try pair(
      [
        "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
        "CREATE TABLE expense (id TEXT PRIMARY KEY, cat TEXT REFERENCES category, amount INTEGER)",
        "CREATE TABLE item (id TEXT PRIMARY KEY, expense TEXT REFERENCES expense)",
      ], [AttachedTable("category"), AttachedTable("expense"), AttachedTable("item")])
    try a.execute("INSERT INTO category VALUES ('a', 'Food')")
    try a.sync(space)
    try b.execute("INSERT INTO category VALUES ('b', 'Food')")
    try b.execute("INSERT INTO expense VALUES ('e', 'b', 5)")
    try b.execute("INSERT INTO item VALUES ('i', 'e')")
    try b.sync(space)
    try b.changeSchema("ALTER TABLE expense \(change)")
    try b.write { _ = try $0.resolve(.rejected, by: .same) }
    try converge([b, a], space)
    #expect(
      try a.rows("SELECT * FROM expense JOIN item ON expense = expense.id")
        == [["e", "a", 5, "i", "e"]])
    #expect(try b.rejected() == [])
  }

  /// Builds the table anew between the calls, and expects that it goes on with the next number.
  private func rebuildCats(_ b: TestReplica) throws {
    let last = try b.rows("SELECT seq FROM sqlite_sequence WHERE name = 'cat'")
    try b.write { try $0.beginSchemaChange() }
    for sql in [
      "CREATE TABLE other (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)",
      "INSERT INTO other SELECT * FROM cat", "DROP TABLE cat", "ALTER TABLE other RENAME TO cat",
    ] {
      try b.database.write(foreignKeys: .ignored) { try $0.connection.execute(sql) }
    }
    try b.write { try $0.endSchemaChange() }
    #expect(try b.rows("SELECT seq FROM sqlite_sequence WHERE name = 'cat'") == last)
    #expect(try b.read { try $0.status() }.pendingCount == 0)
    try b.execute("INSERT INTO cat (name) VALUES ('new')")
  }

  @Test("A table that is built anew between the calls does not give a rejected row's number again")
  func keptSequence() throws {
    let (a, b) = try rejectedPair()
    try rebuildCats(b)
    try converge([b, a], space)
    try b.write { _ = try $0.resolve(.rejected, by: .same) }
    try converge([b, a], space)
    try expectEqualRows([a, b], Self.pets, [["q", "same"]])
    #expect(try b.read { try $0.status() }.pendingCount == 0)
  }

  @Test("A table that is built anew between the calls does not give a deleted row's number again")
  func keptSequenceOfDeleted() throws {
    let (a, b) = try rejectedPair()
    // A row that the space never had, and that the file has no more.
    try b.write { _ = try $0.discard(.rejected) }
    try b.execute("INSERT INTO cat (name) VALUES ('gone')")
    try b.execute("DELETE FROM cat WHERE name = 'gone'")
    try rebuildCats(b)
    try converge([b, a], space)
    #expect(try b.read { try $0.status() }.pendingCount == 0)
  }

  @Test("The version of this file in an open conflict follows a row that is joined")
  func conflictOfJoined() throws {
    let (a, b) = try pair(
      [
        "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
        "CREATE TABLE expense (id TEXT PRIMARY KEY, category TEXT REFERENCES category)",
      ], [AttachedTable("category", same: [["name"]]), AttachedTable("expense")],
      rows: "INSERT INTO expense VALUES ('e', NULL)")
    try a.execute("INSERT INTO category VALUES ('a', 'Food'), ('o', 'Other')")
    try a.execute("UPDATE expense SET category = 'o'")
    try a.sync(space)
    try b.execute("INSERT INTO category VALUES ('b', 'Food')")
    try b.execute("UPDATE expense SET category = 'b'")
    try b.sync(space)
    let conflict = try #require(try b.conflicts(includingResolved: false).first)
    #expect(conflict.local?["category"] == "a")
    try b.write { _ = try $0.resolve(.one(conflict.id), by: .local) }
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT category FROM expense", [["a"]])
  }

  @Test("What a trigger wrote into synchronized rows is not written again by a retry")
  func retriedTrigger() throws {
    let (a, b) = try pair(
      [
        "CREATE TABLE cat (id TEXT PRIMARY KEY, n INTEGER DEFAULT 0)",
        "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT UNIQUE, cat TEXT REFERENCES cat)",
        "CREATE TRIGGER up AFTER INSERT ON pet BEGIN UPDATE cat SET n = n + 1 WHERE id = new.cat; END",
      ],
      [
        AttachedTable("cat", policies: ["n": .counter], allowsBlindSpots: true),
        AttachedTable("pet", allowsBlindSpots: true),
      ], rows: "INSERT INTO cat VALUES ('c', 0)")
    for file in [a, b] {
      file.merging = ReplicaMerging(["cat": TableMerging(fields: ["n": .counter])])
    }
    try a.execute("INSERT INTO pet VALUES ('a', 'Rex', 'c')")
    try a.sync(space)
    try b.execute("INSERT INTO pet VALUES ('b', 'Rex', 'c')")
    try converge([b, a], space)
    try a.execute("UPDATE pet SET name = 'Max'")
    try converge([a, b], space)
    try b.write { _ = try $0.retry(.rejected) }
    try converge([b, a], space)
    try expectEqualRows([a, b], "SELECT n, count(*) FROM cat JOIN pet", [[2, 2]])
  }

  @Test(
    "A kept reference of a new row follows it when the row's key refers to a row with a new number")
  func keyOfKept() throws {
    let (a, b) = try pair(
      [
        "CREATE TABLE person (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
        "CREATE TABLE place (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)",
        """
        CREATE TABLE stay (place INTEGER REFERENCES place, day TEXT,
          guest TEXT REFERENCES person ON DELETE SET NULL, PRIMARY KEY (place, day))
        """,
      ], [AttachedTable("person"), AttachedTable("place", renumbers: true), AttachedTable("stay")])
    try a.execute("INSERT INTO person VALUES ('pa', 'x')")
    try a.sync(space)
    try b.execute("INSERT INTO person VALUES ('pb', 'x')")
    try b.execute("INSERT INTO place (name) VALUES ('of b')")
    try b.execute("INSERT INTO stay VALUES (1, 'mo', 'pb')")
    try b.pull(space)
    try a.execute("INSERT INTO place (name) VALUES ('of a')")
    try a.execute("INSERT INTO stay VALUES (1, 'mo', NULL)")
    try converge([a, b], space)
    try b.write { _ = try $0.resolve(.rejected, by: .same) }
    try converge([b, a], space)
    try expectEqualRows(
      [a, b], "SELECT name, guest FROM stay JOIN place ON id = place ORDER BY 1",
      [["of a", .null], ["of b", "pa"]])
  }

  @Test("A rejected row has the last value of a column that was dropped and came back")
  func returnedColumn() throws {
    let (a, b) = try pair(
      ["CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE, color TEXT)"],
      [AttachedTable("category")])
    try a.execute("INSERT INTO category VALUES ('a', 'Food', NULL), ('c', 'Tea', NULL)")
    try a.sync(space)
    try b.execute("INSERT INTO category VALUES ('b', 'Food', 'red'), ('d', 'Tea', 'green')")
    try b.dropColumn("color", of: "category")
    try b.execute("ALTER TABLE category ADD COLUMN color TEXT")
    try b.execute("UPDATE category SET color = 'blue' WHERE id = 'b'")
    try b.sync(space)
    #expect(try b.rejected().map { $0.local?["color"] } == ["blue", "green"])
  }

  @Test("References to records of the space that are gone here stay through a change of columns")
  func recordsOfSpace() throws {
    let (a, b) = try pair(
      [
        "CREATE TABLE cat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)",
        "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT UNIQUE, cat INTEGER REFERENCES cat)",
      ], Self.tables, rows: "INSERT INTO cat (name) VALUES ('Food')")
    try a.execute("INSERT INTO pet VALUES ('p', 'x', NULL)")
    try a.sync(space)
    try b.execute("INSERT INTO pet VALUES ('q', 'x', 1)")
    try b.execute("CREATE TABLE toy (cat INTEGER REFERENCES cat)")
    try b.execute("INSERT INTO toy VALUES (1)")
    try b.sync(space)
    try b.execute("ALTER TABLE cat ADD COLUMN z TEXT")
    try b.database.write(foreignKeys: .ignored) {
      try $0.connection.execute("DELETE FROM cat")
    }
    // An edit beats a deletion.
    try a.execute("UPDATE cat SET name = 'More'")
    try a.execute("UPDATE pet SET name = 'y'")
    try converge([a, b], space)
    try b.write { _ = try $0.retry(.rejected) }
    try converge([b, a], space)
    #expect(try a.rows(Self.pets) == [["q", "More"]])
    #expect(try b.rows("SELECT name FROM toy JOIN cat ON cat = id") == [["More"]])
  }

  @Test("A file is not detached while it has edits of dropped columns alone")
  func detached() throws {
    let (_, b) = try pair(rows: "INSERT INTO pet VALUES ('p', 'Rex', NULL)")
    try b.execute("UPDATE pet SET name = 'important'")
    try b.dropColumn("name", of: "pet")
    let error = #expect(throws: ReplicaError.self) { try b.write { try $0.detach() } }
    #expect(error?.code == .rejectedChanges)
    try b.write { try $0.detach(discardsRejected: true) }
  }
}
