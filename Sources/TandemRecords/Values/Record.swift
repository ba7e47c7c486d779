internal import TandemDifferences

/// A row of a table or an element of a list: values by field name, in order.
///
/// Two records are equal if they have equal values in the same fields, in whatever order; a field
/// that is absent counts as null, since a table cannot tell the two apart.
public struct Record: Sendable {
  /// The names of the fields.
  public let layout: RecordLayout
  /// One value per name of ``layout``, in the same order.
  public internal(set) var values: [FieldValue]

  /// A record with the given values, one per name of the layout, or `nil` if their counts differ.
  public init?(layout: RecordLayout, values: [FieldValue]) {
    guard layout.names.count == values.count else { return nil }
    self.init(uncheckedLayout: layout, values: values)
  }

  /// For callers that know the counts to agree.
  package init(uncheckedLayout layout: RecordLayout, values: [FieldValue]) {
    self.layout = layout
    self.values = values
  }

  /// A record of the given fields, or `nil` if a name stands twice or there are too many.
  public init?(_ fields: [(name: String, value: FieldValue)]) {
    guard let layout = RecordLayout(fields.map(\.name)) else { return nil }
    self.init(uncheckedLayout: layout, values: fields.map(\.value))
  }

  /// The value of a field; null if the record has none of that name.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  public subscript(name: String) -> FieldValue {
    layout.offset(of: name).map { values[$0] } ?? .null
  }
}

extension Record: Equatable {
  /// Whether the two have equal values in the same fields, absent ones being null.
  ///
  /// - Complexity: O(*n*) in the number of fields if they are in the same order, else O(*n*^2).
  public static func == (first: Record, second: Record) -> Bool {
    if first.layout.hasSameOrder(as: second.layout) { return first.values == second.values }
    return first.isCovered(by: second) && second.isCovered(by: first)
  }

  /// Whether `other` has an equal value for each of this record's fields.
  private func isCovered(by other: Record) -> Bool {
    zip(layout.names, values).allSatisfy { name, value in other[name] == value }
  }
}

extension Record: Hashable {
  /// Hashes the fields that are not null, whatever their order.
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
  /// A record of the given fields.
  ///
  /// - Precondition: no name stands twice.
  public init(dictionaryLiteral elements: (String, FieldValue)...) {
    guard let record = Record(elements.map { (name: $0.0, value: $0.1) }) else {
      preconditionFailure("A record literal names a field twice or has too many fields")
    }
    self = record
  }
}

extension FieldValue {
  /// Whether a table would hold the two alike: of one type, and the same to the bit. `==` takes `1` for
  /// `1.0`; this does not. A NaN is held as null.
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
  /// Whether a table would hold the two alike: the same fields, in whatever order, with values that
  /// have the same storage; a field that is absent counts as null.
  ///
  /// - Complexity: as that of `==`.
  package func hasSameStorage(as other: Record) -> Bool {
    guard layout.hasSameOrder(as: other.layout) else {
      return isStored(in: other) && other.isStored(in: self)
    }
    return values.indices.allSatisfy { values[$0].hasSameStorage(as: other.values[$0]) }
  }

  /// Whether `other` would hold each of this record's fields alike.
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
