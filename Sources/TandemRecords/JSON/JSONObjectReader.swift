/// Reads JSON objects as records.
package struct JSONObjectReader {
  package var cursor: JSONCursor

  private var shapes = FieldShapes()
  /// The fields of the current object that were read so far.
  private var shape = FieldShapes.root
  /// True while the value of the last of these fields is read.
  private var isInsideField = false
  private var lastFieldCount = 0
  /// The offsets of the arrays and objects in the current object.
  private var nestedOffsets: [Int] = []
  private var nestedLayouts = NestedLayouts()
  let maxRecordByteCount: Int
  /// The ranges of the records read so far, if the caller asked for them.
  private(set) var spans: [Range<Int>]?

  /// A reader of the objects in a text of valid UTF-8, from its start on, behind a byte order mark.
  package init(
    _ bytes: UnsafeRawBufferPointer, _ limits: RecordLimits, keepsSpans: Bool = false
  ) {
    cursor = JSONCursor(bytes, maxNestingDepth: limits.maxNestingDepth)
    cursor.index = ByteOrderMark.byteCount(in: bytes)
    maxRecordByteCount = max(0, limits.maxRecordByteCount)
    spans = keepsSpans ? [] : nil
  }

  /// The field whose value is being read; `nil` between fields.
  var fieldName: String? { isInsideField ? shapes.name(of: shape) : nil }

  /// Reads an object and skips the white space after it, which does not count against the limit. Its
  /// values are added to a record that is begun, and not ended.
  ///
  /// Reads no byte beyond the limit, so that the outcome does not depend on the text behind it.
  @inline(__always)
  mutating func readObject(
    into records: inout some RecordBuilder
  ) throws(TextFault) -> RecordLayout {
    try requireObject()
    let start = cursor.index
    let textEnd = cursor.end
    if textEnd &- start > maxRecordByteCount { cursor.end = start &+ maxRecordByteCount }
    let layout: RecordLayout
    do throws(TextFault) {
      layout = try object(into: &records)
    } catch {
      throw error.offset >= cursor.end && cursor.end < textEnd ? tooLong(at: start) : error
    }
    spans?.append(start..<cursor.index)
    cursor.end = textEnd
    cursor.skipSpace()
    return layout
  }

  @inline(never)
  private mutating func object(
    into records: inout some RecordBuilder
  ) throws(TextFault) -> RecordLayout {
    shapes.startObject()
    shape = FieldShapes.root
    if !nestedOffsets.isEmpty { nestedOffsets.removeAll(keepingCapacity: true) }
    records.beginRecord(likelyCount: lastFieldCount)
    try readFields(into: &records)
    lastFieldCount = shapes.fieldCount(of: shape)
    let layout = shapes.layout(of: shape)
    return nestedOffsets.isEmpty ? layout : nestedLayouts.layout(layout, nested: nestedOffsets)
  }

  @inline(never)
  private mutating func tooLong(at start: Int) -> TextFault {
    isInsideField = false
    return TextFault(
      .limitExceeded, "the record has more than \(maxRecordByteCount) bytes", at: start)
  }

  @inline(__always)
  private mutating func readFields(into records: inout some RecordBuilder) throws(TextFault) {
    guard try cursor.openObject() else { return }
    repeat {
      try readName()
      if cursor.byte == ASCII.quote {
        try cursor.withString { records.append(text: $0) }
      } else {
        records.append(try value())
      }
    } while try cursor.hasNextField()
    isInsideField = false
  }

  /// Reads a field's name, as the next step of the shape, and moves to its value.
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

  /// Reads the value of a field.
  @inline(__always)
  package mutating func value() throws(TextFault) -> FieldValue {
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
    case ASCII.openBrace, ASCII.openBracket:
      nestedOffsets.append(shapes.fieldCount(of: shape) - 1)
      return .text(try cursor.nestedText())
    default: throw cursor.unexpected("a value")
    }
  }

  @inline(__always)
  private mutating func number() throws(TextFault) -> FieldValue {
    let literal = try cursor.number()
    if literal.isInteger {
      if let integer = literal.integer(in: cursor.bytes) { return .integer(integer) }
    } else if let real = literal.exactReal(in: cursor.bytes) {
      return .real(real)
    }
    return .text(literal.text(in: cursor.bytes))
  }

  /// Throws if the value at the cursor is not an object.
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

/// The layouts of objects that have arrays or objects in their fields, so that those with the same ones
/// share one.
private struct NestedLayouts {
  private struct Key: Hashable {
    let layout: ObjectIdentifier
    let nestedOffsets: [Int]
  }

  private static let maxCount = 8_192

  /// The layouts, each with the one it is made of, whose identity must last.
  private var layouts: [Key: (plain: RecordLayout, nested: RecordLayout)] = [:]
  private var last: (plain: RecordLayout, nested: RecordLayout)?

  /// Returns `layout` with nested values at the given offsets.
  mutating func layout(_ layout: RecordLayout, nested offsets: [Int]) -> RecordLayout {
    if let last, last.plain === layout, last.nested.nestedOffsets == offsets { return last.nested }
    let key = Key(layout: ObjectIdentifier(layout), nestedOffsets: offsets)
    let pair =
      layouts[key]
      ?? (layout, RecordLayout(uniqueNames: layout.names, nestedOffsets: offsets))
    if layouts.count >= Self.maxCount { layouts.removeAll() }
    layouts[key] = pair
    last = pair
    return pair.nested
  }
}
