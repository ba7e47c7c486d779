import TandemDifferences
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Arrays and objects of JSON in a mirror")
struct MirrorNestedTests {
  @Test("another order of fields, or other escapes, is no update; the text is stored as it came")
  func structure() throws {
    let table = try database()
    let mirror = DatabaseMirror.unguarded("id")
    try mirror.run(json: #"[{"id":1,"o":{"b":1, "a":"é"}},{"id":2,"o":[1]}]"#, into: table)
    #expect(try table.rows("SELECT o FROM t") == [#""{\"b\":1,\"a\":\"é\"}""#, #""[1]""#])
    let same = try mirror.run(
      json: #"[{"id":1,"o":{"a":"\u00e9","b":1}},{"id":2,"o":[ 1 ]}]"#, into: table)
    #expect(same.difference.isEmpty)
    #expect(try table.rows("SELECT o FROM t") == [#""{\"b\":1,\"a\":\"é\"}""#, #""[1]""#])
    let changed = try mirror.run(
      json: #"[{"id":1,"o":{"a":"\u00e9","b":1.0}},{"id":2,"o":[1,1]}]"#, into: table)
    #expect(changed.difference.updated.count == 2)
  }

  @Test("a string that looks like an object is compared by its bytes")
  func strings() throws {
    let table = try database()
    let mirror = DatabaseMirror.unguarded("id")
    try mirror.run(json: #"[{"id":1,"o":"{\"b\":1,\"a\":2}"},{"id":2,"o":{"x":1}}]"#, into: table)
    let changed = try mirror.run(
      json: #"[{"id":1,"o":"{\"a\":2,\"b\":1}"},{"id":2,"o":{"x":1}}]"#, into: table)
    #expect(changed.difference.updated.count == 1)
    #expect(try table.rows("SELECT o FROM t WHERE id = 1") == [#""{\"a\":2,\"b\":1}""#])
  }

  @Test("a list beside a table is compared by structure too")
  func comparison() throws {
    let database = try Database(path: ":memory:")
    try database.withWriter {
      try $0.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, o)")
      try $0.execute("INSERT INTO t VALUES (1, '{\"b\": 1, \"a\": 2}')")
    }
    let schema = try #require(try database.read { try $0.schema(ofTable: "t") })
    let list = try RecordReader.records(
      in: Array(#"[{"id":1,"o":{"a":2,"b":1}}]"#.utf8), format: .json)
    for (old, new) in [
      (RecordCollection.table(schema, database), .list(list)),
      (.list(list), .table(schema, database)),
    ] as [(RecordCollection, RecordCollection)] {
      try RecordComparison(from: old, to: new, key: ["id"]).forEachChange { Issue.record("\($0)") }
    }
  }

  @Test(
    "a number that no column of numbers has exactly is stored as its digits, and minus zero as text"
  )
  func digits() throws {
    let table = try database("CREATE TABLE t (id INTEGER PRIMARY KEY, n, s TEXT)")
    let json = #"[{"id":1,"n":3.14159265358979323846,"s":-0.0},{"id":2,"n":18446744073709551615}]"#
    let mirror = DatabaseMirror.unguarded("id")
    try mirror.run(json: json, into: table)
    #expect(
      try table.rows("SELECT n, s FROM t")
        == [#""3.14159265358979323846"|"-0.0""#, #""18446744073709551615"|null"#])
    #expect(try mirror.run(json: json, into: table).difference.isEmpty)
  }
}
