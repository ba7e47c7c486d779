import TandemRecords
import TandemSQLite
import TandemSync
import Testing

@testable import TandemReplica

@Suite("Kept edits: conflicts and rejected changes as one list", .timeLimit(.minutes(20)))
struct KeptEditTests {
  private static let table = """
    CREATE TABLE user (id TEXT PRIMARY KEY, mail TEXT UNIQUE, name TEXT)
    """

  /// Two files, of which the second has a conflict in the name of `u` and a rejected insertion of `b`.
  private func files(_ space: TestSpace) throws -> [TestReplica] {
    let files = try (1...2).map {
      try TestReplica(seed: $0, [Self.table], tables: [AttachedTable("user")], space: space)
    }
    try files[0].execute("INSERT INTO user VALUES ('u', 'u@x', 'old')")
    try converge(files, space)
    try files[0].execute("UPDATE user SET name = 'of a' WHERE id = 'u'")
    try files[0].execute("INSERT INTO user VALUES ('a', 'same@x', 'A')")
    try files[0].sync(space)
    try files[1].execute("UPDATE user SET name = 'of b' WHERE id = 'u'")
    try files[1].execute("INSERT INTO user VALUES ('b', 'same@x', 'B')")
    try converge(files, space)
    return files
  }

  private func open(
    _ file: TestReplica, _ selection: KeptEdit.Selection = .all
  ) throws -> [KeptEdit] {
    try file.read { try $0.keptEdits(selection) }
  }

  @Test("Conflicts and rejected changes have different numbers, and each names its reason")
  func numbers() throws {
    let b = try files(try TestSpace())[1]
    let edits = try open(b)
    #expect(edits.count == 2 && Set(edits.map(\.id)).count == 2)
    #expect(try open(b, .conflicts).map(\.reason) == ["both sides changed name"])
    let rejected = try #require(try open(b, .rejected).first)
    #expect(rejected.reason.contains("user 'a' has mail 'same@x'"), "\(rejected.reason)")
    #expect(rejected.local?["mail"] == "same@x" && rejected.base == nil && rejected.remote == nil)
    #expect(try open(b, .one(rejected.id)) == [rejected])
  }

  @Test("A rejected insertion is resolved by other values, and leaves the list")
  func otherValues() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    let id = try #require(try open(replicas[1], .rejected).first).id
    #expect(throws: ReplicaError.self) {
      try replicas[1].write { try $0.resolve(.one(id), by: .local) }
    }
    try replicas[1].write { try $0.resolve(.one(id), by: .fields(["mail": "b@x"])) }
    #expect(try open(replicas[1], .rejected).isEmpty)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, mail, name FROM user WHERE id = 'b'", [["b", "b@x", "B"]])
  }

  @Test("Other values of some fields leave the rest of a rejected edit, and keep what it replaces")
  func fields() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    try replicas[0].execute("UPDATE user SET mail = 'new@x' WHERE id = 'a'")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE user SET mail = 'new@x', name = 'edited' WHERE id = 'u'")
    try converge(replicas, space)
    let edit = try #require(
      try open(replicas[1], .rejected).first { $0.primaryKey == ["u"] })
    #expect(edit.base?["mail"] == "u@x" && edit.remote == edit.base)
    try replicas[0].execute("UPDATE user SET name = 'later' WHERE id = 'u'")
    try converge(replicas, space)
    try replicas[1].write { try $0.resolve(.one(edit.id), by: .fields(["mail": "v@x"])) }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT mail, name FROM user WHERE id = 'u'", [["v@x", "edited"]])
    #expect(try replicas[1].conflicts().contains { $0.remote?["name"] == "later" })
  }

  @Test("Other values of a field of a conflict leave its other fields as the row has them")
  func otherField() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    let conflict = try #require(try open(replicas[1], .conflicts).first)
    try replicas[1].execute("UPDATE user SET name = 'later' WHERE id = 'u'")
    let count = try replicas[1].conflicts().count
    try replicas[1].write { try $0.resolve(.one(conflict.id), by: .fields(["mail": "v@x"])) }
    try expectEqualRows(
      [replicas[1]], "SELECT mail, name FROM user WHERE id = 'u'", [["v@x", "later"]])
    #expect(try replicas[1].conflicts().count == count)
  }

  @Test("Other values of a row that was added here write all of it, also over a row of its key")
  func otherValuesOverRow() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    let id = try #require(try open(replicas[1], .rejected).first).id
    try replicas[0].execute("INSERT INTO user VALUES ('b', 'free@x', 'of a')")
    try converge(replicas, space)
    try replicas[1].write { try $0.resolve(.one(id), by: .fields(["mail": "b@x"])) }
    try expectEqualRows(
      [replicas[1]], "SELECT mail, name FROM user WHERE id = 'b'", [["b@x", "B"]])
    #expect(try replicas[1].conflicts().contains { $0.remote?["name"] == "of a" })
  }

  @Test("Retry gives a conflict its local version, and discard its remote one")
  func verbs() throws {
    let space = try TestSpace()
    for isRetried in [true, false] {
      let replicas = try files(try isRetried ? space : TestSpace())
      let id = try #require(try open(replicas[1], .conflicts).first).id
      let count = try replicas[1].write {
        try isRetried ? $0.retry(.one(id)) : $0.discard(.one(id))
      }
      #expect(count == 1)
      try expectEqualRows(
        [replicas[1]], "SELECT name FROM user WHERE id = 'u'", [[isRetried ? "of b" : "of a"]])
      #expect(try open(replicas[1], .conflicts).isEmpty)
      #expect(throws: ReplicaError.self) { try replicas[1].write { try $0.retry(.one(id)) } }
    }
  }

  @Test("Discarding all resolves the conflicts, and forgets the rejected changes")
  func discardAll() throws {
    let b = try files(try TestSpace())[1]
    let before = try b.rows("SELECT * FROM user ORDER BY id")
    #expect(try b.write { try $0.discard(.all) } == 2)
    #expect(try open(b).isEmpty)
    #expect(try b.rows("SELECT * FROM user ORDER BY id") == before)
    #expect(try b.conflicts().map(\.resolution) == [.remote])
  }

  @Test("A row that cannot be sent is noted once, with the reason that it has now")
  func presentReason() throws {
    let space = try TestSpace()
    let file = try files(space)[0]
    try file.execute("INSERT INTO user VALUES ('r', 'r@x', CAST(x'ff' AS TEXT))")
    _ = try file.freeze()
    try file.execute("UPDATE user SET name = zeroblob(5000000) WHERE id = 'r'")
    _ = try file.freeze()
    let notes = try open(file, .rejected).filter { $0.kind == .row }
    #expect(notes.count == 1 && notes[0].reason.contains("longer than"))
  }

  @Test("The number of an edit that was discarded is not used again")
  func numbersOfForgotten() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    let last = try #require(try open(replicas[1]).map(\.id).max())
    try replicas[1].write { try $0.discard(.all) }
    try replicas[0].execute("INSERT INTO user VALUES ('d', 'new@x', 'D')")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO user VALUES ('c', 'new@x', 'C')")
    try converge(replicas, space)
    #expect(try open(replicas[1]).map(\.id) == [last + 1])
  }

  private static let categories = [
    "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE, color TEXT, note TEXT)",
    "CREATE TABLE expense (id TEXT PRIMARY KEY, category TEXT NOT NULL REFERENCES category, amount INTEGER)",
  ]

  /// Two files that both made a category of one name; the second has 40 rejected expenses in it.
  private func categories(_ space: TestSpace) throws -> [TestReplica] {
    let files = try (1...2).map {
      try TestReplica(
        seed: $0, Self.categories, tables: [AttachedTable("category"), AttachedTable("expense")],
        space: space)
    }
    try converge(files, space)
    try files[0].execute("INSERT INTO category VALUES ('a', 'Food', NULL, 'of a')")
    try files[0].execute("INSERT INTO expense VALUES ('a1', 'a', 1)")
    try files[0].sync(space)
    try files[1].execute("INSERT INTO category VALUES ('b', 'food', 'red', 'of b')")
    for number in 1...40 {
      try files[1].execute("INSERT INTO expense VALUES ('b\(number)', 'b', \(number))")
    }
    try converge(files, space)
    return files
  }

  @Test("A category that both copies made becomes one, and what referred to it follows")
  func same() throws {
    let space = try TestSpace()
    let replicas = try categories(space)
    #expect(try open(replicas[1], .rejected).count == 41)
    let category = try #require(try open(replicas[1], .rejected).first { $0.table == "category" })
    try replicas[1].write { try $0.resolve(.one(category.id), by: .same) }
    #expect(try open(replicas[1], .rejected).isEmpty)
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM category", [["a", "Food", "red", "of a"]])
    try expectEqualRows(
      replicas, "SELECT count(*), count(DISTINCT category), sum(amount) FROM expense",
      [[41, 1, 821]])
    let kept = try #require(try replicas[1].conflicts().first { $0.key.id == ["a"] })
    #expect(kept.local?["note"] == "of b" && kept.resolution == .remote)
  }

  @Test("All rows that were made twice become one by one command, and other edits stay as they are")
  func allSame() throws {
    let space = try TestSpace()
    let replicas = try categories(space)
    try replicas[0].execute("INSERT INTO category VALUES ('c', 'Rent', NULL, NULL)")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO category VALUES ('d', 'rent', NULL, NULL)")
    try converge(replicas, space)
    #expect(try replicas[1].write { try $0.resolve(.all, by: .same) } == 2)
    #expect(try open(replicas[1], .rejected).isEmpty)
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id FROM category ORDER BY id", [["a"], ["c"]])
  }

  @Test(
    "A row is not joined with two others, with one that the space does not know, or if it was not refused"
  )
  func notSame() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    let edits = try open(replicas[1])
    for edit in edits where edit.kind.isConflict {
      #expect(throws: ReplicaError.self) {
        try replicas[1].write { try $0.resolve(.one(edit.id), by: .same) }
      }
    }
    let rejected = try #require(edits.first { $0.kind == .edit })
    try replicas[1].execute("UPDATE user SET mail = 'free@x' WHERE id = 'a'")
    try replicas[1].execute("INSERT INTO user VALUES ('n', 'same@x', 'not sent')")
    let before = try replicas[1].rows("SELECT * FROM user ORDER BY id")
    let error = #expect(throws: ReplicaError.self) {
      try replicas[1].write { try $0.resolve(.one(rejected.id), by: .same) }
    }
    #expect(error?.message.contains("synchronize first") == true)
    #expect(try replicas[1].rows("SELECT * FROM user ORDER BY id") == before)
    #expect(try open(replicas[1]) == edits)
  }

  @Test(
    "What only this file knows of a row that was made twice follows; else the row is not forgotten")
  func sameNumber() throws {
    let space = try TestSpace()
    let files = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE cat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)",
          "CREATE TABLE fav (cat INTEGER PRIMARY KEY REFERENCES cat, note TEXT)",
          "CREATE TABLE item (id TEXT PRIMARY KEY, t TEXT, cat INTEGER REFERENCES cat)",
          "CREATE TABLE place (cat INTEGER REFERENCES cat, name TEXT)",
        ],
        tables: [
          AttachedTable("cat", renumbers: true, allowsBlindSpots: true),
          AttachedTable("fav", allowsAssignedKeys: true), AttachedTable("item", columns: ["t"]),
        ], space: space)
    }
    try converge(files, space)
    for (number, file) in files.enumerated() {
      try file.execute("INSERT INTO cat (name) VALUES ('Food')")
      try file.execute("INSERT INTO fav VALUES (1, 'of \(number)')")
      try file.execute("INSERT INTO item VALUES ('i\(number)', 't', 1)")
      try file.execute("INSERT INTO place VALUES (1, 'p')")
      try file.sync(space)
    }
    try converge(files, space)
    let edit = try #require(try open(files[1], .rejected).first { $0.table == "cat" })
    #expect(throws: ReplicaError.self) { try files[1].write { try $0.discard(.one(edit.id)) } }
    try files[1].write { try $0.resolve(.one(edit.id), by: .same) }
    try converge(files, space)
    try expectEqualRows(files, "SELECT * FROM cat", [[1, "Food"]])
    try expectEqualRows(files, "SELECT * FROM fav", [[1, "of 0"]])
    try expectEqualRows(files, "SELECT id FROM item ORDER BY id", [["i0"], ["i1"]])
    #expect(try files[1].rows("SELECT cat FROM place") == [[1]])
    #expect(try files[1].rows("SELECT cat FROM item WHERE id = 'i1'") == [[1]])
    #expect(try files[1].conflicts().contains { $0.local?["note"] == "of 1" })
  }

  @Test("A file of format 5 is read as it is, and its two lists become one when it is written")
  func formerFormat() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    let b = replicas[1]
    let edits = try open(b)
    try b.makeFormat5()
    #expect(try open(b).map(\.local) == edits.map(\.local))
    #expect(try b.read { try $0.summary() }.rejectedCount == 1)
    let rejected = try #require(try open(b, .rejected).first)
    #expect(rejected.id > edits[0].id)
    try replicas[0].execute("UPDATE user SET name = 'next' WHERE id = 'a'")
    try converge(replicas, space)
    #expect(try b.rows("SELECT format FROM tandem_state") == [[6]])
    let names = try b.rows(
      "SELECT name FROM sqlite_schema WHERE name LIKE 'tandem_%ed' OR name = 'tandem_conflicts'")
    #expect(!names.contains(["tandem_rejected"]) && !names.contains(["tandem_conflicts"]))
    #expect(try open(b, .rejected).map(\.id) == [rejected.id])
    try b.write { try $0.resolve(.one(rejected.id), by: .fields(["mail": "b@x"])) }
    try b.write { try $0.resolve(.conflicts, by: .local) }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM user ORDER BY id",
      [["a", "same@x", "next"], ["b", "b@x", "B"], ["u", "u@x", "of b"]])
  }

  @Test("A decision takes over a file of format 5 as well, and so does detaching it")
  func decisionInFormerFormat() throws {
    for isDetached in [true, false] {
      let b = try files(try TestSpace())[1]
      try b.makeFormat5()
      if isDetached {
        try b.write { try $0.detach(discardsRejected: true, discardsConflicts: true) }
        #expect(
          try b.rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'tandem%'") == [[0]])
      } else {
        #expect(try b.write { try $0.discard(.all) } == 2)
        #expect(try open(b).isEmpty)
      }
    }
  }
}

extension TestReplica {
  /// Gives the file the lists of format 5.
  func makeFormat5() throws {
    for sql in [
      """
      CREATE TABLE tandem_conflicts (
        id INTEGER PRIMARY KEY, "table" TEXT NOT NULL, "key" TEXT NOT NULL,
        kind TEXT NOT NULL, fields TEXT, base TEXT, "local" TEXT, remote TEXT, resolution TEXT NOT NULL,
        version INTEGER NOT NULL, reported_in INTEGER)
      """,
      """
      CREATE TABLE tandem_rejected (
        id INTEGER PRIMARY KEY, "table" TEXT NOT NULL, "key" TEXT NOT NULL,
        kind TEXT NOT NULL, reason TEXT NOT NULL, base TEXT, content TEXT, others TEXT,
        UNIQUE ("table", "key", reason, content, kind, base, others))
      """,
      """
      INSERT INTO tandem_conflicts
      SELECT row_number() OVER (ORDER BY id), "table", "key", kind, fields, base, "local", remote, resolution,
        version, reported_in
      FROM tandem_kept WHERE version NOT NULL
      """,
      """
      INSERT INTO tandem_rejected
      SELECT row_number() OVER (ORDER BY id), "table", "key", kind, reason, base, coalesce("local", remote), others
      FROM tandem_kept WHERE version IS NULL
      """,
      "ALTER TABLE tandem_state RENAME COLUMN last_kept TO last_rejection",
      "UPDATE tandem_state SET format = 5, last_rejection = (SELECT count(*) FROM tandem_rejected)",
      "DROP TABLE tandem_kept",
    ] { try execute(sql) }
  }
}
