/// The values of a record's key fields, in the order of the key. They identify it in its list, and a
/// row in its table.
///
/// Keys are equal and ordered as their values are, the first field before the second. `1` and `1.0`
/// are one key; a composed and a decomposed é are two.
///
/// A key that is one integer, the usual kind, needs no heap allocation.
public struct RecordKey: Sendable {
  @usableFromInline
  enum Storage: Sendable {
    /// One value, which is an integer.
    case integer(Int64)
    case values([FieldValue])
  }

  @usableFromInline let storage: Storage

  /// Creates a key of the given values.
  @inlinable
  public init(_ values: [FieldValue]) {
    if values.count == 1, case .integer(let number) = values[0] {
      storage = .integer(number)
    } else {
      storage = .values(values)
    }
  }

  /// Creates a key of one value.
  @inlinable
  package init(_ value: FieldValue) {
    if case .integer(let number) = value {
      storage = .integer(number)
    } else {
      storage = .values([value])
    }
  }

  /// One value per field of the key.
  @inlinable
  public var values: [FieldValue] {
    switch storage {
    case .integer(let number): [.integer(number)]
    case .values(let values): values
    }
  }

  /// True if one of the values is null, as SQLite permits in most primary keys; the key then
  /// identifies nothing.
  @inlinable
  package var hasNull: Bool {
    if case .values(let values) = storage { values.contains(where: \.isNull) } else { false }
  }
}

// By hand and inlinable: these run several times for each row of a live query, in another module.
extension RecordKey: Hashable {
  /// Returns true if the values of two keys are equal.
  @inlinable
  public static func == (first: RecordKey, second: RecordKey) -> Bool {
    if case .integer(let a) = first.storage, case .integer(let b) = second.storage { return a == b }
    return first.values == second.values
  }

  /// Hashes the values.
  @inlinable
  public func hash(into hasher: inout Hasher) {
    switch storage {
    case .integer(let number): hasher.combine(number)
    // Like the integer, if it is one value that is equal to one.
    case .values(let values): for value in values { hasher.combine(value) }
    }
  }
}

extension RecordKey: Comparable {
  /// Returns true if the first key is before the second: by the first value that differs, or
  /// because it is a prefix of the second.
  @inlinable
  public static func < (first: RecordKey, second: RecordKey) -> Bool {
    if case .integer(let a) = first.storage, case .integer(let b) = second.storage { return a < b }
    return first.values.lexicographicallyPrecedes(second.values)
  }
}

extension RecordKey: CustomStringConvertible {
  /// The values as JSON, with commas between them: `17` or `"DE", "Büsingen"`.
  public var description: String {
    values.map(\.description).joined(separator: ", ")
  }
}
