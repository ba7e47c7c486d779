import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("Two files and a space")
struct ReplicaSyncTests {
  static let schema = [
    "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, body TEXT, visits INTEGER DEFAULT 0)"
  ]
  static let tables = [AttachedTable("note")]
  static let query = "SELECT * FROM note ORDER BY id"

  let space: TestSpace
  let a: TestReplica
  let b: TestReplica

  init() throws {
    space = try TestSpace()
    a = try TestReplica(seed: 1, Self.schema, tables: Self.tables, space: space)
    b = try TestReplica(seed: 2, Self.schema, tables: Self.tables, space: space)
  }

  /// Both files have one synchronized note.
  private func start() throws {
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body', 5)")
    try converge([a, b], space)
  }

  private func edit(_ first: String, _ second: String) throws {
    try start()
    try a.execute(first)
    try b.execute(second)
    try converge([a, b], space)
  }

  @Test("Rows added offline on both sides reach both")
  func additions() throws {
    try a.execute("INSERT INTO note VALUES ('a', 'of a', NULL, 1), ('x', 'both', 'same', 2)")
    try b.execute("INSERT INTO note VALUES ('b', x'00ff', 1.5, -1), ('x', 'both', 'same', 2)")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], Self.query,
      [
        ["a", "of a", .null, 1], ["b", .blob([0, 255]), "1.5", -1], ["x", "both", "same", 2],
      ])
    #expect(try a.conflicts().isEmpty)
    #expect(try b.conflicts().isEmpty)
  }

  @Test("A file pulls before it first sends: equal rows of two files are no conflict [fresh]")
  func firstPull() throws {
    var (first, second) = (SyncSession(), SyncSession())
    for replica in [a, b] {
      try replica.execute("INSERT INTO note VALUES ('n', 'title', 'body', 5)")
      #expect(try replica.freeze() == nil)
    }
    #expect(try a.run(&first, space) == .upToDate(try space.state.head))
    #expect(try b.run(&second, space) == .upToDate(try space.state.head))
    #expect(try space.state.head.version == 1)
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
  }

  @Test("Edits of different fields of one record are merged")
  func fields() throws {
    try edit("UPDATE note SET title = 'a'", "UPDATE note SET body = 'b'")
    try expectEqualRows([a, b], Self.query, [["n", "a", "b", 5]])
    #expect(try a.conflicts().isEmpty)
    #expect(try b.conflicts().isEmpty)
  }

  @Test("Two edits of one field are an open conflict with three versions, and its resolution syncs")
  func conflict() throws {
    try edit("UPDATE note SET title = 'a'", "UPDATE note SET title = 'b', body = 'also'")
    // The edit of the other field is merged.
    try expectEqualRows([a, b], Self.query, [["n", "a", "also", 5]])
    #expect(try a.conflicts().isEmpty)
    let open = try b.conflicts(includingResolved: false)
    try #require(open.count == 1)
    #expect(open[0].kind == .editEdit)
    #expect(open[0].fields == ["title"])
    #expect(open[0].base?["title"] == "title")
    #expect(open[0].local?["title"] == "b")
    #expect(open[0].local?["body"] == "also")
    #expect(open[0].remote?["title"] == "a")
    try b.write { try $0.resolve(.one(open[0].id), by: .local) }
    #expect(try b.conflicts(includingResolved: false).isEmpty)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "b", "also", 5]])
    #expect(throws: ReplicaError.self) {
      try b.write { try $0.resolve(.one(open[0].id), by: .local) }
    }
  }

  @Test(
    "A policy decides, and the version that it overrules is recorded",
    arguments: [(.keepLocal, "b", .local), (.keepRemote, "a", .remote)]
      as [(MergePolicy<Record>, FieldValue, KeptEdit.Resolution)])
  func policy(
    policy: MergePolicy<Record>, winner: FieldValue, resolution: KeptEdit.Resolution
  ) throws {
    b.merging = ReplicaMerging(["note": TableMerging(record: policy)])
    try edit("UPDATE note SET title = 'a'", "UPDATE note SET title = 'b'")
    try expectEqualRows([a, b], "SELECT title FROM note", [[winner]])
    let conflict = try #require(try b.conflicts().first)
    #expect(conflict.resolution == resolution)
    #expect(conflict.local?["title"] == "b" && conflict.remote?["title"] == "a")
    // The space has the overruled version too.
    let overruled = try space.database.read {
      try $0.connection.rows("SELECT fields FROM overruled")
    }
    #expect(overruled.count == 1)
  }

  @Test("The space gets each version that lost a field, and no other [overruled]")
  func overruledVersions() throws {
    b.merging = ReplicaMerging([
      "note": TableMerging(fields: [
        "title": .policy(.keepLocal), "body": .policy(.keepRemote),
      ])
    ])
    try edit("UPDATE note SET title = 'a'", "UPDATE note SET title = 'b'")
    try a.execute("UPDATE note SET body = 'body of a'")
    try b.execute("UPDATE note SET body = 'body of b'")
    try converge([a, b], space)
    try a.execute("UPDATE note SET title = 'A', body = 'A'")
    try b.execute("UPDATE note SET title = 'B', body = 'B'")
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT title, body FROM note", [["B", "A"]])
    let overruled = try space.database.read {
      try $0.connection.rows("SELECT fields FROM overruled ORDER BY rowid")
    }
    let texts = overruled.map { $0[0].textValue ?? "" }
    #expect(texts.count == 4, "\(texts)")
    for (text, loser) in zip(texts, [#""a""#, "body of b", #""B""#, #""A""#]) {
      #expect(text.contains(loser), "\(texts)")
    }
  }

  @Test("Texts merge by words, and counters add up")
  func fieldPolicies() throws {
    let merging = ReplicaMerging([
      "note": TableMerging(fields: ["body": .policy(.textMerge), "visits": .counter])
    ])
    a.merging = merging
    b.merging = merging
    try a.execute("INSERT INTO note VALUES ('n', 't', 'one two three four five', 5)")
    try converge([a, b], space)
    try a.execute("UPDATE note SET body = 'ONE two three four five', visits = visits + 1")
    try b.execute("UPDATE note SET body = 'one two three four FIVE', visits = visits + 1")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "t", "ONE two three four FIVE", 7]])
  }

  @Test("Additions of two files that have not seen each other are both accepted, once each [add]")
  func blindAdditions() throws {
    let merging = ReplicaMerging(["note": TableMerging(fields: ["visits": .counter])])
    a.merging = merging
    b.merging = merging
    try start()
    for replica in [a, b] { try replica.execute("UPDATE note SET visits = visits + 1") }
    let messages = try [a, b].map { try #require(try $0.freeze()) }
    for (replica, message) in zip([a, b], messages) {
      let outcome = try space.push(message)
      guard case .accepted = outcome else {
        Issue.record("\(outcome)")
        return
      }
      // The answer may be lost.
      #expect(try space.push(message) == outcome)
      try replica.settle(outcome, message)
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "title", "body", 7]])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
  }

  @Test("An edit beats a deletion, on both sides, and is recorded")
  func editsAndDeletes() throws {
    try start()
    try a.execute("INSERT INTO note VALUES ('m', 'title', 'body', 5)")
    try converge([a, b], space)
    try a.execute("DELETE FROM note WHERE id = 'm'")
    try b.execute("UPDATE note SET title = 'edited' WHERE id = 'm'")
    try a.execute("UPDATE note SET title = 'edited' WHERE id = 'n'")
    try b.execute("DELETE FROM note WHERE id = 'n'")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], Self.query, [["m", "edited", "body", 5], ["n", "edited", "body", 5]])
    #expect(Set(try b.conflicts().map(\.kind)) == [.editDelete, .deleteEdit])
    #expect(try b.conflicts(includingResolved: false).isEmpty)
  }

  @Test("Rows that both delete, and values that both write, do not conflict")
  func agreement() throws {
    try edit(
      "UPDATE note SET title = 'same', body = NULL", "UPDATE note SET title = 'same', body = NULL")
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
    try a.execute("DELETE FROM note")
    try b.execute("DELETE FROM note")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
    #expect(try space.state.digest == .empty)
  }

  @Test("A row that is deleted and added again is a new one; undone edits are none")
  func undone() throws {
    try start()
    let version = try space.state.head.version
    try a.execute("UPDATE note SET title = 'x'")
    try a.execute("UPDATE note SET title = 'title'")
    try a.execute("DELETE FROM note")
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body', 5)")
    try a.execute("INSERT INTO note VALUES ('gone', 1, 1, 1)")
    try a.execute("DELETE FROM note WHERE id = 'gone'")
    try converge([a, b], space)
    #expect(try space.state.head.version == version)
  }

  @Test("A change of the key is a deletion and an addition")
  func keys() throws {
    try edit("UPDATE note SET id = 'moved'", "SELECT 1")
    try expectEqualRows([a, b], Self.query, [["moved", "title", "body", 5]])
  }

  @Test("Storage counts: an integer and a real that are equal are two values")
  func storage() throws {
    let schema = ["CREATE TABLE v (id TEXT PRIMARY KEY, x)"]
    let space = try TestSpace()
    let a = try TestReplica(seed: 3, schema, tables: [AttachedTable("v")], space: space)
    let b = try TestReplica(seed: 4, schema, tables: [AttachedTable("v")], space: space)
    try a.execute("INSERT INTO v VALUES ('a', 1), ('b', 0.0), ('c', 9007199254740993)")
    try converge([a, b], space)
    try a.execute("UPDATE v SET x = CASE id WHEN 'a' THEN 1.0 WHEN 'b' THEN -0.0 ELSE x END")
    try b.execute("INSERT INTO v VALUES ('d', 9e999), ('e', '')")
    try converge([a, b], space)
    #expect(
      try a.rows("SELECT typeof(x) FROM v ORDER BY id")
        == ["real", "real", "integer", "real", "text"].map { [$0] })
    let values = try [a, b].map { try $0.rows("SELECT x FROM v ORDER BY id") }
    #expect(zip(values[0], values[1]).allSatisfy { $0[0].hasSameStorage(as: $1[0]) })
  }

  @Test("Large changes go in one commit of several parts, and in several pages")
  func parts() throws {
    a.limits.maxCommitChangeCount = 7
    b.maxPageChangeCount = 3
    for number in 0..<50 {
      try a.execute("INSERT INTO note VALUES ('n\(number)', 't\(number)', 'b', \(number))")
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query)
    #expect(try space.state.head.version == 1)
    try a.execute("UPDATE note SET visits = visits + 1")
    try b.execute("UPDATE note SET title = title || '!'")
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query)
    #expect(try b.conflicts().isEmpty)
  }

  @Test("An edit made while a commit waits for its outcome is sent afterwards")
  func later() throws {
    try start()
    try a.execute("UPDATE note SET title = 'first'")
    let bytes = try #require(try a.freeze())
    try a.execute("UPDATE note SET title = 'second', visits = 6")
    try a.settle(try space.push(bytes), bytes)
    try converge([a, b], space)
    try expectEqualRows([a, b], Self.query, [["n", "second", "body", 6]])
  }

  @Test("A commit that conflicts is taken back with the older base, merged and sent again")
  func takenBack() throws {
    try start()
    try a.execute("UPDATE note SET title = 'a', body = 'of a'")
    let bytes = try #require(try a.freeze())
    try a.execute("UPDATE note SET title = 'a2'")
    try b.execute("UPDATE note SET body = 'of b'")
    try b.sync(space)
    let outcome = try space.push(bytes)
    guard case .conflict = outcome else {
      Issue.record("\(outcome)")
      return
    }
    try a.settle(outcome, bytes)
    try converge([a, b], space)
    let conflict = try #require(try a.conflicts(includingResolved: false).first)
    #expect(conflict.base?["title"] == "title")
    #expect(conflict.local?["title"] == "a2")
    #expect(conflict.local?["body"] == "of a")
    try expectEqualRows([a, b], Self.query, [["n", "a2", "of b", 5]])
  }

  @Test("A session drives a file to the head of the space")
  func session() throws {
    var (first, second) = (SyncSession(), SyncSession())
    try a.execute("INSERT INTO note VALUES ('n', 'title', 'body', 5), ('m', 'title', 'body', 5)")
    #expect(try a.run(&first, space) == .upToDate(try space.state.head))
    #expect(try b.run(&second, space) == .upToDate(try space.state.head))
    try a.execute("UPDATE note SET title = 'a' WHERE id = 'n'")
    try b.execute("UPDATE note SET title = 'b'")
    #expect(try a.run(&first, space) == .upToDate(try space.state.head))
    #expect(try b.run(&second, space) == .upToDate(try space.state.head))
    #expect(try a.run(&first, space) == .upToDate(try space.state.head))
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], Self.query, [["m", "b", "body", 5], ["n", "a", "body", 5]])
  }

  @Test("Columns that are not chosen stay local")
  func localColumns() throws {
    let space = try TestSpace()
    let schema = ["CREATE TABLE f (id TEXT PRIMARY KEY, name TEXT UNIQUE, path TEXT)"]
    let tables = [AttachedTable("f", columns: ["name"])]
    let a = try TestReplica(seed: 3, schema, tables: tables, space: space)
    let b = try TestReplica(seed: 4, schema, tables: tables, space: space)
    try a.execute("INSERT INTO f VALUES ('1', 'x', '/a/x'), ('2', 'y', '/a/y')")
    try converge([a, b], space)
    try b.execute("UPDATE f SET path = '/b/' || id")
    #expect(try !b.read { try $0.summary() }.sync.hasChanges)
    // Names that are exchanged keep the paths where they are.
    try a.execute("UPDATE f SET name = 'z' WHERE id = '1'")
    try a.execute("UPDATE f SET name = 'x' WHERE id = '2'")
    try a.execute("UPDATE f SET name = 'y' WHERE id = '1'")
    try converge([a, b], space)
    #expect(
      try b.rows("SELECT * FROM f ORDER BY id") == [["1", "y", "/b/1"], ["2", "x", "/b/2"]])
  }
}
