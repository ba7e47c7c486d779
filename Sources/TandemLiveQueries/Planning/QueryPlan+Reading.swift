internal import TandemRecords
internal import TandemSQLite

/// A row that a commit may have changed, as it is now; `nil` if the result has none of this key.
struct TouchedRow {
  var key: RecordKey
  var record: Record?
}

extension QueryPlan {
  /// The rows of the given keys, which ascend, and nothing else; a LIMIT does not count.
  func rows(
    of keys: [RecordKey], _ rereading: String, in connection: DatabaseConnection
  ) throws(DatabaseError) -> [TouchedRow] {
    try connection.withStatement(rereading) { statement throws(DatabaseError) in
      for (position, value) in list.parameters.enumerated() {
        try statement.bind(value, at: position + 1)
      }
      var rows: [TouchedRow] = []
      rows.reserveCapacity(keys.count)
      for key in keys {
        for (position, value) in key.values.enumerated() {
          try statement.bind(value, at: list.parameters.count + position + 1)
        }
        rows.append(TouchedRow(key: key, record: try record(key, statement)))
      }
      return rows
    }
  }

  /// The row of one key, if the statement gives it.
  private func record(_ key: RecordKey, _ statement: Statement) throws(DatabaseError) -> Record? {
    var found: Record?
    while try statement.step() {
      let row = try currentRow(statement)
      // A collation may find rows whose keys are not the same.
      guard row.key == key else { continue }
      guard found == nil else { throw duplicateError(key) }
      found = row.record
    }
    return found
  }

  /// The row at which a statement with the columns of the result stands.
  func currentRow(_ statement: Statement) throws(DatabaseError) -> KeyedRow {
    let record = Record(uncheckedLayout: layout, values: try statement.values())
    return KeyedRow(key: try checkedKey(of: record), record: record)
  }

  /// The key of the row at which a statement with the columns of the result stands.
  func currentKey(_ statement: Statement) throws(DatabaseError) -> RecordKey {
    if keyOffsets.count == 1 {
      return RecordKey(try checkedValue(statement.value(at: keyOffsets[0]), keyOffsets[0]))
    }
    var values: [FieldValue] = []
    for offset in keyOffsets {
      values.append(try checkedValue(statement.value(at: offset), offset))
    }
    return RecordKey(values)
  }

  /// All rows in an order in which they can be placed, those in reserve included. Such rows have the
  /// primary key of their table.
  func listRows(in connection: DatabaseConnection) throws(DatabaseError) -> [KeyedRow] {
    var rows: [KeyedRow] = []
    try connection.withStatement(list.sql) { statement throws(DatabaseError) in
      try statement.bind(list.parameters)
      while try statement.step() { rows.append(try currentRow(statement)) }
    }
    return rows
  }
}

extension QueryPlan {
  var columns: ResultColumns { ResultColumns(layout: layout, keyOffsets: keyOffsets) }

  /// The key of any record that has the result's fields.
  func key(of record: Record) -> RecordKey { columns.key(of: record) }

  /// The key of a row of the result.
  ///
  /// - Throws: ``DatabaseError`` with code `constraint` if a value of it is null.
  func checkedKey(of record: Record) throws(DatabaseError) -> RecordKey {
    for offset in keyOffsets { _ = try checkedValue(record.values[offset], offset) }
    return key(of: record)
  }

  private func checkedValue(
    _ value: FieldValue, _ offset: Int
  ) throws(DatabaseError) -> FieldValue {
    guard value.isNull else { return value }
    let example = rowidQuery.map { ", such as the rowid of \($0)" } ?? ""
    throw keyError(
      "a row has no value in the key column \(layout.names[offset]); choose a key that is unique "
        + "and never null\(example)")
  }

  /// Two rows of the result have the same key.
  func duplicateError(_ key: RecordKey) -> DatabaseError {
    keyError("two rows have the same key \(key); choose a key that is unique")
  }

  private func keyError(_ message: String) -> DatabaseError {
    DatabaseError(code: .constraint, message: message, sql: sql, path: path)
  }
}
