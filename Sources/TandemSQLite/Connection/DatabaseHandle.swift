internal import CSQLite

/// An open database, closed when the last of those who need it is gone: the connection and its
/// statements. (A statement that held the connection itself would be held by its cache in return.)
final class DatabaseHandle {
  let pointer: OpaquePointer
  let path: String
  /// Whether a statement that meets a lock of another connection waits, as long as its connection does.
  var waitsForLocks = true

  init(_ pointer: OpaquePointer, path: String) {
    self.pointer = pointer
    self.path = path
  }

  deinit { sqlite3_close_v2(pointer) }

  /// The error SQLite reported last, for this result code.
  func error(_ result: Int32, sql: String? = nil) -> DatabaseError {
    let extended = sqlite3_extended_errcode(pointer)
    let isLast = extended & 0xFF == result & 0xFF
    let words = isLast ? sqlite3_errmsg(pointer) : sqlite3_errstr(result)
    return DatabaseError(
      code: .init(rawValue: isLast ? extended : result),
      message: words.map { String(cString: $0) } ?? "unknown error", sql: sql, path: path)
  }
}
