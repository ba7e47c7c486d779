import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("Constraints, triggers and columns of the application")
struct ReplicaConstraintTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  private func pair(_ schema: [String], _ tables: [AttachedTable]) throws -> [TestReplica] {
    try (1...2).map { try TestReplica(seed: $0, schema, tables: tables, space: space) }
  }

  /// The clauses by which a table says what a statement does that breaks a constraint.
  private static let clauses = ["", "ON CONFLICT REPLACE", "ON CONFLICT IGNORE"]

  @Test("Unique values that rows exchange arrive", arguments: clauses)
  func exchange(clause: String) throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, place INTEGER UNIQUE \(clause))"],
      [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET place = -place")
    try replicas[0].execute(
      "UPDATE t SET place = CASE id WHEN 'a' THEN 2 WHEN 'b' THEN 3 ELSE 1 END")
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM t ORDER BY id", [["a", 2], ["b", 3], ["c", 1]])
    // And to a new row, from one that is deleted.
    try replicas[1].execute("DELETE FROM t WHERE id = 'b'")
    try replicas[1].execute("INSERT INTO t VALUES ('0', 3)")
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM t ORDER BY id", [["0", 3], ["a", 2], ["c", 1]])
  }

  @Test(
    "Two new rows with one unique value: the space has the first one, and its file the other one",
    arguments: clauses)
  func uniqueness(clause: String) throws {
    let replicas = try pair(
      [
        "CREATE TABLE t (id TEXT PRIMARY KEY, mail TEXT UNIQUE \(clause) COLLATE NOCASE, name TEXT)"
      ],
      [AttachedTable("t")])
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO t VALUES ('z', 'x@y', 'of 0')")
    try replicas[1].execute("INSERT INTO t VALUES ('a', 'X@Y', 'of 1')")
    // Both commits are on their way before anybody pulls.
    for replica in replicas {
      let bytes = try #require(try replica.freeze())
      try replica.settle(try space.push(bytes), bytes)
    }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id, name FROM t", [["z", "of 0"]])
    #expect(try space.records().count == 1)
    let rejections = try replicas[1].rejected()
    #expect(rejections.map(\.kind) == [.edit])
    #expect(rejections.map { $0.content?["name"] } == ["of 1"])
    // The first one takes another value: there is room for both.
    try replicas[0].execute("UPDATE t SET mail = 'other'")
    try converge(replicas, space)
    try replicas[1].write { try $0.retry(.one(rejections[0].id)) }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, mail FROM t ORDER BY id", [["a", "X@Y"], ["z", "other"]])
    #expect(try replicas.flatMap { try $0.read { try $0.keptEdits(.rejected) } }.isEmpty)
  }

  @Test("A copy without the index sends two rows of one value: one arrives, the other is kept")
  func rivalsOfOneCopy() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY, mail TEXT, name TEXT"
    let replicas = [
      try TestReplica(
        seed: 1, [schema + ", UNIQUE (mail))"], tables: [AttachedTable("t")], space: space),
      try TestReplica(seed: 2, [schema + ")"], tables: [AttachedTable("t")], space: space),
    ]
    try converge(replicas, space)
    try replicas[1].execute("INSERT INTO t VALUES ('b', 'x@y', 'B'), ('a', 'x@y', 'A')")
    try converge(replicas, space)
    let names = try replicas[0].rows("SELECT name FROM t")
    #expect(names.count == 1)
    try expectEqualRows(replicas, "SELECT name FROM t", names)
    let kept = try replicas[1].rejectedContents().map { $0?["name"] }
    #expect(Set(kept + [names.first?.first]) == ["A", "B"])
  }

  @Test("A local row that takes a value of the space yields, and is noted")
  func localRowYields() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, mail TEXT UNIQUE, name TEXT)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('p', 'p@y', 'p')")
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO t VALUES ('z', 'x@y', 'space')")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO t VALUES ('a', 'x@y', 'local')")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, name FROM t ORDER BY id", [["p", "p"], ["z", "space"]])
    let rejections = try replicas[1].rejected()
    let rejection = try #require(rejections.first)
    #expect(rejections.count == 1)
    #expect(
      rejection.key == SyncKey(table: "t", id: ["a"]) && rejection.content?["name"] == "local")
    // It is refused as long as the value is taken.
    #expect(throws: ReplicaError.self) {
      try replicas[1].write { try $0.retry(.one(rejection.id)) }
    }
    try replicas[1].execute("UPDATE t SET mail = 'other' WHERE id = 'z'")
    try replicas[1].write { try $0.retry(.one(rejection.id)) }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, mail FROM t ORDER BY id",
      [
        ["a", "x@y"], ["p", "p@y"], ["z", "other"],
      ])
    #expect(try replicas[1].rejected().isEmpty)
  }

  @Test(
    "All rejected changes are made again at once as far as the tables accept them, or discarded")
  func allRejections() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, mail TEXT UNIQUE, name TEXT)"], [AttachedTable("t")])
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO t VALUES ('x', '1', 's'), ('y', '2', 's')")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO t VALUES ('a', '1', 'local'), ('b', '2', 'local')")
    try converge(replicas, space)
    let replica = replicas[1]
    #expect(try replica.rejected().count == 2)
    let error = #expect(throws: ReplicaError.self) {
      try replica.write { try $0.retry(.rejected) }
    }
    #expect(error?.code == .constraint)
    #expect(
      error?.message.hasPrefix("none of the 2 edits can be made again; rejected change 1: ")
        == true)
    try replica.execute("UPDATE t SET mail = 'other' WHERE id = 'y'")
    #expect(try replica.write { try $0.retry(.rejected) } == 1)
    #expect(try replica.rows("SELECT id FROM t ORDER BY id") == [["b"], ["x"], ["y"]])
    #expect(try replica.rejected().map { $0.content?["mail"] } == ["1"])
    #expect(try replica.write { try $0.discard(.rejected) } == 1)
    #expect(try replica.rejected().isEmpty)
    #expect(try replica.write { try $0.retry(.rejected) } == 0)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, mail FROM t ORDER BY id", [["b", "2"], ["x", "1"], ["y", "other"]])
  }

  @Test(
    "All conflicts are resolved although rows exchange unique values, or move by one place",
    arguments: [1, -1, 3], ["TEXT", "INTEGER NOT NULL CHECK (typeof(u) = 'integer')"])
  func resolvedExchange(step: Int, type: String) throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, u \(type) UNIQUE, v, other)"],
      [AttachedTable("t", columns: ["u", "v"])])
    for number in 0..<6 {
      try replicas[0].execute("INSERT INTO t (id, u, v) VALUES ('\(number)', \(number), 'v')")
    }
    try converge(replicas, space)
    try replicas[1].execute("UPDATE t SET other = 'kept ' || id")
    try replicas[0].execute("UPDATE t SET u = u + 10")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE t SET u = u + 20")
    try replicas[1].execute("UPDATE t SET u = 20 + (u - 20 + \(step) + 6) % 6 + 100")
    try converge(replicas, space)
    #expect(try replicas[1].conflicts().count == 6)
    // The versions of this file were exchanged with rows that have them now.
    try replicas[1].execute("UPDATE t SET u = 120 + CAST(id AS INTEGER)")
    #expect(try replicas[1].write { try $0.resolve(.conflicts, by: .local) } == 6)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT CAST(u AS INTEGER) FROM t ORDER BY id",
      (0..<6).map { [.integer(Int64(120 + ($0 + step + 6) % 6))] })
    #expect(
      try replicas[1].rows("SELECT other FROM t ORDER BY id")
        == (0..<6).map { [.text("kept \($0)")] })
    #expect(try replicas[1].read { try $0.keptEdits(.conflicts) }.isEmpty)
  }

  @Test("Of two conflicts of a row, the newer one decides about the fields of both")
  func overlappingConflicts() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, a, b)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('r', 'a', 'b')")
    try converge(replicas, space)
    for (index, change) in ["a = ? || 1, b = ? || 1", "b = ? || 2"].enumerated() {
      for (replica, name) in zip(replicas, ["'other'", "'own'"]) {
        try replica.execute(
          "UPDATE t SET \(change.split(separator: "?", omittingEmptySubsequences: false).joined(separator: name))"
        )
      }
      try replicas[0].sync(space)
      try converge(replicas, space)
      #expect(try replicas[1].read { try $0.keptEdits(.conflicts).count } == index + 1)
    }
    #expect(try replicas[1].write { try $0.resolve(.conflicts, by: .local) } == 2)
    #expect(
      try replicas[1].rows("SELECT a, b FROM t") == [[.text("own1"), .text("own2")]])
  }

  @Test("Rows do not exchange values if a trigger would see others for the time being")
  func watchedExchange() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, u UNIQUE)", "CREATE TABLE log (u)"],
      [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('a', 1), ('b', 2)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET u = u + 10")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE t SET u = u + 20")
    try converge(replicas, space)
    // The versions of this file are exchanged with rows that have them now.
    try replicas[1].execute("UPDATE t SET u = 33 - u")
    for action in ["SELECT RAISE(ROLLBACK, 'no')", "INSERT INTO log VALUES (NEW.u)"] {
      try replicas[1].execute("DROP TRIGGER IF EXISTS own")
      try replicas[1].execute(
        "CREATE TRIGGER own AFTER UPDATE ON t WHEN typeof(NEW.u) = 'text' BEGIN \(action); END")
      let before = try replicas[1].rows("SELECT * FROM t ORDER BY id")
      #expect(throws: ReplicaError.self) {
        try replicas[1].write { try $0.resolve(.conflicts, by: .local) }
      }
      #expect(try replicas[1].rows("SELECT * FROM log").isEmpty)
      let after = try replicas[1].rows("SELECT * FROM t ORDER BY id")
      let openCount = try replicas[1].read { try $0.keptEdits(.conflicts).count }
      #expect(after == before && openCount == 2)
    }
  }

  @Test("No conflict is resolved if a row that has none holds a unique value")
  func heldValue() throws {
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, u UNIQUE)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET u = u + 10 WHERE id < 'c'")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE t SET u = u + 20 WHERE id < 'c'")
    try converge(replicas, space)
    try replicas[1].execute("UPDATE t SET u = 22 WHERE id = 'c'")
    let before = try replicas[1].rows("SELECT * FROM t ORDER BY id")
    let error = #expect(throws: ReplicaError.self) {
      try replicas[1].write { try $0.resolve(.conflicts, by: .local) }
    }
    #expect(error?.code == .constraint)
    #expect(error?.message.hasPrefix("conflict ") == true)
    #expect(error?.message.contains("of 'b': t 'c' has u 22") == true)
    #expect(try replicas[1].rows("SELECT * FROM t ORDER BY id") == before)
    #expect(try replicas[1].conflicts().count == 2)
  }

  private static let lists = [
    "CREATE TABLE list (id TEXT PRIMARY KEY, name TEXT)",
    "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE)",
  ]

  @Test(
    "A parent that one side deletes while the other adds a child is revived",
    arguments: [(0, [[], [.editDelete]]), (1, [[.deleteEdit], []])] as [(Int, [[KeptEdit.Kind]])])
  func parents(first: Int, conflicts: [[KeptEdit.Kind]]) throws {
    let replicas = try pair(Self.lists, [AttachedTable("list"), AttachedTable("item")])
    try replicas[0].execute("INSERT INTO list VALUES ('l', 'list')")
    try replicas[0].execute("INSERT INTO item VALUES ('i', 'l')")
    try converge(replicas, space)
    try replicas[0].execute("DELETE FROM list")
    try replicas[1].execute("INSERT INTO item VALUES ('new', 'l')")
    try replicas[first].sync(space)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM list", [["l", "list"]])
    try expectEqualRows(replicas, "SELECT * FROM item", [["new", "l"]])
    try expectSoundReferences(replicas)
    #expect(try replicas.map { try $0.conflicts().map(\.kind) } == conflicts)
  }

  @Test(
    "A deleted parent is revived although the space accepts both commits before a replica sees the other",
    arguments: [([0, 1], .editDelete), ([1, 0], .deleteEdit)] as [([Int], KeptEdit.Kind)])
  func unseenParents(order: [Int], conflict: KeptEdit.Kind) throws {
    let tables = [AttachedTable("list"), AttachedTable("item")]
    let replicas = try pair(Self.lists, tables)
    let third = try TestReplica(seed: 3, Self.lists, tables: tables, space: space)
    let all = replicas + [third]
    try replicas[0].execute("INSERT INTO list VALUES ('l', 'list'), ('m', 'other')")
    try converge(all, space)
    try replicas[0].execute("DELETE FROM list")
    try replicas[1].execute("INSERT INTO item VALUES ('new', 'l')")
    for number in order {
      let bytes = try #require(try replicas[number].freeze())
      try replicas[number].settle(try space.push(bytes), bytes)
      try third.sync(space)
    }
    try converge(all, space)
    try expectEqualRows(all, "SELECT * FROM list", [["l", "list"]])
    try expectEqualRows(all, "SELECT * FROM item", [["new", "l"]])
    for replica in all {
      #expect(try replica.rows("PRAGMA foreign_key_check").isEmpty)
      #expect(try replica.rejected().isEmpty)
    }
    // The replica whose commit came last has seen both, and keeps the deletion that it overruled.
    #expect(try replicas[order[1]].conflicts().map(\.kind) == [conflict])
    // A later deletion is one that has seen the row.
    try replicas[0].execute("DELETE FROM item")
    try replicas[0].execute("DELETE FROM list")
    try converge(all, space)
    try expectEqualRows(all, "SELECT * FROM list", [])
  }

  @Test(
    "Revived parents come with all that they refer to, and with columns that the other replica lacks",
    arguments: [[0, 1], [1, 0]])
  func unseenAncestors(order: [Int]) throws {
    let children = [
      "CREATE TABLE p (id TEXT PRIMARY KEY, g TEXT REFERENCES g ON DELETE CASCADE)",
      "CREATE TABLE c (id TEXT PRIMARY KEY, p TEXT REFERENCES p ON DELETE CASCADE)",
    ]
    let replicas = try [
      ["CREATE TABLE g (id TEXT PRIMARY KEY, n INTEGER)"] + children,
      ["CREATE TABLE g (id TEXT PRIMARY KEY, n TEXT, extra TEXT)"] + children,
    ].enumerated().map { number, schema in
      try TestReplica(
        seed: UInt64(number + 1), schema, tables: ["g", "p", "c"].map { AttachedTable($0) },
        space: space)
    }
    try replicas[1].execute("INSERT INTO g VALUES ('g', '007', 'precious')")
    try replicas[1].execute("INSERT INTO p VALUES ('p', 'g')")
    try converge(replicas, space)
    try replicas[0].execute("DELETE FROM g")
    try replicas[1].execute("INSERT INTO c VALUES ('c', 'p')")
    for number in order {
      let bytes = try #require(try replicas[number].freeze())
      try replicas[number].settle(try space.push(bytes), bytes)
    }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT g.id, p.id, c.id FROM g, p, c", [["g", "p", "c"]])
    #expect(try replicas[1].rows("SELECT n, extra FROM g") == [["007", "precious"]])
    for (number, replica) in replicas.enumerated() {
      #expect(try replica.rows("PRAGMA foreign_key_check").isEmpty)
      let notes = try replica.rejected()
      // The first one has no place for the text.
      #expect(notes.map(\.key.table) == (number == 0 ? ["g"] : []))
    }
  }

  @Test(
    "A deleted row comes back for a row that the table does not accept, or that cannot be read",
    arguments: [true, false], [true, false])
  func unseenParentOfHeldRow(isSent: Bool, isUnreadable: Bool) throws {
    let (a, b) = (
      try TestReplica(
        seed: 1,
        [
          "CREATE TABLE p (id TEXT PRIMARY KEY)",
          "CREATE TABLE c (id TEXT PRIMARY KEY, p TEXT REFERENCES p, n CHECK (n <> 50))",
        ], tables: [AttachedTable("p"), AttachedTable("c")], space: space),
      try TestReplica(
        seed: 2,
        [
          "CREATE TABLE p (id TEXT PRIMARY KEY)",
          "CREATE TABLE c (id TEXT PRIMARY KEY, p TEXT REFERENCES p, n)",
        ], tables: [AttachedTable("p"), AttachedTable("c")], space: space)
    )
    try a.execute("INSERT INTO p VALUES ('p')")
    try a.execute("INSERT INTO c VALUES ('c', NULL, 1)")
    try converge([a, b], space)
    if isUnreadable {
      try a.execute("UPDATE c SET n = CAST(x'61ff' AS TEXT)")
      try b.execute("UPDATE c SET p = 'p'")
    } else {
      try b.execute("INSERT INTO c VALUES ('d', 'p', 50)")
    }
    try a.execute("DELETE FROM p")
    try b.sync(space)
    if isSent {
      let bytes = try #require(try a.freeze())
      try a.settle(try space.push(bytes), bytes)
    }
    for replica in [a, b, a] { try replica.sync(space) }
    try expectEqualRows([a, b], "SELECT * FROM p", [["p"]])
    #expect(try b.rows("PRAGMA foreign_key_check").isEmpty)
    #expect(try b.rejected().isEmpty)
  }

  @Test("Children arrive before their parents, and cascades do not run while changes are applied")
  func order() throws {
    let replicas = try pair(
      [
        "CREATE TABLE b (id TEXT PRIMARY KEY)",
        "CREATE TABLE a (id TEXT PRIMARY KEY, b TEXT NOT NULL REFERENCES b ON DELETE CASCADE)",
      ], [AttachedTable("a"), AttachedTable("b")])
    try replicas[0].execute("INSERT INTO b VALUES ('1'), ('2')")
    try replicas[0].execute("INSERT INTO a VALUES ('x', '1')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE a SET b = '2'")
    try replicas[0].execute("DELETE FROM b WHERE id = '1'")
    replicas[1].maxPageChangeCount = 1
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM a", [["x", "2"]])
  }

  @Test("A trigger that stamps each change does not make files answer each other for ever")
  func stamps() throws {
    let schema = { (stamp: String) in
      [
        "CREATE TABLE t (id TEXT PRIMARY KEY, v, stamp)", "CREATE TABLE log (v)",
        """
        CREATE TRIGGER stamp AFTER UPDATE ON t BEGIN
          UPDATE t SET stamp = '\(stamp)' WHERE id = new.id; INSERT INTO log VALUES (new.v); END
        """,
      ]
    }
    let replicas = try ["one", "two"].enumerated().map { offset, stamp in
      try TestReplica(
        seed: UInt64(offset + 1), schema(stamp), tables: [AttachedTable("t")], space: space)
    }
    try replicas[0].execute("INSERT INTO t VALUES ('a', 1, NULL)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET v = 2")
    let version = try space.state.head.version
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT * FROM t", [["a", 2, "one"]])
    #expect(try space.state.head.version == version + 1)
    // The trigger of the other file did not run, because it writes synchronized columns too.
    #expect(try replicas[1].rows("SELECT v FROM log").isEmpty)
  }

  @Test("Rows that an application's trigger writes while changes are applied stay as they were")
  func derivedRows() throws {
    let replicas = try pair(
      [
        "CREATE TABLE t (id TEXT PRIMARY KEY, v INTEGER)",
        "CREATE TABLE total (id TEXT PRIMARY KEY, v INTEGER)",
      ], [AttachedTable("t"), AttachedTable("total")])
    try replicas[0].execute("INSERT INTO total VALUES ('all', 0)")
    try converge(replicas, space)
    for replica in replicas {
      try replica.execute(
        "CREATE TRIGGER sum AFTER INSERT ON t BEGIN UPDATE total SET v = v + new.v; END")
    }
    try replicas[0].execute("INSERT INTO t VALUES ('a', 3), ('b', 4)")
    try converge(replicas, space)
    // Each addition counts once.
    try expectEqualRows(replicas, "SELECT v FROM total", [[7]])
  }

  @Test("Values that a column would alter, and columns that a file lacks, survive edits elsewhere")
  func parked() throws {
    let a = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, n TEXT, more, v)"],
      tables: [AttachedTable("t")], space: space)
    let b = try TestReplica(
      seed: 2, ["CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER, v)"], tables: [AttachedTable("t")],
      space: space)
    try a.execute("INSERT INTO t VALUES ('x', '007', 'kept', 1), ('y', '8', 'kept', 1)")
    try converge([a, b], space)
    #expect(try b.rows("SELECT * FROM t ORDER BY id") == [["x", .null, 1], ["y", 8, 1]])
    try b.execute("UPDATE t SET v = 2")
    try converge([a, b], space)
    #expect(
      try a.rows("SELECT * FROM t ORDER BY id") == [
        ["x", "007", "kept", 2], ["y", "8", "kept", 2],
      ])
    try b.execute("UPDATE t SET n = 9 WHERE id = 'x'")
    try converge([a, b], space)
    #expect(try a.rows("SELECT * FROM t WHERE id = 'x'") == [["x", "9", "kept", 2]])
    try a.execute("DELETE FROM t")
    try converge([a, b], space)
    #expect(try b.rows("SELECT count(*) FROM tandem_parked") == [[0]])
  }

  @Test("A record that the table forbids is kept beside it, and so is one without a table")
  func forbidden() throws {
    let a = try TestReplica(
      seed: 1,
      ["CREATE TABLE t (id TEXT PRIMARY KEY, v)", "CREATE TABLE other (id TEXT PRIMARY KEY)"],
      tables: [AttachedTable("t"), AttachedTable("other")], space: space)
    let b = try TestReplica(
      seed: 2, ["CREATE TABLE t (id TEXT PRIMARY KEY, v CHECK (v < 10))"],
      tables: [AttachedTable("t")], space: space)
    try a.execute("INSERT INTO t VALUES ('x', 50), ('y', 5)")
    try a.execute("INSERT INTO other VALUES ('o')")
    try converge([a, b], space)
    #expect(try b.rows("SELECT * FROM t") == [["y", 5]])
    // Once the value fits, the row appears.
    try a.execute("UPDATE t SET v = 7 WHERE id = 'x'")
    try a.execute("DELETE FROM other")
    try converge([a, b], space)
    #expect(try b.rows("SELECT * FROM t ORDER BY id") == [["x", 7], ["y", 5]])
    #expect(try b.rows("SELECT count(*) FROM tandem_parked") == [[0]])
  }

  @Test("A text that is not UTF-8 is noted, and the rest goes on")
  func invalidText() throws {
    let replicas = try pair(["CREATE TABLE t (id TEXT PRIMARY KEY, v)"], [AttachedTable("t")])
    try replicas[0].execute("INSERT INTO t VALUES ('bad', CAST(x'ff' AS TEXT)), ('good', 1)")
    for replica in replicas { try replica.sync(space) }
    #expect(try replicas[1].rows("SELECT * FROM t") == [["good", 1]])
    #expect(try replicas[0].read { try $0.summary() }.rejectedCount == 1)
    #expect(try !replicas[0].read { try $0.summary() }.isUpToDate)
    try replicas[0].execute("UPDATE t SET v = 'repaired' WHERE id = 'bad'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t ORDER BY id", [["bad", "repaired"], ["good", 1]])
  }

  @Test("What comes while a row has a text that is not UTF-8 is merged when the text is corrected")
  func mergedInvalidText() throws {
    let merging = ReplicaMerging(["t": TableMerging(fields: ["n": .counter])])
    let replicas = try pair(
      ["CREATE TABLE t (id TEXT PRIMARY KEY, u TEXT, n INTEGER)"], [AttachedTable("t")])
    for replica in replicas { replica.merging = merging }
    try replicas[0].execute(
      "INSERT INTO t VALUES ('count', 'u', 5), ('same', 'u', 5), ('gone', 'u', 5), ('other', 'u', 5)"
    )
    try converge(replicas, space)
    try replicas[1].execute("UPDATE t SET u = CAST(x'61ff' AS TEXT)")
    try replicas[1].execute("INSERT INTO t VALUES ('new', CAST(x'61ff' AS TEXT), 1)")
    for round in 1...2 {
      try replicas[0].execute("UPDATE t SET n = n + 3 WHERE id = 'count'")
      try replicas[0].execute("UPDATE t SET u = 'edit \(round)' WHERE id = 'same'")
      try replicas[0].execute("DELETE FROM t WHERE id = 'gone'")
      try replicas[0].execute("INSERT INTO t VALUES ('new', 'of 0', 2) ON CONFLICT DO NOTHING")
      for replica in replicas { try replica.sync(space) }
      #expect(try replicas[1].read { try $0.verify() }, "the base is that of the space")
      #expect(try replicas[1].rows("SELECT n FROM t WHERE id <> 'new'") == [[5], [5], [5], [5]])
    }
    // To the number that the space has.
    try replicas[1].execute("UPDATE t SET n = n + 6 WHERE id = 'count'")
    try replicas[1].execute("UPDATE t SET n = n + 1 WHERE id NOT IN ('new', 'count')")
    try replicas[1].execute("UPDATE t SET u = 'corrected' WHERE id <> 'new'")
    try replicas[1].execute("UPDATE t SET u = 'of 1' WHERE id = 'new'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM t WHERE id NOT IN ('new', 'same') ORDER BY id",
      [["count", "corrected", 17], ["gone", "corrected", 6], ["other", "corrected", 6]])
    try expectEqualRows(replicas, "SELECT n FROM t WHERE id = 'same'", [[6]])
    let conflicts = try replicas[1].conflicts()
    #expect(conflicts.contains { $0.key.id == ["gone"] && $0.kind == .editDelete })
    for text in ["edit 2", "corrected"] as [FieldValue] {
      let isKept = conflicts.contains { [$0.local?["u"], $0.remote?["u"]].contains(text) }
      #expect(isKept, "\(text)")
    }
    #expect(conflicts.contains { $0.remote?["u"] == "of 0" && $0.local?["u"] == "of 1" })
    #expect(try replicas[1].rows("SELECT count(*) FROM tandem_parked") == [[0]])
    #expect(try replicas[1].read { try $0.summary() }.isUpToDate)
  }

  @Test("A row that the space refuses brings the deleted row back that it referred to")
  func refusedChild() throws {
    let replicas = try pair(
      [
        "CREATE TABLE list (id TEXT PRIMARY KEY)",
        "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT REFERENCES list)",
      ],
      [AttachedTable("list"), AttachedTable("item")])
    try replicas[0].execute("INSERT INTO list VALUES ('l')")
    try replicas[0].execute("INSERT INTO item VALUES ('i', 'l')")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE item SET list = NULL")
    try replicas[0].execute("DELETE FROM list")
    let bytes = try #require(try replicas[0].freeze())
    let key = SyncKey(table: "item", id: ["i"])
    try replicas[0].settle(.refused([SyncObjection(key: key, reason: .tooLarge)]), bytes)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT list.id, item.id FROM list, item", [["l", "i"]])
    #expect(try replicas[0].conflicts().map(\.kind) == [.deleteEdit])
    #expect(try replicas[0].rejectedContents().count == 1)
  }

  @Test(
    "A refused row takes those with it that refer to it, unless the space has them too",
    arguments: ["", "ON DELETE SET NULL"])
  func refusedParent(action: String) throws {
    space.ignoresRules = true
    let replicas = try pair(
      [
        "CREATE TABLE list (id TEXT PRIMARY KEY)",
        "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT REFERENCES list \(action), name TEXT)",
      ],
      [AttachedTable("list"), AttachedTable("item")])
    try replicas[0].execute("INSERT INTO list VALUES ('old')")
    try replicas[0].execute("INSERT INTO item VALUES ('moved', 'old', 'of the space')")
    // A row of another replica refers to a list that the space does not have.
    try replicas[1].database.write(foreignKeys: .ignored) {
      try $0.connection.execute("INSERT INTO item VALUES ('early', 'new', 'of the space')")
    }
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO list VALUES ('new')")
    try replicas[0].execute("INSERT INTO item VALUES ('added', 'new', 'of this file')")
    try replicas[0].execute("UPDATE item SET list = 'new' WHERE id = 'moved'")
    let bytes = try #require(try replicas[0].freeze())
    try replicas[0].execute("UPDATE item SET name = 'edited later' WHERE id = 'added'")
    let key = SyncKey(table: "list", id: ["new"])
    try replicas[0].settle(.refused([SyncObjection(key: key, reason: .tooLarge)]), bytes)
    let isNull = !action.isEmpty
    try expectEqualRows([replicas[0]], "SELECT id FROM list", [["old"]])
    let added: [[FieldValue]] = isNull ? [["added", .null, "edited later"]] : []
    try expectEqualRows(
      [replicas[0]], "SELECT * FROM item ORDER BY id",
      added + [["early", "new", "of the space"], ["moved", "old", "of the space"]])
    let noted = try replicas[0].rows(
      "SELECT \"key\", \"local\" ->> 'name' FROM tandem_kept WHERE kind = 'edit' ORDER BY id")
    #expect(
      noted == [
        [#"["new"]"#, .null], [#"["moved"]"#, "of the space"], [#"["added"]"#, "edited later"],
      ])
    // The next commit does not touch the row of the space.
    let next = try replicas[0].freeze().map {
      try SyncMessageReader().commit($0).changes.map(\.key)
    }
    #expect((next ?? []).map(\.id) == (isNull ? [["added"]] : []))
  }
}
