import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

/// Keys that SQLite chooses: the scenarios of the rules [auto] and [distinct], and of references that follow.
@Suite("Numbers that SQLite chooses")
struct RenumberingTests {
  static let schema = [
    "CREATE TABLE invoice (id INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT)",
    """
    CREATE TABLE line (
      id INTEGER PRIMARY KEY AUTOINCREMENT, invoice INTEGER REFERENCES invoice ON DELETE CASCADE,
      what TEXT)
    """,
  ]
  static let tables = [
    AttachedTable("invoice", renumbers: true), AttachedTable("line", renumbers: true),
  ]
  let space: TestSpace

  init() throws { space = try TestSpace() }

  func file(
    _ seed: UInt64, _ schema: [String] = schema, _ tables: [AttachedTable] = tables,
    rows: String...
  ) throws -> TestReplica {
    let file = try TestReplica(seed: seed)
    for statement in schema + rows { try file.execute(statement) }
    try file.attach(tables, space)
    return file
  }

  /// Two files without rows that have synchronized.
  func pair(
    _ schema: [String] = schema, _ tables: [AttachedTable] = tables
  ) throws -> (TestReplica, TestReplica) {
    let files = (try file(1, schema, tables), try file(2, schema, tables))
    try converge([files.0, files.1], space)
    return files
  }

  func addInvoice(_ customer: String, _ what: [String], _ file: TestReplica) throws {
    try file.execute("INSERT INTO invoice (customer) VALUES ('\(customer)')")
    for what in what {
      try file.execute(
        "INSERT INTO line (invoice, what) VALUES ((SELECT max(id) FROM invoice), '\(what)')")
    }
  }

  /// Runs a statement as a program without foreign keys does.
  func executeFreely(_ sql: String, _ file: TestReplica) throws {
    try file.database.write(foreignKeys: .ignored) { try $0.connection.execute(sql) }
  }

  /// The lines with the customers of their invoices.
  private let lines = """
    SELECT customer, group_concat(what, ' ') FROM (
      SELECT customer, what FROM line JOIN invoice ON invoice.id = line.invoice ORDER BY what)
    GROUP BY customer ORDER BY customer
    """

  private func expectEqualFiles(
    _ files: TestReplica..., lines expected: [[FieldValue]],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    try converge(files, space)
    for file in files {
      #expect(try file.rows(lines) == expected, sourceLocation: location)
      for name in ["invoice", "line"] {
        let all = try files[0].rows("SELECT * FROM \(name)")
        #expect(
          try file.rows("SELECT * FROM \(name)") == all,
          sourceLocation: location)
      }
      #expect(try file.rows("PRAGMA foreign_key_check").isEmpty, sourceLocation: location)
      #expect(try file.rejectedContents() == [], sourceLocation: location)
    }
  }

  @Test("Children stay under their own parent when two devices give the same numbers")
  func childrenStay() throws {
    let (a, b) = try pair()
    try addInvoice("Ada", ["milk", "tea"], a)
    try addInvoice("Ben", ["rum"], b)
    try addInvoice("Bob", ["salt", "oil"], b)
    try expectEqualFiles(
      a, b, lines: [["Ada", "milk tea"], ["Ben", "rum"], ["Bob", "oil salt"]])
    let renumbered = b.reports.flatMap(\.renumbered)
    #expect(
      renumbered.map { "\($0.table) \($0.former) \($0.present)" }
        == ["invoice 1 3", "line 1 4", "line 2 5"])
    #expect(a.reports.flatMap(\.renumbered).isEmpty)
    // From now on, nobody chooses a number that the space has given.
    for (file, name) in [(a, "Ann"), (b, "Bea")] { try addInvoice(name, [], file) }
    #expect(try a.rows("SELECT max(id) FROM invoice") == [[4]])
    try converge([a, b], space)
    #expect(
      try a.rows("SELECT customer FROM invoice ORDER BY id")
        == [["Ada"], ["Bob"], ["Ben"], ["Ann"], ["Bea"]])
  }

  @Test("The number of a deleted record is not given again [auto]")
  func deletedNumber() throws {
    let (a, b) = try pair()
    try addInvoice("Ada", ["milk"], a)
    try a.sync(space)
    try a.execute("DELETE FROM line")
    try a.execute("DELETE FROM invoice")
    try a.sync(space)
    try addInvoice("Ben", ["rum"], b)
    try expectEqualFiles(a, b, lines: [["Ben", "rum"]])
    #expect(try a.rows("SELECT id FROM invoice") == [[2]])
    try space.forgetHistory()
    let c = try file(3, rows: "INSERT INTO invoice (id, customer) VALUES (1, 'Cem')")
    try converge([a, b, c], space)
    #expect(
      try a.rows("SELECT id, customer FROM invoice ORDER BY id") == [[2, "Ben"], [3, "Cem"]])
  }

  @Test("A new row with the last number blocks a file only until it has a lower one, or is deleted")
  func lastNumber() throws {
    for remedy in ["UPDATE invoice SET id = 5 WHERE id > 5", "DELETE FROM invoice WHERE id > 5"] {
      let space = try TestSpace()
      let file = try TestReplica(seed: 1)
      for statement in Self.schema { try file.execute(statement) }
      try file.attach(Self.tables, space)
      try addInvoice("Eva", [], file)
      try file.sync(space)
      try file.execute(
        "INSERT INTO invoice VALUES (-3, 'Ada'), (\(Int64.max), 'Ben')")
      let error = #expect(throws: ReplicaError.self) { try file.sync(space) }
      #expect(error?.message.contains("Give that row a lower number") == true)
      try file.execute(remedy)
      try file.execute("UPDATE sqlite_sequence SET seq = 5 WHERE name = 'invoice'")
      try file.sync(space)
      #expect(try file.rows("SELECT id FROM invoice WHERE customer = 'Ada'") != [[-3]])
    }
  }

  @Test("A table without AUTOINCREMENT is refused with the remedy [auto]")
  func needsAutoincrement() throws {
    let file = try TestReplica(seed: 1)
    try file.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    let error = #expect(throws: ReplicaError.self) {
      try file.attach([AttachedTable("t", renumbers: true)], space)
    }
    #expect(error?.code == .unsuitable && error?.message.contains("`rekey`") == true)
  }

  @Test("A file with references to numbers that no row has is refused")
  func orphansAtAttach() throws {
    let file = try TestReplica(seed: 1)
    for statement in Self.schema { try file.execute(statement) }
    try executeFreely("INSERT INTO line (invoice, what) VALUES (7, 'milk')", file)
    let error = #expect(throws: ReplicaError.self) { try file.attach(Self.tables, space) }
    #expect(error?.code == .unsuitable)
    #expect(error?.message.contains("foreign_key_check(\"line\")") == true)
    try file.execute("INSERT INTO invoice VALUES (7, 'Ada')")
    try file.attach(Self.tables, space)
  }

  @Test("A row that came from the space keeps its reference")
  func rowsOfTheSpaceStay() throws {
    let (a, b) = try pair()
    try addInvoice("Ada", ["milk"], a)
    try a.sync(space)
    // Before the rows of the space arrive, and after.
    try addInvoice("Ben", ["rum"], b)
    try b.sync(space)
    try b.execute("UPDATE line SET what = 'oat milk' WHERE what = 'milk'")
    try addInvoice("Bob", ["salt"], b)
    // A number that a program chooses itself, below those that the space gave.
    try b.execute("DELETE FROM invoice WHERE customer = 'Ben'")
    try b.execute("INSERT INTO invoice VALUES (-4, 'Bea')")
    try b.execute("UPDATE line SET invoice = -4 WHERE what = 'salt'")
    try expectEqualFiles(
      a, b,
      lines: [["Ada", "oat milk"], ["Bea", "salt"], ["Ben", "rum"]].filter { $0[0] != "Ben" })
  }

  @Test("A changed reference of an old row follows, and the versions of edits that wait do")
  func editedReferenceFollows() throws {
    let (a, b) = try pair()
    try addInvoice("Ada", ["milk", "tea"], a)
    try converge([a, b], space)
    try addInvoice("Ann", [], a)
    try a.sync(space)
    try addInvoice("Ben", [], b)
    try b.execute("UPDATE line SET invoice = 2 WHERE what = 'tea'")
    try expectEqualFiles(a, b, lines: [["Ada", "milk"], ["Ben", "tea"]])
  }

  @Test("An edit that beats a deletion brings the record back under its number [revives]")
  func editRevives() throws {
    let (a, b) = try pair()
    try addInvoice("Ada", ["milk"], a)
    try converge([a, b], space)
    try a.execute("DELETE FROM line")
    try a.execute("DELETE FROM invoice")
    try a.sync(space)
    try b.execute("UPDATE line SET what = 'tea'")
    try expectEqualFiles(a, b, lines: [["Ada", "tea"]])
    #expect(try a.rows("SELECT id, invoice FROM line") == [[1, 1]])
    #expect(b.reports.flatMap(\.renumbered).isEmpty)
  }

  @Test("Files that are attached with different rows of equal numbers keep all of them [distinct]")
  func attachedFiles() throws {
    let common = [
      "INSERT INTO invoice VALUES (1, 'Eve')", "INSERT INTO line VALUES (1, 1, 'soap')",
    ]
    let a = try file(
      1, Self.schema + common,
      rows: "INSERT INTO invoice VALUES (2, 'Ada')", "INSERT INTO line VALUES (2, 2, 'milk')",
      "INSERT INTO line VALUES (3, 1, 'towel')")
    let b = try file(
      2, Self.schema + common,
      rows: "INSERT INTO invoice VALUES (2, 'Ben')", "INSERT INTO line VALUES (2, 2, 'milk')",
      "INSERT INTO line VALUES (3, 2, 'rum')")
    try expectEqualFiles(
      a, b, lines: [["Ada", "milk"], ["Ben", "milk rum"], ["Eve", "soap towel"]])
    let renumbered = b.reports.flatMap(\.renumbered)
    #expect(
      renumbered.map { "\($0.table) \($0.former) \($0.present)" }
        == ["invoice 2 3", "line 2 4", "line 3 5"])
  }

  @Test("After the history is lost, one number with two contents is two records [distinct]")
  func lostHistory() throws {
    let (a, b) = try pair()
    try addInvoice("Eve", ["soap"], a)
    try converge([a, b], space)
    let backup = try space.backup()
    try addInvoice("Ada", ["milk"], a)
    try converge([a, b], space)
    try space.restore(backup)
    // The space gives the number 2 again.
    let c = try file(3)
    try c.sync(space)
    try addInvoice("Cem", ["rum"], c)
    try c.sync(space)
    for file in [a, b] { file.decision = .union }
    try converge([a, b, c], space)
    for file in [a, b, c] {
      #expect(try file.rows(lines).contains(["Cem", "rum"]))
      #expect(try file.rows(lines).contains(["Eve", "soap"]))
      let all = try a.rows(lines)
      #expect(try file.rows(lines) == all)
      let milk = try file.rows(
        "SELECT DISTINCT customer FROM line JOIN invoice ON invoice.id = line.invoice WHERE what = 'milk'"
      )
      #expect(milk == [["Ada"]])
    }
  }

  @Test("Rows that refer to themselves or to each other get numbers together")
  func cycles() throws {
    let schema = [
      """
      CREATE TABLE node (
        id INTEGER PRIMARY KEY AUTOINCREMENT, up INTEGER REFERENCES node,
        leaf INTEGER REFERENCES leaf, name TEXT)
      """,
      "CREATE TABLE leaf (id INTEGER PRIMARY KEY AUTOINCREMENT, node INTEGER REFERENCES node, name TEXT)",
    ]
    let (a, b) = try pair(
      schema, [AttachedTable("node", renumbers: true), AttachedTable("leaf", renumbers: true)])
    for (file, x) in [(a, "a"), (b, "b")] {
      for statement in [
        "INSERT INTO node (name) VALUES ('\(x)1')",
        "INSERT INTO node (up, name) VALUES (1, '\(x)2')",
        "INSERT INTO leaf (node, name) VALUES (2, '\(x)l')",
        "UPDATE node SET leaf = 1 WHERE id = 1",
        "UPDATE node SET up = id WHERE id = 1",
      ] { try file.execute(statement) }
    }
    try converge([a, b], space)
    let query = """
      SELECT n.name, u.name, l.name FROM node AS n LEFT JOIN node AS u ON u.id = n.up
        LEFT JOIN leaf AS l ON l.id = n.leaf ORDER BY n.name
      """
    for file in [a, b] {
      #expect(
        try file.rows(query)
          == [
            ["a1", "a1", "al"], ["a2", "a1", .null], ["b1", "b1", "bl"], ["b2", "b1", .null],
          ])
      #expect(
        try file.rows("SELECT l.name, n.name FROM leaf l JOIN node n ON n.id = l.node ORDER BY 1")
          == [["al", "a2"], ["bl", "b2"]])
    }
  }

  @Test("Keys of other tables, tables that are not synchronized, and search indexes follow")
  func othersFollow() throws {
    let schema =
      Self.schema + [
        "CREATE TABLE tag (invoice INTEGER REFERENCES invoice, name TEXT, PRIMARY KEY (invoice, name))",
        "CREATE TABLE seen (tag_invoice INTEGER, tag_name TEXT, FOREIGN KEY (tag_invoice, tag_name) REFERENCES tag)",
        "CREATE VIRTUAL TABLE search USING fts5(customer, content='invoice', content_rowid='id')",
        """
        CREATE TRIGGER i AFTER INSERT ON invoice BEGIN
          INSERT INTO search(rowid, customer) VALUES (new.id, new.customer); END
        """,
        """
        CREATE TRIGGER d AFTER DELETE ON invoice BEGIN
          INSERT INTO search(search, rowid, customer) VALUES ('delete', old.id, old.customer); END
        """,
        """
        CREATE TRIGGER u AFTER UPDATE ON invoice BEGIN
          INSERT INTO search(search, rowid, customer) VALUES ('delete', old.id, old.customer);
          INSERT INTO search(rowid, customer) VALUES (new.id, new.customer); END
        """,
        // What belongs to an invoice is deleted by hand, without a foreign key.
        "CREATE TABLE attachment (invoice INTEGER, name TEXT)",
        "CREATE TRIGGER gone AFTER DELETE ON invoice BEGIN DELETE FROM attachment WHERE invoice = old.id; END",
        "CREATE TRIGGER stamp AFTER INSERT ON line BEGIN UPDATE line SET what = upper(what) WHERE id = new.id; END",
      ]
    let (a, b) = try pair(schema, Self.tables + [AttachedTable("tag")])
    for (file, name) in [(a, "Ada"), (b, "Ben")] {
      try addInvoice(name, ["milk"], file)
      try file.execute("INSERT INTO tag VALUES (1, 'urgent')")
      try file.execute("INSERT INTO seen VALUES (1, 'urgent')")
      try file.execute("INSERT INTO attachment VALUES (1, 'scan')")
      try file.execute("UPDATE line SET what = 'tea'")
    }
    try expectEqualFiles(a, b, lines: [["Ada", "tea"], ["Ben", "tea"]])
    #expect(try a.rows("SELECT * FROM tag ORDER BY 1") == [[1, "urgent"], [2, "urgent"]])
    #expect(try a.rows("SELECT * FROM seen") == [[1, "urgent"]])
    #expect(try b.rows("SELECT * FROM seen") == [[2, "urgent"]])
    for file in [a, b] {
      #expect(try file.rows("SELECT name FROM attachment") == [["scan"]])
      try file.execute("INSERT INTO search(search, rank) VALUES ('integrity-check', 1)")
      #expect(try file.rows("SELECT rowid FROM search WHERE search MATCH 'Ben'") == [[2]])
    }
  }

  @Test(
    "Before the first pull, a reference to a row that is gone leads to the space's only if the space's row does so"
  )
  func orphansOfNewFile() throws {
    let (a, b, c) = (try file(1), try file(2), try file(3))
    try addInvoice("Ada", ["milk"], a)
    try a.sync(space)
    // A copy of the file, whose invoice was deleted before, and a file of its own.
    try executeFreely("INSERT INTO line VALUES (1, 1, 'milk')", c)
    try addInvoice("Ben", ["rum"], b)
    try executeFreely("DELETE FROM invoice", b)
    #expect(try b.rows("SELECT invoice FROM line") == [[1]])
    try converge([a, b, c], space)
    for file in [a, b, c] { #expect(try file.rows(lines) == [["Ada", "milk"]]) }
    #expect(try c.rows("SELECT count(*) FROM line") == [[1]])
  }

  @Test("A reference to an own row that is gone does not end at the record that gets its number")
  func orphans() throws {
    let (a, b) = try pair(Self.schema, Self.tables)
    try addInvoice("Ada", ["milk"], a)
    try a.sync(space)
    try converge([a, b], space)
    try addInvoice("Ben", ["rum"], b)
    let number = try #require(try b.rows("SELECT max(id) FROM invoice").first?.first)
    try executeFreely("DELETE FROM invoice WHERE customer = 'Ben'", b)
    #expect(try b.rows("SELECT what FROM line WHERE invoice = \(number)") == [["rum"]])
    try addInvoice("Cem", ["tea"], a)
    try a.sync(space)
    #expect(try a.rows("SELECT max(id) FROM invoice") == [[number]])
    try converge([a, b], space)
    for file in [a, b] {
      #expect(
        try file.rows(
          "SELECT what FROM line JOIN invoice ON invoice.id = line.invoice WHERE customer = 'Cem'")
          == [["tea"]])
    }
  }

  @Test("A commit cannot refer to a number that another copy has given to a record since [self]")
  func unseenParent() throws {
    let (a, b) = try pair()
    try addInvoice("Ada", ["milk"], a)
    try converge([a, b], space)
    try addInvoice("Ben", [], b)
    try b.execute("UPDATE line SET invoice = 2")
    try executeFreely("DELETE FROM invoice WHERE customer = 'Ben'", b)
    let commit = try #require(try b.freeze())
    try addInvoice("Cem", ["tea"], a)
    try a.sync(space)
    let outcome = try space.push(commit)
    let line = SyncKey(table: "line", id: [1])
    #expect(outcome == .conflict([SyncObjection(key: line, reason: .missingParent)]))
    try b.settle(outcome, commit)
    try converge([a, b], space)
    for file in [a, b] {
      #expect(try file.rows(lines) == [["Ada", "milk"], ["Cem", "tea"]])
    }
    #expect(try b.rejectedContents().count == 1)
  }

  @Test("A rejected row and rejected children get new numbers before the space gives theirs away")
  func keptEditsFollow() throws {
    let schema = [
      "CREATE TABLE invoice (id INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT UNIQUE)",
      Self.schema[1],
    ]
    let (a, b) = try pair(
      schema,
      Self.tables.map { AttachedTable($0.name, renumbers: true, allowsBlindSpots: true) })
    try addInvoice("Ada", ["milk"], a)
    try a.sync(space)
    try addInvoice("Ada", ["rum"], b)
    try converge([a, b], space)
    #expect(try b.rejectedContents().count == 2)
    // The numbers that the rejected rows had got would be given to these.
    try addInvoice("Ann", ["tea"], a)
    try addInvoice("Amy", ["oil"], a)
    try converge([a, b], space)
    try b.execute("UPDATE invoice SET customer = 'Eve' WHERE customer = 'Ada'")
    let count = try b.write { try $0.retry(.rejected) }
    #expect(count == 2)
    try expectEqualFiles(
      a, b,
      lines: [["Ada", "rum"], ["Amy", "oil"], ["Ann", "tea"], ["Eve", "milk"]])
  }

  @Test("All copies say whether SQLite chooses the keys of a table")
  func sameDeclaration() throws {
    _ = try file(1)
    let error = #expect(throws: SyncRequestError.self) {
      try file(
        2, Self.schema,
        [
          AttachedTable("invoice", allowsAssignedKeys: true),
          AttachedTable("line", allowsAssignedKeys: true),
        ])
    }
    #expect(error?.code == .differentTables && error?.message.contains("`renumbers`") == true)
  }

  @Test("A program that does not know numbers is answered without them")
  func earlierPrograms() throws {
    let a = try file(1)
    try addInvoice("Ada", [], a)
    try a.sync(space)
    let plain = SpaceTable(
      name: "note", columns: [], keyColumns: ["id"], granularity: .field, constraints: [])
    let declared = try space.declare([plain])
    #expect(declared.allSatisfy { !$0.isNumbered })
    guard case .page(let page) = try space.pull(SyncPull(replica: nil, since: nil)),
      case .page(let numbered) = try space.pull(
        SyncPull(replica: nil, since: nil, asksForNumbers: true))
    else { throw SyncUndecided() }
    #expect(page.numbers == nil)
    #expect(numbered.numbers == [FieldName("invoice"): 1])
  }
}
