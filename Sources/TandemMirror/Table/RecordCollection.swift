public import TandemRecords
public import TandemSQLite

/// One of two things to compare: a list of records, or a table.
public enum RecordCollection {
  /// A list, in any order.
  case list([Record])
  /// A table of a database.
  case table(TableSchema, DatabaseConnection)

  /// The columns of the primary key of a table; empty for a list.
  public var primaryKey: [String] {
    switch self {
    case .list: return []
    case .table(let schema, _): return schema.primaryKey
    }
  }
}
