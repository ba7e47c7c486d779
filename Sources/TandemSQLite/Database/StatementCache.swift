/// The compiled statements of a connection that are not in use, by their text.
///
/// A statement is taken out while it runs, so that the same text may run again meanwhile, from inside
/// a loop over its own rows; that compiles another.
final class StatementCache {
  private let connection: DatabaseConnection
  private let maxCount: Int
  private var idle: [String: CachedStatement] = [:]

  init(_ connection: DatabaseConnection, maxCount: Int) {
    self.connection = connection
    self.maxCount = maxCount
  }

  /// A statement without parameters, ready to be bound and stepped.
  func take(_ sql: String) throws(DatabaseError) -> CachedStatement {
    if let statement = idle.removeValue(forKey: sql) { return statement }
    return CachedStatement(try connection.prepare(sql))
  }

  /// Keeps a statement for the next time, reset and without parameters. When there are too many, one
  /// that happens to come first is forgotten.
  func giveBack(_ entry: CachedStatement) {
    entry.statement.reset()
    entry.statement.clearBindings()
    guard maxCount > 0 else { return }
    if idle.count >= maxCount, idle[entry.statement.sql] == nil {
      idle.remove(at: idle.startIndex)
    }
    idle[entry.statement.sql] = entry
  }

  /// Finalizes all statements.
  func removeAll() { idle = [:] }
}

/// A statement, and what has been found out about it.
@usableFromInline
final class CachedStatement {
  let statement: Statement
  /// How the rows of this statement are decoded, for the type that decoded them last.
  var plan: RowPlan?

  init(_ statement: Statement) { self.statement = statement }
}
