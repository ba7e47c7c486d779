/// The value of a field, with one of SQLite's five types.
///
/// Comparison, equality and hashing follow SQLite's BINARY collation, on every platform: null is
/// less than numbers, numbers less than texts, texts less than blobs. Integers and reals compare by
/// their exact mathematical values, so `1` equals `1.0`, and 2^53 + 1 is greater than the real
/// 2^53. Texts and blobs compare byte by byte, so a composed and a decomposed é differ. A NaN,
/// which SQLite stores as null, equals null.
public enum FieldValue: Sendable {
  /// No value.
  case null
  /// A 64-bit integer.
  case integer(Int64)
  /// A double-precision number.
  case real(Double)
  /// A text with its original UTF-8 bytes.
  case text(String)
  /// Bytes.
  case blob([UInt8])

  /// True for null and for NaN, which SQLite stores as null.
  @inlinable
  public var isNull: Bool {
    switch self {
    case .null: return true
    case .real(let number): return number.isNaN
    case .integer, .text, .blob: return false
    }
  }

  /// The text; `nil` for a value of another type.
  package var textValue: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The integer; `nil` for a value of another type.
  package var integerValue: Int? {
    if case .integer(let integer) = self { Int(integer) } else { nil }
  }

  /// About the number of bytes of the value.
  package var byteCount: Int {
    switch self {
    case .null, .integer, .real: 8
    case .text(let text): text.utf8.count
    case .blob(let bytes): bytes.count
    }
  }
}

extension FieldValue: Equatable {
  /// Returns true if two values are equal in SQLite: equal numbers, equal bytes, or both null.
  @inlinable
  public static func == (first: FieldValue, second: FieldValue) -> Bool {
    switch (first, second) {
    case (.integer(let a), .integer(let b)): return a == b
    case (.text(let a), .text(let b)): return UTF8Order.areEqual(a, b)
    case (.blob(let a), .blob(let b)): return a == b
    case (.real(let a), .real(let b)): return a == b || (a.isNaN && b.isNaN)
    case (.integer(let a), .real(let b)), (.real(let b), .integer(let a)):
      return Int64(exactly: b) == a
    default: return first.isNull && second.isNull
    }
  }
}

extension FieldValue: Hashable {
  /// Hashes an integer like the real that equals it, and texts by their bytes.
  @inlinable
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0 as UInt8)
    case .integer(let number): hasher.combine(number)
    case .real(let number):
      if let integer = Int64(exactly: number) {
        hasher.combine(integer)
      } else if number.isNaN {
        hasher.combine(0 as UInt8)
      } else {
        hasher.combine(number)
      }
    case .text(let text):
      UTF8Order.withBytes(of: text) { hasher.combine(bytes: $0) }
      hasher.combine(0xFF as UInt8)
    case .blob(let bytes): hasher.combine(bytes)
    }
  }
}

extension FieldValue: Comparable {
  /// Returns true if the first value is before the second in SQLite's order.
  @inlinable
  public static func < (first: FieldValue, second: FieldValue) -> Bool {
    switch (first, second) {
    case (.integer(let a), .integer(let b)): return a < b
    case (.text(let a), .text(let b)): return UTF8Order.precedes(a, b)
    case (.blob(let a), .blob(let b)): return a.lexicographicallyPrecedes(b)
    case (.real(let a), .real(let b)) where !a.isNaN && !b.isNaN: return a < b
    case (.integer(let a), .real(let b)) where !b.isNaN: return compare(a, b) < 0
    case (.real(let a), .integer(let b)) where !a.isNaN: return compare(b, a) > 0
    default: return first.typeRank < second.typeRank
    }
  }

  /// Returns -1, 0 or 1 if `integer` is less than, equal to or greater than `real`, which must not
  /// be NaN.
  ///
  /// Converting either number to the other's type would round; the integer part is compared first.
  @inlinable
  static func compare(_ integer: Int64, _ real: Double) -> Int {
    if real >= 0x1p63 { return -1 }
    if real < -0x1p63 { return 1 }
    let whole = Int64(real)
    if integer != whole { return integer < whole ? -1 : 1 }
    let fraction = real - Double(whole)
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
  }

  /// The rank of the value's type in SQLite's order of types.
  @inlinable
  var typeRank: Int {
    switch self {
    case .null: return 0
    case .integer: return 1
    case .real(let number): return number.isNaN ? 0 : 1
    case .text: return 2
    case .blob: return 3
    }
  }
}

extension FieldValue: ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral
{
  /// An integer.
  @inlinable
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A real, even if it has no fraction.
  @inlinable
  public init(floatLiteral value: Double) { self = .real(value) }
  /// A text.
  @inlinable
  public init(stringLiteral value: String) { self = .text(value) }
  /// True is the integer 1, false the integer 0, as in SQLite.
  @inlinable
  public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
}

extension FieldValue: CustomStringConvertible {
  /// The value as ``RecordWriter`` writes it: `17`, `1.0`, `"Büsingen"`, `null`.
  public var description: String {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(self, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
