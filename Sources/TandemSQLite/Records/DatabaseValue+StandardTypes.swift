public import TandemRecords

extension DatabaseValue where Self: FixedWidthInteger {
  /// The integer, if this type holds it.
  @inlinable
  public init?(fieldValue: FieldValue) {
    switch fieldValue {
    case .integer(let number): self.init(exactly: number)
    case .real(let number): self.init(exactly: number)
    case .null, .text, .blob: return nil
    }
  }

  /// The integer, or `nil` if it is beyond 64 bits with a sign.
  @inlinable
  public var fieldValue: FieldValue? { Int64(exactly: self).map { .integer($0) } }

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
  public init?(fieldValue: FieldValue) {
    switch fieldValue {
    case .integer(let number): self.init(exactly: number)
    case .real(let number): self.init(exactly: number)
    case .null, .text, .blob: return nil
    }
  }

  /// The number, or `nil` for a NaN, which SQLite would turn into null.
  @inlinable
  public var fieldValue: FieldValue? { isNaN ? nil : .real(Double(self)) }

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

/// False is the integer 0, true the integer 1, as in SQLite; no other number is a `Bool`.
extension Bool: DatabaseValue {
  /// The truth of 0 or 1.
  @inlinable
  public init?(fieldValue: FieldValue) {
    guard case .integer(let number) = fieldValue, number == 0 || number == 1 else { return nil }
    self = number == 1
  }

  /// 1 or 0.
  @inlinable
  public var fieldValue: FieldValue? { .integer(self ? 1 : 0) }
}

extension String: DatabaseValue {
  /// The text.
  @inlinable
  public init?(fieldValue: FieldValue) {
    guard case .text(let text) = fieldValue else { return nil }
    self = text
  }

  /// The text.
  @inlinable
  public var fieldValue: FieldValue? { .text(self) }

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

/// The bytes of a blob.
extension [UInt8]: DatabaseValue {
  /// The bytes.
  @inlinable
  public init?(fieldValue: FieldValue) {
    guard case .blob(let bytes) = fieldValue else { return nil }
    self = bytes
  }

  /// The bytes.
  @inlinable
  public var fieldValue: FieldValue? { .blob(self) }

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

extension FieldValue: DatabaseValue {
  /// The value itself.
  @inlinable
  public init?(fieldValue: FieldValue) { self = fieldValue }

  /// The value itself.
  @inlinable
  public var fieldValue: FieldValue? { self }
}

/// `nil` is null.
extension Optional: DatabaseValue where Wrapped: DatabaseValue {
  /// `nil` for null, and otherwise the value, if it is one of the type.
  @inlinable
  public init?(fieldValue: FieldValue) {
    if case .null = fieldValue {
      self = .none
    } else {
      guard let value = Wrapped(fieldValue: fieldValue) else { return nil }
      self = .some(value)
    }
  }

  /// The value, or null.
  @inlinable
  public var fieldValue: FieldValue? {
    switch self {
    case .none: return .null
    case .some(let value): return value.fieldValue
    }
  }

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
