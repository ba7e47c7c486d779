import Synchronization
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Functions and collations of an application")
struct DatabaseFunctionTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func database(
    _ functions: [DatabaseFunction], _ collations: [DatabaseCollation] = []
  ) throws -> Database {
    var configuration = DatabaseConfiguration()
    configuration.functions = functions
    configuration.collations = collations
    return try Database(path: folder.path(of: "test.db"), configuration: configuration)
  }

  @Test("a function takes and returns values of its types, in the writer and in each reader")
  func types() async throws {
    let database = try database([
      DatabaseFunction("initials", isDeterministic: true) { (name: String) in
        String(name.split(separator: " ").compactMap(\.first))
      },
      DatabaseFunction("sum") { (first: Int, second: Double) in Double(first) + second },
      DatabaseFunction("sum") { (first: Int, second: Int, third: Int) in first + second + third },
      DatabaseFunction("length_or") { (blob: [UInt8]?, other: Int) in blob?.count ?? other },
      DatabaseFunction("kind") { (value: FieldValue) in "\(value)" },
      DatabaseFunction("no_value") { () -> String? in nil },
      DatabaseFunction("empty") { () -> [UInt8] in [] },
      DatabaseFunction("empty_text") { () -> String in "" },
    ])
    let sql: SQL = """
      SELECT json_array(initials('Ada Lovelace'), sum(1, 0.5), sum(1, 2, 3), length_or(x'0102', 7),
        length_or(NULL, 7), kind(1.5), no_value(), initials(NULL), typeof(empty()), empty_text())
      """
    let expected = #"["AL",1.5,6,2,7,"1.5",null,null,"blob",""]"#
    #expect(try await database.write { try $0.fetchValue(sql, as: String.self) } == expected)
    #expect(try await database.read { try $0.fetchValue(sql, as: String.self) } == expected)
  }

  @Test("an argument of another type, and an error of the function, are errors of the statement")
  func errors() throws {
    struct Refusal: Error, CustomStringConvertible { var description = "not on Sundays" }
    let database = try database([
      DatabaseFunction("half") { (number: Int) in number / 2 },
      DatabaseFunction("refuse") { () throws -> Int in throw Refusal() },
      DatabaseFunction("undefined") { Double.nan },
    ])
    for (sql, part) in [
      ("SELECT half('x')", "half: argument 1 is no Int"), ("SELECT refuse()", "not on Sundays"),
      ("SELECT undefined()", "undefined: SQLite cannot hold its result"),
      ("SELECT half(1, 2)", "wrong number of arguments"),
    ] {
      #expect {
        _ = try database.read { try $0.fetchValue(SQL(text: sql), as: Int.self) }
      } throws: { "\($0)".contains(part) }
    }
  }

  @Test("only a deterministic function may be part of an index")
  func determinism() throws {
    for isDeterministic in [true, false] {
      let database = try database([
        DatabaseFunction("folded", isDeterministic: isDeterministic) { (text: String) in
          text.lowercased()
        }
      ])
      try database.write { try $0.execute("CREATE TABLE IF NOT EXISTS t (word TEXT)") }
      let index = Result {
        try database.write { try $0.execute("CREATE INDEX i ON t (folded(word))") }
      }
      #expect(((try? index.get()) != nil) == isDeterministic)
      try database.write { try $0.execute("DROP INDEX IF EXISTS i") }
      try database.close()
    }
  }

  @Test("a default and a trigger call a function, also for rows that another statement writes")
  func schema() throws {
    let count = Mutex(0)
    let next = DatabaseFunction("next_id") {
      count.withLock {
        $0 += 1
        return "id-\($0)"
      }
    }
    let database = try database([next])
    let ids = try database.write { transaction in
      try transaction.execute("CREATE TABLE t (id TEXT PRIMARY KEY DEFAULT (next_id()), n INTEGER)")
      try transaction.execute("INSERT INTO t (n) VALUES (1), (2)")
      return try transaction.fetchValues("SELECT id FROM t ORDER BY id", as: String.self)
    }
    #expect(ids == ["id-1", "id-2"])
  }

  @Test("a collation orders texts, and makes texts equal for a unique column")
  func collations() throws {
    let unicase = DatabaseCollation("unicase") { first, second in
      let (first, second) = (first.lowercased(), second.lowercased())
      return first < second ? -1 : first == second ? 0 : 1
    }
    let database = try database([], [unicase])
    let words = try database.write { transaction in
      try transaction.execute("CREATE TABLE t (word TEXT COLLATE unicase UNIQUE)")
      try transaction.execute("INSERT INTO t VALUES ('b'), ('C'), ('Ä'), ('A')")
      return try transaction.fetchValues("SELECT word FROM t ORDER BY word", as: String.self)
    }
    #expect(words == ["A", "b", "C", "Ä"])
    #expect(throws: DatabaseError.self) {
      try database.write { try $0.execute("INSERT INTO t VALUES ('ä')") }
    }
  }

  @Test("configurations are equal if they have the same functions")
  func equality() {
    let function = DatabaseFunction("one") { 1 }
    var (first, second) = (DatabaseConfiguration(), DatabaseConfiguration())
    first.functions = [function]
    #expect(first != second)
    second.functions = [function]
    #expect(first == second)
    second.functions = [DatabaseFunction("one") { 1 }]
    #expect(first != second)
  }
}
