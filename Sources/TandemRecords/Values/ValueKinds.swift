/// The kinds of values of a field: their types, and what decides whether a column of another type stores them
/// unchanged.
package struct ValueKinds: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Null, and a NaN, which SQLite stores as null.
  package static let null = ValueKinds(rawValue: 1)
  /// An integer that equals a real.
  package static let integer = ValueKinds(rawValue: 2)
  /// An integer that no real equals, such as 2^53 + 1.
  package static let longInteger = ValueKinds(rawValue: 4)
  /// A real other than minus zero.
  package static let real = ValueKinds(rawValue: 8)
  /// The real of which columns of numbers lose the sign.
  package static let minusZero = ValueKinds(rawValue: 16)
  package static let text = ValueKinds(rawValue: 32)
  package static let blob = ValueKinds(rawValue: 64)

  package static let all: ValueKinds = [
    .null, .integer, .longInteger, .real, .minusZero, .text, .blob,
  ]
}

extension FieldValue {
  /// The kind of this value.
  package var kind: ValueKinds {
    switch self {
    case .null: .null
    case .integer(let number): Int64(exactly: Double(number)) == number ? .integer : .longInteger
    case .real(let number):
      if number.isNaN {
        .null
      } else if number == 0 && number.sign == .minus {
        .minusZero
      } else {
        .real
      }
    case .text: .text
    case .blob: .blob
    }
  }
}
