internal import TandemDifferences

/// A row of a table or an element of a list: named values, in order.
///
/// Two records are equal if they have equal values in the same fields, in any order. An absent
/// field counts as null, because a table cannot distinguish the two.
public struct Record: Sendable {
  /// The names of the fields.
  public let layout: RecordLayout
  /// One value per name of ``layout``, in the same order.
  public internal(set) var values: [FieldValue]

  /// Creates a record with one value per name of the layout. Returns `nil` if the counts differ.
  public init?(layout: RecordLayout, values: [FieldValue]) {
    guard layout.names.count == values.count else { return nil }
    self.init(uncheckedLayout: layout, values: values)
  }

  /// Creates a record from a layout and values whose counts are known to be equal.
  package init(uncheckedLayout layout: RecordLayout, values: [FieldValue]) {
    self.layout = layout
    self.values = values
  }

  /// A record without fields.
  package static let empty = Record(uncheckedLayout: RecordLayout(uniqueNames: []), values: [])

  /// Creates a record from its fields. Returns `nil` if a name is repeated or there are too many
  /// fields.
  public init?(_ fields: [(name: String, value: FieldValue)]) {
    guard let layout = RecordLayout(fields.map(\.name)) else { return nil }
    self.init(uncheckedLayout: layout, values: fields.map(\.value))
  }

  /// The value of a field, or null if the record has none of that name.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  public subscript(name: String) -> FieldValue {
    layout.offset(of: name).map { values[$0] } ?? .null
  }
}

extension Record: Equatable {
  /// Returns true if two records have equal values in the same fields. An absent field equals null.
  ///
  /// - Complexity: O(*n*) in the number of fields if they are in the same order, else O(*n*^2).
  public static func == (first: Record, second: Record) -> Bool {
    if first.layout.hasSameOrder(as: second.layout) { return first.values == second.values }
    return first.isCovered(by: second) && second.isCovered(by: first)
  }

  /// Returns true if `other` has an equal value for each field of this record.
  private func isCovered(by other: Record) -> Bool {
    zip(layout.names, values).allSatisfy { name, value in other[name] == value }
  }
}

extension Record: Hashable {
  /// Hashes the fields that are not null, independently of their order.
  public func hash(into hasher: inout Hasher) {
    var combined = 0
    for (name, value) in zip(layout.names, values) where !value.isNull {
      var field = Hasher()
      FieldValue.text(name).hash(into: &field)
      value.hash(into: &field)
      combined ^= field.finalize()
    }
    hasher.combine(combined)
  }
}

extension Record: ExpressibleByDictionaryLiteral {
  /// Creates a record from its fields.
  ///
  /// - Precondition: No name is repeated.
  public init(dictionaryLiteral elements: (String, FieldValue)...) {
    guard let record = Record(elements.map { (name: $0.0, value: $0.1) }) else {
      preconditionFailure("A record literal names a field twice or has too many fields")
    }
    self = record
  }
}

extension FieldValue {
  /// Returns true if SQLite stores two values identically: with the same type and the same bits.
  /// Unlike `==`, this distinguishes `1` from `1.0`. NaN is stored as null.
  @inlinable
  package func hasSameStorage(as other: FieldValue) -> Bool {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): return a == b
    case (.real(let a), .real(let b)): return a.bitPattern == b.bitPattern || a.isNaN && b.isNaN
    case (.text(let a), .text(let b)): return UTF8Order.areEqual(a, b)
    case (.blob(let a), .blob(let b)): return a == b
    default: return isNull && other.isNull
    }
  }
}

extension Record {
  /// Returns true if SQLite stores two records identically: the same fields, in any order, with
  /// values that have the same storage. An absent field counts as null.
  ///
  /// - Complexity: as that of `==`.
  package func hasSameStorage(as other: Record) -> Bool {
    guard layout.hasSameOrder(as: other.layout) else {
      return isStored(in: other) && other.isStored(in: self)
    }
    return values.indices.allSatisfy { values[$0].hasSameStorage(as: other.values[$0]) }
  }

  /// Returns true if each field of this record has the same storage in `other`.
  private func isStored(in other: Record) -> Bool {
    zip(layout.names, values).allSatisfy { name, value in value.hasSameStorage(as: other[name]) }
  }
}

extension Record: CustomStringConvertible {
  /// The fields in their order, as in `{id: 1, name: "Ann"}`; shortened if it is long.
  public var description: String {
    var text = "{"
    for offset in values.indices {
      if offset > 0 { text += ", " }
      guard text.utf8.count < Record.maxDescriptionByteCount else { return text + "…}" }
      text += "\(layout.names[offset]): \(DescriptionLimit.text(values[offset]))"
    }
    return text + "}"
  }

  private static var maxDescriptionByteCount: Int { 500 }
}

extension RecordLayout: CustomStringConvertible {
  /// The names, separated by commas; shortened if there are many.
  public var description: String {
    let texts = names.prefix(RecordLayout.maxDescribedNameCount).map(DescriptionLimit.text)
    let count = names.count - texts.count
    return (count > 0 ? texts + ["… \(count) more"] : texts).joined(separator: ", ")
  }

  private static var maxDescribedNameCount: Int { 20 }
}
