/// A type whose values fields hold exactly, or reject.
///
/// Integers, `Double`, `Float`, `Bool`, `String`, `[UInt8]`, ``FieldValue`` and optionals of these
/// are such types; an enumeration with a raw value of one of these types needs only to declare the
/// conformance. Any other type implements two conversions:
///
/// <!-- Snippets/DatabaseCodeInComments.swift convertible -->
/// ```swift
/// extension Celsius: FieldValueConvertible {
///   init?(fieldValue: FieldValue) {
///     guard let degrees = Double(fieldValue: fieldValue) else { return nil }
///     self.init(degrees: degrees)
///   }
///   var fieldValue: FieldValue? { degrees.fieldValue }
/// }
/// ```
///
/// A field of a `Codable` record takes this form of the type, and not the one of its `Codable`
/// conformance.
///
/// Nothing is rounded, truncated or guessed: an integer is read from an integer, or from a real
/// that is whole; a `Double` from a real, or from an integer that it holds exactly; a text from a
/// text.
public protocol FieldValueConvertible {
  /// The value of a field, or `nil` if it is not of this type.
  init?(fieldValue: FieldValue)

  /// The value to store, or `nil` for one that a field cannot hold, such as an integer beyond 64
  /// bits.
  var fieldValue: FieldValue? { get }
}

extension FieldValueConvertible where Self: RawRepresentable, RawValue: FieldValueConvertible {
  /// The case of this raw value, if there is one.
  @inlinable
  public init?(fieldValue: FieldValue) {
    guard let rawValue = RawValue(fieldValue: fieldValue) else { return nil }
    self.init(rawValue: rawValue)
  }

  /// The raw value.
  @inlinable
  public var fieldValue: FieldValue? { rawValue.fieldValue }
}

extension FieldValueConvertible where Self: FixedWidthInteger {
  /// The integer, if this type holds it.
  @inlinable
  public init?(fieldValue: FieldValue) {
    switch fieldValue {
    case .integer(let number): self.init(exactly: number)
    case .real(let number):
      guard let number = Int64(exactly: number) else { return nil }
      self.init(exactly: number)
    case .null, .text, .blob: return nil
    }
  }

  /// The integer, or `nil` if it is beyond 64 bits with a sign.
  @inlinable
  public var fieldValue: FieldValue? { Int64(exactly: self).map { .integer($0) } }
}

extension Int: FieldValueConvertible {}
extension Int8: FieldValueConvertible {}
extension Int16: FieldValueConvertible {}
extension Int32: FieldValueConvertible {}
extension Int64: FieldValueConvertible {}
extension UInt: FieldValueConvertible {}
extension UInt8: FieldValueConvertible {}
extension UInt16: FieldValueConvertible {}
extension UInt32: FieldValueConvertible {}
extension UInt64: FieldValueConvertible {}

extension FieldValueConvertible where Self: BinaryFloatingPoint {
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
}

extension Double: FieldValueConvertible {}
extension Float: FieldValueConvertible {}

/// False is the integer 0, true the integer 1, as in SQLite; no other number is a `Bool`.
extension Bool: FieldValueConvertible {
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

extension String: FieldValueConvertible {
  /// The text.
  @inlinable
  public init?(fieldValue: FieldValue) {
    guard case .text(let text) = fieldValue else { return nil }
    self = text
  }

  /// The text.
  @inlinable
  public var fieldValue: FieldValue? { .text(self) }
}

/// The bytes of a blob.
extension [UInt8]: FieldValueConvertible {
  /// The bytes.
  @inlinable
  public init?(fieldValue: FieldValue) {
    guard case .blob(let bytes) = fieldValue else { return nil }
    self = bytes
  }

  /// The bytes.
  @inlinable
  public var fieldValue: FieldValue? { .blob(self) }
}

extension FieldValue: FieldValueConvertible {
  /// The value itself.
  @inlinable
  public init?(fieldValue: FieldValue) { self = fieldValue }

  /// The value itself.
  @inlinable
  public var fieldValue: FieldValue? { self }
}

/// `nil` is null.
extension Optional: FieldValueConvertible where Wrapped: FieldValueConvertible {
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
}
