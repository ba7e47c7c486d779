package import TandemRecords

/// What identifies a row: one value per key column, equal where SQLite's BINARY collation says so.
///
/// A key that is one integer, the usual kind, needs no memory of its own.
package enum RowKey: Hashable, Sendable {
  /// A rowid, or the one column of a key whose value is a whole number.
  case integer(Int64)
  /// Any other key.
  case values([FieldValue])

  /// The key of the given values; equal values give equal keys.
  package init(_ values: [FieldValue]) {
    if values.count == 1, let number = values[0].wholeNumber {
      self = .integer(number)
    } else {
      self = .values(values)
    }
  }

  /// The key of one value.
  package init(_ value: FieldValue) {
    if let number = value.wholeNumber {
      self = .integer(number)
    } else {
      self = .values([value])
    }
  }

  /// One value per key column.
  package var values: [FieldValue] {
    switch self {
    case .integer(let number): return [.integer(number)]
    case .values(let values): return values
    }
  }
}

extension RowKey: Comparable {
  /// Whether the first comes before the second in the order of their values.
  package static func < (first: RowKey, second: RowKey) -> Bool {
    if case .integer(let a) = first, case .integer(let b) = second { return a < b }
    return first.values.lexicographicallyPrecedes(second.values)
  }
}

extension FieldValue {
  /// The integer that this value equals, if it is a number.
  fileprivate var wholeNumber: Int64? {
    switch self {
    case .integer(let number): return number
    case .real(let number): return Int64(exactly: number)
    case .null, .text, .blob: return nil
    }
  }
}
