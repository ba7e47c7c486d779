/// The idle compiled statements of a connection, by their text.
///
/// A statement in use is checked out, so that the same text may run again meanwhile, for instance
/// inside a loop over its own rows; that compiles another statement.
final class StatementCache {
  private let handle: DatabaseHandle
  private let maxCount: Int
  private var idle: [String: CachedStatement] = [:]

  /// An empty cache, which keeps at most `maxCount` idle statements.
  init(_ handle: DatabaseHandle, maxCount: Int) {
    self.handle = handle
    self.maxCount = maxCount
  }

  /// A statement that is reset and without parameters.
  func checkOut(_ sql: String) throws(DatabaseError) -> CachedStatement {
    if let statement = idle.removeValue(forKey: sql) { return statement }
    return CachedStatement(try Statement(sql, database: handle))
  }

  /// Resets a statement, clears its parameters and keeps it. If there are too many, an arbitrary
  /// other one is finalized.
  func checkIn(_ entry: CachedStatement) {
    entry.statement.reset()
    entry.statement.clearBindings()
    guard maxCount > 0 else { return }
    if idle.count >= maxCount, idle[entry.statement.sql] == nil {
      idle.remove(at: idle.startIndex)
    }
    idle[entry.statement.sql] = entry
  }
}

/// A statement, and how the type that decoded its rows last finds its columns.
@usableFromInline
final class CachedStatement {
  let statement: Statement
  var plan: RowPlan?

  init(_ statement: Statement) { self.statement = statement }
}
