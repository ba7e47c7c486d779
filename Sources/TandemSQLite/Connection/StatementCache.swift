internal import TandemRecords

/// The compiled statements of a connection, by their text.
///
/// A statement in use is checked out, so that the same text may run again meanwhile, for instance
/// inside a loop over its own rows; that compiles another statement.
final class StatementCache {
  private let handle: DatabaseHandle
  private let maxCount: Int
  private var kept: [StatementText: CachedStatement] = [:]

  /// An empty cache, which keeps at most `maxCount` statements.
  init(_ handle: DatabaseHandle, maxCount: Int) {
    self.handle = handle
    self.maxCount = maxCount
  }

  /// A statement that is reset and without parameters.
  func checkOut(_ text: StatementText) throws(DatabaseError) -> CachedStatement {
    guard let entry = kept[text] else {
      let entry = CachedStatement(try Statement(text.sql, database: handle))
      keep(entry, text)
      return entry
    }
    guard entry.isInUse else {
      entry.isInUse = true
      return entry
    }
    return CachedStatement(try Statement(text.sql, database: handle))
  }

  /// Resets a statement and clears its parameters.
  func checkIn(_ entry: CachedStatement) {
    entry.statement.reset()
    entry.statement.clearBindings()
    entry.isInUse = false
  }

  /// Keeps a statement for later uses. If there are too many, an arbitrary idle one is finalized.
  private func keep(_ entry: CachedStatement, _ text: StatementText) {
    if kept.count >= maxCount {
      guard let idle = kept.firstIndex(where: { !$0.value.isInUse }) else { return }
      kept.remove(at: idle)
    }
    kept[text] = entry
  }
}

/// The text of a statement with its hash, for statements that run for each of many rows: finding them
/// in a cache then takes the same time for long texts.
package struct StatementText: Sendable {
  /// The text.
  package let sql: String
  private let hash: Int

  /// A text.
  package init(_ sql: String) {
    self.sql = sql
    hash = FieldName(sql).hashValue
  }
}

extension StatementText: Hashable {
  /// Returns true if two texts have the same bytes: two texts that Swift takes for equal may name
  /// different columns.
  package static func == (first: StatementText, second: StatementText) -> Bool {
    first.hash == second.hash && UTF8Order.areEqual(first.sql, second.sql)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
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
