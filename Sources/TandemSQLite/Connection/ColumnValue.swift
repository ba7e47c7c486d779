internal import CSQLite
internal import TandemRecords

/// A value of the current row where SQLite keeps it: valid until the statement steps or resets, or
/// the same column is read as another type. Comparing two of these copies nothing.
struct ColumnValue {
  let handle: OpaquePointer?

  init(_ handle: OpaquePointer?) { self.handle = handle }

  var type: Int32 { sqlite3_value_type(handle) }
  var isNull: Bool { type == SQLITE_NULL }
  var integer: Int64 { sqlite3_value_int64(handle) }
  var real: Double { sqlite3_value_double(handle) }

  /// The bytes of a text, in UTF-8.
  var text: UnsafeRawBufferPointer {
    let start = sqlite3_value_text(handle)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(handle)))
  }

  /// The bytes of a blob.
  var blob: UnsafeRawBufferPointer {
    let start = sqlite3_value_blob(handle)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(handle)))
  }

  /// A copy of a text, or `nil` if it is not valid UTF-8.
  var validText: String? {
    let bytes = text
    guard let start = bytes.baseAddress else { return "" }
    // SQLite ends a text with a NUL. Reading up to that is several times as fast as the generic
    // initializer, which is only needed for texts with a NUL inside.
    let text = String(validatingCString: start.assumingMemoryBound(to: CChar.self))
    if let text, text.utf8.count == bytes.count { return text }
    return String(validating: bytes, as: UTF8.self)
  }

  /// A copy, or `nil` for a text that is not valid UTF-8.
  var fieldValue: FieldValue? {
    switch type {
    case SQLITE_INTEGER: return .integer(integer)
    case SQLITE_FLOAT: return .real(real)
    case SQLITE_TEXT: return validText.map { .text($0) }
    case SQLITE_BLOB: return .blob(Array(blob))
    default: return .null
    }
  }

  /// Negative, zero or positive if this value is less than, equal to or greater than the other, by
  /// SQLite's BINARY collation.
  func compare(to other: ColumnValue) -> Int {
    let type = self.type
    let otherType = other.type
    if type == otherType {
      switch type {
      case SQLITE_INTEGER: return ColumnValue.order(integer, other.integer)
      case SQLITE_TEXT: return UTF8Order.compare(text, other.text)
      case SQLITE_BLOB: return UTF8Order.compare(blob, other.blob)
      case SQLITE_FLOAT: return ColumnValue.order(real, other.real)
      default: return 0
      }
    }
    return ColumnValue.order(numberOrRank, other.numberOrRank)
  }

  /// Compares with a value in memory in the same way.
  func compare(to other: FieldValue) -> Int {
    switch (type, other) {
    case (SQLITE_INTEGER, .integer(let number)): return ColumnValue.order(integer, number)
    case (SQLITE_TEXT, .text(let text)):
      return UTF8Order.withBytes(of: text) { UTF8Order.compare(self.text, $0) }
    case (SQLITE_BLOB, .blob(let bytes)):
      return bytes.withUnsafeBytes { UTF8Order.compare(blob, $0) }
    case (SQLITE_FLOAT, .real(let number)) where !number.isNaN:
      return ColumnValue.order(real, number)
    default: return ColumnValue.order(numberOrRank, ColumnValue.numberOrRank(other))
    }
  }

  private static func order<Value: Comparable>(_ first: Value, _ second: Value) -> Int {
    first < second ? -1 : first == second ? 0 : 1
  }

  /// A stand-in that orders values of different types: numbers themselves, and for texts and blobs,
  /// which come after all numbers, an empty one.
  private var numberOrRank: FieldValue {
    switch type {
    case SQLITE_INTEGER: return .integer(integer)
    case SQLITE_FLOAT: return .real(real)
    case SQLITE_TEXT: return .text("")
    case SQLITE_BLOB: return .blob([])
    default: return .null
    }
  }

  private static func numberOrRank(_ value: FieldValue) -> FieldValue {
    switch value {
    case .text: return .text("")
    case .blob: return .blob([])
    case .null, .integer, .real: return value
    }
  }
}
