internal import CSQLite

/// Hands out the columns of the current row, one after the other.
public struct RowDecoder: ~Copyable {
  private let statement: Statement
  /// The statement's, at hand for every row.
  private let handle: OpaquePointer
  private(set) var plan: RowPlan?
  /// The plan's.
  private var columns: UnsafePointer<Int32>?
  private var columnCount: Int32 = 0
  private var position: Int32 = 0

  init(_ statement: Statement) {
    self.statement = statement
    handle = statement.handle
  }

  /// Where the columns are, from the first row on.
  mutating func follow(_ plan: RowPlan) {
    self.plan = plan
    columns = plan.columns
    columnCount = plan.columnCount
  }

  /// Moves to the next row.
  mutating func advance() throws(DatabaseError) -> Bool {
    position = 0
    return sqlite3_step(handle) == SQLITE_ROW ? true : try statement.endSteps()
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
    try Value(from: keyedDecoder())
  }

  @usableFromInline
  func keyedDecoder() -> any Decoder {
    plan?.keyedDecoder(statement) ?? KeyedRowDecoder(statement)
  }

  @usableFromInline
  mutating func nextColumn() throws(DatabaseError) -> ColumnReader {
    guard position < columnCount else {
      throw DatabaseError(
        code: .range, message: "the row has only \(columnCount) columns to decode",
        sql: statement.sql, path: statement.database.path)
    }
    let column = columns?[Int(position)] ?? position
    position += 1
    return ColumnReader(ColumnValue(sqlite3_column_value(handle, column)))
  }

  @usableFromInline
  func mismatch(_ reader: ColumnReader, _ type: Any.Type) -> DatabaseError {
    let offset = Int(position) - 1
    return statement.mismatch(reader, type, at: columns.map { Int($0[offset]) } ?? offset)
  }
}
