package import TandemRecords

/// The type to declare for a new column.
package enum ColumnType: String, Sendable {
  case integer = "INTEGER"
  case real = "REAL"
  case text = "TEXT"
  case blob = "BLOB"
  /// No declared type: the column keeps every value as it is.
  case any = ""
}

/// Infers the type of a column from its values, one after the other.
package struct ColumnTypeInference {
  private var hasIntegers = false
  private var hasReals = false
  private var hasTexts = false
  private var hasBlobs = false
  private var doAllFitReal = true

  package init() {}

  /// Takes one more value into account; nulls fit any type.
  package mutating func add(_ value: FieldValue) {
    switch value {
    case .null: break
    case .integer(let number):
      hasIntegers = true
      doAllFitReal = doAllFitReal && Int64(exactly: Double(number)) == number
    // SQLite stores a NaN as null.
    case .real(let number): hasReals = hasReals || !number.isNaN
    case .text: hasTexts = true
    case .blob: hasBlobs = true
    }
  }

  /// The narrowest type that stores all the values exactly.
  ///
  /// Integers among reals make a REAL column only if a real can hold each of them.
  package var narrowest: ColumnType {
    switch (hasIntegers, hasReals, hasTexts, hasBlobs) {
    case (true, false, false, false): return .integer
    case (false, true, false, false): return .real
    case (true, true, false, false): return doAllFitReal ? .real : .any
    case (false, false, true, false): return .text
    case (false, false, false, true): return .blob
    default: return .any
    }
  }
}

extension ColumnType {
  /// The narrowest type that stores all the given values exactly; nulls fit any.
  package static func narrowest(of values: some Sequence<FieldValue>) -> ColumnType {
    values.reduce(into: ColumnTypeInference()) { $0.add($1) }.narrowest
  }
}

/// The name and type of a column to create.
package struct ColumnDefinition: Sendable {
  package var name: String
  package var type: ColumnType

  package init(name: String, type: ColumnType) {
    self.name = name
    self.type = type
  }

  /// The definition for CREATE TABLE and ADD COLUMN.
  fileprivate var sql: String {
    type == .any ? name.sqlQuoted : "\(name.sqlQuoted) \(type.rawValue)"
  }
}

extension DatabaseConnection {
  /// Creates a table with the given columns and primary key, whose columns may not be null.
  package func createTable(
    _ name: String, columns: [ColumnDefinition], key: [String]
  ) throws(DatabaseError) {
    let definitions = columns.map { column in
      key.contains(where: column.name.isSameSQLName) ? "\(column.sql) NOT NULL" : column.sql
    }
    let keyList = key.map(\.sqlQuoted).joined(separator: ", ")
    let body = (definitions + ["PRIMARY KEY (\(keyList))"]).joined(separator: ", ")
    try execute("CREATE TABLE \(name.sqlQuoted) (\(body))")
  }

  /// Adds a column to a table; its rows have null in it.
  package func addColumn(
    _ column: ColumnDefinition, toTable table: String
  ) throws(DatabaseError) {
    try execute("ALTER TABLE \(table.sqlQuoted) ADD COLUMN \(column.sql)")
  }
}
