internal import CSQLite
internal import Synchronization

/// The SQLite library of this process.
package enum SQLiteLibrary {
  /// Makes SQLite leave out its count of memory, and with it a lock for each allocation: about 4 % of the
  /// time of a synchronization. For programs that own their process; it has no effect once a database was
  /// opened.
  package static func leaveOutMemoryCount() { _ = csqlite_leave_out_memory_count() }

  private static let additions = Mutex<(functions: [DatabaseFunction], extensions: [String])>(
    ([], []))

  /// Adds functions to all connections that are opened from now on.
  package static func add(_ functions: [DatabaseFunction]) {
    additions.withLock { $0.functions += functions }
  }

  /// Adds an extension, a file of functions or collations, to all connections that are opened from now on.
  package static func add(extensionAt path: String) {
    additions.withLock { $0.extensions.append(path) }
  }

  static var functions: [DatabaseFunction] { additions.withLock { $0.functions } }
  static var extensions: [String] { additions.withLock { $0.extensions } }
}

extension DatabaseHandle {
  /// Loads an extension.
  func loadExtension(_ file: String) throws(DatabaseError) {
    var message: UnsafeMutablePointer<CChar>?
    let result = csqlite_load_extension(pointer, file, &message)
    defer { sqlite3_free(message) }
    guard result == SQLITE_OK else {
      let reason = message.map { String(cString: $0) } ?? "unknown error"
      throw DatabaseError(
        code: .error, message: "the extension \(file) cannot be loaded: \(reason)", path: path)
    }
  }
}
