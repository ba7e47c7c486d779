extension UInt8 {
  /// The value of a hexadecimal digit of either case; `nil` for another byte.
  package var hexadecimalDigit: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46, 0x61...0x66: (self | 0x20) - 0x57
    default: nil
    }
  }
}

extension [UInt8] {
  /// The bytes of a text of two hexadecimal digits for each; `nil` for any other text.
  package init?(hexadecimal text: some Sequence<UInt8>) {
    let text = Array(text)
    let digits = text.compactMap(\.hexadecimalDigit)
    guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
    self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  /// Two hexadecimal digits for each byte, in lower case.
  package var hexadecimal: String {
    let digits = Array<UInt8>("0123456789abcdef".utf8)
    return String(
      decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }, as: UTF8.self)
  }
}
