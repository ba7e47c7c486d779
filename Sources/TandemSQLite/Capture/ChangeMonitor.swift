internal import CSQLite

/// A connection that only watches whether the file changes.
///
/// SQLite's `data_version` differs after any commit of another connection, of this process or not.
/// Whoever acknowledges each commit of this process right away is left with those of others.
final class ChangeMonitor {
  private let connection: DatabaseConnection
  private let statement: Statement
  private var acknowledged: Int64?

  /// Watches a file that exists.
  init(path: String) throws(DatabaseError) {
    connection = try DatabaseConnection(path: path, access: .readOnly)
    statement = try connection.prepare("PRAGMA data_version")
    acknowledge()
  }

  /// Where the file really is, links followed: its log is beside that place.
  var filePath: String {
    sqlite3_db_filename(connection.handle.pointer, "main").map { String(cString: $0) }
      ?? connection.path
  }

  /// Whether the file was deleted, or another one stands in its place: nobody commits to it any more.
  var isFileGone: Bool {
    var hasMoved: Int32 = 0
    let result = sqlite3_file_control(
      connection.handle.pointer, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    return result == SQLITE_OK && hasMoved != 0
  }

  /// Takes all that was committed so far as known.
  func acknowledge() { acknowledged = version }

  /// Whether something was committed since it was last acknowledged; acknowledges it.
  func noticesChange() -> Bool {
    let current = version
    // What cannot be read may have changed.
    guard current == nil || current != acknowledged else { return false }
    acknowledged = current
    return true
  }

  private var version: Int64? {
    defer { statement.reset() }
    guard (try? statement.step()) == true else { return nil }
    return statement.column(0).integer
  }
}
