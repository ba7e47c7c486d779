/// Bytes as a text (RFC 4648, section 4), as JSON has them.
package enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let values = Dictionary(uniqueKeysWithValues: zip(alphabet, 0...))
  private static let padding = UInt8(ascii: "=")

  static func text(of bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << ((3 - group.count) * 8)
      for place in 0..<4 {
        text.append(place > group.count ? padding : alphabet[bits >> (18 - place * 6) & 63])
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes of a text; `nil` if it is not the text of any bytes.
  static func bytes(of text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (bits, bitCount) = (0, 0)
    for character in text.utf8.prefix(while: { $0 != padding }) {
      guard let value = values[character] else { return nil }
      (bits, bitCount) = (bits << 6 | value, bitCount + 6)
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
        bits &= 1 << bitCount - 1
      }
    }
    // Only one text stands for these bytes.
    return Base64.text(of: bytes) == text ? bytes : nil
  }

  /// The bytes of a text in the alphabet for addresses, without padding (section 5); `nil` if it is not the text of any
  /// bytes.
  package static func urlBytes(of text: String) -> [UInt8]? {
    let isOther: (UInt8) -> Bool = { [UInt8(ascii: "+"), UInt8(ascii: "/"), padding].contains($0) }
    guard !text.utf8.contains(where: isOther) else { return nil }
    let standard = text.utf8.map { (character: UInt8) -> UInt8 in
      switch character {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: character
      }
    }
    let paddingCount = (4 - standard.count % 4) % 4
    return bytes(
      of: String(decoding: standard + Array(repeating: padding, count: paddingCount), as: UTF8.self)
    )
  }
}
