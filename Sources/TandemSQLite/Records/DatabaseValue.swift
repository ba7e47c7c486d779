public import TandemRecords

/// A value that a column holds and a parameter takes, exactly or not at all.
///
/// Integers, `Double`, `Float`, `Bool`, `String`, `[UInt8]`, `FieldValue` and optionals of these are
/// such values; an enumeration with a raw value of one of these types need only say so. Any other type
/// has to give the two conversions:
///
///     extension UUID: DatabaseValue {
///       public init?(fieldValue: FieldValue) {
///         guard case .text(let text) = fieldValue else { return nil }
///         self.init(uuidString: text)
///       }
///       public var fieldValue: FieldValue? { .text(uuidString) }
///     }
///
/// Nothing is rounded, cut or guessed: an integer is read from an integer, or from a real that is
/// whole; a `Double` from a real, or from an integer that it holds exactly; a text from a text.
public protocol DatabaseValue {
  /// The value that a column holds, or `nil` if it is none of this type.
  init?(fieldValue: FieldValue)

  /// What to store, or `nil` for a value that SQLite cannot hold, such as an integer beyond 64 bits.
  var fieldValue: FieldValue? { get }

  /// The value of a column where SQLite keeps it. Has a default; the library's own types do without
  /// the detour.
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
  public init?(fieldValue: FieldValue) {
    guard let rawValue = RawValue(fieldValue: fieldValue) else { return nil }
    self.init(rawValue: rawValue)
  }

  /// The raw value.
  @inlinable
  public var fieldValue: FieldValue? { rawValue.fieldValue }

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
