import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Migrations")
struct DatabaseMigrationTests {
  private let folder: TemporaryFolder
  private let database: Database

  init() throws {
    folder = try TemporaryFolder()
    database = try Database(path: folder.file())
  }

  private static func creating(_ name: String) -> DatabaseMigration {
    DatabaseMigration("create \(name)") { transaction in
      try transaction.execute("CREATE TABLE \(identifier: name) (n)")
    }
  }

  private static let all = ["a", "b", "c", "d"].map(creating)

  private func state() throws -> [[FieldValue]] {
    try folder.open().valueRows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'tandem%' ORDER BY name"
    )
  }

  /// Runs statements as another program, which enforces no foreign keys.
  private func runElsewhere(_ statements: String...) throws {
    let other = try folder.open()
    for sql in ["PRAGMA foreign_keys=OFF"] + statements { try other.execute(sql) }
  }

  @Test("from every state to every later one, exactly what is missing runs, in order")
  func everyStep() throws {
    for first in 0...4 {
      for second in first...4 {
        let database = try Database(path: folder.file("\(first)-\(second).db"))
        let names = Self.all.map(\.name)
        #expect(try database.migrate(Array(Self.all[..<first])) == Array(names[..<first]))
        #expect(try database.migrate(Array(Self.all[..<second])) == Array(names[first..<second]))
        #expect(try database.migrate(Array(Self.all[..<second])) == [])
        let recorded = try database.read { transaction in
          try transaction.fetchValues(
            "SELECT name FROM tandem_migrations ORDER BY position", as: String.self)
        }
        #expect(recorded == Array(names[..<second]))
      }
    }
  }

  @Test("one that fails is undone whole, those before stay, and the next run goes on there")
  func resumes() async throws {
    struct Refusal: Error {}
    let failing = DatabaseMigration("create b") { transaction in
      try transaction.execute("CREATE TABLE b (n)")
      throw Refusal()
    }
    await #expect(throws: Refusal.self) {
      try await database.migrate([Self.all[0], failing, Self.all[2]])
    }
    #expect(try state() == [["a"]])
    #expect(try await database.migrate(Self.all) == ["create b", "create c", "create d"])
    #expect(try state() == [["a"], ["b"], ["c"], ["d"]])
  }

  @Test("a file of a newer program is refused and left alone")
  func unknown() throws {
    try database.migrate(Self.all)
    let error = try databaseError { try database.migrate(Array(Self.all[..<2])) }
    #expect(error.code == .migration)
    #expect(error.description.contains("create c"))
    #expect(!error.description.contains("SQLite error"))
  }

  @Test("migrations in another order, or with one put in between, are refused before any runs")
  func reordered() throws {
    try database.migrate([Self.all[0], Self.all[1]])
    for wrong in [[1, 0, 2], [0, 2, 1], [2, 0, 1], [1], []] {
      let error = try databaseError { try database.migrate(wrong.map { Self.all[$0] }) }
      #expect(error.code == .migration, "\(wrong)")
    }
    #expect(try state() == [["a"], ["b"]])
  }

  @Test("a table may be made anew without losing its children, and keys are enforced afterwards")
  func remakesTables() throws {
    try database.migrate([
      DatabaseMigration("1") { transaction in
        try transaction.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        try transaction.execute(
          "CREATE TABLE child (id REFERENCES parent ON DELETE CASCADE)")
        try transaction.execute("INSERT INTO parent VALUES (1)")
        try transaction.execute("INSERT INTO child VALUES (1)")
      },
      DatabaseMigration("2") { transaction in
        try transaction.execute("CREATE TABLE new (id INTEGER PRIMARY KEY, name)")
        try transaction.execute("INSERT INTO new SELECT id, 'x' FROM parent")
        try transaction.execute("DROP TABLE parent")
        try transaction.execute("ALTER TABLE new RENAME TO parent")
      },
    ])
    #expect(try database.read { try $0.fetchValue("SELECT count(*) FROM child") } == 1)
    let error = try databaseError {
      try database.write { _ = try $0.execute("INSERT INTO child VALUES (2)") }
    }
    #expect(error.code.primary == .constraint)
  }

  @Test("one that leaves a reference to nothing is refused, and names the tables")
  func danglingReference() throws {
    let error = try databaseError {
      try database.migrate([
        DatabaseMigration("dangle") { transaction in
          try transaction.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
          try transaction.execute("CREATE TABLE child (id REFERENCES parent)")
          try transaction.execute("INSERT INTO child VALUES (7)")
        }
      ])
    }
    #expect(error.code == .constraint)
    #expect(error.message.contains("dangle") && error.message.contains("child"))
    #expect(try state() == [])
  }

  /// Two of them, by another program.
  private func makeDanglingReferences() throws {
    try runElsewhere(
      "CREATE TABLE parent (id INTEGER PRIMARY KEY)", "CREATE TABLE child (id REFERENCES parent)",
      "INSERT INTO child VALUES (1), (2)")
  }

  @Test("references to nothing that were there before may stay, and no more may come")
  func earlierDanglingReference() throws {
    try makeDanglingReferences()
    let remake = DatabaseMigration("remake") { transaction in
      try transaction.execute("CREATE TABLE new (id REFERENCES parent, name)")
      try transaction.execute("INSERT INTO new SELECT id, 'x' FROM child")
      try transaction.execute("DROP TABLE child")
      try transaction.execute("ALTER TABLE new RENAME TO child")
    }
    #expect(try database.migrate([Self.all[0], remake]) == ["create a", "remake"])
    let worse = DatabaseMigration("worse") { transaction in
      try transaction.execute("INSERT INTO child VALUES (3, 'y')")
    }
    let error = try databaseError { try database.migrate([Self.all[0], remake, worse]) }
    #expect(error.code == .constraint)
    #expect(error.message.contains("child would have 3 references to rows of parent"))
    #expect(error.message.contains("before it, it had 2"))
  }

  @Test(
    "references to nothing may stay when a table is renamed or made anew in other letters",
    arguments: [
      ["ALTER TABLE child RENAME TO kid"], ["ALTER TABLE parent RENAME TO elder"],
      [
        "CREATE TABLE new (id REFERENCES PARENT)", "INSERT INTO new SELECT id FROM child",
        "DROP TABLE child", "ALTER TABLE new RENAME TO CHILD",
      ],
    ])
  func renamed(statements: [String]) throws {
    try makeDanglingReferences()
    let rename = DatabaseMigration("rename") { transaction in
      for sql in statements { try transaction.connection.execute(sql) }
    }
    #expect(try database.migrate([rename]) == ["rename"])
    let worse = DatabaseMigration("worse") { transaction in
      try transaction.execute("CREATE TABLE young (id REFERENCES nobody)")
      try transaction.execute("INSERT INTO young VALUES (1)")
    }
    #expect(try databaseError { try database.migrate([rename, worse]) }.code == .constraint)
  }

  @Test("a declaration that does not fit its parent may stay or be repaired, but not come")
  func misfit() throws {
    try runElsewhere(
      "CREATE TABLE parent (id)", "CREATE TABLE child (id REFERENCES parent (id))",
      "INSERT INTO child VALUES (1)")
    let repair = DatabaseMigration("repair") { transaction in
      try transaction.execute("CREATE UNIQUE INDEX parent_id ON parent (id)")
    }
    let spoil = DatabaseMigration("spoil") { transaction in
      try transaction.execute("DROP INDEX parent_id")
    }
    #expect(try database.migrate([Self.all[0], repair]) == ["create a", "repair"])
    let error = try databaseError { try database.migrate([Self.all[0], repair, spoil]) }
    #expect(error.message.contains("foreign key mismatch"))
  }

  @Test("programs that migrate one file at the same time run each step once")
  func concurrently() async throws {
    let path = folder.file()
    let ran = try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<6 {
        group.addTask {
          let database = try await Database.open(
            path: path, configuration: DatabaseConfiguration(busyTimeout: .seconds(3_600)))
          return try await database.migrate(Self.all)
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(ran.sorted() == Self.all.map(\.name))
  }
}
