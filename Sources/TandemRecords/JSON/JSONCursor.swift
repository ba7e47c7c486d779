/// A position in a JSON text (RFC 8259), and the functions that read the tokens and values there.
///
/// All JSON that Tandem reads goes through this type: lists of records, single values, and the
/// positions of values in a text that a merge changes in place. The text must be valid UTF-8
/// (``UTF8Validation``). Apart from that, any bytes either decode or throw a ``TextFault`` with
/// their offset. Every reading function leaves the cursor after the token or value that it read.
///
/// ```swift
/// guard try cursor.openObject() else { return }
/// repeat {
///   let name = try cursor.fieldName()
///   fields[name] = try cursor.value()
/// } while try cursor.hasNextField()
/// ```
package struct JSONCursor {
  let bytes: UnsafeRawBufferPointer
  /// The offset of the cursor in bytes.
  package internal(set) var index = 0
  /// The offset at which reading stops: the end of the text, or of a line in it.
  var end: Int
  /// The maximum number of arrays and objects inside each other.
  let maxNestingDepth: Int
  /// A buffer for decoded strings.
  var scratch: [UInt8] = []

  /// A cursor at the start of a text. The bytes must stay valid while the cursor is used.
  package init(_ bytes: UnsafeRawBufferPointer, maxNestingDepth: Int) {
    self.bytes = bytes
    self.maxNestingDepth = maxNestingDepth
    end = bytes.count
  }

  /// The byte at the cursor, or `nil` at the end.
  @inline(__always)
  package var byte: UInt8? { index < end ? bytes[index] : nil }

  /// Skips white space.
  @inline(__always)
  package mutating func skipSpace() {
    while index < end, ASCII.isSpace(bytes[index]) { index &+= 1 }
  }

  /// Skips white space, and throws if anything else follows it.
  package mutating func requireEnd() throws(TextFault) {
    skipSpace()
    guard byte == nil else { throw unexpected("the end of the text") }
  }

  /// Skips `byte` and the white space after it. An error names `expected`.
  @inline(__always)
  mutating func skip(_ byte: UInt8, _ expected: StaticString) throws(TextFault) {
    guard self.byte == byte else { throw unexpected(expected) }
    index &+= 1
    skipSpace()
  }

  /// Skips a literal name such as `true`.
  mutating func skipLiteral(_ literal: StaticString, _ expected: StaticString) throws(TextFault) {
    for offset in 0..<literal.utf8CodeUnitCount {
      guard byte == literal.utf8Start[offset] else { throw unexpected(expected) }
      index &+= 1
    }
  }

  /// Reads a number.
  @inline(__always)
  mutating func number() throws(TextFault) -> DecimalLiteral {
    let literal = DecimalLiteral(bytes, from: index, to: end)
    index = literal.end
    guard literal.isComplete else { throw unexpected("a digit") }
    return literal
  }
}

// MARK: - Arrays and objects

extension JSONCursor {
  /// Moves to the first element of an array; returns `false`, behind the array, if it is empty.
  @inline(__always)
  package mutating func openArray(expected: StaticString = "\"[\"") throws(TextFault) -> Bool {
    try skip(ASCII.openBracket, expected)
    return !skipCloser(ASCII.closeBracket)
  }

  /// Moves to the first name of an object; returns `false`, behind the object, if it is empty.
  @inline(__always)
  package mutating func openObject(expected: StaticString = "\"{\"") throws(TextFault) -> Bool {
    try skip(ASCII.openBrace, expected)
    return !skipCloser(ASCII.closeBrace)
  }

  /// Moves from the end of an element to the next one; returns `false`, behind the array, if that
  /// was the last one.
  @inline(__always)
  package mutating func hasNextElement() throws(TextFault) -> Bool {
    skipSpace()
    guard byte != ASCII.comma else {
      try skip(ASCII.comma, "\",\"")
      return true
    }
    guard skipCloser(ASCII.closeBracket) else { throw unexpected("\",\" or \"]\"") }
    return false
  }

  /// Moves from the end of a field's value to the next name; returns `false`, behind the object, if
  /// that was the last field.
  @inline(__always)
  package mutating func hasNextField() throws(TextFault) -> Bool {
    skipSpace()
    guard byte != ASCII.comma else {
      try skip(ASCII.comma, "\",\"")
      return true
    }
    guard skipCloser(ASCII.closeBrace) else { throw unexpected("\",\" or \"}\"") }
    return false
  }

  /// Reads a field's name and moves to its value.
  @inline(__always)
  package mutating func fieldName() throws(TextFault) -> String {
    guard byte == ASCII.quote else { throw unexpected("a field name in quotes") }
    let name = try string()
    skipSpace()
    try skip(ASCII.colon, "\":\"")
    return name
  }

  @inline(__always)
  private mutating func skipCloser(_ closer: UInt8) -> Bool {
    guard byte == closer else { return false }
    index &+= 1
    return true
  }
}

// MARK: - Faults

extension JSONCursor {
  /// A fault at the cursor that names the expected token and the one found.
  @inline(never)
  func unexpected(_ expected: StaticString) -> TextFault {
    guard let byte else {
      let part = end < bytes.count ? "line" : "text"
      return TextFault(.malformed, "the \(part) ends too early, before \(expected)", at: index)
    }
    return TextFault(.malformed, "expected \(expected), found \(name(of: byte))", at: index)
  }

  private func name(of byte: UInt8) -> String {
    switch byte {
    case ASCII.quote: return "a quote"
    case 0x21..<0x7F: return "\"\(Character(UnicodeScalar(byte)))\""
    case ASCII.lineFeed, ASCII.carriageReturn: return "the end of the line"
    default: return "the byte \(byte)"
    }
  }
}
