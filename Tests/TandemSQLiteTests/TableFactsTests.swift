import TandemSQLite
import TestFolder
import Testing

@Suite("What identifies the rows of a table")
struct TableFactsTests {
  private static let identities: [(table: String, identity: [String])] = [
    ("a", ["id"]), ("b", ["y", "x"]), ("c", ["rowid"]), ("d", ["_rowid_"]), ("e", []), ("v", []),
    ("f", ["rowid"]),
  ]

  @Test("the primary key, else a name of the rowid that no column has; nothing in a view")
  func identity() throws {
    let folder = try TemporaryFolder()
    let connection = try folder.open(
      "test.db", "CREATE TABLE a (id INTEGER PRIMARY KEY)",
      "CREATE TABLE b (x, y, PRIMARY KEY (y, x)) WITHOUT ROWID", "CREATE TABLE c (x)",
      "CREATE TABLE d (rowid)", "CREATE TABLE e (rowid, oid, _rowid_)",
      "CREATE VIEW v AS SELECT * FROM a", "CREATE VIRTUAL TABLE f USING fts5(t)")
    for (table, identity) in Self.identities {
      #expect(try TableFacts(table, in: connection)?.identity == identity, "\(table)")
    }
    #expect(try TableFacts("missing", in: connection)?.identity == nil)
  }
}
