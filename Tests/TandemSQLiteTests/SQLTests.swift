import TandemRecords
import TandemSQLite
import Testing

struct SQLTests {
  @Test("what is interpolated becomes a parameter, never text")
  func parameters() {
    let evil = "'; DROP TABLE place; --"
    let sql: SQL = "SELECT * FROM place WHERE name = \(evil) AND id > \(5) AND x = \(1.5)"
    #expect(sql.text == "SELECT * FROM place WHERE name = ? AND id > ? AND x = ?")
    #expect(sql.parameters == [.text(evil), 5, 1.5])
  }

  @Test("a nil is a null, a Bool a number, bytes a blob, and a raw value its own type")
  func types() {
    enum Kind: String, DatabaseValue { case town }
    let nothing: Int? = nil
    let sql: SQL = "\(nothing) \(true) \([1, 2] as [UInt8]) \(Kind.town) \(FieldValue.real(1))"
    #expect(sql.text == "? ? ? ? ?")
    #expect(sql.parameters.map(exact) == [.null, 1, .blob([1, 2]), "town", 1.0].map(exact))
  }

  @Test("a list becomes as many parameters, in parentheses")
  func lists() {
    let sql: SQL = "id IN \(list: [1, 2, 3]) OR id IN \(list: [Int]())"
    #expect(sql.text == "id IN (?, ?, ?) OR id IN ()")
    #expect(sql.parameters == [1, 2, 3])
  }

  @Test("names are quoted, and statements are put together with their parameters")
  func parts() {
    let condition: SQL = "n = \(1)"
    let sql: SQL = "SELECT \(identifier: "a \"b\"") FROM t WHERE \(condition) AND m = \(2)"
    #expect(sql.text == "SELECT \"a \"\"b\"\"\" FROM t WHERE n = ? AND m = ?")
    #expect(sql.parameters == [1, 2])
    #expect(
      ("a = \(1)" as SQL) + " OR b = \(2)" == SQL(text: "a = ? OR b = ?", parameters: [1, 2]))
  }

  @Test("a value that SQLite cannot hold makes running the statement an error, not a rounding")
  func unstorable() throws {
    let database = try Database(path: ":memory:")
    for sql in ["SELECT \(UInt64.max)", "SELECT \(1) + \(Double.nan)"] as [SQL] {
      let error = try databaseError {
        _ = try database.read { try $0.fetchValue(sql, as: Int.self) }
      }
      #expect(error.code == .mismatch)
    }
    #expect(try database.read { try $0.fetchValue("SELECT \(UInt64(Int64.max))") } == Int64.max)
  }

  @Test("a statement with the wrong number of parameters is an error")
  func wrongCount() throws {
    let database = try Database(path: ":memory:")
    let error = try databaseError {
      _ = try database.read { transaction in
        try transaction.fetchValue(SQL(text: "SELECT ?", parameters: []), as: Int.self)
      }
    }
    #expect(error.code == .range)
  }
}
