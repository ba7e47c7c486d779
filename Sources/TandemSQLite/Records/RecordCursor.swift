internal import CSQLite

/// The rows of a query, one at a time; memory does not grow with their number.
///
/// It cannot leave the closure that it is lent to.
public struct RecordCursor<Row: RowDecodable>: ~Copyable {
  private let entry: CachedStatement
  @usableFromInline var decoder: RowDecoder

  @usableFromInline
  init(_ entry: CachedStatement) {
    self.entry = entry
    decoder = RowDecoder(entry.statement)
  }

  /// The next row, or `nil` at the end.
  ///
  /// - Throws: ``DatabaseError``; what the type's `init(row:)` throws.
  @inlinable
  public mutating func next() throws -> Row? {
    guard try advance() else { return nil }
    return try Row(row: &decoder)
  }

  @usableFromInline
  mutating func advance() throws(DatabaseError) -> Bool {
    guard try decoder.advance() else { return false }
    if decoder.plan == nil { decoder.follow(try RowPlan.find(Row.self, entry)) }
    return true
  }
}
