/// Bytes with a meaning in JSON or CSV.
enum ASCII {
  static var tab: UInt8 { 0x09 }
  static var lineFeed: UInt8 { 0x0A }
  static var carriageReturn: UInt8 { 0x0D }
  static var space: UInt8 { 0x20 }
  static var quote: UInt8 { 0x22 }
  static var plus: UInt8 { 0x2B }
  static var comma: UInt8 { 0x2C }
  static var minus: UInt8 { 0x2D }
  static var point: UInt8 { 0x2E }
  static var zero: UInt8 { 0x30 }
  static var digits: ClosedRange<UInt8> { 0x30...0x39 }
  static var colon: UInt8 { 0x3A }
  static var openBracket: UInt8 { 0x5B }
  static var backslash: UInt8 { 0x5C }
  static var closeBracket: UInt8 { 0x5D }
  static var openBrace: UInt8 { 0x7B }
  static var closeBrace: UInt8 { 0x7D }

  /// U+FEFF, which some programs put at the start of a text.
  static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Returns true for JSON's white space.
  @inline(__always)
  static func isSpace(_ byte: UInt8) -> Bool {
    byte <= 0x20 && (byte == space || byte == lineFeed || byte == carriageReturn || byte == tab)
  }

  /// Returns the value of a decimal digit, and a number above 9 for any other byte.
  @inline(__always)
  static func digit(_ byte: UInt8) -> UInt8 { byte &- zero }

  /// Returns true for `e` and `E`.
  @inline(__always)
  static func isExponentMark(_ byte: UInt8) -> Bool { byte | 0x20 == 0x65 }
}

/// Tests of eight bytes at a time, after "Bit Twiddling Hacks" (Anderson, 2005).
enum WordScan {
  /// Returns the offset between `start` and `end` of the first byte that must be escaped in a JSON
  /// string: a quote, a backslash or a control character. Returns `end` if there is none.
  @inline(__always)
  static func firstEscapable(in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int
  {
    var index = start
    while end &- index >= 8 {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let marks = escapableMarks(word)
      if marks != 0 { return index &+ marks.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < end, !isEscapable(bytes[index]) { index &+= 1 }
    return index
  }

  @inline(__always)
  static func isEscapable(_ byte: UInt8) -> Bool {
    byte < ASCII.space || byte == ASCII.quote || byte == ASCII.backslash
  }

  /// Returns a word whose lowest set bit is in the first escapable byte, or zero if there is none.
  /// A borrow may set wrong bits, but only above a right one.
  @inline(__always)
  private static func escapableMarks(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ (ones &* UInt64(ASCII.quote))
    let backslashes = word ^ (ones &* UInt64(ASCII.backslash))
    let belowSpace = (word &- ones &* UInt64(ASCII.space)) & ~word
    return (((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes) | belowSpace)
      & (ones &* 0x80)
  }
}
