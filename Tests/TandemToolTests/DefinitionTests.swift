import TestFolder
import TestTool
import Testing

@Suite("what copies define differently", .timeLimit(.minutes(20)))
struct DefinitionTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func attach(_ name: String, _ columns: String, _ option: String = "") async throws
    -> String
  {
    try await shell(
      """
      sqlite3 \(name).db "CREATE TABLE address (id TEXT PRIMARY KEY, \(columns))"
      $tandem attach \(name).db --space s.space --table address \(option)
      """
    ).error
  }

  @Test("attach names it with the command that shows the rows, and the status goes on to show it")
  func attached() async throws {
    #expect(
      try await attach("a", "zip TEXT NOT NULL DEFAULT '', lo, CHECK (lo  < 9)").split(
        separator: "\n"
      ).count == 1)
    let attached = try await attach("b", "zip INTEGER NOT NULL DEFAULT '', lo")
    let notices = attached.split(separator: "\n").dropFirst()
    #expect(notices.count == 2)
    #expect(
      notices.first?.hasPrefix(
        "tandem: b.db: the column zip of address is INTEGER here and TEXT in the space: ") == true)
    #expect(notices.first?.contains("stays beside the table (tandem rejected)") == true)
    #expect(
      notices.last?.hasPrefix("tandem: b.db: the CHECK (lo < 9) of address in the space is not in")
        == true)
    #expect(try await !attach("c", "zip INTEGER, lo", "-q").contains("zip"))
    for name in ["a", "b"] {
      // They were reported.
      #expect(try await !shell("$tandem sync \(name).db").error.contains("address"))
    }
    let status = try await shell("$tandem status b.db").output
    #expect(status.contains("\nnotice     the column zip of address is INTEGER here"))
    #expect(status.contains("(tandem rejected)"))
    #expect(
      try await shell("$tandem status b.db --json").output
        .contains(#""notices":["the column zip of address is INTEGER here"#))
    #expect(
      try await shell("$tandem space --space s.space").output.hasPrefix(
        """
        address(id TEXT): zip TEXT NOT NULL DEFAULT '', lo
             CHECK (lo < 9)

        """))
  }

  @Test("sync names it once after a change of the schema, and alter at once")
  func changed() async throws {
    _ = try await attach("a", "zip TEXT")
    try await shell("cp a.db b.db && rm a.db && $tandem sync b.db")
    func notices(_ command: String) async throws -> Int {
      try await shell(command).error.split(separator: "\n").count { $0.contains("of address") }
    }
    let rebuild = """
      CREATE TABLE new (id TEXT PRIMARY KEY, zip INTEGER); INSERT INTO new SELECT * FROM address;
      DROP TABLE address; ALTER TABLE new RENAME TO address;
      """
    #expect(try await notices("sqlite3 b.db '\(rebuild)' && $tandem sync b.db") == 1)
    #expect(try await notices("$tandem sync b.db") == 0)
    let alter =
      "$tandem alter b.db 'ALTER TABLE address DROP COLUMN zip' 'ALTER TABLE address ADD COLUMN"
    #expect(try await notices("\(alter) zip REAL'") == 1)
    #expect(try await notices("$tandem sync b.db") == 0)
  }

  @Test(
    "A value that a column would alter is listed, counted, and makes --verify end with status 1")
  func verified() async throws {
    _ = try await attach("a", "zip TEXT")
    _ = try await attach("b", "zip INTEGER")
    try await shell(
      "sqlite3 a.db \"INSERT INTO address VALUES ('x', '01234')\" && $tandem sync a.db")
    let verified = try await shell("$tandem sync b.db --verify", status: 1)
    #expect(verified.error.contains("1 rejected change: tandem rejected b.db"))
    #expect(try await shell("$tandem status b.db", status: 1).output.contains("rejected   1\n"))
    #expect(
      try await shell("$tandem rejected b.db", status: 1).output
        .contains("the column zip (INTEGER) would store"))
    #expect(try await shell("sqlite3 b.db 'SELECT zip IS NULL FROM address'").output == "1\n")
  }
}
