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
