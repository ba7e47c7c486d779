import TandemRecords
import TandemSQLite
import Testing

/// Rows of any query as records.
struct RecordRowTests {
  private let database: Database

  init() throws { database = try Database(path: ":memory:") }

  @Test("a record has the columns of the query and their exact values")
  func exactValues() throws {
    try database.write { try $0.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)") }
    for value in nastyValues {
      let (written, read): (String, Record?) = try database.write { transaction in
        try transaction.execute("INSERT OR REPLACE INTO t VALUES (1, \(value))")
        return (exact(value), try transaction.fetchOne("SELECT v, id AS number FROM t"))
      }
      #expect(read?.layout.names == ["v", "number"])
      #expect(read.map { exact($0["v"]) } == written)
    }
  }

  @Test("all rows of one query share a layout, one at a time or together")
  func cursor() throws {
    let sql: SQL = "SELECT column1 AS n FROM (VALUES (1), (2.5), ('x'), (NULL))"
    let all: [Record] = try database.read { try $0.fetchAll(sql) }
    #expect(all == [["n": 1], ["n": 2.5], ["n": "x"], ["n": .null]])
    #expect(all.allSatisfy { $0.layout === all[0].layout })
    var count = 0
    try database.read { transaction in
      try transaction.withCursor(sql, as: Record.self) { cursor in
        while let record = try cursor.next() {
          #expect(record == all[count])
          count += 1
        }
      }
    }
    #expect(count == 4)
  }

  @Test("columns of the same name, and texts that are not UTF-8, are errors")
  func errors() throws {
    for sql in ["SELECT 1 AS a, 2 AS a", "SELECT CAST(x'ff' AS TEXT) AS a"] {
      let error = try databaseError {
        _ = try database.read { try $0.fetchAll(SQL(text: sql), as: Record.self) }
      }
      #expect(error.code == .mismatch, "\(error)")
      #expect(error.sql == sql)
    }
  }

  @Test("the schema and the names of tables are read in a transaction, and print as they are")
  func schema() throws {
    try database.write { transaction in
      try transaction.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT, v)")
      #expect(try transaction.tableNames() == ["place"])
      #expect(try transaction.schema(ofTable: "none") == nil)
      let schema = try #require(try transaction.schema(ofTable: "PLACE"))
      #expect("\(schema)" == "place (id INTEGER, name TEXT, v), key id")
    }
    #expect("\(database)" == "Database(:memory:)")
    #expect("\("SELECT \(1), \("a")" as SQL)" == #"SELECT ?, ?, with 1, "a""#)
  }
}
