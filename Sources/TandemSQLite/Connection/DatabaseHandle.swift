internal import CSQLite

/// An open database, closed when the connection and all of its statements are gone. (Statements
/// hold this, not the connection, whose cache holds them.)
final class DatabaseHandle {
  let pointer: OpaquePointer
  let path: String
  /// The captures that record the rows that change: SQLite has one hook for all of them. Each one
  /// removes itself before it is gone.
  var captures: [Unmanaged<ChangeCapture>] = []
  /// The number of statements that were compiled.
  var statementCount = 0

  /// Opens the file at a place, which errors call `path`.
  init(path: String, at place: String, creates: Bool) throws(DatabaseError) {
    self.path = path
    guard !place.isEmpty, !place.utf8.contains(0) else {
      throw DatabaseError(
        code: .cannotOpen, message: "a database path may not be empty or contain a NUL", path: path)
    }
    guard !DatabaseFile.isSpecial(place) else {
      throw DatabaseError(
        code: .cannotOpen, message: "cannot open it: it is no regular file", path: path)
    }
    // For reading only, too: SQLite opens a file that may not be written all the same, and a file
    // in write-ahead mode that it opened for reading only would be left with its log and index
    // beside it.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (creates ? SQLITE_OPEN_CREATE : 0)
    var pointer: OpaquePointer?
    let result = sqlite3_open_v2(DatabaseHandle.literal(place), &pointer, flags, nil)
    guard let pointer else {
      throw DatabaseError(code: .cannotOpen, message: "out of memory", path: path)
    }
    self.pointer = pointer
    sqlite3_extended_result_codes(pointer, 1)
    guard result == SQLITE_OK else { throw openingError(result, creates: creates) }
  }

  deinit { sqlite3_close_v2(pointer) }

  /// The path in a form that SQLite cannot take for a URI, even if it is built to accept URIs.
  private static func literal(_ path: String) -> String {
    path.utf8.starts(with: "file:".utf8) ? "./" + path : path
  }

  private func openingError(_ result: Int32, creates: Bool) -> DatabaseError {
    var error = error(result)
    if result & 0xFF == SQLITE_CANTOPEN {
      error.message =
        creates
        ? "cannot open or create it: it is a directory, its directory does not exist, or may not be written"
        : "cannot open it: it does not exist, is a directory, or may not be read"
    }
    return error
  }

  /// The error that SQLite reported last, for this result code.
  func error(_ result: Int32, sql: String? = nil) -> DatabaseError {
    let extended = sqlite3_extended_errcode(pointer)
    let isLast = extended & 0xFF == result & 0xFF
    let words = isLast ? sqlite3_errmsg(pointer) : sqlite3_errstr(result)
    return DatabaseError(
      code: .init(rawValue: isLast ? extended : result),
      message: words.map { String(cString: $0) } ?? "unknown error", sql: sql, path: path)
  }
}
