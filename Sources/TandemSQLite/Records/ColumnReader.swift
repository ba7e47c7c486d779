internal import CSQLite
public import TandemRecords

/// A column of the current row, where SQLite keeps it. Valid only while a ``DatabaseValue`` is made
/// of it.
public struct ColumnReader {
  let value: ColumnValue

  init(_ value: ColumnValue) { self.value = value }

  /// A column of the current row of a statement.
  @usableFromInline
  init(_ statement: OpaquePointer, _ column: Int32) {
    value = ColumnValue(sqlite3_column_value(statement, column))
  }

  /// True if it is null.
  public var isNull: Bool { value.isNull }

  /// The integer, or the real that is one, or `nil`.
  public var integer: Int64? {
    switch value.type {
    case SQLITE_INTEGER: return value.integer
    case SQLITE_FLOAT: return Int64(exactly: value.real)
    default: return nil
    }
  }

  /// The real, or the integer that a real holds exactly, or `nil`.
  public var real: Double? {
    switch value.type {
    case SQLITE_FLOAT: return value.real
    case SQLITE_INTEGER: return Double(exactly: value.integer)
    default: return nil
    }
  }

  /// The text; `nil` for another type, and for a text that is not valid UTF-8.
  public var text: String? {
    guard value.type == SQLITE_TEXT else { return nil }
    return value.validText
  }

  /// A copy of the blob, or `nil`.
  public var blob: [UInt8]? {
    guard value.type == SQLITE_BLOB else { return nil }
    return Array(value.blob)
  }

  /// The value, whatever its type; `nil` for a text that is not valid UTF-8.
  public var fieldValue: FieldValue? { value.fieldValue }
}
