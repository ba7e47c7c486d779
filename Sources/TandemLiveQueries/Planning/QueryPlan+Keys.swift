internal import TandemRecords
internal import TandemSQLite

extension QueryPlan {
  /// The key of any record that has the result's fields.
  func key(of record: Record) -> RowKey {
    if record.layout === layout {
      return keyOffsets.count == 1
        ? RowKey(record.values[keyOffsets[0]]) : RowKey(keyOffsets.map { record.values[$0] })
    }
    return RowKey(keyOffsets.map { record[layout.names[$0]] })
  }

  /// The key of a row of the result.
  ///
  /// - Throws: ``DatabaseError`` with code `constraint` if a value of it is null.
  func checkedKey(of record: Record) throws(DatabaseError) -> RowKey {
    for offset in keyOffsets where record.values[offset].isNull {
      let example = rowidQuery.map { ", such as the rowid of \($0)" } ?? ""
      throw keyError(
        "a row has no value in the key column \(layout.names[offset]); choose a key that is unique "
          + "and never null\(example)")
    }
    return key(of: record)
  }

  /// Two rows of the result have the same key.
  func duplicateError(_ key: RowKey) -> DatabaseError {
    let values = key.values.map(\.description).joined(separator: ", ")
    return keyError("two rows have the same key \(values); choose a key that is unique")
  }

  private func keyError(_ message: String) -> DatabaseError {
    DatabaseError(code: .constraint, message: message, sql: sql, path: path)
  }
}
