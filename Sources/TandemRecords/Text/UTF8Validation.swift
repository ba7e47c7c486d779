/// The check that bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
struct UTF8Validation {
  /// The number of bytes at the start that are well-formed UTF-8, in whole characters.
  let validCount: Int
  /// The fault where the valid part ends; `nil` if all bytes are valid.
  let fault: TextFault?

  /// True if the bytes end inside a character, which more bytes may complete.
  var isCutOff: Bool { fault?.message == Self.cutOff }

  /// The messages of faults. Another encoding could explain both.
  static let notUTF8 = "these bytes are not UTF-8"
  static let cutOff = "the text ends too early, inside a character"

  /// Checks the bytes from `start` on. Those before it are known to be whole characters.
  init(_ bytes: UnsafeRawBufferPointer, from start: Int = 0) {
    var index = start
    while index < bytes.count {
      index = UTF8Validation.endOfASCII(in: bytes, from: index)
      guard index < bytes.count else { break }
      let (count, matching) = UTF8Validation.character(in: bytes, at: index)
      guard matching == count else {
        validCount = index
        let isCutOff = matching > 0 && index + matching == bytes.count
        fault = TextFault(
          .malformed,
          isCutOff ? Self.cutOff : Self.notUTF8,
          at: index)
        return
      }
      index += count
    }
    validCount = bytes.count
    fault = nil
  }

  @inline(__always)
  private static func endOfASCII(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while bytes.count &- index >= 16 {
      let first = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let second = bytes.loadUnaligned(fromByteOffset: index &+ 8, as: UInt64.self)
      if (first | second) & 0x8080_8080_8080_8080 != 0 { break }
      index &+= 16
    }
    while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
    return index
  }

  /// The byte count that the lead byte at `index` announces, and the number of bytes from there on
  /// that are valid in their place; 0 if no character begins with that byte.
  @inline(__always)
  private static func character(in bytes: UnsafeRawBufferPointer, at index: Int)
    -> (count: Int, matching: Int)
  {
    let lead = bytes[index]
    let count: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch lead {
    case 0xC2...0xDF: count = 2
    case 0xE0...0xEF:
      count = 3
      if lead == 0xE0 { second = 0xA0...0xBF }
      if lead == 0xED { second = 0x80...0x9F }
    case 0xF0...0xF4:
      count = 4
      if lead == 0xF0 { second = 0x90...0xBF }
      if lead == 0xF4 { second = 0x80...0x8F }
    default: return (1, 0)
    }
    var matching = 1
    while matching < count, index + matching < bytes.count {
      let range = matching == 1 ? second : 0x80...0xBF
      guard range.contains(bytes[index + matching]) else { break }
      matching += 1
    }
    return (count, matching)
  }
}
