internal import CSQLite
public import TandemRecords

/// A type whose values columns and parameters hold exactly, or reject: a `FieldValueConvertible`
/// type, whose page has the rules.
///
/// Integers, `Double`, `Float`, `Bool`, `String`, `[UInt8]`, `FieldValue` and optionals of these
/// are such values; an enumeration with a raw value of one of these types needs only to declare the
/// conformance. Any other type implements the two conversions of `FieldValueConvertible`.
public protocol DatabaseValue: FieldValueConvertible {
  /// The value of a column, read where SQLite keeps it. The default reads a `FieldValue`; the
  /// library's own types avoid that detour.
  init?(column: ColumnReader)

  /// Binds this value to a parameter; `false` for a value that SQLite cannot hold. Has a default.
  func bind(to parameter: ParameterBinder) -> Bool
}

extension DatabaseValue {
  /// Reads it as a `FieldValue`.
  @inlinable
  public init?(column: ColumnReader) {
    guard let value = column.fieldValue else { return nil }
    self.init(fieldValue: value)
  }

  /// Binds it as a `FieldValue`.
  @inlinable
  public func bind(to parameter: ParameterBinder) -> Bool {
    guard let value = fieldValue else { return false }
    parameter.bind(value)
    return true
  }
}

extension DatabaseValue where Self: RawRepresentable, RawValue: DatabaseValue {
  /// The case of this raw value, if there is one.
  @inlinable
  public init?(column: ColumnReader) {
    guard let rawValue = RawValue(column: column) else { return nil }
    self.init(rawValue: rawValue)
  }

  /// Binds the raw value.
  @inlinable
  public func bind(to parameter: ParameterBinder) -> Bool { rawValue.bind(to: parameter) }
}

/// A parameter of a statement that is about to run. Valid only while a ``DatabaseValue`` is bound
/// to it.
public struct ParameterBinder {
  let statement: OpaquePointer
  let position: Int32

  init(_ statement: OpaquePointer, _ position: Int32) {
    self.statement = statement
    self.position = position
  }

  /// Binds null.
  public func bindNull() { sqlite3_bind_null(statement, position) }

  /// Binds an integer.
  public func bind(_ integer: Int64) { sqlite3_bind_int64(statement, position, integer) }

  /// Binds a real.
  public func bind(_ real: Double) { sqlite3_bind_double(statement, position, real) }

  /// Binds a copy of a text.
  public func bind(_ text: String) { Statement.bind(text, to: statement, at: position) }

  /// Binds a copy of a blob.
  public func bind(_ blob: [UInt8]) { Statement.bind(blob, to: statement, at: position) }

  /// Binds a value of any type.
  public func bind(_ value: FieldValue) {
    switch value {
    case .null: bindNull()
    case .integer(let number): bind(number)
    case .real(let number): bind(number)
    case .text(let text): bind(text)
    case .blob(let bytes): bind(bytes)
    }
  }
}
