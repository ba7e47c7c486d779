import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSpace
import TandemSync
import Testing

/// Files that only receive. Whatever constraints they have, they send nothing, and have all rows of the
/// space as soon as nothing is in the way.
@Suite("Receiving makes no edit")
struct ReceivingMakesNoEditTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  /// Sends one commit after the other, and calls `body` after each.
  private func send(_ replica: TestReplica, _ body: () throws -> Void) throws -> Int {
    var count = 0
    while let bytes = try replica.freeze() {
      try replica.settle(try space.push(bytes), bytes)
      count += 1
      if try replica.state.pullNeed != .none { try replica.pull(space) }
      try body()
    }
    return count
  }

  // MARK: Parts of a large change

  private static let family = [
    "CREATE TABLE parent (id TEXT PRIMARY KEY, pos INTEGER NOT NULL UNIQUE, v)",
    """
    CREATE TABLE child (
      id TEXT PRIMARY KEY, parent TEXT NOT NULL REFERENCES parent ON DELETE CASCADE, v)
    """,
  ]

  /// Two files with parents and a child of each, and small commits from the first file.
  private func family(count: Int, childrenFirst: Bool = false) throws -> [TestReplica] {
    let tables = [AttachedTable("parent"), AttachedTable("child")]
    let replicas = try (1...2).map { seed in
      try TestReplica(
        seed: seed, ReceivingMakesNoEditTests.family,
        tables: childrenFirst ? tables.reversed() : tables, space: space)
    }
    try replicas[0].execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO parent SELECT printf('p%03d', i * 7 % \(count)), i, 'v' FROM n
      """)
    try replicas[0].execute("INSERT INTO child SELECT 'c' || id, id, 'v' FROM parent")
    try converge(replicas, space)
    replicas[0].limits.maxCommitChangeCount = 8
    replicas[0].limits.maxPartsChangeCount = 8
    return replicas
  }

  @Test(
    "A deletion of several commits deletes children first; nothing comes back",
    arguments: [false, true])
  func largeDeletion(childrenFirst: Bool) throws {
    let replicas = try family(count: 20, childrenFirst: childrenFirst)
    try replicas[0].execute("DELETE FROM parent")
    let count = try send(replicas[0]) {
      try receive(replicas[1], from: space)
      #expect(try replicas[1].rows("PRAGMA foreign_key_check").isEmpty)
      #expect(try replicas[1].rejected().isEmpty)
    }
    #expect(count == 5)
    try expectEqualRows(
      replicas, "SELECT (SELECT count(*) FROM parent) + count(*) FROM child", [[0]])
  }

  @Test("An addition of several commits adds parents first", arguments: [false, true])
  func largeAddition(childrenFirst: Bool) throws {
    let replicas = try family(count: 1, childrenFirst: childrenFirst)
    for number in 10..<20 {
      try replicas[0].execute("INSERT INTO parent VALUES ('n\(number)', \(number), 'v')")
      try replicas[0].execute("INSERT INTO child VALUES ('n\(number)', 'n\(number)', 'v')")
    }
    _ = try send(replicas[0]) {
      try receive(replicas[1], from: space)
      #expect(try replicas[1].rows("PRAGMA foreign_key_check").isEmpty)
    }
    try expectEqualRows(replicas, "SELECT * FROM child ORDER BY id")
  }

  @Test("A shift of unique values in several commits loses no row, and no child")
  func largeShift() throws {
    space.ignoresRules = true
    let replicas = try family(count: 20)
    try replicas[0].execute("UPDATE parent SET pos = -pos - 1")
    try replicas[0].execute("UPDATE parent SET pos = -pos, v = 'shifted'")
    var wasSetAside = false
    let count = try send(replicas[0]) {
      try receive(replicas[1], from: space)
      #expect(try replicas[1].rows("SELECT count(*) FROM parent, child") == [[400]])
      wasSetAside = try wasSetAside || !replicas[1].rejected().isEmpty
    }
    #expect(count == 3 && wasSetAside)
    try expectEqualRows(replicas, "SELECT * FROM parent ORDER BY id")
    #expect(try replicas[1].rejected().isEmpty)
  }

  @Test("A parent whose children come to be deleted later waits for them, without a commit")
  func parentsBeforeChildren() throws {
    space.ignoresRules = true
    // The first file has no foreign keys, so it deletes in the order of names.
    let plain = [
      "CREATE TABLE parent (id TEXT PRIMARY KEY, v)",
      "CREATE TABLE child (id TEXT PRIMARY KEY, parent TEXT, v)",
    ]
    let tables = [AttachedTable("child"), AttachedTable("parent")]
    let a = try TestReplica(seed: 1, plain, tables: tables, space: space)
    let b = try TestReplica(
      seed: 2,
      [
        "CREATE TABLE parent (id TEXT PRIMARY KEY, v)",
        "CREATE TABLE child (id TEXT PRIMARY KEY, parent TEXT REFERENCES parent ON DELETE CASCADE, v)",
      ], tables: tables, space: space)
    try a.execute("INSERT INTO parent VALUES ('p', 1), ('q', 1)")
    try a.execute("INSERT INTO child VALUES ('c', 'p', 1), ('d', 'q', 1)")
    try converge([a, b], space)
    try a.execute("DELETE FROM parent")
    try a.sync(space)
    try receive(b, from: space)
    #expect(try b.rows("SELECT id FROM parent") == [["p"], ["q"]])
    let notes = try b.rejected()
    #expect(notes.map(\.kind) == [.record, .record] && notes.allSatisfy { $0.content == nil })
    #expect(throws: ReplicaError.self) { try b.write { try $0.retry(.one(notes[0].id)) } }
    // One child goes, the other one gets a sibling here: an edit, which needs the parent.
    try a.execute("DELETE FROM child WHERE id = 'c'")
    try a.sync(space)
    try receive(b, from: space)
    #expect(try b.rows("SELECT id FROM parent") == [["q"]])
    try b.execute("INSERT INTO child VALUES ('e', 'q', 2)")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT id FROM parent", [["q"]])
    try expectEqualRows([a, b], "SELECT id FROM child ORDER BY id", [["d"], ["e"]])
    #expect(try b.rejected().isEmpty)
    #expect(try b.conflicts().map(\.kind) == [.editDelete])
  }

  @Test("A row whose deletion is set aside is revived by an edit, and ends with a deletion here")
  func setAsideDeletion() throws {
    space.ignoresRules = true
    let plain = [
      "CREATE TABLE parent (id TEXT PRIMARY KEY, v)",
      "CREATE TABLE child (id TEXT PRIMARY KEY, parent TEXT)",
    ]
    let tables = [AttachedTable("parent"), AttachedTable("child")]
    let a = try TestReplica(seed: 1, plain, tables: tables, space: space)
    let b = try TestReplica(
      seed: 2,
      [
        plain[0],
        "CREATE TABLE child (id TEXT PRIMARY KEY, parent TEXT REFERENCES parent ON DELETE SET NULL)",
      ],
      tables: tables, space: space)
    try a.execute("INSERT INTO parent VALUES ('p', 1), ('q', 1), ('r', 1)")
    try a.execute("INSERT INTO child VALUES ('c', 'p'), ('d', 'q'), ('e', 'r')")
    try converge([a, b], space)
    try a.execute("DELETE FROM parent")
    try a.sync(space)
    try receive(b, from: space)
    // An update without effect is no edit.
    try b.execute("UPDATE parent SET v = v")
    try receive(b, from: space)
    try b.execute("UPDATE parent SET v = 2 WHERE id = 'p'")
    try b.execute("DELETE FROM parent WHERE id = 'q'")
    try a.execute("INSERT INTO parent VALUES ('r', 3)")
    try a.sync(space)
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT * FROM parent ORDER BY id", [["p", 2], ["r", 3]])
    #expect(try b.rejected().isEmpty)
    #expect(try b.conflicts().map(\.resolution) == [.local])
  }

  // MARK: Rows that contest a value

  @Test("Of two rows that took a value at once, an idle file keeps the first, and all columns")
  func race() throws {
    space.ignoresRules = true
    let schema = "CREATE TABLE n (id TEXT PRIMARY KEY, u TEXT UNIQUE, v TEXT"
    let child = "CREATE TABLE child (id TEXT PRIMARY KEY, n TEXT NOT NULL REFERENCES n)"
    let writers = try (1...2).map { seed in
      try space.replica(seed, ["\(schema))", child], AttachedTable("n"), AttachedTable("child"))
    }
    let idle = try space.replica(
      3, ["\(schema), private TEXT)", child], AttachedTable("n", columns: ["u", "v"]),
      AttachedTable("child"))
    try writers[0].execute("INSERT INTO n VALUES ('r1', '1', 'a'), ('r2', '2', 'years of work')")
    try writers[0].execute("INSERT INTO child VALUES ('c1', 'r1'), ('c2', 'r2')")
    try converge(writers + [idle], space)
    try idle.execute("UPDATE n SET private = 'of ' || id")
    // The row with the greater key is the first.
    try writers[1].execute("UPDATE n SET u = 'x' WHERE id = 'r2'")
    try writers[0].execute("UPDATE n SET u = 'x' WHERE id = 'r1'")
    for writer in writers.reversed() {
      let bytes = try #require(try writer.freeze())
      try writer.settle(try space.push(bytes), bytes)
    }
    let head = try space.state.head.version
    for _ in 0..<2 {
      for replica in writers + [idle] { try receive(replica, from: space) }
    }
    #expect(try space.state.head.version == head)
    #expect(
      try idle.rows("SELECT * FROM n ORDER BY id") == [
        ["r1", "1", "a", "of r1"], ["r2", "x", "years of work", "of r2"],
      ])
    let note = try #require(try idle.rejected().first)
    #expect(note.kind == .record && note.primaryKey == ["r1"] && note.content?["u"] == "x")
    // An edit of another field is sent, and the value stays aside.
    try idle.execute("UPDATE n SET v = 'b' WHERE id = 'r1'")
    try idle.sync(space)
    #expect(try space.records()[note.key]?["u"] == "x")
    #expect(try space.records()[note.key]?["v"] == "b")
    #expect(try idle.rows("SELECT u FROM n WHERE id = 'r1'") == [["1"]])
    // The other one takes another value: all files have the same rows.
    try writers[1].execute("UPDATE n SET u = 'y' WHERE id = 'r2'")
    try converge(writers + [idle], space)
    try expectEqualRows(
      writers + [idle], "SELECT id, u, v FROM n ORDER BY id",
      [["r1", "x", "b"], ["r2", "y", "years of work"]])
    #expect(try idle.rows("SELECT private FROM n ORDER BY id") == [["of r1"], ["of r2"]])
    #expect(try (writers + [idle]).flatMap { try $0.rejected() }.isEmpty)
  }

  @Test("A value that is written over one that the row never had is recorded")
  func unseenVersion() throws {
    let replicas = try [
      space.replica(1, ["CREATE TABLE n (id TEXT PRIMARY KEY, u INT)"], AttachedTable("n")),
      space.replica(
        2, ["CREATE TABLE n (id TEXT PRIMARY KEY, u INT CHECK (u < 9))"], AttachedTable("n")),
    ]
    try replicas[0].execute("INSERT INTO n VALUES ('a', 1)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE n SET u = 10")
    try replicas[0].sync(space)
    try receive(replicas[1], from: space)
    try replicas[1].execute("UPDATE n SET u = 2")
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT u FROM n", [[2]])
    let conflict = try #require(try replicas[1].conflicts().first)
    #expect(conflict.kind == .editEdit && conflict.resolution == .local)
    #expect(conflict.base?["u"] == 1 && conflict.remote?["u"] == 10)
    #expect(try replicas[1].rejected().isEmpty)
  }

  @Test(
    "A file with a stricter index or key sends nothing, whichever rows refer to a row it cannot have",
    arguments: ["UNIQUE", "COLLATE NOCASE UNIQUE", "CHECK (u <> 'X')"])
  func stricter(constraint: String) throws {
    space.ignoresRules = true
    let child = "CREATE TABLE child (id TEXT PRIMARY KEY, parent TEXT REFERENCES parent)"
    let (a, b) = try (
      space.replica(
        1, ["CREATE TABLE parent (id TEXT PRIMARY KEY, u TEXT \(constraint), v)", child],
        AttachedTable("parent"), AttachedTable("child")),
      space.replica(
        2, ["CREATE TABLE parent (id TEXT PRIMARY KEY, u TEXT, v)", child],
        AttachedTable("parent"), AttachedTable("child"))
    )
    let taken = constraint == "UNIQUE" ? "x" : "X"
    try b.execute("INSERT INTO parent VALUES ('a', 'x', 1), ('b', '\(taken)', 2)")
    try b.execute("INSERT INTO child VALUES ('c', 'b')")
    try b.sync(space)
    let head = try space.state.head.version
    for _ in 0..<3 {
      try receive(a, from: space)
      try receive(b, from: space)
    }
    #expect(try space.state.head.version == head)
    #expect(try a.rows("SELECT id FROM parent") == [["a"]])
    #expect(try b.rows("SELECT count(*) FROM parent, child") == [[2]])
    #expect(try a.rejected().map(\.primaryKey) == [["b"]])
    try b.execute("UPDATE parent SET u = 'free' WHERE id = 'b'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT * FROM parent ORDER BY id")
    #expect(try a.rejected().isEmpty)
  }

  @Test("Rows whose keys are equal by the collation of a file: it has one of them")
  func collatedKey() throws {
    space.ignoresRules = true
    let a = try space.replica(
      1, ["CREATE TABLE n (id TEXT COLLATE NOCASE PRIMARY KEY, v)"], AttachedTable("n"))
    let b = try space.replica(2, ["CREATE TABLE n (id TEXT PRIMARY KEY, v)"], AttachedTable("n"))
    try b.execute("INSERT INTO n VALUES ('Bob', 1), ('bob', 2)")
    try b.sync(space)
    for _ in 0..<2 {
      try receive(a, from: space)
      try receive(b, from: space)
    }
    #expect(try a.rows("SELECT * FROM n") == [["Bob", 1]])
    #expect(try b.rows("SELECT count(*) FROM n") == [[2]])
    try b.execute("DELETE FROM n WHERE id = 'Bob'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT * FROM n", [["bob", 2]])
  }

  @Test("A local edit gives its unique value to the space's row; the row and other edits stay")
  func localEditYields() throws {
    let replicas = try (1...2).map {
      try space.replica(
        $0, ["CREATE TABLE n (id TEXT PRIMARY KEY, u TEXT UNIQUE, v TEXT)"], AttachedTable("n"))
    }
    try replicas[0].execute("INSERT INTO n VALUES ('a', '1', 'v'), ('b', '2', 'v')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE n SET u = 'x' WHERE id = 'b'")
    try replicas[1].execute("UPDATE n SET u = 'x' WHERE id = 'a'")
    try replicas[0].sync(space)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM n ORDER BY id", [["a", "1", "v"], ["b", "x", "v"]])
    let note = try #require(try replicas[1].rejected().first)
    #expect(note.kind == .edit && note.base?["u"] == "1" && note.content?["u"] == "x")
    #expect(try replicas.map { try $0.rejected().count } == [0, 1])
  }

  @Test("An edit that does not contest a value stays while the row waits for the value")
  func editOfWaitingRow() throws {
    space.ignoresRules = true
    let replicas = try (1...2).map {
      try space.replica(
        $0, ["CREATE TABLE n (id TEXT PRIMARY KEY, u TEXT UNIQUE, v TEXT)"], AttachedTable("n"))
    }
    try replicas[0].execute("INSERT INTO n VALUES ('a', '1', 'v'), ('b', '2', 'v')")
    try converge(replicas, space)
    // Both are in the space, where 'b' was first. The second file has another edit of 'a'.
    try replicas[1].execute("UPDATE n SET u = 'x' WHERE id = 'b'")
    try replicas[0].execute("UPDATE n SET u = 'x' WHERE id = 'a'")
    for replica in replicas.reversed() {
      let bytes = try #require(try replica.freeze())
      try replica.settle(try space.push(bytes), bytes)
    }
    try replicas[1].execute("UPDATE n SET v = 'precious' WHERE id = 'a'")
    try converge(replicas, space)
    #expect(
      try replicas[1].rows("SELECT * FROM n ORDER BY id") == [
        ["a", "1", "precious"], ["b", "x", "v"],
      ])
    #expect(try replicas[0].rows("SELECT * FROM n WHERE id = 'a'") == [["a", "x", "precious"]])
    #expect(try replicas[1].rejected().map(\.kind) == [.record])
  }

  @Test("A row that waits for a value is not sent when a third row wants the one that it still has")
  func holderThatWaits() throws {
    let schema = "CREATE TABLE n (id TEXT PRIMARY KEY, u TEXT, v TEXT)"
    let a = try space.replica(1, [schema], AttachedTable("n"))
    let b = try space.replica(
      2,
      [
        schema, "CREATE UNIQUE INDEX one ON n (u)", "CREATE TABLE log (v)",
        "CREATE TRIGGER noted AFTER INSERT ON n BEGIN INSERT INTO log VALUES (new.v); END",
      ], AttachedTable("n"))
    try a.execute("INSERT INTO n VALUES ('a', '1', 'v'), ('b', '2', 'v')")
    try converge([a, b], space)
    try a.execute("UPDATE n SET u = '2' WHERE id = 'a'")
    try a.sync(space)
    try receive(b, from: space)
    // The value of the row 'a' here is the former one, and cannot be given away.
    try a.execute("INSERT INTO n VALUES ('c', '1', 'v')")
    try a.sync(space)
    try receive(b, from: space)
    #expect(
      try b.rows("SELECT * FROM n ORDER BY id") == [["a", "1", "v"], ["b", "2", "v"]])
    try a.execute("DELETE FROM n WHERE id = 'b'")
    try a.sync(space)
    try receive(b, from: space)
    try receive(b, from: space)
    try expectEqualRows([a, b], "SELECT * FROM n ORDER BY id")
    #expect(try b.rejected().isEmpty)
  }

  @Test(
    "A parent whose child compares otherwise, or by a column that is not synchronized, stays",
    arguments: [
      ("id TEXT COLLATE NOCASE PRIMARY KEY, v TEXT", "REFERENCES parent (id)", "'abc'", "'ABC'"),
      ("id INT PRIMARY KEY, v TEXT", "REFERENCES parent (id)", "5", "'5'"),
      (
        "id TEXT PRIMARY KEY, v TEXT, code TEXT DEFAULT 'k' UNIQUE", "REFERENCES parent (code)",
        "'p'", "'k'"
      ),
    ])
  func unequalReferences(parent: String, reference: String, key: String, value: String) throws {
    let replicas = try (1...2).map {
      try space.replica(
        $0,
        [
          "CREATE TABLE parent (\(parent))",
          "CREATE TABLE child (id TEXT PRIMARY KEY, parent BLOB \(reference))",
        ], AttachedTable("parent", columns: ["v"]), AttachedTable("child"))
    }
    try replicas[0].execute("INSERT INTO parent (id, v) VALUES (\(key), 'p')")
    try converge(replicas, space)
    try replicas[1].execute("INSERT INTO child VALUES ('c', \(value))")
    try replicas[0].execute("DELETE FROM parent")
    try replicas[0].sync(space)
    // The child is sent before the deletion of its parent is received.
    let bytes = try #require(try replicas[1].freeze())
    try replicas[1].settle(try space.push(bytes), bytes)
    try replicas[1].pull(space)
    #expect(try replicas[1].rows("SELECT v FROM parent") == [["p"]])
    #expect(try replicas[1].rows("PRAGMA foreign_key_check").isEmpty)
    try converge(replicas, space)
    #expect(try replicas[1].rows("PRAGMA foreign_key_check").isEmpty)
  }

  @Test(
    "A row that takes the place of one that others refer to is received",
    arguments: [
      ("id TEXT COLLATE NOCASE PRIMARY KEY, v", "parent", "'Bob', 1", "id = 'bob', v = 2"),
      ("id TEXT COLLATE RTRIM PRIMARY KEY, v", "parent", "'Bob ', 1", "id = 'Bob', v = 2"),
      ("id TEXT PRIMARY KEY, v UNIQUE", "parent (v)", "'p', 1", "id = 'other'"),
    ], [false, true])
  func replacedParent(
    table: (parent: String, reference: String, row: String, change: String), isEdited: Bool
  ) throws {
    let replicas = try (1...2).map {
      try space.replica(
        $0,
        [
          "CREATE TABLE parent (\(table.parent))",
          "CREATE TABLE child (id TEXT PRIMARY KEY, p REFERENCES \(table.reference), note)",
        ], AttachedTable("parent"), AttachedTable("child"))
    }
    let reference = table.reference == "parent" ? "id" : "v"
    try replicas[0].execute("INSERT INTO parent VALUES (\(table.row))")
    try replicas[0].execute("INSERT INTO child SELECT 'c', \(reference), 1 FROM parent")
    try converge(replicas, space)
    try replicas[1].execute("UPDATE parent SET \(table.change)")
    if isEdited { try replicas[0].execute("UPDATE child SET note = 2") }
    try replicas[1].sync(space)
    try converge(replicas, space)
    for replica in replicas {
      #expect(try replica.rejected().isEmpty)
      #expect(try replica.rows("PRAGMA foreign_key_check").isEmpty)
    }
    try expectEqualRows(replicas, "SELECT * FROM parent")
    try expectEqualRows(replicas, "SELECT * FROM child")
  }

  @Test("Values that columns alter, a minus zero among them, are no edits")
  func alteredValues() throws {
    let a = try space.replica(1, ["CREATE TABLE n (id TEXT PRIMARY KEY, w, i)"], AttachedTable("n"))
    let b = try space.replica(
      2, ["CREATE TABLE n (id TEXT PRIMARY KEY, w REAL, i INTEGER)"], AttachedTable("n"))
    try converge([a, b], space)
    try a.execute("INSERT INTO n VALUES ('both', -0.0, 1.0), ('one', -0.0, 1), ('text', 2, '3')")
    let values = "SELECT id, w, typeof(w), i, typeof(i) FROM n ORDER BY id"
    let sent = try a.rows(values)
    try a.sync(space)
    try receive(b, from: space)
    #expect(
      try b.rows("SELECT w, i FROM n ORDER BY id") == [
        [.real(0), 1], [.real(0), 1], [.real(2), 3],
      ])
    try converge([b, a], space)
    #expect(try a.rows(values) == sent)
  }
}
