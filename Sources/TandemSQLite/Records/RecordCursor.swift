/// The rows of a query, one at a time; memory does not grow with their number.
///
/// It cannot leave the closure that it is lent to.
public struct RecordCursor<Row: RowDecodable>: ~Copyable {
  private let entry: CachedStatement
  @usableFromInline var decoder: RowDecoder?

  @usableFromInline
  init(_ entry: CachedStatement) { self.entry = entry }

  /// The next row, or `nil` at the end.
  ///
  /// - Throws: ``DatabaseError``; what the type's `init(row:)` throws.
  @inlinable
  public mutating func next() throws -> Row? {
    guard try advance() else { return nil }
    decoder!.position = 0
    return try Row(row: &decoder!)
  }

  @usableFromInline
  mutating func advance() throws(DatabaseError) -> Bool {
    guard try entry.statement.step() else { return false }
    if decoder == nil {
      decoder = RowDecoder(entry.statement, try RowPlan.find(Row.self, entry))
    }
    return true
  }
}
