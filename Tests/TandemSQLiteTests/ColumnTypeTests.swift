import TandemRecords
import TandemSQLite
import Testing

struct ColumnTypeTests {
  @Test(
    "the narrowest type is that of the values, if they have one type",
    arguments: [
      ([], ColumnType.any), ([.null], .any), ([1, .null], .integer), ([1.5], .real),
      ([1.0], .real), (["1"], .text), ([.blob([])], .blob), ([1, "1"], .any), ([1.5, "1"], .any),
      (["", .blob([])], .any), ([.real(.nan)], .any), ([.real(.nan), 1], .integer),
      ([.real(.nan), "a"], .text), ([.real(.infinity)], .real),
    ] as [([FieldValue], ColumnType)])
  func narrowest(values: [FieldValue], type: ColumnType) {
    #expect(narrowest(of: values) == type)
    #expect(narrowest(of: values.reversed()) == type)
  }

  @Test(
    "integers and reals share a column of reals, unless a real cannot hold one of the integers",
    arguments: [
      (1, ColumnType.real), (1 << 53, .real), ((1 << 53) + 1, .any), (-(1 << 53) - 1, .any),
      (.min, .real), (.max, .any),
    ] as [(Int64, ColumnType)])
  func mixed(integer: Int64, type: ColumnType) {
    #expect(narrowest(of: [.integer(integer), 0.5]) == type)
    #expect(narrowest(of: [0.5, 0, .integer(integer)]) == type)
  }

  @Test("whatever the values, their narrowest type keeps each, for every three nasty values")
  func keepsAll() {
    for first in nastyValues {
      for second in nastyValues {
        for third in nastyValues {
          let type = narrowest(of: [first, second, third])
          let affinity = ColumnAffinity(declaredType: type.rawValue)
          for value in [first, second, third] where affinity.stored(value) != value {
            Issue.record("\(type) for \([first, second, third].map(exact))")
            return
          }
        }
      }
    }
  }

  @Test("a table is created with its types and key, whose columns may not be null")
  func createTable() throws {
    let connection = try DatabaseConnection(path: ":memory:")
    let types: [ColumnType] = [.integer, .real, .text, .blob, .any]
    let columns = types.map { ColumnDefinition(name: "a \"\($0)\"", type: $0) }
    let key = [columns[4].name, columns[0].name]
    try connection.createTable("sel\"ect", columns: columns, key: key)
    let schema = try connection.table("sel\"ect")
    #expect(schema.columnNames == columns.map(\.name))
    #expect(schema.columns.map(\.declaredType) == ["INTEGER", "REAL", "TEXT", "BLOB", ""])
    #expect(schema.columns.map(\.affinity) == [.integer, .real, .text, .none, .none])
    #expect(schema.primaryKey == key)
    let error = try databaseError {
      try connection.execute("INSERT INTO \"sel\"\"ect\" (\(key[0].sqlQuoted)) VALUES (1)")
    }
    #expect(error.message.hasPrefix("NOT NULL constraint failed"))
  }

  @Test("a column is added with its type, and is null in the rows that are there")
  func addColumn() throws {
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("CREATE TABLE t (a)")
    try connection.execute("INSERT INTO t VALUES (1)")
    let table = try #require(try connection.schema(ofTable: "t"))
    try connection.addColumn(ColumnDefinition(name: "b c", type: .real), to: table)
    try connection.addColumn(ColumnDefinition(name: "d", type: .any), to: table)
    #expect(try connection.valueRows("SELECT * FROM t") == [[1, .null, .null]])
    #expect(try connection.table().columns.map(\.declaredType) == ["", "REAL", ""])
  }

  private func narrowest(of values: [FieldValue]) -> ColumnType {
    ColumnType.narrowest(of: values.reduce(into: []) { $0.formUnion($1.kind) })
  }
}
