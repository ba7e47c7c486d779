public import TandemRecords

extension DatabaseValue where Self: FixedWidthInteger {
  /// The integer, if this type holds it.
  @inlinable
  public init?(column: ColumnReader) {
    guard let number = column.integer else { return nil }
    self.init(exactly: number)
  }

  /// Binds the integer; `false` if it is beyond 64 bits with a sign.
  @inlinable
  public func bind(to parameter: ParameterBinder) -> Bool {
    guard let number = Int64(exactly: self) else { return false }
    parameter.bind(number)
    return true
  }
}

extension Int: DatabaseValue {}
extension Int8: DatabaseValue {}
extension Int16: DatabaseValue {}
extension Int32: DatabaseValue {}
extension Int64: DatabaseValue {}
extension UInt: DatabaseValue {}
extension UInt8: DatabaseValue {}
extension UInt16: DatabaseValue {}
extension UInt32: DatabaseValue {}
extension UInt64: DatabaseValue {}

extension DatabaseValue where Self: BinaryFloatingPoint {
  /// The number, if this type holds it exactly.
  @inlinable
  public init?(column: ColumnReader) {
    guard let number = column.real else { return nil }
    self.init(exactly: number)
  }

  /// Binds the number; `false` for a NaN.
  @inlinable
  public func bind(to parameter: ParameterBinder) -> Bool {
    guard !isNaN else { return false }
    parameter.bind(Double(self))
    return true
  }
}

extension Double: DatabaseValue {}
extension Float: DatabaseValue {}
extension Bool: DatabaseValue {}

extension String: DatabaseValue {
  /// The text.
  @inlinable
  public init?(column: ColumnReader) {
    guard let text = column.text else { return nil }
    self = text
  }

  /// Binds the text.
  @inlinable
  public func bind(to parameter: ParameterBinder) -> Bool {
    parameter.bind(self)
    return true
  }
}

extension [UInt8]: DatabaseValue {
  /// The bytes.
  @inlinable
  public init?(column: ColumnReader) {
    guard let bytes = column.blob else { return nil }
    self = bytes
  }

  /// Binds the bytes.
  @inlinable
  public func bind(to parameter: ParameterBinder) -> Bool {
    parameter.bind(self)
    return true
  }
}

extension FieldValue: DatabaseValue {}

/// `nil` is null.
extension Optional: DatabaseValue where Wrapped: DatabaseValue {
  /// `nil` for null, and otherwise the value, if it is one of the type.
  @inlinable
  public init?(column: ColumnReader) {
    if column.isNull {
      self = .none
    } else {
      guard let value = Wrapped(column: column) else { return nil }
      self = .some(value)
    }
  }

  /// Binds the value, or null.
  @inlinable
  public func bind(to parameter: ParameterBinder) -> Bool {
    switch self {
    case .none:
      parameter.bindNull()
      return true
    case .some(let value): return value.bind(to: parameter)
    }
  }
}
