internal import CSQLite

/// Hands out the columns of the current row, one after the other.
public struct RowDecoder: ~Copyable {
  @usableFromInline let statement: Statement
  @usableFromInline let plan: RowPlan
  @usableFromInline var position = 0

  init(_ statement: Statement, _ plan: RowPlan) {
    self.statement = statement
    self.plan = plan
  }

  /// The value of the next column.
  ///
  /// - Throws: ``DatabaseError``: `mismatch` if the column holds none of this type, `range` if there is
  ///   no further column.
  @inlinable
  public mutating func next<Value: DatabaseValue>(
    _ type: Value.Type = Value.self
  ) throws(DatabaseError) -> Value {
    let reader = try nextColumn()
    guard let value = Value(column: reader) else { throw mismatch(reader, type) }
    return value
  }

  /// A value of a `Decodable` type, whose keys are the names of the columns.
  ///
  /// - Throws: What the type's `init(from:)` throws; ``DatabaseError`` as ``next(_:)``.
  @inlinable
  public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try Value(from: plan.keyedDecoder(statement))
  }

  @usableFromInline
  mutating func nextColumn() throws(DatabaseError) -> ColumnReader {
    guard position < plan.columnCount else {
      throw DatabaseError(
        code: .range, message: "the row has only \(plan.columnCount) columns to decode",
        sql: statement.sql, path: statement.database.path)
    }
    let column = plan.columns?[position] ?? Int32(truncatingIfNeeded: position)
    position += 1
    return ColumnReader(ColumnValue(sqlite3_column_value(statement.handle, column)))
  }

  @usableFromInline
  func mismatch(_ reader: ColumnReader, _ type: Any.Type) -> DatabaseError {
    let offset = position - 1
    return statement.mismatch(reader, type, at: plan.columns.map { Int($0[offset]) } ?? offset)
  }
}
