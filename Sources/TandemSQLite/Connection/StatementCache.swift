internal import TandemRecords

/// The compiled statements of a connection, by their text.
///
/// A statement in use is checked out, so that the same text may run again meanwhile, for instance
/// inside a loop over its own rows; that compiles another statement.
final class StatementCache {
  private let handle: DatabaseHandle
  private let maxCount: Int
  /// By the bytes of the text: two texts that Swift takes for equal may name different columns.
  private var kept: [FieldName: CachedStatement] = [:]

  /// An empty cache, which keeps at most `maxCount` statements.
  init(_ handle: DatabaseHandle, maxCount: Int) {
    self.handle = handle
    self.maxCount = maxCount
  }

  /// A statement that is reset and without parameters.
  func checkOut(_ sql: String) throws(DatabaseError) -> CachedStatement {
    guard let entry = kept[FieldName(sql)] else {
      let entry = CachedStatement(try Statement(sql, database: handle))
      keep(entry)
      return entry
    }
    guard entry.isInUse else {
      entry.isInUse = true
      return entry
    }
    return CachedStatement(try Statement(sql, database: handle))
  }

  /// Resets a statement and clears its parameters.
  func checkIn(_ entry: CachedStatement) {
    entry.statement.reset()
    entry.statement.clearBindings()
    entry.isInUse = false
  }

  /// Keeps a statement for later uses. If there are too many, an arbitrary idle one is finalized.
  private func keep(_ entry: CachedStatement) {
    if kept.count >= maxCount {
      guard let idle = kept.firstIndex(where: { !$0.value.isInUse }) else { return }
      kept.remove(at: idle)
    }
    kept[FieldName(entry.statement.sql)] = entry
  }
}

/// A statement, and how the type that decoded its rows last finds its columns.
@usableFromInline
final class CachedStatement {
  let statement: Statement
  var plan: RowPlan?
  /// True while the statement is checked out.
  var isInUse = true

  init(_ statement: Statement) { self.statement = statement }
}
