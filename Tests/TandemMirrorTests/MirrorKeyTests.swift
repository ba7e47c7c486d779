import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@Suite("Mirrors: what tells two records apart")
struct MirrorKeyTests {
  let mirror = DatabaseMirror.unguarded("id")

  @Test("a composed and a decomposed é are two keys, two fields, and two texts")
  func normalization() throws {
    let connection = try database()
    let json = #"[{"id":"\u00e9","\u00e9":1,"e\u0301":2},{"id":"e\u0301","\u00e9":3,"e\u0301":4}]"#
    try mirror.run(json: json, into: connection)
    #expect(
      try connection.rows("SELECT hex(id), \"\u{E9}\", \"e\u{301}\" FROM t ORDER BY id") == [
        #""65CC81"|3|4"#, #""C3A9"|1|2"#,
      ])
    #expect(try mirror.run(json: json, into: connection).difference.isEmpty)
    let swapped = #"[{"id":"\u00e9","v":"\u00e9"},{"id":"e\u0301","v":"e\u0301"}]"#
    try mirror.run(json: swapped, into: connection)
    let again = #"[{"id":"\u00e9","v":"e\u0301"},{"id":"e\u0301","v":"e\u0301"}]"#
    #expect(try mirror.run(json: again, into: connection).difference.updated.count == 1)
  }

  @Test("1 and 1.0 are one key, within a list and from one list to the next")
  func numbers() throws {
    let connection = try database()
    let list = #"[{"id":1,"a":"x"},{"id":1.0,"a":"y"}]"#
    #expect(
      message { try mirror.run(json: list, into: connection) }
        == "record 2: the records 1 and 2 have the same key id = 1.0")
    try mirror.run(json: #"[{"id":1,"a":1.0},{"id":"1","a":2}]"#, into: connection)
    let outcome = try mirror.run(json: #"[{"id":1.0,"a":1},{"id":"1","a":2.0}]"#, into: connection)
    #expect(outcome.difference.isEmpty)
  }

  @Test("integers above 2^53 stay exact, beside reals too")
  func largeIntegers() throws {
    let connection = try database()
    let json = """
      [{"id":9007199254740992,"v":9007199254740993},{"id":9007199254740993,"v":0.5},
       {"id":9223372036854775807,"v":-9223372036854775808}]
      """
    try mirror.run(json: json, into: connection)
    #expect(
      try connection.rows("SELECT * FROM t") == [
        "9007199254740992|9007199254740993", "9007199254740993|0.5",
        "9223372036854775807|-9223372036854775808",
      ])
    #expect(try mirror.run(json: json, into: connection).difference.isEmpty)
  }

  @Test("a key of several fields is their values in order")
  func compositeKeys() throws {
    let connection = try database()
    let mirror = DatabaseMirror.unguarded("land", "code")
    let json = #"[{"land":"a","code":"bc"},{"land":"ab","code":"c"},{"land":"a","code":"b","n":1}]"#
    let outcome = try mirror.run(json: json, into: connection)
    #expect(outcome.difference.inserted.map { $0["code"] } == ["b", "bc", "c"])
    #expect(
      try connection.rows("SELECT name FROM pragma_table_info('t') WHERE pk ORDER BY pk") == [
        "\"land\"", "\"code\"",
      ])
    #expect(
      message { try mirror.run(json: #"[{"land":"a","code":1},{"land":"a"}]"#, into: connection) }
        == #"record 2: the record has no value in the key field "code""#)
  }

  @Test("a text that an INTEGER column would turn into another number is refused")
  func numericTexts() throws {
    let connection = try database("CREATE TABLE t (id INTEGER PRIMARY KEY, n)")
    let before = try dump(connection)
    let error = message { try mirror.run(json: #"[{"id":1},{"id":"007"}]"#, into: connection) }
    #expect(error?.hasPrefix(#"record 2: the value "007" of field id would be changed"#) == true)
    #expect(try dump(connection) == before)
    try mirror.run(json: #"[{"id":"7"}]"#, into: connection)
    #expect(try mirror.run(json: #"[{"id":7}]"#, into: connection).difference.isEmpty)
    #expect(
      message { try mirror.run(json: #"[{"id":7},{"id":"7"}]"#, into: connection) }
        == "record 2: the records 1 and 2 have the same key id = 7")
    let text = message { try mirror.run(json: #"[{"id":"x"}]"#, into: connection) }
    #expect(text?.hasPrefix(#"record 1: the value "x" of field id would be rejected"#) == true)
    #expect(try connection.rows("SELECT id FROM t") == ["7"])
  }

  @Test("a NOCASE column tells texts apart by bytes, as far as it is not unique")
  func noCase() throws {
    let connection = try database("CREATE TABLE t (id TEXT COLLATE NOCASE, n)")
    try mirror.run(json: #"[{"id":"a","n":1},{"id":"A","n":2}]"#, into: connection)
    #expect(
      try mirror.run(json: #"[{"id":"A","n":2},{"id":"a","n":1}]"#, into: connection)
        .difference.isEmpty)
    let outcome = try mirror.run(json: #"[{"id":"A","n":3},{"id":"a","n":1}]"#, into: connection)
    #expect(outcome.difference.updated.map(\.new) == [["id": "A", "n": 3]])
    #expect(try connection.rows("SELECT * FROM t ORDER BY n") == [#""a"|1"#, #""A"|3"#])

    let unique = try database("CREATE TABLE t (id TEXT COLLATE NOCASE PRIMARY KEY)")
    try mirror.run(json: #"[{"id":"a"}]"#, into: unique)
    try mirror.run(json: #"[{"id":"A"}]"#, into: unique)
    #expect(try unique.rows("SELECT * FROM t") == [#""A""#])
    let error = message { try mirror.run(json: #"[{"id":"a"},{"id":"A"}]"#, into: unique) }
    #expect(
      error?.contains(#"UNIQUE constraint failed: t.id, for the row with key id = "a""#) == true)
    #expect(try unique.rows("SELECT * FROM t") == [#""A""#])
  }

  @Test("field names find their columns whatever their case, but only one field each")
  func caseOfNames() throws {
    let connection = try database("CREATE TABLE t (Id INTEGER PRIMARY KEY, Name)")
    let outcome = try mirror.run(json: #"[{"ID":1,"NAME":"x"},{"ID":2,"x":1}]"#, into: connection)
    #expect(outcome.addedColumns == ["x"])
    #expect(try connection.rows("SELECT * FROM t") == [#"1|"x"|null"#, "2|null|1"])
    #expect(
      message { try mirror.run(json: #"[{"id":1,"a":1,"A":1}]"#, into: connection) }
        == #"the fields "a" and "A" differ only in case, and would be one column in SQLite"#)
    let twice = DatabaseMirror.unguarded("id", "ID")
    #expect(
      message { try twice.run(json: #"[{"id":1}]"#, into: connection) }
        == "the key fields id and ID are one column in SQLite")
  }

  @Test("rows of the table that no key tells apart are an error")
  func ambiguousRows() throws {
    let connection = try database("CREATE TABLE t (id, n)", "INSERT INTO t VALUES (1, 1), (1, 2)")
    let before = try dump(connection)
    #expect(
      message { try mirror.run(json: #"[{"id":1}]"#, into: connection) }?
        .contains("two rows of t have the same key 1; choose a key that is unique") == true)
    #expect(try dump(connection) == before)
    try connection.execute("UPDATE t SET id = NULL")
    #expect(
      message { try mirror.run(json: #"[{"id":1}]"#, into: connection) }?
        .contains("a row of t has no value in the key column id") == true)
  }
}
