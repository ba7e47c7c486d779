internal import CSQLite
internal import TandemRecords

/// Takes the values of a record's columns, one after the other, and binds them to a statement.
public struct RowEncoder: ~Copyable {
  @usableFromInline let statement: RecordStatement
  @usableFromInline var position = 0

  @usableFromInline
  init(_ statement: RecordStatement) { self.statement = statement }

  /// Appends the value of the next column.
  ///
  /// - Throws: ``DatabaseError``: `mismatch` for a value that SQLite cannot hold, `range` for more
  ///   values than the type has columns.
  @inlinable
  public mutating func append(_ value: some DatabaseValue) throws(DatabaseError) {
    guard value.bind(to: try nextParameter()) else { throw unstorable(value) }
  }

  /// Appends the value of the next column, of any `Encodable` type, in the form that the record's
  /// ``RowDecodable/recordCoding`` states.
  ///
  /// - Throws: ``DatabaseError`` as ``append(_:)``; the error that `encode(to:)` throws.
  public mutating func append(encoding value: some Encodable) throws {
    let fieldValue: FieldValue
    do {
      fieldValue = try statement.fieldValue(of: value, atOffset: position)
    } catch let error as EncodingError {
      throw statement.unstorable(value, column: position, ": \(error.fieldMessage)")
    }
    try append(fieldValue)
  }

  /// Appends a value of an `Encodable` type: each of its keys is the name of a column.
  ///
  /// - Throws: The error that the type's `encode(to:)` throws; ``DatabaseError`` as ``append(_:)``.
  public mutating func encode(_ value: some Encodable) throws {
    try statement.encode(value)
    position = statement.columnCount
  }

  @usableFromInline
  mutating func nextParameter() throws(DatabaseError) -> ParameterBinder {
    position += 1
    return try statement.parameter(position)
  }

  @usableFromInline
  func unstorable(_ value: some DatabaseValue) -> DatabaseError {
    statement.unstorable(value, column: position - 1)
  }
}
