extension [UInt8] {
  /// Appends bytes in Base64 with padding (RFC 4648, section 4).
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

  /// Reads Base64 with padding (RFC 4648, section 4) as `append(base64:)` writes it. Returns `nil`
  /// for anything else, such as line breaks, missing padding, or bits after the last byte.
  init?(base64 text: String) {
    guard text.utf8.count % 4 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 4 * 3)
    var bits: UInt32 = 0
    var digitCount = 0
    var paddingCount = 0
    for byte in text.utf8 {
      if byte == UInt8(ascii: "=") {
        paddingCount += 1
        bits <<= 6
      } else {
        guard paddingCount == 0, let sextet = base64Value(byte) else { return nil }
        bits = bits << 6 | sextet
      }
      digitCount += 1
      guard digitCount == 4 else { continue }
      guard paddingCount <= 2, bits & (1 << UInt32(8 * paddingCount) - 1) == 0 else { return nil }
      for position in 0..<3 - paddingCount {
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(16 - 8 * position)))
      }
      bits = 0
      digitCount = 0
    }
    self = bytes
  }

  /// Reads Base64 in the alphabet for addresses, without padding (section 5). Returns `nil` for anything else.
  package init?(base64URL text: String) {
    guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
    let standard = text.utf8.map { (digit: UInt8) -> UInt8 in
      switch digit {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: digit
      }
    }
    let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - standard.count % 4) % 4)
    self.init(base64: String(decoding: standard + padding, as: UTF8.self))
  }
}

extension String {
  /// Bytes in Base64 with padding.
  init(base64 bytes: [UInt8]) {
    var text: [UInt8] = []
    text.append(base64: bytes)
    self.init(decoding: text, as: UTF8.self)
  }
}

private func base64Value(_ digit: UInt8) -> UInt32? {
  switch digit {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
  case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a") + 26)
  case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0") + 52)
  case UInt8(ascii: "+"): 62
  case UInt8(ascii: "/"): 63
  default: nil
  }
}
