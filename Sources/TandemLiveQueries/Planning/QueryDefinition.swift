internal import TandemRecords
internal import TandemSQLite

/// The query that a live query watches.
enum QueryDefinition: Hashable, Sendable {
  /// All rows of a table, by its primary key, or by rowid if it has none.
  case table(String)
  /// The rows of a query, by some of its columns.
  case query(SQL, key: [String])
  /// The records of a table that clauses such as a WHERE select.
  case records(RecordTable, SQL)
}

extension QueryDefinition {
  /// Bytes that only definitions of the same query have; `nil` if one of its values cannot be stored.
  ///
  /// `==` cannot take their place: to it, composed and decomposed letters are the same, and so are `1`
  /// and `1.0`.
  var identity: [UInt8]? {
    switch self {
    case .table(let name): return QueryDefinition.bytes(0, [name])
    case .query(let sql, let key):
      guard sql.unstorable == nil else { return nil }
      return QueryDefinition.bytes(1, [sql.text] + key, sql.parameters)
    case .records(let table, let sql):
      guard sql.unstorable == nil else { return nil }
      // Errors name the type.
      let texts = [sql.text, table.type, table.name, "\(table.key.count)"]
      return QueryDefinition.bytes(2, texts + table.key + table.columns, sql.parameters)
    }
  }

  private static func bytes(
    _ kind: UInt8, _ texts: [String], _ values: [FieldValue] = []
  ) -> [UInt8] {
    let count = FieldValue.integer(Int64(texts.count))
    let row = PackedRow([count] + texts.map { FieldValue.text($0) } + values)
    return [kind] + row.withBytes(Array.init)
  }
}

/// The table of a type of records.
struct RecordTable: Hashable, Sendable {
  /// For errors.
  var type: String
  var name: String
  /// The columns that the type names; empty if it takes all of them.
  var columns: [String]
  var key: [String]
}
