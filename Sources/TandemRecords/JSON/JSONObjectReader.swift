/// Reads JSON objects as records.
struct JSONObjectReader {
  var cursor: JSONCursor

  private var shapes = FieldShapes()
  /// The fields read so far of the object that is being read.
  private var shape = FieldShapes.root
  /// Whether the last of these fields is not left yet.
  private var isInsideField = false
  private var lastFieldCount = 0
  private let maxRecordByteCount: Int

  init(_ bytes: UnsafeRawBufferPointer, _ limits: RecordLimits) {
    cursor = JSONCursor(bytes, maxNestingDepth: limits.maxNestingDepth)
    maxRecordByteCount = limits.maxRecordByteCount
  }

  /// The field whose value is being read, if one is.
  var fieldName: String? { isInsideField ? shapes.name(of: shape) : nil }

  /// The object that starts at the cursor, which then stands behind it and white space after it.
  ///
  /// That white space does not count as the record's.
  mutating func record() throws(TextFault) -> Record {
    try requireObject()
    let start = cursor.index
    shapes.startObject()
    shape = FieldShapes.root
    let values = try values()
    guard cursor.index - start <= maxRecordByteCount else {
      throw TextFault(
        .limitExceeded, "the record has more than \(maxRecordByteCount) bytes", at: start)
    }
    let record = Record(uncheckedLayout: shapes.layout(of: shape), values: values)
    lastFieldCount = values.count
    cursor.skipSpace()
    return record
  }

  @inline(__always)
  private mutating func values() throws(TextFault) -> [FieldValue] {
    var values: [FieldValue] = []
    try cursor.skip(ASCII.openBrace, "\"{\"")
    if cursor.byte == ASCII.closeBrace {
      cursor.index &+= 1
      return values
    }
    values.reserveCapacity(max(lastFieldCount, 1))
    repeat {
      try readName()
      values.append(try value())
      cursor.skipSpace()
    } while try cursor.goesOn(until: ASCII.closeBrace, "\",\" or \"}\"")
    isInsideField = false
    return values
  }

  /// Goes behind a field's name and its colon.
  @inline(__always)
  private mutating func readName() throws(TextFault) {
    isInsideField = false
    guard cursor.byte == ASCII.quote else { throw cursor.unexpected("a field name in quotes") }
    let nameStart = cursor.index &+ 1
    if let child = shapes.child(of: shape, in: cursor.bytes, from: nameStart, to: cursor.end) {
      cursor.index = nameStart &+ child.nameCount &+ 1
      shape = child.shape
    } else {
      try readUnseenName()
    }
    isInsideField = true
    cursor.skipSpace()
    try cursor.skip(ASCII.colon, "\":\"")
  }

  @inline(never)
  private mutating func readUnseenName() throws(TextFault) {
    let start = cursor.index
    let name = try cursor.string()
    guard shapes.fieldCount(of: shape) < RecordLayout.maxFieldCount else {
      throw TextFault(
        .limitExceeded, "the record has more than \(RecordLayout.maxFieldCount) fields", at: start)
    }
    guard let child = shapes.child(of: shape, named: name) else {
      throw TextFault(
        .duplicateField, "the record names the field \(FieldValue.text(name)) twice", at: start)
    }
    shape = child
  }

  /// The value of a field, at the cursor, which then stands behind it.
  @inline(__always)
  mutating func value() throws(TextFault) -> FieldValue {
    switch cursor.byte {
    case ASCII.quote: return .text(try cursor.string())
    case ASCII.minus, ASCII.digits?: return try number()
    default: return try rareValue()
    }
  }

  private mutating func rareValue() throws(TextFault) -> FieldValue {
    switch cursor.byte {
    case UInt8(ascii: "t"):
      try cursor.skipLiteral("true", "\"true\"")
      return .integer(1)
    case UInt8(ascii: "f"):
      try cursor.skipLiteral("false", "\"false\"")
      return .integer(0)
    case UInt8(ascii: "n"):
      try cursor.skipLiteral("null", "\"null\"")
      return .null
    case ASCII.openBrace, ASCII.openBracket: return .text(try cursor.nestedText())
    default: throw cursor.unexpected("a value")
    }
  }

  @inline(__always)
  private mutating func number() throws(TextFault) -> FieldValue {
    let literal = try cursor.number()
    if literal.isInteger {
      guard let integer = literal.integer(in: cursor.bytes) else { throw unfit(literal) }
      return .integer(integer)
    }
    let real = literal.real(in: cursor.bytes)
    guard real.isFinite else { throw unfit(literal) }
    return .real(real)
  }

  @inline(never)
  private func unfit(_ literal: DecimalLiteral) -> TextFault {
    let text = literal.text(in: cursor.bytes)
    let excerpt = text.utf8.count > 40 ? "\(text.prefix(37))…" : text
    let reason = literal.isInteger ? "does not fit 64 bits" : "is beyond the greatest double"
    return TextFault(
      .notRepresentable, "the number \(excerpt) \(reason)", at: literal.start)
  }

  /// Throws unless an object starts at the cursor.
  @inline(__always)
  private func requireObject() throws(TextFault) {
    if cursor.byte != ASCII.openBrace { throw notAnObject() }
  }

  @inline(never)
  private func notAnObject() -> TextFault {
    let found: String
    switch cursor.byte {
    case ASCII.quote: found = "a string"
    case ASCII.openBracket: found = "an array"
    case ASCII.minus, ASCII.digits?: found = "a number"
    case UInt8(ascii: "t"): found = "true"
    case UInt8(ascii: "f"): found = "false"
    case UInt8(ascii: "n"): found = "null"
    default: return cursor.unexpected("an object")
    }
    return TextFault(.notARecord, "expected an object, found \(found)", at: cursor.index)
  }
}
