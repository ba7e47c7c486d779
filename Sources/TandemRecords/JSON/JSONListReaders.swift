/// Reads a JSON array of objects.
struct JSONArrayReader: RecordTextReader {
  private var objects: JSONObjectReader
  private(set) var recordNumber: Int?

  init(_ bytes: UnsafeRawBufferPointer, _ limits: RecordLimits) {
    objects = JSONObjectReader(bytes, limits)
    objects.cursor.index = ByteOrderMark.byteCount(in: bytes)
  }

  var fieldName: String? { objects.fieldName }

  mutating func readAll() throws(TextFault) -> [Record] {
    objects.cursor.skipSpace()
    if objects.cursor.byte == ASCII.openBrace { throw objectOutsideArray() }
    try objects.cursor.skip(ASCII.openBracket, "an array of objects")
    let records = try objects.elements(&recordNumber)
    objects.cursor.skipSpace()
    guard objects.cursor.byte == nil else {
      throw objects.cursor.unexpected("the end of the text")
    }
    return records
  }

  private func objectOutsideArray() -> TextFault {
    TextFault(
      .malformed, "expected an array of objects, found an object; one object per line is NDJSON",
      at: objects.cursor.index)
  }
}

extension JSONObjectReader {
  /// The objects of an array, behind whose opening bracket the cursor stands; then it stands behind
  /// the closing one.
  mutating func elements(_ recordNumber: inout Int?) throws(TextFault) -> [Record] {
    var records: [Record] = []
    if cursor.byte == ASCII.closeBracket {
      cursor.index += 1
      return records
    }
    repeat {
      recordNumber = records.count + 1
      records.append(try record())
    } while try cursor.goesOn(until: ASCII.closeBracket, "\",\" or \"]\"")
    recordNumber = nil
    return records
  }
}

/// Reads JSON objects, each on a line of its own.
struct NDJSONReader: RecordTextReader {
  private var objects: JSONObjectReader
  private var records: [Record] = []
  private(set) var recordNumber: Int? = 1

  init(_ bytes: UnsafeRawBufferPointer, _ limits: RecordLimits) {
    objects = JSONObjectReader(bytes, limits)
    objects.cursor.index = ByteOrderMark.byteCount(in: bytes)
  }

  var fieldName: String? { objects.fieldName }

  mutating func readAll() throws(TextFault) -> [Record] {
    let bytes = objects.cursor.bytes
    while objects.cursor.index < bytes.count {
      let rest = bytes[objects.cursor.index...]
      let lineFeed = rest.firstIndex(of: ASCII.lineFeed)
      objects.cursor.end = lineFeed ?? bytes.count
      try readLine()
      if lineFeed != nil { recordNumber = records.count + 1 }
      objects.cursor.index = objects.cursor.end + 1
    }
    return records
  }

  private mutating func readLine() throws(TextFault) {
    objects.cursor.skipSpace()
    guard objects.cursor.byte != nil else { return }
    let record = try objects.record()
    guard objects.cursor.byte == nil else {
      throw objects.cursor.unexpected("the end of the line")
    }
    records.append(record)
  }
}
