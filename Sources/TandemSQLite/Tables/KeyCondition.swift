package import TandemRecords

/// The condition that a row has a given key, byte by byte.
///
/// Each column is compared twice: once as it is declared, for which an index can be used whatever its
/// collation, and once by BINARY, which is what tells keys apart.
package struct KeyCondition {
  /// The condition, with two parameters for each column.
  package let sql: String

  /// A condition on the given columns.
  package init(columns: [String]) {
    sql = columns.map { "\($0.sqlQuoted) = ? AND \($0.sqlQuoted) = ? COLLATE BINARY" }
      .joined(separator: " AND ")
  }

  /// What to bind to the parameters, for a key.
  package func parameters(_ key: some Sequence<FieldValue>) -> [FieldValue] {
    key.flatMap { [$0, $0] }
  }
}
