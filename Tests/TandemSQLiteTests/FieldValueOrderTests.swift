import TandemRecords
import TandemSQLite
import TestFolder
import Testing

/// That values in memory are ordered as SQLite orders them, wherever they are compared.
struct FieldValueOrderTests {
  private let folder: TemporaryFolder
  private let connection: DatabaseConnection

  init() throws {
    folder = try TemporaryFolder()
    connection = try folder.open("test.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, value)")
    for (id, value) in nastyValues.enumerated() {
      try connection.execute("INSERT INTO t VALUES (?, ?)", .integer(Int64(id)), value)
    }
  }

  /// -1, 0 or 1, by the operators of field values.
  private func order(_ first: FieldValue, _ second: FieldValue) -> Int {
    first < second ? -1 : first == second ? 0 : 1
  }

  @Test("two values are equal or one is less exactly where SQLite says so, for every two values")
  func everyPair() throws {
    let statement = try connection.prepare(
      """
      SELECT a.id, b.id, a.value IS b.value, a.value < b.value, a.value IS NULL, b.value IS NULL
      FROM t AS a, t AS b
      """)
    var count = 0
    while try statement.step() {
      let row = try statement.values()
      guard case .integer(let firstID) = row[0], case .integer(let secondID) = row[1] else {
        continue
      }
      let first = nastyValues[Int(firstID)]
      let second = nastyValues[Int(secondID)]
      #expect((first == second) == (row[2] == true), "\(exact(first)) and \(exact(second))")
      if row[3] != .null {
        #expect((first < second) == (row[3] == true), "\(exact(first)) and \(exact(second))")
      }
      count += 1
    }
    #expect(count == nastyValues.count * nastyValues.count)
  }

  @Test("sorting in memory gives the order of ORDER BY, nulls included")
  func sorting() throws {
    let rows = try connection.valueRows("SELECT value FROM t ORDER BY value COLLATE BINARY, id")
    let sorted = nastyValues.enumerated().sorted {
      ($0.element, $0.offset) < ($1.element, $1.offset)
    }
    #expect(rows.map { exact($0[0]) } == sorted.map { exact($0.element) })
  }

  @Test(
    "a row's value compares with one in memory, and with another row's, as the two in memory do")
  func whereTheyStand() throws {
    let keys = nastyValues.filter { !$0.isNull }
    let layout = try #require(RecordLayout(["id", "value"]))
    let schema = try connection.table()
    try connection.execute("DELETE FROM t WHERE value IS NULL")
    func scan() throws -> TableScan {
      try TableScan(connection, table: schema, columns: layout, key: [1, 0])
    }
    let rows = try scan()
    var rowCount = 0
    while try rows.advance() {
      let value = try rows.record().values[1]
      for key in keys {
        let result = rows.compareKey(to: [key]).signum()
        #expect(result == order(value, key), "\(exact(value)) and \(exact(key))")
      }
      let others = try scan()
      while try others.advance() {
        let other = try others.record().values
        let expected = [order(value, other[1]), order(try rows.record().values[0], other[0])]
        let result = rows.compareKey(to: others).signum()
        #expect(result == expected.first { $0 != 0 } ?? 0, "\(exact(value)) and \(exact(other[1]))")
      }
      rowCount += 1
    }
    #expect(rowCount == keys.count)
  }

  @Test("a row equals a record exactly if their values are equal, nulls and NaN included")
  func equality() throws {
    let layout = try #require(RecordLayout(["id", "value"]))
    let rows = try TableScan(
      connection, table: try connection.table(), columns: layout, key: [0])
    while try rows.advance() {
      let row = try rows.record().values
      for value in nastyValues + [.real(.nan)] {
        let record = try #require(Record(layout: layout, values: [row[0], value]))
        #expect(rows.isEqual(to: record) == (row[1] == value), "\(exact(row[1])), \(exact(value))")
      }
    }
  }
}
