extension JSONCursor {
  /// Reads an array or object as text, without the white space outside its strings.
  ///
  /// Only its grammar is checked. Numbers keep all their digits, strings their escapes, and objects
  /// their fields, repeated ones included.
  mutating func nestedText() throws(TextFault) -> String {
    scratch.removeAll(keepingCapacity: true)
    var copiedEnd: Int? = index
    try skipValue(&copiedEnd)
    let start = copiedEnd ?? index
    if scratch.isEmpty { return String(decoding: bytes[start..<index], as: UTF8.self) }
    scratch.append(contentsOf: bytes[start..<index])
    return String(decoding: scratch, as: UTF8.self)
  }

  /// Skips a value of any kind. Checks its grammar, and its depth against the limit.
  package mutating func skipValue() throws(TextFault) {
    var copiedEnd: Int?
    try skipValue(&copiedEnd)
  }

  /// Reads the object at the cursor and returns the ranges of its values, in the order of its fields.
  mutating func valueSpans() throws(TextFault) -> [Range<Int>] {
    var spans: [Range<Int>] = []
    guard try openObject() else { return spans }
    repeat {
      _ = try fieldName()
      let start = index
      try skipValue()
      spans.append(start..<index)
    } while try hasNextField()
    return spans
  }

  /// Skips a value. If `copiedEnd` is not `nil`, the text from there on is appended to the scratch
  /// buffer up to the last white space, and `copiedEnd` moves behind that.
  private mutating func skipValue(_ copiedEnd: inout Int?) throws(TextFault) {
    var closers: [UInt8] = []
    repeat {
      try enterValue(&closers, &copiedEnd)
      try leaveValues(&closers, &copiedEnd)
    } while !closers.isEmpty
  }

  /// Skips a scalar or an empty array or object; of other ones, everything before the first scalar.
  private mutating func enterValue(_ closers: inout [UInt8], _ copiedEnd: inout Int?)
    throws(TextFault)
  {
    while let closer = closer(of: byte) {
      guard closers.count < maxNestingDepth else {
        throw TextFault(
          .limitExceeded, "arrays and objects nest deeper than \(maxNestingDepth)", at: index)
      }
      index += 1
      dropSpace(&copiedEnd)
      if byte == closer {
        index += 1
        return
      }
      closers.append(closer)
      if closer == ASCII.closeBrace { try skipName(&copiedEnd) }
    }
    try skipScalar()
  }

  /// After a value: closes the arrays and objects that end here, and moves to the next value if any.
  private mutating func leaveValues(_ closers: inout [UInt8], _ copiedEnd: inout Int?)
    throws(TextFault)
  {
    while let closer = closers.last {
      dropSpace(&copiedEnd)
      if byte == ASCII.comma {
        index += 1
        dropSpace(&copiedEnd)
        if closer == ASCII.closeBrace { try skipName(&copiedEnd) }
        return
      }
      guard byte == closer else {
        throw unexpected(closer == ASCII.closeBrace ? "\",\" or \"}\"" : "\",\" or \"]\"")
      }
      index += 1
      closers.removeLast()
    }
  }

  private func closer(of byte: UInt8?) -> UInt8? {
    switch byte {
    case ASCII.openBracket: return ASCII.closeBracket
    case ASCII.openBrace: return ASCII.closeBrace
    default: return nil
    }
  }

  /// Skips a name and its colon.
  private mutating func skipName(_ copiedEnd: inout Int?) throws(TextFault) {
    guard byte == ASCII.quote else { throw unexpected("a field name in quotes") }
    _ = try skipString()
    dropSpace(&copiedEnd)
    guard byte == ASCII.colon else { throw unexpected("\":\"") }
    index += 1
    dropSpace(&copiedEnd)
  }

  private mutating func skipScalar() throws(TextFault) {
    switch byte {
    case ASCII.quote: _ = try skipString()
    case UInt8(ascii: "t"): try skipLiteral("true", "\"true\"")
    case UInt8(ascii: "f"): try skipLiteral("false", "\"false\"")
    case UInt8(ascii: "n"): try skipLiteral("null", "\"null\"")
    case ASCII.minus, ASCII.digits?: _ = try number()
    default: throw unexpected("a value")
    }
  }

  /// Skips white space, after copying the text before it if `copiedEnd` is not `nil`.
  private mutating func dropSpace(_ copiedEnd: inout Int?) {
    guard let byte, ASCII.isSpace(byte) else { return }
    if let copied = copiedEnd { scratch.append(contentsOf: bytes[copied..<index]) }
    skipSpace()
    if copiedEnd != nil { copiedEnd = index }
  }
}
