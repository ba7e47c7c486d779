/// A list in one field of a JSON object, or of an object inside it, and the other fields of these objects.
package struct RecordEnvelope: Sendable {
  /// The list.
  package var records: PackedRecords
  /// The other fields. Those of an object inside another are called by the path to them, as `data.next`.
  package var others: Record
}

/// Reads a JSON object that has an array of objects in one of its fields, or in an object inside it.
///
/// It needs the whole text, unlike ``RecordStream``. Servers that put a list into an object mostly send
/// it in pages, so these texts are short.
struct JSONEnvelopeReader: RecordTextReader {
  private var objects: JSONObjectReader
  private let itemsField: String
  private(set) var recordNumber: Int?

  private var records: PackedRecords?
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
    guard try objects.cursor.openObject(expected: expected) else { return }
    repeat { try readField(after: prefix) } while try objects.cursor.hasNextField()
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
