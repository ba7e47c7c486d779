/// A place in a JSON text, and the tokens (RFC 8259) that can be read from there.
///
/// The text is known to be UTF-8. Every function that reads a token leaves the cursor behind it.
struct JSONCursor {
  let bytes: UnsafeRawBufferPointer
  /// The place.
  var index = 0
  /// Where the text ends, or the part of it that is being read.
  var end: Int
  /// How deep arrays and objects may nest where ``nestedText()`` reads them.
  let maxNestingDepth: Int
  /// What decoded texts are put together in.
  var scratch: [UInt8] = []

  init(_ bytes: UnsafeRawBufferPointer, maxNestingDepth: Int) {
    self.bytes = bytes
    self.maxNestingDepth = maxNestingDepth
    end = bytes.count
  }

  /// The byte at the place, or `nil` at the end.
  @inline(__always)
  var byte: UInt8? { index < end ? bytes[index] : nil }

  @inline(__always)
  mutating func skipSpace() {
    while index < end, ASCII.isSpace(bytes[index]) { index &+= 1 }
  }

  /// Goes behind `byte` and white space after it; `expected` says in an error what should be here.
  @inline(__always)
  mutating func skip(_ byte: UInt8, _ expected: StaticString) throws(TextFault) {
    guard self.byte == byte else { throw unexpected(expected) }
    index &+= 1
    skipSpace()
  }

  /// After an element of an array or object: whether a comma announces another one, at which the
  /// cursor then stands. If not, it stands behind the closed list.
  @inline(__always)
  mutating func goesOn(until closer: UInt8, _ expected: StaticString) throws(TextFault) -> Bool {
    guard byte != ASCII.comma else {
      try skip(ASCII.comma, "\",\"")
      return true
    }
    guard byte == closer else { throw unexpected(expected) }
    index &+= 1
    return false
  }

  /// Goes behind a literal name such as `true`.
  mutating func skipLiteral(_ literal: StaticString, _ expected: StaticString) throws(TextFault) {
    for offset in 0..<literal.utf8CodeUnitCount {
      guard byte == literal.utf8Start[offset] else { throw unexpected(expected) }
      index &+= 1
    }
  }

  /// Goes behind a number.
  @inline(__always)
  mutating func number() throws(TextFault) -> DecimalLiteral {
    let literal = DecimalLiteral(bytes, from: index, to: end)
    index = literal.end
    guard literal.isComplete else { throw unexpected("a digit") }
    return literal
  }
}

extension JSONCursor {
  /// Says that something else stands here than what should, or nothing.
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
