/// A list inside an object, and what the object says beside it.
package struct RecordEnvelope: Sendable {
  /// The list.
  package var records: [Record]
  /// The object's other fields.
  package var others: Record
}

/// Reads a JSON object that has an array of objects in one of its fields.
struct JSONEnvelopeReader: RecordTextReader {
  private var objects: JSONObjectReader
  private let itemsField: String
  private(set) var recordNumber: Int?

  private var records: [Record]?
  private var names: [String] = []
  private var values: [FieldValue] = []

  init(_ bytes: UnsafeRawBufferPointer, items field: String, _ limits: RecordLimits) {
    objects = JSONObjectReader(bytes, limits)
    objects.cursor.index = ByteOrderMark.byteCount(in: bytes)
    itemsField = field
  }

  var fieldName: String? { objects.fieldName }

  mutating func readAll() throws(TextFault) -> RecordEnvelope {
    objects.cursor.skipSpace()
    let start = objects.cursor.index
    try objects.cursor.skip(ASCII.openBrace, "an object with the list in it")
    if objects.cursor.byte == ASCII.closeBrace {
      objects.cursor.index += 1
    } else {
      repeat {
        try readField()
        objects.cursor.skipSpace()
      } while try objects.cursor.goesOn(until: ASCII.closeBrace, "\",\" or \"}\"")
    }
    objects.cursor.skipSpace()
    guard objects.cursor.byte == nil else {
      throw objects.cursor.unexpected("the end of the text")
    }
    return try envelope(at: start)
  }

  private mutating func readField() throws(TextFault) {
    let start = objects.cursor.index
    guard objects.cursor.byte == ASCII.quote else {
      throw objects.cursor.unexpected("a field name in quotes")
    }
    let name = try objects.cursor.string()
    objects.cursor.skipSpace()
    try objects.cursor.skip(ASCII.colon, "\":\"")
    guard UTF8Order.areEqual(name, itemsField) else {
      names.append(name)
      values.append(try objects.value())
      return
    }
    guard records == nil else { throw repeatedField(at: start) }
    try objects.cursor.skip(ASCII.openBracket, "an array of objects")
    records = try objects.elements(&recordNumber)
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
