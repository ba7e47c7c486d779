extension JSONCursor {
  /// Reads a string and returns its contents, with escapes decoded.
  @inline(__always)
  package mutating func string() throws(TextFault) -> String {
    try withString { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads a string and calls `body` with its contents in UTF-8, with escapes decoded.
  @inline(__always)
  mutating func withString<Value>(
    _ body: (UnsafeRawBufferPointer) -> Value
  ) throws(TextFault) -> Value {
    guard byte == ASCII.quote else { throw unexpected("a string") }
    let start = index &+ 1
    guard try skipString() else {
      return body(UnsafeRawBufferPointer(rebasing: bytes[start..<index &- 1]))
    }
    try unescape(start..<index &- 1)
    return scratch.withUnsafeBytes(body)
  }

  /// Skips the string whose opening quote is at the cursor. Returns `true` if it has escapes.
  @inline(__always)
  mutating func skipString() throws(TextFault) -> Bool {
    index &+= 1
    var hasEscapes = false
    while true {
      index = WordScan.firstEscapable(in: bytes, from: index, to: end)
      switch byte {
      case ASCII.quote:
        index &+= 1
        return hasEscapes
      case ASCII.backslash:
        hasEscapes = true
        try skipEscape()
      case nil: throw unexpected("the end of a string")
      default: throw TextFault(.malformed, "a string holds a bare control character", at: index)
      }
    }
  }

  private mutating func skipEscape() throws(TextFault) {
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      index += 1
    case UInt8(ascii: "u"):
      index += 1
      for _ in 0..<4 {
        guard byte?.hexadecimalDigit != nil else { throw unexpected("a hexadecimal digit") }
        index += 1
      }
    default: throw unexpected("a character that a backslash may precede")
    }
  }

  /// Decodes the text between the quotes of a string, whose escapes were checked already, into `scratch`.
  @inline(never)
  private mutating func unescape(_ inside: Range<Int>) throws(TextFault) {
    scratch.removeAll(keepingCapacity: true)
    var place = inside.lowerBound
    while place < inside.upperBound {
      let escape = WordScan.firstEscapable(in: bytes, from: place, to: inside.upperBound)
      scratch.append(contentsOf: bytes[place..<escape])
      place = escape
      if place < inside.upperBound { place = try appendEscape(at: place, to: inside.upperBound) }
    }
  }

  /// Appends the character of the escape at `place`; returns the offset after it.
  private mutating func appendEscape(at place: Int, to limit: Int) throws(TextFault) -> Int {
    switch bytes[place + 1] {
    case UInt8(ascii: "b"): scratch.append(0x08)
    case UInt8(ascii: "f"): scratch.append(0x0C)
    case UInt8(ascii: "n"): scratch.append(ASCII.lineFeed)
    case UInt8(ascii: "r"): scratch.append(ASCII.carriageReturn)
    case UInt8(ascii: "t"): scratch.append(ASCII.tab)
    case UInt8(ascii: "u"): return try appendUnicodeEscape(at: place, to: limit)
    case let itself: scratch.append(itself)
    }
    return place + 2
  }

  private mutating func appendUnicodeEscape(at place: Int, to limit: Int) throws(TextFault) -> Int {
    let unit = codeUnit(at: place)
    if let scalar = UnicodeScalar(unit) {
      scratch.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
      return place + 6
    }
    let next = place + 6
    let isPaired =
      limit - next >= 6 && bytes[next] == ASCII.backslash
      && bytes[next + 1] == UInt8(ascii: "u")
    guard unit < 0xDC00, isPaired, case let low = codeUnit(at: next), low & 0xFC00 == 0xDC00,
      let scalar = UnicodeScalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    else {
      throw TextFault(
        .notRepresentable, "half a surrogate pair is no character", at: place)
    }
    scratch.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
    return next + 6
  }

  /// The value of the four digits after `\u` at `place`.
  private func codeUnit(at place: Int) -> UInt32 {
    (place + 2..<place + 6).reduce(0) { $0 << 4 | UInt32(bytes[$1].hexadecimalDigit ?? 0) }
  }
}
