extension JSONCursor {
  /// Calls `body` once with a cursor at the one value of a text (RFC 8259).
  ///
  /// It is not generic: the types of a generic function that another module calls are looked up at run
  /// time, which takes longer than reading a short text.
  ///
  /// - Throws: The fault that `body` throws; ``TextFault`` if the bytes are not UTF-8, or if
  ///   anything follows the value that `body` reads.
  package static func read(
    _ text: [UInt8], maxNestingDepth: Int, _ body: (inout JSONCursor) throws(TextFault) -> Void
  ) throws(TextFault) {
    var fault: TextFault?
    text.withUnsafeBytes { bytes in
      fault = UTF8Validation(bytes).fault
      guard fault == nil else { return }
      var cursor = JSONCursor(bytes, maxNestingDepth: maxNestingDepth)
      do throws(TextFault) {
        cursor.skipSpace()
        try body(&cursor)
        try cursor.requireEnd()
      } catch {
        fault = error
      }
    }
    if let fault { throw fault }
  }

  /// Reads an integer.
  package mutating func integer() throws(TextFault) -> Int {
    let start = index
    guard case .integer(let number) = try exactValue() else {
      throw TextFault(.notRepresentable, "expected an integer", at: start)
    }
    guard let integer = Int(exactly: number) else {
      throw TextFault(.notRepresentable, "the number \(number) is out of range", at: start)
    }
    return integer
  }

  /// Reads a value in the form in which ``JSONWriter`` writes a ``FieldValue``, without any loss:
  /// the type is the same, and a blob, an infinity and a NaN are read back.
  ///
  /// `true`, `false`, arrays and other objects are faults: a value of a field is never one of them.
  package mutating func exactValue() throws(TextFault) -> FieldValue {
    switch byte {
    case ASCII.quote: return .text(try string())
    case ASCII.minus, ASCII.digits?: return try exactNumber()
    case UInt8(ascii: "n"):
      try skipLiteral("null", "\"null\"")
      return .null
    case ASCII.openBrace: return try taggedValue()
    default: throw unexpected("a number, a string, null, or an object with a blob or a real")
    }
  }

  private mutating func exactNumber() throws(TextFault) -> FieldValue {
    let literal = try number()
    if literal.isInteger {
      guard let integer = literal.integer(in: bytes) else {
        throw TextFault(
          .notRepresentable, "the integer does not fit 64 bits", at: literal.start)
      }
      return .integer(integer)
    }
    let real = literal.real(in: bytes)
    guard real.isFinite else {
      throw TextFault(
        .notRepresentable, "the number is beyond the greatest double", at: literal.start)
    }
    return .real(real)
  }

  /// Reads `{"blob":"…"}` or `{"real":"…"}`.
  private mutating func taggedValue() throws(TextFault) -> FieldValue {
    let start = index
    guard try openObject() else {
      throw TextFault(.malformed, "expected an object with a blob or a real", at: start)
    }
    let name = try fieldName()
    let contentStart = index
    let content = try string()
    guard try !hasNextField() else {
      throw TextFault(.malformed, "an object for a value has exactly one field", at: index)
    }
    switch (name, content) {
    case ("real", "nan"): return .real(.nan)
    case ("real", "inf"): return .real(.infinity)
    case ("real", "-inf"): return .real(-.infinity)
    case ("real", _):
      throw TextFault(
        .malformed, "a real in an object is \"nan\", \"inf\" or \"-inf\"", at: contentStart)
    case ("blob", _):
      guard let blob = [UInt8](base64: content) else {
        throw TextFault(.malformed, "a blob is not in Base64 with padding", at: contentStart)
      }
      return .blob(blob)
    default:
      throw TextFault(.malformed, "an object for a value names a blob or a real", at: start)
    }
  }
}
