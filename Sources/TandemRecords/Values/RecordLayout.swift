/// The field names of a record, in order. Records with the same names share one layout.
///
/// Names are compared by their UTF-8 bytes.
public final class RecordLayout: Sendable {
  /// The names, each once.
  public let names: [String]
  /// The indexes of the fields whose texts were arrays or objects of JSON, ascending.
  package let nestedOffsets: [Int]
  /// True if the values were cells of CSV, whose types are a decision of the reader.
  package let areCells: Bool

  /// The maximum number of fields of a record, which is SQLite's default limit for columns.
  public static let maxFieldCount = 2_000

  /// Creates a layout of the given names. Returns `nil` if a name is repeated, or if there are more
  /// than ``maxFieldCount``.
  ///
  /// - Complexity: O(*n* log *n*).
  public init?(_ names: [String]) {
    guard names.count <= RecordLayout.maxFieldCount else { return nil }
    let sorted = names.sorted(by: UTF8Order.precedes)
    for (name, next) in zip(sorted, sorted.dropFirst()) where UTF8Order.areEqual(name, next) {
      return nil
    }
    self.names = names
    nestedOffsets = []
    areCells = false
  }

  /// Creates a layout of names that are known to be unique.
  package init(uniqueNames names: [String], nestedOffsets: [Int] = [], areCells: Bool = false) {
    self.names = names
    self.nestedOffsets = nestedOffsets
    self.areCells = areCells
  }

  /// Returns the index of a name in ``names``, or `nil`.
  ///
  /// - Complexity: O(*n*); look a name up once per layout, not per record.
  public func offset(of name: String) -> Int? {
    names.firstIndex { UTF8Order.areEqual($0, name) }
  }

  /// Returns true if the other layout has the same names in the same order.
  package func hasSameOrder(as other: RecordLayout) -> Bool {
    self === other
      || names.count == other.names.count
        && zip(names, other.names).allSatisfy { UTF8Order.areEqual($0, $1) }
  }
}

/// The name of a field. Two names are equal if their UTF-8 bytes are.
public struct FieldName: Sendable {
  /// The name as a text.
  public let text: String

  /// Creates a name from a text.
  public init(_ text: String) { self.text = text }
}

extension FieldName: Hashable {
  /// Returns true if two names have the same bytes.
  public static func == (first: FieldName, second: FieldName) -> Bool {
    UTF8Order.areEqual(first.text, second.text)
  }

  /// Hashes the name's bytes.
  public func hash(into hasher: inout Hasher) {
    UTF8Order.withBytes(of: text) { hasher.combine(bytes: $0) }
  }
}

extension FieldName: ExpressibleByStringLiteral, CustomStringConvertible {
  /// Creates a name from a literal.
  public init(stringLiteral value: String) { self.init(value) }

  /// The name as a text.
  public var description: String { text }
}
