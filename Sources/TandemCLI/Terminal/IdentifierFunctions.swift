import Tandem

/// The functions of SQLite's extension `uuid`, which many applications use for primary keys.
enum IdentifierFunctions {
  static let all = [
    DatabaseFunction("uuid") { text(randomBytes()) },
    DatabaseFunction("uuid_str", isDeterministic: true) { (value: FieldValue) in
      bytes(value).map(text)
    },
    DatabaseFunction("uuid_blob", isDeterministic: true) { (value: FieldValue) in bytes(value) },
  ]

  /// The bytes of a random UUID, by RFC 9562.
  private static func randomBytes() -> [UInt8] {
    var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes
  }

  private static func text(_ bytes: [UInt8]) -> String {
    var digits: [UInt8] = []
    for (offset, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(offset) { digits.append(UInt8(ascii: "-")) }
      for digit in [byte >> 4, byte & 0xF] {
        digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// The bytes of a UUID: of a blob of 16, or of a text of 32 digits, with hyphens and braces wherever they
  /// are. `nil` for any other value.
  private static func bytes(_ value: FieldValue) -> [UInt8]? {
    switch value {
    case .blob(let bytes): return bytes.count == 16 ? bytes : nil
    case .text(let text):
      let digits = text.filter { !"-{}".contains($0) }.map { $0.isASCII ? $0.hexDigitValue : nil }
      guard digits.count == 32 else { return nil }
      var bytes: [UInt8] = []
      for place in stride(from: 0, to: 32, by: 2) {
        guard let high = digits[place], let low = digits[place + 1] else { return nil }
        bytes.append(UInt8(high << 4 | low))
      }
      return bytes
    case .null, .integer, .real: return nil
    }
  }
}
