public import TandemDifferences

/// Writes values, records and differences as JSON (RFC 8259), in UTF-8 and without white space.
///
/// What JSON has no word for becomes an object with one field: `{"blob":"3q2+7w=="}` in Base64
/// (RFC 4648), `{"real":"inf"}`, `{"real":"-inf"}`, `{"real":"nan"}`. Everything else comes back
/// from ``RecordReader`` as it was.
public enum RecordWriter {
  /// Appends a value.
  ///
  /// An integer has neither point nor exponent; a real has one of them, and as few digits as bring
  /// it back exactly. In a text, quotes, backslashes and control characters are escaped, and nothing
  /// else; a text that holds JSON stays a text.
  ///
  /// - Complexity: O(*n*) in the bytes of the value.
  public static func appendJSON(_ value: FieldValue, to bytes: inout [UInt8]) {
    switch value {
    case .null: bytes.append("null")
    case .integer(let number): bytes.append(decimal: number)
    case .real(let number): append(number, to: &bytes)
    case .text(let text): bytes.append(quoted: text)
    case .blob(let blob):
      bytes.append("{\"blob\":\"")
      bytes.append(base64: blob)
      bytes.append("\"}")
    }
  }

  /// Appends a record as an object, with its fields in the order of its layout.
  public static func appendJSON(_ record: Record, to bytes: inout [UInt8]) {
    bytes.append(ASCII.openBrace)
    for offset in record.values.indices {
      if offset > 0 { bytes.append(ASCII.comma) }
      bytes.append(quoted: record.layout.names[offset])
      bytes.append(ASCII.colon)
      appendJSON(record.values[offset], to: &bytes)
    }
    bytes.append(ASCII.closeBrace)
  }

  /// Appends a list of records as an array of objects.
  public static func appendJSON(_ records: [Record], to bytes: inout [UInt8]) {
    appendArray(records, to: &bytes) { appendJSON($0, to: &$1) }
  }

  /// Appends a difference as `{"inserted":[…],"updated":[{"old":…,"new":…}],"deleted":[…]}`, each
  /// list in its order.
  public static func appendJSON(_ difference: SetDifference<Record>, to bytes: inout [UInt8]) {
    bytes.append("{\"inserted\":")
    appendJSON(difference.inserted, to: &bytes)
    bytes.append(",\"updated\":")
    appendArray(difference.updated, to: &bytes) { update, bytes in
      bytes.append("{\"old\":")
      appendJSON(update.old, to: &bytes)
      bytes.append(",\"new\":")
      appendJSON(update.new, to: &bytes)
      bytes.append(ASCII.closeBrace)
    }
    bytes.append(",\"deleted\":")
    appendJSON(difference.deleted, to: &bytes)
    bytes.append(ASCII.closeBrace)
  }

  private static func appendArray<Element>(
    _ elements: [Element], to bytes: inout [UInt8],
    _ appendElement: (Element, inout [UInt8]) -> Void
  ) {
    bytes.append(ASCII.openBracket)
    for offset in elements.indices {
      if offset > 0 { bytes.append(ASCII.comma) }
      appendElement(elements[offset], &bytes)
    }
    bytes.append(ASCII.closeBracket)
  }

  private static func append(_ number: Double, to bytes: inout [UInt8]) {
    if number.isFinite {
      bytes.append(contentsOf: number.description.utf8)
    } else if number.isNaN {
      bytes.append("{\"real\":\"nan\"}")
    } else {
      bytes.append(number > 0 ? "{\"real\":\"inf\"}" : "{\"real\":\"-inf\"}")
    }
  }
}
