internal import TandemRecords
internal import TandemSQLite

/// A row that a commit may have changed, as it is now; `nil` if the result has none of this key.
struct TouchedRow {
  var key: RowKey
  var record: Record?
}

extension QueryPlan {
  /// The rows of the given keys, which ascend, and nothing else; a LIMIT does not count.
  func rows(
    of keys: [RowKey], _ rereading: String, in connection: DatabaseConnection
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
  private func record(_ key: RowKey, _ statement: Statement) throws(DatabaseError) -> Record? {
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
  func currentRow(_ statement: Statement) throws(DatabaseError) -> KeyedRecord {
    let record = Record(uncheckedLayout: layout, values: try statement.values())
    return KeyedRecord(key: try checkedKey(of: record), record: record)
  }

  /// All rows as a list, those in reserve included.
  ///
  /// - Throws: ``DatabaseError`` with code `constraint` if two have the same key.
  func listRows(in connection: DatabaseConnection) throws(DatabaseError) -> [KeyedRecord] {
    var rows: [KeyedRecord] = []
    var keys: Set<RowKey> = []
    try connection.withStatement(list.sql) { statement throws(DatabaseError) in
      try statement.bind(list.parameters)
      while try statement.step() {
        let row = try currentRow(statement)
        // Rows that are placed have the primary key of their table.
        if list.order == nil, !keys.insert(row.key).inserted { throw duplicateError(row.key) }
        rows.append(row)
      }
    }
    if list.isSortedByKey { rows.sort { $0.key < $1.key } }
    return rows
  }
}
