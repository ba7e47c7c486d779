extension [UInt8] {
  /// Appends a text as it is.
  @inline(__always)
  mutating func append(_ text: StaticString) {
    append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends an integer in decimal.
  mutating func append(decimal number: Int64) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var start = digits.count
      var rest = number.magnitude
      repeat {
        start -= 1
        digits[start] = ASCII.zero + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      if number < 0 {
        start -= 1
        digits[start] = ASCII.minus
      }
      append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
    }
  }

  /// Appends a text as a JSON string.
  mutating func append(quoted text: String) {
    append(ASCII.quote)
    UTF8Order.withBytes(of: text) { utf8 in
      var start = 0
      while true {
        let stop = WordScan.firstEscapable(in: utf8, from: start, to: utf8.count)
        append(contentsOf: UnsafeRawBufferPointer(rebasing: utf8[start..<stop]))
        guard stop < utf8.count else { break }
        append(escaped: utf8[stop])
        start = stop + 1
      }
    }
    append(ASCII.quote)
  }

  private mutating func append(escaped byte: UInt8) {
    switch byte {
    case ASCII.quote: append("\\\"")
    case ASCII.backslash: append("\\\\")
    case ASCII.lineFeed: append("\\n")
    case ASCII.carriageReturn: append("\\r")
    case ASCII.tab: append("\\t")
    case 0x08: append("\\b")
    case 0x0C: append("\\f")
    default:
      append(byte < 0x10 ? "\\u000" : "\\u001")
      append(contentsOf: String(byte & 0xF, radix: 16).utf8)
    }
  }

  /// Appends bytes in Base64, padded (RFC 4648, section 4).
  mutating func append(base64 blob: [UInt8]) {
    for start in stride(from: 0, to: blob.count, by: 3) {
      let group = blob[start..<Swift.min(start + 3, blob.count)]
      let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
      for position in 0..<4 {
        let sextet = UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * position)) & 0x3F
        append(position <= group.count ? base64Digit(sextet) : UInt8(ascii: "="))
      }
    }
  }

  private func base64Digit(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: return value + UInt8(ascii: "A")
    case 26..<52: return value - 26 + UInt8(ascii: "a")
    case 52..<62: return value - 52 + UInt8(ascii: "0")
    case 62: return UInt8(ascii: "+")
    default: return UInt8(ascii: "/")
    }
  }
}
