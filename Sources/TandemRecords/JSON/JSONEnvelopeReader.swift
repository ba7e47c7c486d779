/// A list in one field of a JSON object, or of an object inside it, and the other fields of these objects.
package struct RecordEnvelope: Sendable {
  /// The list.
  package var records: PackedRecords
  /// The other fields. Those of an object inside another are called by the path to them, as `data.next`.
  package var others: Record
}

/// Reads a JSON object that has an array of objects in one of its fields, or in an object inside it.
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
  private var memberLayouts: [ObjectIdentifier: (plain: RecordLayout, named: RecordLayout)] = [:]

  /// The field for the name of a member.
  static let memberField = "key"
  private var names: [String] = []
  private var values: [FieldValue] = []

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
    try readObject(at: "", expected: "an object with the list in it")
    try objects.cursor.requireEnd()
    return try envelope(at: start)
  }

  /// Reads an object whose fields are called by this prefix and their names.
  private mutating func readObject(
    at prefix: String, expected: StaticString
  ) throws(TextFault) {
    let hasMembers = UTF8Order.areEqual(prefix + "*", itemsField)
    if hasMembers {
      guard records == nil else { throw repeatedField(at: objects.cursor.index) }
      records = PackedRecords()
    }
    guard try objects.cursor.openObject(expected: expected) else { return }
    repeat {
      if hasMembers { try readMember() } else { try readField(after: prefix) }
    } while try objects.cursor.hasNextField()
    if hasMembers { recordNumber = nil }
  }

  /// Reads a member of an object of objects as a record.
  private mutating func readMember() throws(TextFault) {
    let start = objects.cursor.index
    let name = try objects.cursor.fieldName()
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

  private mutating func readField(after prefix: String) throws(TextFault) {
    let start = objects.cursor.index
    let name = prefix + (try objects.cursor.fieldName())
    if UTF8Order.areEqual(name, itemsField) {
      guard records == nil else { throw repeatedField(at: start) }
      records = try objects.array(&recordNumber)
    } else if objects.cursor.byte == ASCII.openBrace, itemsField.utf8.starts(with: "\(name).".utf8)
    {
      try readObject(at: "\(name).", expected: "an object with the list in it")
    } else {
      names.append(name)
      values.append(try objects.value())
    }
  }

  private func envelope(at start: Int) throws(TextFault) -> RecordEnvelope {
    guard let layout = RecordLayout(names) else { throw repeatedField(at: start) }
    guard let records else {
      let list = names.prefix(10).map { "\(FieldValue.text($0))" }.joined(separator: ", ")
      throw TextFault(
        .malformed,
        "the object has no field \(FieldValue.text(itemsField)) with the list; it has "
          + (names.isEmpty ? "none" : list),
        at: start)
    }
    return RecordEnvelope(
      records: records, others: Record(uncheckedLayout: layout, values: values))
  }

  private func repeatedField(at offset: Int) -> TextFault {
    TextFault(
      .duplicateField,
      "the object names a field twice, or more than \(RecordLayout.maxFieldCount) fields",
      at: offset)
  }
}

extension JSONObjectReader {
  /// Reads an array of objects. `recordNumber` counts them from 1, and is `nil` after the last one.
  fileprivate mutating func array(_ recordNumber: inout Int?) throws(TextFault) -> PackedRecords {
    var records = PackedRecords()
    guard try cursor.openArray(expected: "an array of objects") else { return records }
    repeat {
      recordNumber = records.count + 1
      records.endRecord(try readObject(into: &records))
    } while try cursor.hasNextElement()
    recordNumber = nil
    return records
  }
}
