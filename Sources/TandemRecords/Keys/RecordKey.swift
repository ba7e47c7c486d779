/// The values that tell a record from all others of its list: those of its key fields, in the order
/// of the key.
///
/// Keys are equal and ordered as their values are, the first field before the second: `1` and `1.0`
/// are one key, a composed and a decomposed é are two.
public struct RecordKey: Hashable, Sendable {
  /// One value per field of the key.
  public let values: [FieldValue]

  /// A key of the given values.
  public init(_ values: [FieldValue]) {
    self.values = values
  }
}

extension RecordKey: Comparable {
  /// Whether the first key comes before the second: by the first value that differs, or because it
  /// is the start of the second.
  public static func < (first: RecordKey, second: RecordKey) -> Bool {
    first.values.lexicographicallyPrecedes(second.values)
  }
}

extension RecordKey: CustomStringConvertible {
  /// The values as JSON, with commas between them: `17` or `"DE", "Büsingen"`.
  public var description: String {
    values.map(\.description).joined(separator: ", ")
  }
}
