extension JSONCursor {
  /// An array or object as text: as it stands, without the white space outside its strings.
  ///
  /// Its grammar is checked, its contents are not: numbers keep all their digits, strings their
  /// escapes and objects their fields, even repeated ones.
  mutating func nestedText() throws(TextFault) -> String {
    var copiedEnd = index
    var closers: [UInt8] = []
    scratch.removeAll(keepingCapacity: true)
    repeat {
      try enterValue(&closers, &copiedEnd)
      try leaveValues(&closers, &copiedEnd)
    } while !closers.isEmpty
    if scratch.isEmpty { return String(decoding: bytes[copiedEnd..<index], as: UTF8.self) }
    scratch.append(contentsOf: bytes[copiedEnd..<index])
    return String(decoding: scratch, as: UTF8.self)
  }

  /// Goes behind a scalar or an empty list, or into the lists that start here up to a scalar.
  private mutating func enterValue(_ closers: inout [UInt8], _ copiedEnd: inout Int)
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

  /// After a value: goes behind the lists that end here, up to the next value if there is one.
  private mutating func leaveValues(_ closers: inout [UInt8], _ copiedEnd: inout Int)
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

  /// Goes behind a name and its colon.
  private mutating func skipName(_ copiedEnd: inout Int) throws(TextFault) {
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

  /// Goes behind white space, having copied what stands before it.
  private mutating func dropSpace(_ copiedEnd: inout Int) {
    guard let byte, ASCII.isSpace(byte) else { return }
    scratch.append(contentsOf: bytes[copiedEnd..<index])
    skipSpace()
    copiedEnd = index
  }
}
