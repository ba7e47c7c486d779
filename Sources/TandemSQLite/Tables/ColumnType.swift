package import TandemRecords

/// The type to declare for a new column.
public enum ColumnType: String, CaseIterable, Hashable, Sendable {
  /// Integers of 64 bits; other numbers and texts stay as they are.
  case integer = "INTEGER"
  /// Doubles. Integers become doubles; texts stay as they are.
  case real = "REAL"
  /// Texts. Numbers become texts of their digits.
  case text = "TEXT"
  /// Blobs. Every other value stays as it is, too.
  case blob = "BLOB"
  /// No declared type: the column keeps every value as it is.
  case any = ""
}

extension ColumnType {
  /// The name in messages: `INTEGER`, or `ANY` for a column without a type.
  package var name: String { self == .any ? "ANY" : rawValue }

  /// The narrowest type that stores all values of these kinds exactly; nulls fit any.
  ///
  /// Integers among reals make a REAL column only if a real equals each of them.
  package static func narrowest(of kinds: ValueKinds) -> ColumnType {
    switch kinds {
    case [], .null: .any
    case _ where kinds.isSubset(of: ColumnType.integer.kinds): .integer
    case _ where kinds.isSubset(of: ColumnType.real.kinds.union(.integer)): .real
    case _ where kinds.isSubset(of: ColumnType.text.kinds): .text
    case _ where kinds.isSubset(of: ColumnType.blob.kinds): .blob
    default: .any
    }
  }

  /// The kinds of the values that a column keeps which takes values of this type, and null, alone.
  package var kinds: ValueKinds {
    switch self {
    case .integer: [.null, .integer, .longInteger]
    case .real: [.null, .real, .minusZero]
    case .text: [.null, .text]
    case .blob: [.null, .blob]
    case .any: .all
    }
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

  /// The name and the type, as in `lon REAL`.
  package var description: String { "\(name) \(type.name)" }

  /// The definition for CREATE TABLE and ADD COLUMN.
  fileprivate var sql: String {
    type == .any ? name.sqlQuoted : "\(name.sqlQuoted) \(type.rawValue)"
  }
}

extension DatabaseConnection {
  /// Creates a table with the given columns and primary key, whose columns may not be null; without a primary key if
  /// `key` is empty.
  package func createTable(
    _ name: String, columns: [ColumnDefinition], key: [String]
  ) throws(DatabaseError) {
    let definitions = columns.map { column in
      key.contains(where: column.name.isSameSQLName) ? "\(column.sql) NOT NULL" : column.sql
    }
    let keyList = key.map(\.sqlQuoted).joined(separator: ", ")
    let constraints = key.isEmpty ? [] : ["PRIMARY KEY (\(keyList))"]
    let body = (definitions + constraints).joined(separator: ", ")
    try execute("CREATE TABLE \(name.sqlQuoted) (\(body))")
  }

  /// Adds a column to a table; its rows have null in it.
  package func addColumn(
    _ column: ColumnDefinition, to table: TableSchema
  ) throws(DatabaseError) {
    let type = table.isStrict && column.type == .any ? " ANY" : ""
    try execute("ALTER TABLE \(table.name.sqlQuoted) ADD COLUMN \(column.sql)\(type)")
  }
}
