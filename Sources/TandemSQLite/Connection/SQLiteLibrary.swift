internal import CSQLite

/// The SQLite library of this process.
package enum SQLiteLibrary {
  /// Makes SQLite leave out its count of memory, and with it a lock for each allocation: about 4 % of the
  /// time of a synchronization. For programs that own their process; it has no effect once a database was
  /// opened.
  package static func leaveOutMemoryCount() { _ = csqlite_leave_out_memory_count() }
}
