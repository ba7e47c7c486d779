import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

@Suite("Rows that two copies made, and that a rule says are one record", .timeLimit(.minutes(20)))
struct SameRuleTests {
  private static let schema = [
    """
    CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE, code INTEGER UNIQUE, color TEXT,
      note TEXT, kind TEXT REFERENCES category)
    """,
    "CREATE TABLE expense (id TEXT PRIMARY KEY, category TEXT NOT NULL REFERENCES category, amount INTEGER)",
  ]

  private func files(
    _ space: TestSpace, same: [[String]] = [["name"]], more: [String] = []
  ) throws -> [TestReplica] {
    let files = try (1...2).map {
      try TestReplica(
        seed: $0, Self.schema + more,
        tables: [AttachedTable("category", same: same), AttachedTable("expense")], space: space)
    }
    try converge(files, space)
    return files
  }

  @Test("40 expenses of a category that both copies made are never away [same]")
  func expenses() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    try replicas[0].execute(
      "INSERT INTO category (id, name, note) VALUES ('a', 'Food', 'of a')")
    try replicas[0].execute("INSERT INTO expense VALUES ('a1', 'a', 1)")
    try replicas[0].sync(space)
    try replicas[1].execute(
      "INSERT INTO category (id, name, color, note) VALUES ('b', 'food', 'red', 'of b')")
    for number in 1...40 {
      try replicas[1].execute("INSERT INTO expense VALUES ('b\(number)', 'b', \(number))")
    }
    try replicas[1].pull(space)
    #expect(try replicas[1].rejected().isEmpty)
    #expect(try replicas[1].rows("SELECT count(*) FROM expense WHERE category = 'a'") == [[41]])
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, name, color, note FROM category", [["a", "Food", "red", "of a"]])
    try expectEqualRows(
      replicas, "SELECT count(*), count(DISTINCT category), sum(amount) FROM expense",
      [[41, 1, 821]])
    let kept = try #require(try replicas[1].conflicts().first { $0.key.id == ["a"] })
    #expect(kept.local?["note"] == "of b" && kept.resolution == .remote)
  }

  @Test(
    "New rows that refer to new rows that refer to a joined one stay", arguments: [true, false])
  func generations(isByRule: Bool) throws {
    let space = try TestSpace()
    let schema = [
      "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
      "CREATE TABLE expense (id TEXT PRIMARY KEY, category TEXT REFERENCES category)",
      "CREATE TABLE item (id TEXT PRIMARY KEY, expense TEXT REFERENCES expense, above TEXT REFERENCES item)",
    ]
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0, schema,
        tables: [
          AttachedTable("category", same: isByRule ? [["name"]] : []), AttachedTable("expense"),
          AttachedTable("item"),
        ], space: space)
    }
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO category VALUES ('a', 'Food')")
    try replicas[0].sync(space)
    for sql in [
      "category VALUES ('b', 'Food')", "expense VALUES ('e', 'b')", "item VALUES ('i', 'e', NULL)",
      "item VALUES ('below', 'e', 'i')",
    ] {
      try replicas[1].execute("INSERT INTO \(sql)")
    }
    try replicas[1].sync(space)
    if !isByRule {
      let edit = try #require(try replicas[1].rejected().first { $0.table == "category" })
      try replicas[1].write { try $0.resolve(.one(edit.id), by: .same) }
    }
    try converge(replicas, space)
    #expect(try replicas[1].rejected().isEmpty)
    try expectEqualRows(
      replicas,
      "SELECT item.id, above, category.name FROM item JOIN expense ON expense.id = expense JOIN category ON category.id = category ORDER BY 1",
      [["below", "i", "Food"], ["i", .null, "Food"]])
  }

  @Test("An edit that was rejected for another reason is not made again with a row that is joined")
  func earlierRejection() throws {
    let space = try TestSpace()
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
          "CREATE TABLE expense (id TEXT PRIMARY KEY, category TEXT REFERENCES category)",
          "CREATE TABLE item (id TEXT PRIMARY KEY, expense TEXT REFERENCES expense, code TEXT UNIQUE)",
        ],
        tables: [
          AttachedTable("category", same: [["name"]]), AttachedTable("expense"),
          AttachedTable("item"),
        ], space: space)
    }
    let (a, b) = (replicas[0], replicas[1])
    try a.execute("INSERT INTO expense VALUES ('e', NULL)")
    try a.execute("INSERT INTO item VALUES ('i', 'e', 'i'), ('j', 'e', 'j')")
    try converge(replicas, space)
    try a.execute("UPDATE item SET code = 'x' WHERE id = 'j'")
    try a.sync(space)
    try b.execute("UPDATE item SET code = 'x' WHERE id = 'i'")
    try b.sync(space)
    #expect(try b.rejected().count == 1)
    try a.execute("UPDATE item SET code = 'y' WHERE id = 'j'")
    try a.execute("INSERT INTO category VALUES ('a', 'Food')")
    try a.sync(space)
    try b.execute("INSERT INTO category VALUES ('b', 'Food')")
    try b.execute("UPDATE expense SET category = 'b'")
    try converge([b, a], space)
    try expectEqualRows(
      replicas,
      "SELECT item.id, code, category FROM item JOIN expense ON expense.id = expense ORDER BY 1",
      [["i", "i", "a"], ["j", "y", "a"]])
    #expect(try b.rejected().count == 1)
  }

  @Test(
    "A reference by several columns that was dropped with its edits does not lead to another row")
  func composedReference() throws {
    let space = try TestSpace()
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          """
          CREATE TABLE category (
            tenant TEXT, id TEXT, name TEXT, PRIMARY KEY (tenant, id), UNIQUE (tenant, name))
          """,
          """
          CREATE TABLE expense (
            id TEXT PRIMARY KEY, tenant TEXT, cat TEXT,
            FOREIGN KEY (tenant, cat) REFERENCES category(tenant, id))
          """,
        ],
        tables: [AttachedTable("category", same: [["tenant", "name"]]), AttachedTable("expense")],
        space: space)
    }
    let (a, b) = (replicas[0], replicas[1])
    try a.execute("INSERT INTO category VALUES ('t2', 'b', 'Car'), ('t2', 'a', 'Home')")
    try a.execute("INSERT INTO expense VALUES ('e', 't2', NULL)")
    try converge(replicas, space)
    try a.execute("INSERT INTO category VALUES ('t1', 'a', 'Food')")
    try a.sync(space)
    try b.execute("INSERT INTO category VALUES ('t1', 'b', 'Food')")
    try b.execute("UPDATE expense SET cat = 'b'")
    try b.changeSchema("ALTER TABLE expense RENAME COLUMN cat TO category")
    try converge([b, a], space)
    #expect(try a.rows("SELECT tenant, cat FROM expense") == [["t2", "b"]])
  }

  @Test("Edits of a reference whose column has another name since follow a row that is joined")
  func renamedReference() throws {
    let space = try TestSpace()
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
          "CREATE TABLE expense (id TEXT PRIMARY KEY, cat TEXT REFERENCES category)",
        ], tables: [AttachedTable("category", same: [["name"]]), AttachedTable("expense")],
        space: space)
    }
    let (a, b) = (replicas[0], replicas[1])
    try a.execute("INSERT INTO expense VALUES ('old', NULL)")
    try converge(replicas, space)
    try a.execute("INSERT INTO category VALUES ('a', 'Food')")
    try a.sync(space)
    try b.execute("INSERT INTO category VALUES ('b', 'Food')")
    try b.execute("UPDATE expense SET cat = 'b'")
    try b.execute("INSERT INTO expense VALUES ('new', 'b')")
    try b.changeSchema("ALTER TABLE expense RENAME COLUMN cat TO category")
    try converge([b, a, b], space)
    #expect(try b.rejected().isEmpty)
    #expect(try b.rows("SELECT * FROM expense ORDER BY id") == [["new", "a"], ["old", "a"]])
    #expect(try a.rows("SELECT * FROM expense ORDER BY id") == [["new", "a"], ["old", "a"]])
  }

  @Test("The copy that synchronizes later joins its row, even beside one without the rule")
  func oneRule() throws {
    let space = try TestSpace()
    let replicas = [
      try TestReplica(
        seed: 1, Self.schema, tables: [AttachedTable("category"), AttachedTable("expense")],
        space: space),
      try TestReplica(
        seed: 2, Self.schema,
        tables: [AttachedTable("category", same: [["name"]]), AttachedTable("expense")],
        space: space),
    ]
    try converge(replicas, space)
    for (replica, id) in zip(replicas, ["a", "b"]) {
      try replica.execute("INSERT INTO category (id, name) VALUES ('\(id)', 'Food')")
      try replica.execute("INSERT INTO expense VALUES ('\(id)1', '\(id)', 1)")
    }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id FROM category", [["a"]])
    try expectEqualRows(replicas, "SELECT category FROM expense", [["a"], ["a"]])
    for (replica, id) in zip(replicas, ["c", "d"]) {
      try replica.execute("INSERT INTO category (id, name) VALUES ('\(id)', 'Rent')")
    }
    // Now the copy without a rule is later.
    try converge(replicas.reversed(), space)
    try expectEqualRows(replicas, "SELECT id FROM category ORDER BY id", [["a"], ["d"]])
    #expect(try replicas[0].rejected().map(\.key.id) == [["c"]])
    #expect(try replicas[1].rejected().isEmpty)
  }

  @Test("A row is not joined if another record has another unique value of it, or no rule names it")
  func anotherRecord() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    try replicas[0].execute("INSERT INTO category (id, name, code) VALUES ('a', 'Food', 1)")
    try replicas[0].execute("INSERT INTO category (id, name, code) VALUES ('b', 'Rent', 2)")
    try replicas[0].sync(space)
    try replicas[1].execute("INSERT INTO category (id, name, code) VALUES ('c', 'Food', 2)")
    try replicas[1].execute("INSERT INTO category (id, name, code) VALUES ('d', 'Fuel', 1)")
    try converge(replicas, space)
    #expect(Set(try replicas[1].rejected().map(\.key.id)) == [["c"], ["d"]])
    try replicas[1].execute("INSERT INTO category (id, name, code) VALUES ('e', 'Tax', 3)")
    try replicas[0].execute("INSERT INTO category (id, name, code) VALUES ('f', 'Tax', 3)")
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id FROM category ORDER BY id", [["a"], ["b"], ["f"]])
    #expect(try replicas[1].rejected().count == 2)
  }

  @Test("A tree that both copies made becomes one, from its roots to its leaves")
  func tree() throws {
    let space = try TestSpace()
    let schema = [
      """
      CREATE TABLE node (id TEXT PRIMARY KEY, parent TEXT REFERENCES node, name TEXT, root TEXT UNIQUE,
        UNIQUE (parent, name))
      """
    ]
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0, schema,
        tables: [AttachedTable("node", same: [["name", "parent"], ["root"]])], space: space)
    }
    try converge(replicas, space)
    for (replica, side) in zip(replicas, ["a", "b"]) {
      // The leaves come first in the order of keys.
      for (id, parent, name) in [("9", nil, "home"), ("5", "9", "work"), ("1", "5", "todo")]
        + (side == "a" ? [] : [("0", "5", "mine")])
      {
        let root = parent == nil ? "'\(name)'" : "NULL"
        try replica.execute(
          """
          INSERT INTO node VALUES ('\(id)\(side)', \(parent.map { "'\($0)\(side)'" } ?? "NULL"), '\(name)', \(root))
          """)
      }
    }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, parent, name FROM node ORDER BY id",
      [["0b", "5a", "mine"], ["1a", "5a", "todo"], ["5a", "9a", "work"], ["9a", .null, "home"]])
    #expect(try replicas[1].rejected().isEmpty)
  }

  @Test(
    "A row whose key refers to a row that is joined becomes the row of its new key, if there is one"
  )
  func keysThatFollow() throws {
    let space = try TestSpace()
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0,
        [
          "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT UNIQUE)",
          """
          CREATE TABLE line (category TEXT REFERENCES category, number INTEGER, amount INTEGER, note TEXT,
            PRIMARY KEY (category, number))
          """,
          """
          CREATE TABLE part (id TEXT PRIMARY KEY, category TEXT, number INTEGER,
            FOREIGN KEY (category, number) REFERENCES line)
          """,
        ],
        tables: [
          AttachedTable("category", same: [["name"]]), AttachedTable("line"), AttachedTable("part"),
        ], space: space)
    }
    try converge(replicas, space)
    for (replica, id) in zip(replicas, ["a", "b"]) {
      try replica.execute("INSERT INTO category VALUES ('\(id)', 'Food')")
    }
    try replicas[0].execute("INSERT INTO line VALUES ('a', 1, 10, NULL), ('a', 2, 20, NULL)")
    try replicas[1].execute("INSERT INTO line VALUES ('b', 1, 11, 'of b'), ('b', 2, 20, NULL)")
    try replicas[1].execute("INSERT INTO line VALUES ('b', 3, 30, 'only of b')")
    for (replica, id) in zip(replicas, ["a", "b"]) {
      try replica.execute(
        "INSERT INTO part VALUES ('\(id)1', '\(id)', 1), ('\(id)2', '\(id)', 2)")
    }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT * FROM line ORDER BY number",
      [["a", 1, 10, "of b"], ["a", 2, 20, .null], ["a", 3, 30, "only of b"]])
    try expectEqualRows(
      replicas, "SELECT * FROM part ORDER BY id",
      [["a1", "a", 1], ["a2", "a", 2], ["b1", "a", 1], ["b2", "a", 2]])
    #expect(try replicas[1].rejected().isEmpty)
    // What differs is kept, and what does not is no conflict.
    let conflicts = try replicas[1].conflicts().map { ($0.key.id, $0.fields) }
    #expect(conflicts.map(\.0) == [["a", 1]])
    #expect(conflicts.map(\.1) == [["amount"]])
  }

  @Test("Rows with numbers of SQLite are joined after they have got new numbers")
  func numbers() throws {
    let space = try TestSpace()
    let schema = [
      "CREATE TABLE tag (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, color TEXT)",
      "CREATE TABLE item (id TEXT PRIMARY KEY, tag INTEGER REFERENCES tag ON DELETE CASCADE)",
    ]
    let replicas = try (1...2).map {
      try TestReplica(
        seed: $0, schema,
        withBlindSpots: [
          AttachedTable("tag", same: [["name"]], renumbers: true), AttachedTable("item"),
        ], space: space)
    }
    try converge(replicas, space)
    for (replica, names) in zip(replicas, [["x", "y"], ["z", "x", "y"]]) {
      for (number, name) in names.enumerated() {
        try replica.execute("INSERT INTO tag (name) VALUES ('\(name)')")
        try replica.execute(
          "INSERT INTO item VALUES ('\(name)\(names.count)', \(number + 1))")
      }
    }
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT i.id, t.name FROM item i JOIN tag t ON t.id = i.tag ORDER BY i.id",
      [["x2", "x"], ["x3", "x"], ["y2", "y"], ["y3", "y"], ["z3", "z"]])
    #expect(try replicas[1].rejected().isEmpty)
    try expectEqualRows(replicas, "SELECT count(*) FROM tag", [[3]])
  }

  @Test("A row is not joined if the record would refer to a row that this file cannot have")
  func missingParent() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    try replicas[0].execute("INSERT INTO category (id, name, code) VALUES ('l', 'Other', 2)")
    try replicas[0].execute("INSERT INTO category (id, name) VALUES ('a', 'Food')")
    try replicas[0].sync(space)
    // Another record has the code of its kind.
    try replicas[1].execute("INSERT INTO category (id, name, code) VALUES ('k', 'Kind', 2)")
    try replicas[1].execute("INSERT INTO category (id, name, kind) VALUES ('b', 'Food', 'k')")
    try converge(replicas, space)
    try expectSoundReferences(replicas)
    try expectEqualRows(
      replicas, "SELECT id, kind FROM category ORDER BY id", [["a", .null], ["l", .null]])
    #expect(Set(try replicas[1].rejected().map(\.key.id)) == [["b"], ["k"]])
  }

  @Test("An edit of a record that the space has is never joined with another record")
  func knownRecord() throws {
    let space = try TestSpace()
    let replicas = try files(space)
    try replicas[0].execute("INSERT INTO category (id, name) VALUES ('a', 'Food')")
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO category (id, name) VALUES ('b', 'Rent')")
    try replicas[0].sync(space)
    try replicas[1].execute("UPDATE category SET name = 'Rent', color = 'red'")
    try converge(replicas, space)
    try expectEqualRows(
      replicas, "SELECT id, name, color FROM category ORDER BY id",
      [["a", "Food", .null], ["b", "Rent", .null]])
    let edits = try replicas[1].rejected()
    #expect(edits.count == 1)
    // Nor is it if somebody asks for it.
    for edit in edits {
      #expect(throws: ReplicaError.self) {
        try replicas[1].write { try $0.resolve(.one(edit.id), by: .same) }
      }
    }
  }

  @Test(
    "A trigger that writes synchronized columns does not run once more for a row that is joined")
  func triggers() throws {
    let space = try TestSpace()
    let count = """
      CREATE TRIGGER counted AFTER INSERT ON expense BEGIN
        UPDATE category SET code = ifnull(code, 0) + 1 WHERE id = new.category; END
      """
    let replicas = try files(space, more: [count])
    for (replica, id) in zip(replicas, ["a", "b"]) {
      try replica.execute("INSERT INTO category (id, name) VALUES ('\(id)', 'Food')")
      for number in 1...2 {
        try replica.execute("INSERT INTO expense VALUES ('\(id)\(number)', '\(id)', 1)")
      }
    }
    try converge(replicas, space)
    try expectEqualRows(replicas, "SELECT id, code FROM category", [["a", 2]])
    try expectEqualRows(replicas, "SELECT count(*) FROM expense WHERE category = 'a'", [[4]])
  }

  @Test("A rule needs a unique constraint on exactly its columns")
  func unsuitable() throws {
    let table = """
      CREATE TABLE t (id TEXT PRIMARY KEY, a TEXT, b TEXT, c TEXT UNIQUE, d TEXT, e TEXT, UNIQUE (a, b))
      """
    let index = "CREATE UNIQUE INDEX part ON t (d) WHERE e IS NULL"
    for rule in [["a"], ["a", "b", "c"], ["a", "missing"], ["c", "c"], ["d"], []] {
      let error = #expect(throws: ReplicaError.self) {
        _ = try TestReplica(
          seed: 1, [table, index], withBlindSpots: [AttachedTable("t", same: [rule])],
          space: try TestSpace())
      }
      #expect(error?.code == .unsuitable && error?.message.contains("UNIQUE") == true)
    }
    let replica = try TestReplica(
      seed: 1, [table, index],
      withBlindSpots: [AttachedTable("t", same: [["B", "a"], ["c"], ["a", "b"]])],
      space: try TestSpace())
    #expect(try replica.read { try $0.status() }.tables[0].same == [["a", "b"], ["c"]])
  }
}
