internal import CSQLite
internal import TandemRecords

extension DatabaseConnection {
  private static let utf8CollationName = "TANDEM_UTF8"

  /// The collation that orders texts by their UTF-8 bytes, as field values are ordered.
  ///
  /// That is BINARY, whose order an index may have; but in a database that stores UTF-16, BINARY has
  /// the order of those bytes, so a collation of this connection takes its place.
  func utf8Collation() throws(DatabaseError) -> String {
    let statement = try prepare("PRAGMA encoding")
    guard try statement.step(), try statement.value(at: 0) != "UTF-8" else { return "BINARY" }
    return DatabaseConnection.utf8CollationName
  }

  /// Makes the collation known. That must be done before there are statements: SQLite refuses it
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
