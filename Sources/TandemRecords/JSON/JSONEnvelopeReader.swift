/// A list in one field of a JSON object, or of an object or array inside it, and everything beside the list.
package struct RecordEnvelope: Sendable {
  /// The list.
  package var records: PackedRecords
  /// The object without the list. An array around the list is an object here, with positions as names. Of an array
  /// or object that is too long to be kept beside a list (``maxMemberByteCount``), it has the beginning as a string.
  package var others: JSONValue

  /// The maximum number of bytes of an array or object beside the list: no cursor is as long.
  package static let maxMemberByteCount = 256 << 10
}

/// Reads a JSON object that has an array of objects in one of its fields, or in an object inside it. A position
/// is the name of an element: `1` is the list in `[{"total": 2}, [{}, {}]]`.
///
/// A list that is null has no records: some servers write an empty array so.
///
/// The list may also be an object of objects: `*` names the members of the object, and `data.*` those of
/// an object inside it. Each record gets the name of its member in the field ``memberField``.
///
/// It needs the whole text, unlike ``RecordStream``. Servers that put a list into an object mostly send
/// it in pages, so these texts are short.
struct JSONEnvelopeReader: RecordTextReader {
  private var objects: JSONObjectReader
  private let itemsField: String
  private(set) var recordNumber: Int?

  private var records: PackedRecords?
  /// The names of the members, if the list is an object.
  private(set) var memberNames: [String] = []
  private var seenMembers: Set<FieldName> = []
  private var memberLayouts: [ObjectIdentifier: (plain: RecordLayout, named: RecordLayout)] = [:]
  /// The paths to the values beside the list, in the order of the text.
  private var paths: [String] = []

  /// The field for the name of a member.
  static let memberField = "key"

  init(
    _ bytes: UnsafeRawBufferPointer, items field: String, _ limits: RecordLimits,
    keepsSpans: Bool = false
  ) {
    objects = JSONObjectReader(bytes, limits, keepsSpans: keepsSpans)
    itemsField = field
  }

  var fieldName: String? { objects.fieldName }
  var spans: [Range<Int>] { objects.spans ?? [] }

  mutating func readAll() throws(TextFault) -> RecordEnvelope {
    objects.cursor.skipSpace()
    let start = objects.cursor.index
    let others = try objects.cursor.byte == ASCII.openBracket ? elements(at: "") : fields(at: "")
    try objects.cursor.requireEnd()
    guard let records else { throw missingList(at: start) }
    return RecordEnvelope(records: records, others: .object(others))
  }
}

// MARK: - Around the list

extension JSONEnvelopeReader {
  /// Reads an object around the list, whose fields are called by this prefix and their names.
  private mutating func fields(at prefix: String) throws(TextFault) -> [String: JSONValue] {
    var fields: [String: JSONValue] = [:]
    let hasMembers = UTF8Order.areEqual(prefix + "*", itemsField)
    if hasMembers {
      guard records == nil else { throw repeatedField(at: objects.cursor.index) }
      records = PackedRecords()
    }
    guard try objects.cursor.openObject(expected: "an object with the list in it") else {
      return fields
    }
    repeat {
      if hasMembers {
        try readMember()
        continue
      }
      let start = objects.cursor.index
      let name = try objects.cursor.fieldName()
      guard let value = try value(at: prefix + name, from: start) else { continue }
      guard fields.updateValue(value, forKey: name) == nil,
        fields.count <= RecordLayout.maxFieldCount
      else { throw repeatedField(at: start) }
    } while try objects.cursor.hasNextField()
    if hasMembers { recordNumber = nil }
    return fields
  }

  /// Reads a member of an object of objects as a record.
  private mutating func readMember() throws(TextFault) {
    let start = objects.cursor.index
    let name = try objects.cursor.fieldName()
    guard seenMembers.insert(FieldName(name)).inserted else {
      throw TextFault(
        .duplicateField, "the object names the member \(FieldValue.text(name)) twice", at: start)
    }
    var list = PackedRecords()
    swap(&list, &self.list)
    defer { swap(&list, &self.list) }
    recordNumber = list.count + 1
    let layout = try objects.readObject(into: &list)
    list.append(.text(name))
    list.endRecord(try memberLayout(layout, at: start))
    memberNames.append(name)
  }

  private var list: PackedRecords {
    get { records ?? PackedRecords() }
    set { records = newValue }
  }

  /// A layout with the field for the name of the member.
  private mutating func memberLayout(
    _ layout: RecordLayout, at start: Int
  ) throws(TextFault) -> RecordLayout {
    if let known = memberLayouts[ObjectIdentifier(layout)] { return known.named }
    guard layout.offset(of: Self.memberField) == nil else {
      throw TextFault(
        .duplicateField,
        "the record has a field \"\(Self.memberField)\", which is to have the name of the member",
        at: start)
    }
    let named = RecordLayout(
      uniqueNames: layout.names + [Self.memberField], nestedOffsets: layout.nestedOffsets)
    memberLayouts[ObjectIdentifier(layout)] = (layout, named)
    return named
  }

  /// Reads an array around the list, if the path to the list has a position there.
  private mutating func elements(at prefix: String) throws(TextFault) -> [String: JSONValue] {
    let rest = itemsField.utf8.dropFirst(prefix.utf8.count)
    guard rest.first.map(ASCII.digits.contains) == true,
      rest.prefix(while: { $0 != ASCII.point }).allSatisfy(ASCII.digits.contains)
    else { throw objects.cursor.unexpected("an object with the list in it") }
    var elements: [String: JSONValue] = [:]
    guard try objects.cursor.openArray() else { return elements }
    var position = 0
    repeat {
      guard position < RecordLayout.maxFieldCount else {
        throw repeatedField(at: objects.cursor.index)
      }
      elements["\(position)"] = try value(
        at: "\(prefix)\(position)", from: objects.cursor.index)
      position += 1
    } while try objects.cursor.hasNextElement()
    return elements
  }

  /// Reads the value at a path; `nil` for the list.
  ///
  /// - Parameter start: The offset of the field, for errors.
  private mutating func value(at path: String, from start: Int) throws(TextFault) -> JSONValue? {
    if UTF8Order.areEqual(path, itemsField) {
      guard records == nil else { throw repeatedField(at: start) }
      records = try objects.list(&recordNumber)
      return nil
    }
    if UTF8Order.areEqual("\(path).*", itemsField), objects.cursor.byte != ASCII.openBrace {
      // Some servers write an object without members as an empty array.
      guard records == nil else { throw repeatedField(at: start) }
      records = try objects.list(&recordNumber)
      return nil
    }
    guard itemsField.utf8.starts(with: "\(path).".utf8) else {
      paths.append(path)
      return try objects.member()
    }
    switch objects.cursor.byte {
    case ASCII.openBrace: return .object(try fields(at: "\(path)."))
    case ASCII.openBracket: return .object(try elements(at: "\(path)."))
    default:
      paths.append(path)
      return try objects.member()
    }
  }

  private func missingList(at start: Int) -> TextFault {
    let list = paths.prefix(10).map { "\(FieldValue.text($0))" }.joined(separator: ", ")
    return TextFault(
      .malformed,
      "the object has no field \(FieldValue.text(itemsField)) with the list; it has "
        + (paths.isEmpty ? "none" : list),
      at: start)
  }

  private func repeatedField(at offset: Int) -> TextFault {
    TextFault(
      .duplicateField,
      "the object names a field twice, or more than \(RecordLayout.maxFieldCount) fields",
      at: offset)
  }
}

extension JSONObjectReader {
  /// Reads an array of objects, or null for one without any. `recordNumber` counts them from 1, and is `nil` after
  /// the last one.
  fileprivate mutating func list(_ recordNumber: inout Int?) throws(TextFault) -> PackedRecords {
    var records = PackedRecords()
    if cursor.byte == UInt8(ascii: "n") {
      try cursor.skipLiteral("null", "an array of objects")
      return records
    }
    guard try cursor.openArray(expected: "an array of objects") else { return records }
    repeat {
      recordNumber = records.count + 1
      records.endRecord(try readObject(into: &records))
    } while try cursor.hasNextElement()
    recordNumber = nil
    return records
  }

  /// Reads a value beside the list.
  fileprivate mutating func member() throws(TextFault) -> JSONValue {
    let start = cursor.index
    if cursor.byte == ASCII.openBrace || cursor.byte == ASCII.openBracket {
      try cursor.skipValue()
      guard cursor.index - start <= RecordEnvelope.maxMemberByteCount else {
        let beginning = UnsafeRawBufferPointer(rebasing: cursor.bytes[start..<(start + 100)])
        return .string(String(decoding: beginning, as: UTF8.self))
      }
      cursor.index = start
    }
    return try cursor.value()
  }
}
