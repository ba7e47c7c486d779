internal import CSQLite
internal import TandemRecords

extension DatabaseConnection {
  private static let utf8CollationName = "TANDEM_UTF8"

  /// The collation that orders texts by their UTF-8 bytes, as field values are ordered.
  ///
  /// This is BINARY, for which an index can be used. The exception is a database that stores
  /// UTF-16: there BINARY orders by the bytes of UTF-16, so a collation of this connection replaces
  /// it.
  func utf8Collation() throws(DatabaseError) -> String {
    try hasUTF8Texts() ? "BINARY" : DatabaseConnection.utf8CollationName
  }

  /// True if the database stores its texts in UTF-8; SQLite then compares them in the order of
  /// UTF-8.
  package func hasUTF8Texts() throws(DatabaseError) -> Bool {
    let statement = try prepare("PRAGMA encoding")
    guard try statement.step() else { return false }
    return try statement.value(at: 0) == "UTF-8"
  }

  /// The name of the collation that a column of a table is declared with, `BINARY` if with none;
  /// `nil` if there is no such column.
  package func collation(of origin: ColumnOrigin) -> String? {
    var collation: UnsafePointer<CChar>?
    let result = sqlite3_table_column_metadata(
      handle.pointer, "main", origin.table, origin.column, nil, &collation, nil, nil, nil)
    guard result == SQLITE_OK, let collation else { return nil }
    return String(cString: collation)
  }

  /// True if a table has an INTEGER PRIMARY KEY with AUTOINCREMENT.
  package func hasAutoincrement(_ table: TableSchema) -> Bool {
    guard table.primaryKey.count == 1 else { return false }
    var isAutomatic: Int32 = 0
    let result = sqlite3_table_column_metadata(
      handle.pointer, "main", table.name, table.primaryKey[0], nil, nil, nil, nil, &isAutomatic)
    return result == SQLITE_OK && isAutomatic != 0
  }

  /// Registers the collation for UTF-16 databases, before there are statements: SQLite refuses to
  /// while any of them is being stepped through.
  func addUTF8Collation() throws(DatabaseError) {
    let result = sqlite3_create_collation_v2(
      handle.pointer, DatabaseConnection.utf8CollationName, SQLITE_UTF8, nil,
      { _, firstCount, first, secondCount, second in
        let order = UTF8Order.compare(
          UnsafeRawBufferPointer(start: first, count: Int(firstCount)),
          UnsafeRawBufferPointer(start: second, count: Int(secondCount)))
        return Int32(order.signum())
      }, nil)
    guard result == SQLITE_OK else { throw handle.error(result) }
  }
}
