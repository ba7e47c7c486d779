package import TandemRecords

/// The identity of a row: one value per key column, equal if SQLite's BINARY collation treats them
/// as equal.
///
/// A key that is one integer, the usual kind, needs no heap allocation.
package enum RowKey: Sendable {
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
  @inlinable
  package var values: [FieldValue] {
    switch self {
    case .integer(let number): return [.integer(number)]
    case .values(let values): return values
    }
  }

  /// True if a value of it is null, as SQLite allows in most primary keys; it then identifies no
  /// row.
  @inlinable
  package var hasNull: Bool {
    if case .values(let values) = self { return values.contains(where: \.isNull) }
    return false
  }
}

// By hand and inlinable: these run several times for each row of a live query, in another module.
extension RowKey: Hashable {
  /// True if the two identify the same row.
  @inlinable
  package static func == (first: RowKey, second: RowKey) -> Bool {
    switch (first, second) {
    case (.integer(let a), .integer(let b)): return a == b
    case (.values(let a), .values(let b)): return a == b
    case (.integer, .values), (.values, .integer): return false
    }
  }

  /// Hashes the values.
  @inlinable
  package func hash(into hasher: inout Hasher) {
    switch self {
    case .integer(let number): hasher.combine(number)
    case .values(let values): hasher.combine(values)
    }
  }
}

extension RowKey: Comparable {
  /// True if the first comes before the second in the order of their values.
  @inlinable
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
