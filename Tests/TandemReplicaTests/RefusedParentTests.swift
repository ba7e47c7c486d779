import TandemRecords
import TandemSQLite
import TandemSync
import Testing

@testable import TandemReplica

/// Rows that go because the space refuses them, or never had them, and the rows that refer to them.
@Suite("Rows that refer to a refused row", .timeLimit(.minutes(20)))
struct RefusedParentTests {
  let space: TestSpace
  init() throws { space = try TestSpace() }

  /// Two files with a user and a document of it. The other file has taken the mail of a new user, to whom the second file
  /// then gives documents.
  private func files(
    _ owner: String, same: [[String]] = [], _ edit: String, changes: [String] = []
  ) throws -> (TestReplica, TestReplica) {
    let files = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE user (id TEXT PRIMARY KEY, mail TEXT UNIQUE)",
          "CREATE TABLE doc (id TEXT PRIMARY KEY, owner TEXT \(owner), k INTEGER DEFAULT 0, text TEXT)",
        ], tables: [AttachedTable("user", same: same), AttachedTable("doc")], space: space)
    }
    for file in files {
      file.merging = ReplicaMerging(["doc": TableMerging(fields: ["k": .counter])])
    }
    try files[0].execute("INSERT INTO user VALUES ('1', 'one')")
    try files[0].execute("INSERT INTO doc (id, owner, k, text) VALUES ('d', '1', 0, 'x')")
    try converge(files, space)
    try files[0].execute("INSERT INTO user VALUES ('a', 'same')")
    try files[0].sync(space)
    try files[1].execute("INSERT INTO user VALUES ('b', 'same')")
    try files[1].execute(edit)
    for change in changes {
      try files[1].changeSchema(change)
    }
    try converge([files[1], files[0]], space)
    return (files[0], files[1])
  }

  private static let edit = "UPDATE doc SET owner = 'b', k = k + 5, text = 'mine'"
  private let rows = "SELECT * FROM doc ORDER BY id"

  @Test(
    "An edit of a record that refers to it is kept as a whole, and made once when it is retried",
    arguments: [
      "REFERENCES user", "REFERENCES user ON DELETE SET NULL", "REFERENCES user ON DELETE CASCADE",
      "NOT NULL REFERENCES user ON DELETE SET NULL",
    ])
  func edited(owner: String) throws {
    let (a, b) = try files(owner, Self.edit)
    try expectEqualRows([a, b], rows, [["d", "1", 0, "x"]])
    let edits = try b.rejected()
    #expect(edits.map(\.table) == ["user", "doc"])
    try b.write {
      try $0.resolve(.one(edits[0].id), by: .fields(["mail": "other"]))
      try $0.retry(.rejected)
    }
    try converge([b, a], space)
    try expectEqualRows([a, b], rows, [["d", "b", 5, "mine"]])
  }

  @Test(
    "An addition to a counter whose column was dropped, and came back, is made once when it is retried",
    arguments: [
      ["ALTER TABLE doc DROP COLUMN k", "ALTER TABLE doc ADD COLUMN k INTEGER DEFAULT 0"],
      ["ALTER TABLE doc RENAME COLUMN k TO l", "ALTER TABLE doc RENAME COLUMN l TO k"],
    ])
  func returnedCounter(changes: [String]) throws {
    let (a, b) = try files("REFERENCES user", Self.edit, changes: changes)
    let rows = "SELECT id, owner, k FROM doc"
    try expectEqualRows([a, b], rows, [["d", "1", 0]])
    let edits = try b.rejected()
    try b.write {
      try $0.resolve(.one(edits[0].id), by: .fields(["mail": "other"]))
      try $0.retry(.rejected)
    }
    try converge([b, a], space)
    try expectEqualRows([a, b], rows, [["d", "b", 5]])
  }

  @Test("A counter counts once if the refused row is joined with the record that has its value")
  func joined() throws {
    let (a, b) = try files("REFERENCES user ON DELETE SET NULL", same: [["mail"]], Self.edit)
    try expectEqualRows([a, b], rows, [["d", "a", 5, "mine"]])
    #expect(try b.rejected().isEmpty)
  }

  @Test(
    "A new row that cannot be without the reference is kept once",
    arguments: ["NOT NULL", "CHECK (owner NOT NULL)"])
  func added(constraint: String) throws {
    let (a, b) = try files(
      "\(constraint) REFERENCES user ON DELETE SET NULL",
      "INSERT INTO doc VALUES ('new', 'b', 5, 'mine')")
    try expectEqualRows([a, b], rows, [["d", "1", 0, "x"]])
    let edits = try b.rejected()
    #expect(edits.map(\.table) == ["user", "doc"] && edits.allSatisfy { $0.base == nil })
  }

  @Test("A new row with two references to it is kept once")
  func twoReferences() throws {
    let (a, b) = try files(
      "NOT NULL REFERENCES user, helper TEXT REFERENCES user ON DELETE SET NULL",
      "INSERT INTO doc (id, owner, helper) VALUES ('new', 'b', 'b')")
    try expectEqualRows([a, b], "SELECT id FROM doc", [["d"]])
    #expect(try b.rejected().map(\.table) == ["user", "doc"])
  }

  @Test(
    "An edit of another field stays if the edit that gives up wants a value of its row from the space",
    arguments: ["UPDATE doc SET note = 'mine' WHERE id = '9'", ""])
  func otherField(edit: String) throws {
    let files = try space.pair(
      ["CREATE TABLE doc (id TEXT PRIMARY KEY, v TEXT UNIQUE, note TEXT, t TEXT)"], "doc",
      rows: ["INSERT INTO doc VALUES ('1', 'v1', 'n', 't'), ('9', 'v9', 'n', 't')"])
    let (a, b) = (files[0], files[1])
    try a.execute("UPDATE doc SET v = 'taken' WHERE id = '9'")
    try a.sync(space)
    try b.execute("UPDATE doc SET v = 'taken' WHERE id = '1'")
    if edit.isEmpty {
      try b.changeSchema("ALTER TABLE doc RENAME COLUMN t TO renamed")
    } else {
      try b.execute(edit)
    }
    try converge([b, a], space)
    try expectEqualRows(
      [a, b], "SELECT id, v, note FROM doc",
      [["1", "v1", "n"], ["9", "taken", edit.isEmpty ? "n" : "mine"]])
    #expect(try b.rejected().map(\.primaryKey) == [["1"]])
  }

  @Test(
    "Rows of a table that is not synchronized stay if their row becomes a conflict",
    arguments: [false, true])
  func ofOtherTable(isAdopted: Bool) throws {
    let schema = ["CREATE TABLE user (id TEXT PRIMARY KEY, mail TEXT)"]
    let b = try TestReplica(seed: 1, schema, tables: [AttachedTable("user")], space: space)
    try b.sync(space)
    try b.execute(
      "CREATE TABLE draft (user TEXT REFERENCES user ON DELETE CASCADE, text TEXT)")
    try b.executeUnnoticed("INSERT INTO user VALUES ('b', 'm')")
    try b.execute("INSERT INTO draft VALUES ('b', 'my only novel')")
    if isAdopted {
      try space.startNewHistory()
      b.decision = .adoptRemote
    } else {
      try b.write { _ = try $0.verify() }
    }
    try converge([b], space)
    #expect(try b.rows("SELECT * FROM user").isEmpty)
    #expect(try b.conflicts().map(\.key.id) == [["b"]])
    #expect(try b.rows("SELECT text FROM draft") == [["my only novel"]])
  }
}
