import TandemRecords
import TandemSQLite
import Testing

struct TableSchemaTests {
  private let connection: DatabaseConnection

  init() throws { connection = try DatabaseConnection(path: ":memory:") }

  @Test("columns come in order with their types, as declared")
  func columns() throws {
    try connection.execute("CREATE TABLE T (b INTEGER, a varchar(10) NOT NULL, c, \"d e\" Double)")
    let schema = try connection.table("t")
    #expect(schema.name == "T")
    #expect(schema.columnNames == ["b", "a", "c", "d e"])
    #expect(schema.columns.map(\.declaredType) == ["INTEGER", "varchar(10)", "", "Double"])
    #expect(schema.columns.map(\.affinity) == [.integer, .text, .none, .real])
    #expect(schema.primaryKey.isEmpty)
    #expect(!schema.isView)
  }

  @Test(
    "the key has its own order, with and without a rowid",
    arguments: ["", "WITHOUT ROWID", "STRICT"])
  func compositeKey(suffix: String) throws {
    try connection.execute(
      "CREATE TABLE t (a INT, b INT, c INT, d INT, PRIMARY KEY (d, a, c)) \(suffix)")
    #expect(try connection.table().primaryKey == ["d", "a", "c"])
  }

  @Test("generated columns are marked, of either kind")
  func generated() throws {
    try connection.execute(
      """
      CREATE TABLE t (a, b INT GENERATED ALWAYS AS (a + 1) VIRTUAL, c TEXT AS (a) STORED, d)
      """)
    let schema = try connection.table()
    #expect(schema.columnNames == ["a", "b", "c", "d"])
    #expect(schema.columns.map(\.isGenerated) == [false, true, true, false])
    #expect(schema.columns.map(\.affinity) == [.none, .integer, .text, .none])
  }

  @Test("hidden columns of virtual tables are left out")
  func hidden() throws {
    try connection.execute("CREATE VIRTUAL TABLE t USING fts5(a, b)")
    #expect(try connection.table().columnNames == ["a", "b"])
  }

  @Test("a column of type ANY keeps every value in a strict table, and is numeric in others")
  func strict() throws {
    try connection.execute("CREATE TABLE s (a ANY, b INTEGER) STRICT")
    try connection.execute("CREATE TABLE t (a ANY, b INTEGER)")
    for (name, affinity, type) in [("s", ColumnAffinity.none, "text"), ("t", .numeric, "integer")] {
      #expect(try connection.table(name).columns.map(\.affinity) == [affinity, .integer])
      try connection.execute("INSERT INTO \(name) VALUES ('007', 1)")
      #expect(try connection.valueRows("SELECT typeof(a) FROM \(name)") == [[.text(type)]])
    }
  }

  @Test("a view is one, and has its columns")
  func view() throws {
    try connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    try connection.execute("CREATE VIEW v AS SELECT b, a, 1 AS one FROM t")
    let schema = try connection.table("v")
    #expect(schema.isView)
    #expect(schema.columnNames == ["b", "a", "one"])
    #expect(schema.primaryKey.isEmpty)
  }

  @Test("a table that is not there is nil; so are an index and a trigger")
  func missing() throws {
    try connection.execute("CREATE TABLE t (a)")
    try connection.execute("CREATE INDEX i ON t (a)")
    for name in ["u", "", "i", "t\0", "main.t", "\"t\""] {
      #expect(try connection.schema(ofTable: name) == nil, "\(name)")
    }
  }

  /// Names that need to be quoted.
  private static let names = [
    "select", "a b", "a\"b", "\"", "'", "a'b", "a;b", "--", "/*", "é", "e\u{301}", "日本",
    "a\"\u{301}b",
    "\u{301}", "🏳️‍🌈", " ", "1", "a.b", "[a]", "`a`", "%", "?", ":a", "x\r\ny",
  ]

  @Test("a name is quoted so that SQLite takes it for itself", arguments: names)
  func quoted(name: String) throws {
    try connection.createTable(
      name, columns: [ColumnDefinition(name: name, type: .text)], key: [name])
    let schema = try connection.table(name)
    #expect(Array(schema.name.utf8) == Array(name.utf8))
    #expect(schema.columnNames.map { Array($0.utf8) } == [Array(name.utf8)])
    #expect(schema.primaryKey == schema.columnNames)
    try connection.execute("INSERT INTO \(name.sqlQuoted) (\(name.sqlQuoted)) VALUES ('x')")
    #expect(try connection.valueRows("SELECT \(name.sqlQuoted) FROM \(name.sqlQuoted)") == [["x"]])
  }

  @Test("names are the same if they differ in the case of ASCII letters only, as SQLite has it")
  func sameNames() throws {
    let pairs: [(String, String, Bool)] = [
      ("abcXYZ", "ABCxyz", true), ("", "", true), ("a", "ab", false), ("é", "É", false),
      ("e\u{301}", "é", false), ("e\u{301}", "E\u{301}", true), ("[", "{", false),
      ("@", "`", false),
      ("ı", "I", false), ("ß", "SS", false),
    ]
    for (first, second, areSame) in pairs {
      #expect(first.isSameSQLName(as: second) == areSame, "\(first) and \(second)")
      #expect(second.isSameSQLName(as: first) == areSame, "\(second) and \(first)")
      guard !first.isEmpty else { continue }
      let database = try DatabaseConnection(path: ":memory:")
      try database.execute("CREATE TABLE t (\(first.sqlQuoted))")
      #expect((try database.table().column(named: second) != nil) == areSame)
      let clashes = (try? database.execute("ALTER TABLE t ADD \(second.sqlQuoted)")) == nil
      #expect(clashes == areSame, "\(first) and \(second)")
    }
  }
}
