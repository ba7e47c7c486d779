internal import CSQLite
public import TandemRecords

/// A parameter of a statement that is about to run. Only valid while a ``DatabaseValue`` is bound to it.
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
