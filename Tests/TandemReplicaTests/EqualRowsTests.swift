import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

/// "In step" means equal rows: the space checks what spans rows or fields, so that each copy can have what it has.
@Suite("Copies of one schema have equal rows")
struct EqualRowsTests {
  let space: TestSpace

  init() throws { space = try TestSpace() }

  private func replicas(_ count: UInt64, _ schema: [String], _ tables: String...) throws
    -> [TestReplica]
  {
    try (1...count).map {
      try TestReplica(
        seed: $0, schema, tables: tables.map { AttachedTable($0) }, space: space)
    }
  }

  /// Sends what each replica has changed, before any of them receives the others' changes.
  private func pushAll(_ replicas: [TestReplica]) throws {
    for replica in replicas {
      let bytes = try #require(try replica.freeze())
      try replica.settle(try space.push(bytes), bytes)
    }
  }

  private func expectEqualFiles(
    _ replicas: [TestReplica], _ tables: String..., location: SourceLocation = #_sourceLocation
  ) throws {
    for table in tables {
      let rows = try replicas.map { try $0.rows("SELECT * FROM \(table) ORDER BY id") }
      #expect(Set(rows).count == 1, "\(rows)", sourceLocation: location)
      let records = try space.records().keys.filter { $0.table == table }
      #expect(rows[0].count == records.count, sourceLocation: location)
    }
    try expectSoundReferences(replicas, location)
  }

  @Test("Of two rows with one unique value, all copies have the one that the space got first")
  func unique() throws {
    let replicas = try replicas(
      3, ["CREATE TABLE t (id TEXT PRIMARY KEY, mail TEXT COLLATE NOCASE UNIQUE)"], "t")
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO t VALUES ('z', 'x@y')")
    try replicas[1].execute("INSERT INTO t VALUES ('a', 'X@Y')")
    try pushAll(Array(replicas.prefix(2)))
    try converge(replicas, space)
    try expectEqualFiles(replicas, "t")
    // The one that the space got first is there; the other one is kept where it was made.
    #expect(try replicas[2].rows("SELECT id FROM t") == [["z"]])
    #expect(try replicas[1].rejectedContents().map { $0?["mail"] } == ["X@Y"])
  }

  @Test(
    "Of two bounds that two copies move apart, the first move stays, and the other is a conflict")
  func range() throws {
    let replicas = try replicas(
      3, ["CREATE TABLE t (id TEXT PRIMARY KEY, lo INTEGER, hi INTEGER, CHECK (lo <= hi))"], "t")
    try replicas[0].execute("INSERT INTO t VALUES ('r', 1, 10)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET lo = 8")
    try replicas[1].execute("UPDATE t SET hi = 5")
    try pushAll(Array(replicas.prefix(2)))
    try converge(replicas, space)
    try expectEqualFiles(replicas, "t")
    #expect(try replicas[2].rows("SELECT lo, hi FROM t") == [[8, 10]])
    #expect(try replicas[1].conflicts().map { $0.local?["hi"] } == [5])
  }

  @Test("A copy without a CHECK does not combine two bounds that another copy's CHECK excludes")
  func rangeOfOthers() throws {
    let replicas = try ["", ", CHECK (lo <= hi)"].enumerated().map { number, rule in
      try TestReplica(
        seed: UInt64(number + 1),
        ["CREATE TABLE t (id TEXT PRIMARY KEY, lo INTEGER, hi INTEGER, other TEXT\(rule))"],
        tables: [AttachedTable("t")], space: space)
    }
    try replicas[0].execute("INSERT INTO t VALUES ('r', 1, 10, NULL)")
    try converge(replicas, space)
    try replicas[1].execute("UPDATE t SET lo = 8")
    try replicas[0].execute("UPDATE t SET hi = 5, other = 'x'")
    try replicas[1].sync(space)
    try converge(replicas, space)
    try expectEqualFiles(replicas, "t")
    #expect(try replicas[1].rows("SELECT lo, hi, other FROM t") == [[8, 10, "x"]])
    #expect(try replicas[1].rejectedContents().isEmpty)
  }

  @Test(
    "Of two parents with one unique value, the first stays, and children that refer to the name stay with it",
    arguments: [("id", [["i0"]], 2), ("name", [["i0"], ["i1"]], 1)]
      as [(String, [[FieldValue]], Int)])
  func parents(column: String, items: [[FieldValue]], rejectedCount: Int) throws {
    let replicas = try replicas(
      3,
      [
        "CREATE TABLE category (id TEXT PRIMARY KEY, name TEXT COLLATE NOCASE NOT NULL UNIQUE)",
        "CREATE TABLE item (id TEXT PRIMARY KEY, category TEXT REFERENCES category (\(column)))",
      ], "category", "item")
    try converge(replicas, space)
    for (number, name) in [(0, "Food"), (1, "food")] {
      try replicas[number].execute("INSERT INTO category VALUES ('c\(number)', '\(name)')")
      try replicas[number].execute(
        "INSERT INTO item SELECT 'i\(number)', \(column) FROM category")
    }
    try pushAll(Array(replicas.prefix(2)))
    try converge(replicas, space)
    try expectEqualFiles(replicas, "category", "item")
    #expect(try replicas[2].rows("SELECT * FROM category") == [["c0", "Food"]])
    #expect(try replicas[2].rows("SELECT id FROM item ORDER BY id") == items)
    #expect(try replicas[1].rejectedContents().count == rejectedCount)
  }

  @Test("Rows without a parent, from a program without foreign keys, reach no other copy")
  func orphans() throws {
    let replicas = try replicas(
      2,
      [
        "CREATE TABLE list (id TEXT PRIMARY KEY)",
        "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT REFERENCES list)",
      ], "list", "item")
    try converge(replicas, space)
    _ = try replicas[0].database.write(foreignKeys: .ignored) {
      try $0.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO item SELECT 'i' || i, 'gone' FROM n
        """)
    }
    try replicas[0].execute("INSERT INTO list VALUES ('l')")
    try replicas[0].execute("INSERT INTO item VALUES ('x', 'l')")
    try converge(replicas, space)
    try expectEqualFiles(replicas, "list", "item")
    #expect(try replicas[1].rows("SELECT id FROM item") == [["x"]])
    #expect(try replicas[0].rejectedContents().count == 2_500)
  }

  @Test("A deletion gives way to a child that another copy has added, and the other way round")
  func needed() throws {
    for order in [[0, 1], [1, 0]] {
      let space = try TestSpace()
      let replicas = try (1...3).map {
        try TestReplica(
          seed: $0,
          [
            "CREATE TABLE list (id TEXT PRIMARY KEY, name TEXT)",
            "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT NOT NULL REFERENCES list)",
          ], tables: [AttachedTable("list"), AttachedTable("item")], space: space)
      }
      try replicas[0].execute("INSERT INTO list VALUES ('l', 'list')")
      try converge(replicas, space)
      try replicas[0].execute("DELETE FROM list")
      try replicas[1].execute("INSERT INTO item VALUES ('i', 'l')")
      for number in order {
        let bytes = try #require(try replicas[number].freeze())
        try replicas[number].settle(try space.push(bytes), bytes)
      }
      try converge(replicas, space)
      try expectEqualRows(replicas, "SELECT * FROM list", [["l", "list"]])
      try expectEqualRows(replicas, "SELECT * FROM item", [["i", "l"]])
      #expect(try replicas.allSatisfy { try $0.rejectedContents().isEmpty })
    }
  }

  @Test("An exchange of unique values wins over an insertion that comes later")
  func exchange() throws {
    let replicas = try replicas(
      3, ["CREATE TABLE t (id TEXT PRIMARY KEY, place INTEGER UNIQUE)"], "t")
    try replicas[0].execute("INSERT INTO t VALUES ('a', 1), ('b', 2)")
    try converge(replicas, space)
    try replicas[0].execute("UPDATE t SET place = -place")
    try replicas[0].execute("UPDATE t SET place = 3 + place")
    try replicas[1].execute("UPDATE t SET place = 5 WHERE id = 'a'")
    try replicas[1].execute("INSERT INTO t VALUES ('c', 1)")
    try pushAll(Array(replicas.prefix(2)))
    try converge(replicas, space)
    try expectEqualFiles(replicas, "t")
    #expect(try replicas[2].rows("SELECT * FROM t ORDER BY id") == [["a", 2], ["b", 1]])
    #expect(try replicas[1].rejectedContents().map { $0?["place"] } == [1])
    #expect(try replicas[1].conflicts().map { $0.local?["place"] } == [5])
  }

  @Test("The children of a row that cannot be sent wait with it, and are sent when it is corrected")
  func childrenOfUnsendableRow() throws {
    let replicas = try replicas(
      2,
      [
        "CREATE TABLE list (id TEXT PRIMARY KEY, name TEXT)",
        "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT REFERENCES list)",
        "CREATE TABLE part (id TEXT PRIMARY KEY, item TEXT REFERENCES item)",
      ], "list", "item", "part")
    try converge(replicas, space)
    try replicas[0].execute("INSERT INTO list VALUES ('l', CAST(x'ff' AS TEXT)), ('m', 'm')")
    try replicas[0].execute("INSERT INTO item VALUES ('i', 'l'), ('j', 'm')")
    try replicas[0].execute("INSERT INTO part VALUES ('p', 'i'), ('q', 'j')")
    for _ in 0..<2 { for replica in replicas { try replica.sync(space) } }
    #expect(try replicas[0].rows("SELECT count(*) FROM list, item, part") == [[8]])
    try expectEqualRows([replicas[1]], "SELECT id FROM part", [["q"]])
    #expect(try replicas[0].rejected().map(\.kind) == [.row, .row, .row])
    try replicas[0].execute("UPDATE list SET name = 'l' WHERE id = 'l'")
    try converge(replicas, space)
    try expectEqualFiles(replicas, "list", "item", "part")
    #expect(try replicas[0].rejectedContents().isEmpty)
  }

  @Test("A file whose rows break a reference that the space checks is not attached")
  func orphansOfLaterFile() throws {
    let schema = [
      "CREATE TABLE list (id TEXT PRIMARY KEY)",
      "CREATE TABLE item (id TEXT PRIMARY KEY, list TEXT REFERENCES list)",
    ]
    let first = try replicas(1, schema, "list", "item")
    try converge(first, space)
    let later = try TestReplica(seed: 9)
    for sql in schema { try later.execute(sql) }
    _ = try later.database.write(foreignKeys: .ignored) {
      try $0.execute("INSERT INTO item VALUES ('o', 'gone')")
    }
    let error = #expect(throws: ReplicaError.self) {
      let declared = try later.read { try $0.plan([AttachedTable("list"), AttachedTable("item")]) }
      let known = try space.declare(declared)
      try later.read { try $0.checkReferences(declared, inSpace: known) }
    }
    #expect(error?.message.contains("PRAGMA foreign_key_check") == true)
  }
}
