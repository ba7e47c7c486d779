internal import CSQLite
internal import TandemRecords

extension DatabaseConnection {
  /// The name of the collation that a column of a table is declared with, `BINARY` if with none;
  /// `nil` if there is no such column.
  package func collation(of origin: ColumnOrigin) -> String? {
    var collation: UnsafePointer<CChar>?
    let result = sqlite3_table_column_metadata(
      handle.pointer, "main", origin.table, origin.column, nil, &collation, nil, nil, nil)
    guard result == SQLITE_OK, let collation else { return nil }
    return String(cString: collation)
  }

  /// Whether the database keeps its texts in UTF-8, in whose order SQLite then compares them.
  package func hasUTF8Texts() throws(DatabaseError) -> Bool {
    let statement = try prepare("PRAGMA encoding")
    guard try statement.step() else { return false }
    return try statement.value(at: 0) == .text("UTF-8")
  }
}
