internal import TandemRecords

extension SyncMessageReading {
  /// Reads an object of fields with exact values.
  mutating func record() throws(TextFault) -> Record {
    let start = cursor.index
    // Most records have the names of the one before, in the same order: none are collected then.
    let expected = lastLayout.names
    var names: [String]?
    var values: [FieldValue] = []
    values.reserveCapacity(expected.count)
    if try cursor.openObject() {
      repeat {
        let count = values.count
        guard count < SyncLimits.maxColumnCount else {
          throw TextFault(
            .limitExceeded, "the record has more than \(SyncLimits.maxColumnCount) fields",
            at: cursor.index)
        }
        let name = try cursor.fieldName()
        if names != nil {
          names?.append(name)
        } else if count == expected.count || !UTF8Order.areEqual(expected[count], name) {
          names = expected[..<count] + [name]
        }
        values.append(try cursor.exactValue())
      } while try cursor.hasNextField()
    }
    if names == nil, values.count < expected.count { names = Array(expected[..<values.count]) }
    if let names {
      guard let layout = RecordLayout(names) else {
        throw TextFault(.duplicateField, "the record names a field twice", at: start)
      }
      lastLayout = layout
    }
    return Record(uncheckedLayout: lastLayout, values: values)
  }

  /// Reads the values of a key.
  mutating func id() throws(TextFault) -> [FieldValue] {
    try array(SyncLimits.maxColumnCount) { (reading) throws(TextFault) in
      try reading.cursor.exactValue()
    }
  }

  /// Throws if the part of the message since `start` is longer than a record may be.
  func checkRecordLength(from start: Int) throws(TextFault) {
    guard cursor.index - start <= limits.maxRecordByteCount else {
      throw TextFault(
        .limitExceeded, "the record has more than \(limits.maxRecordByteCount) bytes", at: start)
    }
  }
}

/// The fields `table` and `id`.
struct KeyFields {
  private var table: String?
  private var id: [FieldValue]?
  private var idByteCount = 0

  /// Reads the value of a field; throws if the object has no such field.
  mutating func read(
    _ field: MessageField, from reading: inout SyncMessageReading
  ) throws(TextFault) {
    switch field.name {
    case "table": try field.set(&table, try reading.cursor.string())
    case "id":
      let start = reading.cursor.index
      try field.set(&id, try reading.id())
      idByteCount = reading.cursor.index - start
    default: throw field.unknown()
    }
  }

  /// The key; throws if one of the fields is missing, or if the key is too long.
  func key(_ start: Int) throws(TextFault) -> SyncKey {
    let key = SyncKey(
      table: try required(table, "table", start), id: try required(id, "id", start))
    // No encoding is three times as long as the text; computing its length takes longer than this.
    let isShort = 3 * idByteCount + key.table.utf8.count < SyncLimits.maxKeyByteCount - 16
    guard isShort || RecordEncoding.byteCount(of: key) <= SyncLimits.maxKeyByteCount else {
      throw TextFault(
        .limitExceeded, "the key has more than \(SyncLimits.maxKeyByteCount) bytes", at: start)
    }
    return key
  }
}

// MARK: - Writing

extension SyncKey {
  /// Writes the fields `table` and `id` into the object that is open.
  func writeFields(to json: inout JSONWriter) {
    json.field("table", table)
    json.field("id", id)
  }
}
