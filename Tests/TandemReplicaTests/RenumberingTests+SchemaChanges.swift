import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import Testing

// Tables that programs build anew, or that lose columns, while their rows have numbers that the space has not given.
extension RenumberingTests {
  /// The statements that build a table anew, as a program does that knows nothing of synchronization.
  private static func rebuilding(_ name: String) -> [String] {
    let columns =
      name == "invoice"
      ? "customer TEXT" : "invoice INTEGER REFERENCES invoice ON DELETE CASCADE, what TEXT"
    return [
      "CREATE TABLE new (id INTEGER PRIMARY KEY AUTOINCREMENT, \(columns))",
      "INSERT INTO new SELECT * FROM \(name)", "DROP TABLE \(name)",
      "ALTER TABLE new RENAME TO \(name)",
    ]
  }

  private func rebuild(_ names: [String], _ file: TestReplica) throws {
    try file.database.write(foreignKeys: .ignored) { transaction in
      for sql in names.flatMap(Self.rebuilding) { try transaction.connection.execute(sql) }
    }
  }

  @Test(
    "Rows that a program adds after it has built their table anew get other numbers, and others follow",
    arguments: [["invoice"], ["line"], ["invoice", "line"]])
  func addedAfterRebuild(names: [String]) throws {
    let (a, b) = try pair()
    try addInvoice("known", ["of known"], a)
    try converge([a, b], space)
    try rebuild(names, a)
    try addInvoice("of a", ["of a"], a)
    try addInvoice("of b", ["of b"], b)
    try b.sync(space)
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], "SELECT customer, what FROM line JOIN invoice ON invoice.id = invoice ORDER BY 1",
      [["known", "of known"], ["of a", "of a"], ["of b", "of b"]])
    #expect(try a.read { try $0.keptEdits(.all) }.isEmpty)
  }

  @Test(
    "A number of a deleted record that SQLite gives again after a table was built anew is not kept")
  func reusedNumber() throws {
    let (a, b) = try pair()
    for customer in ["Ada", "Bob"] { try addInvoice(customer, [], a) }
    try converge([a, b], space)
    let c = try file(3)
    try converge([a, b, c], space)
    try b.execute("DELETE FROM invoice WHERE customer = 'Bob'")
    try converge([b, a], space)
    try c.execute("INSERT INTO line (invoice, what) VALUES (2, 'of Bob')")
    try rebuild(["invoice"], a)
    try addInvoice("Cem", ["of Cem"], a)
    #expect(try a.rows("SELECT id FROM invoice WHERE customer = 'Cem'") == [[2]])
    try converge([a, c, b], space)
    for file in [a, b, c] {
      #expect(
        try file.rows(
          "SELECT what, customer FROM line JOIN invoice ON invoice.id = invoice ORDER BY what")
          == [["of Bob", "Bob"], ["of Cem", "Cem"]])
    }
    #expect(try a.conflicts().isEmpty && a.rejectedContents().isEmpty)
  }

  @Test(
    "A change of the schema that builds a table anew does not let SQLite give the number of a deletion again",
    arguments: [RebuildForm.migration, .beginAndEnd])
  func numberOfDeletion(form: RebuildForm) throws {
    let (a, b) = try pair()
    for customer in ["Ada", "Bob"] { try addInvoice(customer, [], a) }
    try converge([a, b], space)
    try b.execute("INSERT INTO line (invoice, what) VALUES (2, 'of Bob')")
    try a.execute("DELETE FROM invoice WHERE customer = 'Bob'")
    switch form {
    case .migration:
      try a.database.migrate([
        DatabaseMigration("anew") { transaction in
          for sql in Self.rebuilding("invoice") { try transaction.connection.execute(sql) }
        }
      ])
    case .beginAndEnd:
      try a.write { try $0.beginSchemaChange() }
      try rebuild(["invoice"], a)
      try a.write { try $0.endSchemaChange() }
    }
    try addInvoice("Cem", [], a)
    #expect(try a.rows("SELECT id FROM invoice WHERE customer = 'Cem'") == [[3]])
    try converge([a, b], space)
    // The line of b brings its invoice back.
    try expectEqualRows(
      [a, b], "SELECT what, customer FROM line JOIN invoice ON invoice.id = invoice",
      [["of Bob", "Bob"]])
  }

  enum RebuildForm { case migration, beginAndEnd }

  @Test("A text that is not UTF-8 does not keep a file from noticing that its table was built anew")
  func unreadableText() throws {
    let (a, b) = try pair()
    for customer in ["Ada", "Bob"] { try addInvoice(customer, [], a) }
    try converge([a, b], space)
    try rebuild(["invoice"], a)
    try a.execute("UPDATE invoice SET customer = CAST(x'ff41' AS TEXT) WHERE id = 2")
    try a.sync(space)
    let summary = try a.read { try $0.summary() }
    #expect(summary.state.pullNeed == .none && summary.rejectedCount > 0)
  }

  @Test("Rows of a commit that waits keep their numbers although their table is built anew")
  func rebuiltWhileWaiting() throws {
    let (a, b) = try pair()
    try addInvoice("of a", ["of a"], a)
    let bytes = try #require(try a.freeze())
    try rebuild(["invoice", "line"], a)
    try addInvoice("later", ["later"], a)
    _ = try a.write { try $0.schema() }
    try a.settle(try space.push(bytes), bytes)
    try converge([a, b], space)
    try expectEqualRows(
      [a, b],
      "SELECT invoice.id, customer, what FROM line JOIN invoice ON invoice.id = invoice ORDER BY 1",
      [[1, "of a", "of a"], [2, "later", "later"]])
    #expect(try space.records().count == 4)
  }

  @Test("A row of the space keeps its number although a program made it refer to a new row unseen")
  func knownBelowNew() throws {
    let folder = """
      CREATE TABLE folder (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, parent INTEGER REFERENCES folder)
      """
    let (a, b) = try pair([folder], [AttachedTable("folder", renumbers: true)])
    try a.execute("INSERT INTO folder (name) VALUES ('known')")
    try converge([a, b], space)
    try a.database.write(foreignKeys: .ignored) { transaction in
      let new = "CREATE TABLE new" + folder.dropFirst("CREATE TABLE folder".count)
      for statement in [
        new, "INSERT INTO new SELECT * FROM folder", "DROP TABLE folder",
        "ALTER TABLE new RENAME TO folder", "INSERT INTO folder (name) VALUES ('of a')",
        "UPDATE folder SET parent = 2 WHERE name = 'known'",
      ] { try transaction.connection.execute(statement) }
    }
    try b.execute("INSERT INTO folder (name) VALUES ('of b')")
    try b.sync(space)
    try converge([a, b], space)
    // It refers to the new row, which has another number now.
    try expectEqualRows(
      [a, b], "SELECT id, name, parent FROM folder ORDER BY id",
      [[1, "known", 3], [2, "of b", .null], [3, "of a", .null]])
    #expect(try a.read { try $0.keptEdits(.all) }.isEmpty)
  }

  @Test("A reference by another column than the number does not make a row of the space new")
  func referenceByOtherColumn() throws {
    let line = "(id INTEGER PRIMARY KEY AUTOINCREMENT, code INTEGER REFERENCES product(code))"
    let schema = [
      "CREATE TABLE product (id INTEGER PRIMARY KEY AUTOINCREMENT, code INTEGER UNIQUE)",
      "CREATE TABLE line \(line)",
    ]
    let tables = [
      AttachedTable("product", renumbers: true), AttachedTable("line", renumbers: true),
    ]
    let (a, b) = try pair(schema, tables)
    try a.execute("INSERT INTO product (code) VALUES (2)")
    try a.execute("INSERT INTO line (code) VALUES (2)")
    try converge([a, b], space)
    try b.execute("DELETE FROM line")
    try b.sync(space)
    // Its number is the code of the line.
    try a.execute("INSERT INTO product (code) VALUES (9)")
    try a.database.write(foreignKeys: .ignored) { transaction in
      for statement in [
        "CREATE TABLE new \(line)", "INSERT INTO new SELECT * FROM line", "DROP TABLE line",
        "ALTER TABLE new RENAME TO line",
      ] { try transaction.connection.execute(statement) }
    }
    try converge([a, b], space)
    try expectEqualRows([a, b], "SELECT * FROM line", [])
  }

  /// Two files, of which the second makes itself a column of references to rows of both.
  private func pairWithNewReferences(
    former: String = "", making change: (TestReplica) throws -> Void
  ) throws -> (TestReplica, TestReplica) {
    let schema = [
      "CREATE TABLE cat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)",
      "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT\(former))",
    ]
    let (a, b) = try pair(schema, Self.petTables)
    try a.execute("INSERT INTO cat (name) VALUES ('known')")
    try a.execute("INSERT INTO pet (id) VALUES ('k'), ('p'), ('q')")
    try converge([a, b], space)
    try a.execute("INSERT INTO cat (name) VALUES ('of a')")
    try a.sync(space)
    try b.execute("INSERT INTO cat (name) VALUES ('of b'), ('also of b')")
    try change(b)
    try b.execute("UPDATE pet SET cat = 3 WHERE id = 'q'")
    try converge([b, a, b], space)
    #expect(
      try b.rows(Self.catsOfPets) == [["k", "known"], ["p", "of b"], ["q", "also of b"]])
    #expect(try b.conflicts().isEmpty && b.rejectedContents().isEmpty)
    return (a, b)
  }

  /// Expects equal references after both files have got a new column.
  private func expectNewReferences(adding add: (TestReplica, String) throws -> Void) throws {
    let addition = "ALTER TABLE pet ADD COLUMN cat INTEGER REFERENCES cat"
    let (a, b) = try pairWithNewReferences { b in
      try add(b, addition)
      try b.execute("UPDATE pet SET cat = iif(id = 'k', 1, 2)")
    }
    try a.execute(addition)
    try converge([a, b], space)
    #expect(try a.rows(Self.catsOfPets) == b.rows(Self.catsOfPets))
  }

  @Test("References in a column that is new follow a row of the space's record")
  func newReferences() throws { try expectNewReferences { try $0.changeSchema($1) } }

  @Test("References in a column that another program has added follow a row of the space's record")
  func unseenReferences() throws { try expectNewReferences { _ = try $0.execute($1) } }

  @Test("References in a column that has another name since follow a row of the space's record")
  func renamedReferences() throws {
    let (a, _) = try pairWithNewReferences(former: ", former INTEGER REFERENCES cat") { b in
      try b.execute("UPDATE pet SET former = iif(id = 'k', 1, 2)")
      try b.changeSchema("ALTER TABLE pet RENAME COLUMN former TO cat")
    }
    let names = try a.rows("SELECT cat.name FROM pet JOIN cat ON cat.id = former ORDER BY pet.id")
    #expect(names.first == ["known"])
  }

  @Test(
    "A reference in a new column that another copy has set too is a conflict, also after new numbers"
  )
  func newReferenceOfBoth() throws {
    let schema = [
      "CREATE TABLE cat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)",
      "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT)",
    ]
    let (a, b) = try pair(schema, Self.petTables)
    try a.execute("INSERT INTO pet (id) VALUES ('p')")
    try converge([a, b], space)
    for (file, name) in [(a, "of a"), (b, "of b")] {
      try file.execute("ALTER TABLE pet ADD COLUMN cat INTEGER REFERENCES cat")
      try file.execute("INSERT INTO cat (name) VALUES ('\(name)')")
      try file.execute("UPDATE pet SET cat = 1")
    }
    try a.sync(space)
    try converge([b, a], space)
    try expectEqualRows([a, b], Self.catsOfPets, try a.rows(Self.catsOfPets))
    let names = try b.conflicts().map { $0.local?["cat"] ?? .null }
    #expect(try a.rows(Self.catsOfPets) == [["p", "of a"]] && names == [2])
  }

  @Test("References in a column that was dropped before they were sent follow a row")
  func droppedReferences() throws {
    let (a, b) = try pair(Self.pets, Self.petTables)
    try a.execute("INSERT INTO cat (name) VALUES ('first')")
    try a.execute("INSERT INTO pet VALUES ('edited', 'E', 1)")
    try converge([a, b], space)
    try a.execute("INSERT INTO cat (name) VALUES ('of a')")
    try a.sync(space)
    try b.execute("INSERT INTO cat (name) VALUES ('of b')")
    try b.execute("UPDATE pet SET cat = 2 WHERE id = 'edited'")
    try b.execute("INSERT INTO pet VALUES ('new', 'N', 2)")
    try dropCat(b)
    try converge([b, a], space)
    #expect(try a.rows(Self.catsOfPets) == [["edited", "of b"], ["new", "of b"]])
  }

  @Test("A reference in a new column follows a row although the letters of its name change")
  func newReferenceInOtherCase() throws {
    let schema = [
      "CREATE TABLE cat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)",
      "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT)",
    ]
    let (a, b) = try pair(schema, Self.petTables)
    try a.execute("INSERT INTO pet (id) VALUES ('p')")
    try converge([a, b], space)
    try a.execute("INSERT INTO cat (name) VALUES ('of a')")
    try a.sync(space)
    try b.execute("INSERT INTO cat (name) VALUES ('of b')")
    try b.execute("ALTER TABLE pet ADD COLUMN cat INTEGER REFERENCES cat")
    try b.execute("UPDATE pet SET cat = 1")
    try b.changeSchema("ALTER TABLE pet RENAME COLUMN cat TO Cat")
    try converge([b, a], space)
    #expect(try b.rows(Self.catsOfPets) == [["p", "of b"]])
  }

  @Test("A received reference to a row that is gone stays when its column gets another name")
  func receivedReference() throws {
    let schema = [
      Self.pets[0], "CREATE TABLE pet (id TEXT PRIMARY KEY, former INTEGER REFERENCES cat)",
    ]
    let (a, b) = try pair(schema, Self.petTables)
    try a.execute("INSERT INTO cat (name) VALUES ('one'), ('two')")
    try a.execute("INSERT INTO pet VALUES ('p', 2)")
    try converge([a, b], space)
    try executeFreely("DELETE FROM cat WHERE id = 2", b)
    try b.changeSchema("ALTER TABLE pet RENAME COLUMN former TO cat")
    try b.sync(space)
    #expect(try b.rows("SELECT cat FROM pet") == [[2]])
    try a.sync(space)
    #expect(try a.rows("SELECT former FROM pet") == [[2]])
  }

  @Test("References in a column that was dropped, and is back before they were sent, follow a row")
  func returnedReferences() throws {
    let (a, b) = try pair(Self.pets, Self.petTables)
    try a.execute("INSERT INTO pet VALUES ('edited', 'E', NULL)")
    try converge([a, b], space)
    try a.execute("INSERT INTO cat (name) VALUES ('of a')")
    try a.sync(space)
    try b.execute("INSERT INTO cat (name) VALUES ('of b')")
    try b.execute("UPDATE pet SET cat = 1")
    try b.execute("INSERT INTO pet VALUES ('new', 'N', 1)")
    try dropCat(b)
    try b.changeSchema("ALTER TABLE pet ADD COLUMN cat INTEGER REFERENCES cat")
    try converge([b, a], space)
    try expectEqualRows([a, b], Self.catsOfPets, [["edited", "of b"], ["new", "of b"]])
    #expect(try b.conflicts().isEmpty && b.rejectedContents().isEmpty)
  }

  @Test("References in kept edits follow a row although their column was dropped")
  func droppedReferencesOfKeptEdits() throws {
    let (a, b) = try pair(Self.pets, Self.petTables)
    try a.execute("INSERT INTO cat (name) VALUES ('first'), ('same')")
    try a.sync(space)
    // The space has the name: the cat of b and its pets are kept.
    try b.execute("INSERT INTO cat (name) VALUES ('same')")
    try b.execute("INSERT INTO pet VALUES ('new', 'N', 1), ('other', 'O', 1)")
    try converge([b, a], space)
    try dropCat(b)
    func retry(_ edits: [KeptEdit]) throws {
      for edit in edits { try b.write { _ = try $0.retry(.one(edit.id)) } }
    }
    let kept = try b.rejected()
    #expect(kept.count == 3)
    try converge([b], space)
    try a.execute("INSERT INTO cat (name) VALUES ('fourth'), ('fifth')")
    try converge([a, b], space)
    let cat = try #require(kept.first { $0.table == "cat" })
    try b.write { try $0.resolve(.one(cat.id), by: .fields(["name": "of b"])) }
    // One goes with its cat, before that gets its number, and one later.
    try a.execute("INSERT INTO cat (name) VALUES ('sixth')")
    try a.sync(space)
    try retry(kept.filter { $0.key.id == ["new"] })
    try converge([b, a], space)
    try retry(kept.filter { $0.key.id == ["other"] })
    try converge([b, a], space)
    #expect(try a.rows(Self.catsOfPets) == [["new", "of b"], ["other", "of b"]])
  }

  private static let pets = [
    "CREATE TABLE cat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE)",
    "CREATE TABLE pet (id TEXT PRIMARY KEY, name TEXT, cat INTEGER REFERENCES cat)",
  ]
  private static let petTables = [AttachedTable("cat", renumbers: true), AttachedTable("pet")]
  private static let catsOfPets = """
    SELECT pet.id, cat.name FROM pet LEFT JOIN cat ON cat.id = pet.cat ORDER BY 1
    """

  private func dropCat(_ file: TestReplica) throws {
    try file.changeSchema("ALTER TABLE pet DROP COLUMN cat")
  }

  @Test("Values of columns that a table lacks follow a row whose key is the number of another row")
  func parkedValuesFollow() throws {
    let cat = "CREATE TABLE cat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)"
    let tables = [
      AttachedTable("cat", renumbers: true), AttachedTable("fav", allowsAssignedKeys: true),
    ]
    let fav = "id INTEGER PRIMARY KEY REFERENCES cat, mark TEXT"
    let wide = [cat, "CREATE TABLE fav (\(fav), note TEXT)"]
    let a = try file(1, wide, tables)
    let b = try file(2, [cat, "CREATE TABLE fav (\(fav))"], tables)
    try converge([a, b], space)
    let backup = try space.backup()
    for sql in [
      "INSERT INTO cat (name) VALUES ('x')", "INSERT INTO fav VALUES (1, 'of x', 'note of x')",
    ] {
      try a.execute(sql)
    }
    try converge([a, b], space)
    // The space is empty again, and another file gives the number.
    try space.restore(backup)
    let c = try file(3, wide, tables)
    try c.execute("INSERT INTO cat (name) VALUES ('y')")
    try c.execute("INSERT INTO fav VALUES (1, 'of y', 'note of y')")
    try c.sync(space)
    b.decision = .union
    try converge([c, b], space)
    try expectEqualRows(
      [b, c], "SELECT name, mark FROM cat JOIN fav USING (id) ORDER BY 1",
      [["x", "of x"], ["y", "of y"]])
    #expect(
      try c.rows("SELECT mark, note FROM fav ORDER BY 1")
        == [["of x", "note of x"], ["of y", "note of y"]])
  }
}
