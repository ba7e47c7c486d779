import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

@Suite("The rules that a file declares to its space")
struct TableConstraintTests {
  /// The constraints of a table `t` among the attached tables `t` and `p`.
  private func constraints(_ schema: String..., rows: String...) throws -> Set<SpaceConstraint> {
    let replica = try TestReplica(seed: 1)
    try replica.execute(
      "CREATE TABLE p (id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE UNIQUE, a, b, UNIQUE (a, b))"
    )
    for sql in schema { try replica.execute(sql) }
    _ = try replica.database.write(foreignKeys: .ignored) { transaction in
      for sql in rows { try transaction.execute(SQL(text: sql)) }
    }
    let names = try replica.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('p', 't')")
    let tables = names.compactMap { name -> AttachedTable? in
      guard case .text(let name) = name[0] else { return nil }
      return AttachedTable(name, allowsAssignedKeys: true, allowsBlindSpots: true)
    }
    let declared = try replica.read { try $0.plan(tables) }
    return Set(try #require(declared.first { $0.name == "t" }?.constraints))
  }

  @Test(
    "Unique columns, with the collation of the index, and keys whose collation is not BINARY [keys]"
  )
  func unique() throws {
    #expect(
      try constraints(
        "CREATE TABLE t (id TEXT COLLATE NOCASE PRIMARY KEY, a UNIQUE, b, c TEXT COLLATE RTRIM, UNIQUE (b, c))",
        "CREATE UNIQUE INDEX i ON t (c COLLATE nocase, id DESC)")
        == [
          .unique([ComparedColumn("id", .nocase)]), .unique([ComparedColumn("a")]),
          .unique([ComparedColumn("b"), ComparedColumn("c", .rtrim)]),
          .unique([ComparedColumn("c", .nocase), ComparedColumn("id", .nocase)]),
        ])
    #expect(try constraints("CREATE TABLE t (id TEXT PRIMARY KEY, a)") == [])
    #expect(
      try constraints("CREATE TABLE t (id TEXT, n INT, a, PRIMARY KEY (id, n)) WITHOUT ROWID") == []
    )
    #expect(
      try constraints("CREATE TABLE t (id INTEGER PRIMARY KEY, a)", "CREATE INDEX i ON t (a)") == []
    )
  }

  @Test("Columns of a CHECK, and of an index that the space cannot compute, belong together")
  func together() throws {
    #expect(
      try constraints(
        """
        CREATE TABLE t (id TEXT PRIMARY KEY, lo INT CHECK ("lo" <= [hi]), hi INT, name TEXT, kind TEXT,
          full AS (name || kind), "all" AS (lower(full)), lower TEXT,
          CONSTRAINT c CHECK (kind IN ('name', 'lo') /* hi */ OR id > name), CHECK ("all" <> ''))
        """)
        == [
          .together(["hi", "lo"]), .together(["kind", "name"]),
          .together(["kind", "lower", "name"]),
        ])
    #expect(
      try constraints(
        "CREATE TABLE t (id TEXT PRIMARY KEY, a, b, c, n INT CHECK (n < 5))",
        "CREATE UNIQUE INDEX i ON t (a) WHERE b IS NULL",
        "CREATE UNIQUE INDEX j ON t (lower(b), c)")
        == [
          .index(
            SpaceIndex(
              name: "i", sql: #"CREATE UNIQUE INDEX "i" ON "t" (a) WHERE b IS NULL"#, columns: [])),
          .index(
            SpaceIndex(
              name: "j", sql: #"CREATE UNIQUE INDEX "j" ON "t" (lower(b), c)"#, columns: [])),
          .together(["a", "b"]), .together(["b", "c"]), .together(["n"]),
        ])
  }

  @Test("References to attached tables, as the parent's columns compare")
  func references() throws {
    #expect(
      try constraints(
        """
        CREATE TABLE t (id TEXT PRIMARY KEY REFERENCES other, p REFERENCES p, code REFERENCES P (CODE)
          ON DELETE CASCADE, a, b, self REFERENCES t, FOREIGN KEY (b, a) REFERENCES p (a, b))
        """)
        == [
          .reference(["p"], to: "p", [ComparedColumn("id", .binary, .integer)]),
          .reference(["code"], to: "p", [ComparedColumn("code", .nocase, .text)]),
          .reference(["b", "a"], to: "p", [ComparedColumn("a"), ComparedColumn("b")]),
          .reference(["self"], to: "t", [ComparedColumn("id", .binary, .text)]),
        ])
  }

  @Test(
    "A reference that rows of the file break is not declared, until they do not any more [orphans]")
  func orphans() throws {
    let schema = "CREATE TABLE t (id TEXT PRIMARY KEY, p REFERENCES p)"
    #expect(try constraints(schema, rows: "INSERT INTO t VALUES ('a', 1)") == [])
    #expect(
      try constraints(
        schema, rows: "INSERT INTO p (id) VALUES (1)", "INSERT INTO t VALUES ('a', '1')")
        == [.reference(["p"], to: "p", [ComparedColumn("id", .binary, .integer)])])
    let space = try TestSpace()
    let replica = try TestReplica(seed: 1)
    try replica.execute("CREATE TABLE p (id TEXT PRIMARY KEY)")
    try replica.execute(schema)
    _ = try replica.database.write(foreignKeys: .ignored) {
      try $0.execute("INSERT INTO t VALUES ('a', 'gone')")
    }
    try replica.attach([AttachedTable("p"), AttachedTable("t")], space)
    try converge([replica], space)
    #expect(try replica.rows("SELECT p FROM t") == [["gone"]])
    #expect(try space.state.tables[1].constraints?.isEmpty != false)
    try replica.execute("INSERT INTO p VALUES ('gone')")
    // A change of the schema is an occasion to look again.
    try replica.execute("CREATE INDEX i ON t (p)")
    try converge([replica], space)
    #expect(try space.state.tables[1].constraints?.count == 1)
  }

  @Test(
    "A file of an earlier version declares its rules with its next synchronization, without a pull of everything"
  )
  func earlierVersion() throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, mail UNIQUE)"], tables: [AttachedTable("t")],
      space: space)
    try converge([replica], space)
    let old = SpaceTable(
      name: "t", columns: ["mail"], keyColumns: ["id"], granularity: .field)
    try replica.database.write { transaction in
      try transaction.connection.run(
        "UPDATE tandem_state SET tables = ?", [.blob(SyncMessageWriter.bytes([old]))])
      try transaction.connection.execute("DROP TABLE tandem_rules")
    }
    _ = try replica.write { try $0.schema() }
    #expect(
      try replica.read { try $0.declarations() }.first?.constraints == [
        .unique([ComparedColumn("mail")])
      ])
    #expect(try replica.state.pullNeed == .none)
    try converge([replica], space)
  }
}
