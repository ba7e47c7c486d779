public import TandemDifferences

/// A value of a list, with the types of the list's format.
///
/// JSON has numbers, strings, true, false, null, arrays and objects. CSV has only texts. A
/// ``FieldValue`` is the value that a table would store for it; `true` and `1` are then the same.
public enum ListValue: Sendable {
  /// A string of JSON, without quotes and escapes, or a cell of CSV that is not empty.
  case text(String)
  /// Any other value of JSON, as its text without white space outside strings: `1.50`, `false`,
  /// `null`, `{"b":1}`. An empty cell of CSV, in quotes or not, is `null`.
  case json(String)

  /// `null`, or an empty cell of CSV.
  public static var null: ListValue { .json("null") }
}

extension ListValue: Equatable {
  /// Returns true if two values have the same type and are equal: strings by their bytes, numbers
  /// by their digits, arrays and objects by their structure. The order of fields in an object, its
  /// white space and the escapes in its strings do not count.
  public static func == (first: ListValue, second: ListValue) -> Bool {
    switch (first, second) {
    case (.text(let a), .text(let b)): return UTF8Order.areEqual(a, b)
    case (.json(let a), .json(let b)): return JSONStructure.areEqual(a, b)
    case (.text, .json), (.json, .text): return false
    }
  }
}

extension ListValue: JSONWritable, CustomStringConvertible {
  /// Writes the value as its list has it.
  package func write(to json: inout JSONWriter) {
    switch self {
    case .text(let text): json.write(text)
    case .json(let text): json.scalar { $0.append(contentsOf: text.utf8) }
    }
  }

  /// The value as JSON.
  public var description: String {
    switch self {
    case .text(let text): return FieldValue.text(text).description
    case .json(let text): return text
    }
  }
}

extension ListValue {
  /// The value that a table would store; see ``RecordReader``.
  package var stored: FieldValue {
    switch self {
    case .text(let text): return .text(text)
    case .json(let text) where JSONStructure.isNested(text): return .text(text)
    case .json(let text):
      return UTF8Order.withBytes(of: text) { bytes in
        var objects = JSONObjectReader(bytes, RecordLimits())
        return (try? objects.value()) ?? .text(text)
      }
    }
  }

  /// The part of a key that a cell of CSV is. Integers in their usual form are numbers, so that 9 is
  /// before 10. No two different cells become equal.
  var cellKey: FieldValue {
    guard case .text(let text) = self else { return .null }
    guard let number = Int64(text), String(number) == text else { return .text(text) }
    return .integer(number)
  }
}

/// A record of a list, with the types of the list's format. See ``ListText``.
public struct ListRecord: Sendable {
  /// The names of the fields.
  public let layout: RecordLayout
  /// One value per name of ``layout``, in the same order.
  public internal(set) var values: [ListValue]

  init(layout: RecordLayout, values: [ListValue]) {
    self.layout = layout
    self.values = values
  }

  /// The value of a field, or `nil` if the record has none of that name.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  public subscript(name: String) -> ListValue? {
    layout.offset(of: name).map { values[$0] }
  }
}

extension ListRecord: Equatable {
  /// Returns true if two records have the same fields, in any order, with equal values. An absent
  /// field and one that is null differ.
  ///
  /// - Complexity: O(*n*) in the number of fields if they are in the same order, else O(*n*^2).
  public static func == (first: ListRecord, second: ListRecord) -> Bool {
    if first.layout.hasSameOrder(as: second.layout) { return first.values == second.values }
    guard first.values.count == second.values.count else { return false }
    return zip(first.layout.names, first.values).allSatisfy { name, value in second[name] == value }
  }
}

/// Records merge field by field: `MergePolicy<ListRecord>.fieldwise(byName: ["body": .textMerge])`.
extension ListRecord: NamedFields {
  /// The names of the fields.
  public var fieldNames: [FieldName] { layout.names.map { FieldName($0) } }

  /// The value of a field, or `nil` if the record has none of that name.
  ///
  /// Setting an absent field adds it at the end; setting `nil` removes it.
  ///
  /// - Complexity: O(*n*) in the number of fields.
  public subscript(field name: FieldName) -> ListValue? {
    get { self[name.text] }
    set {
      let offset = layout.offset(of: name.text)
      if let offset, let newValue {
        values[offset] = newValue
        return
      }
      var (names, values) = (layout.names, values)
      if let offset {
        names.remove(at: offset)
        values.remove(at: offset)
      } else if let newValue {
        names.append(name.text)
        values.append(newValue)
      } else {
        return
      }
      // A merge of two records may have more fields than either was allowed to.
      self = ListRecord(layout: RecordLayout(uniqueNames: names), values: values)
    }
  }
}

extension ListRecord: JSONWritable, CustomStringConvertible {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      for offset in values.indices { json.field(layout.names[offset], values[offset]) }
    }
  }

  /// The record as a JSON object.
  public var description: String {
    var json = JSONWriter()
    json.write(self)
    return String(decoding: json.bytes, as: UTF8.self)
  }
}
