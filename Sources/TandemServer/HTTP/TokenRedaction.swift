internal import TandemRecords

/// Removes access tokens from texts that a client has sent. It may have put its token into the address by mistake.
enum TokenRedaction {
  /// The begins of tokens. `eyJ` is `{"` in Base64, with which each part of a JSON Web Token but the last one begins.
  private static let begins = [TokenList.secretPrefix, "eyJ"].map { Array($0.utf8) }
  /// The number of letters after a begin from which on it may be a token, or a part of one. `tandem_notes` is none.
  private static let minCount = 16

  /// A text with `…` for what follows the begins of tokens. If its decoded form shows one, it is decoded.
  static func redacted(_ text: String) -> String {
    let bytes = Array(text.utf8)
    if bytes.contains(UInt8(ascii: "%")), let redacted = redacted(decoded(bytes)) {
      return redacted
    }
    return redacted(bytes) ?? text
  }

  /// `nil` if there is no token.
  private static func redacted(_ bytes: [UInt8]) -> String? {
    var result: [UInt8] = []
    var place = 0
    var isRedacted = false
    while place < bytes.count {
      let rest = bytes[place...]
      guard let begin = begins.first(where: { rest.starts(with: $0) }) else {
        result.append(bytes[place])
        place += 1
        continue
      }
      result += begin
      place += begin.count
      let secret = bytes[place...].prefix(while: isOfToken)
      guard secret.count >= minCount else { continue }
      result += "…".utf8
      place += secret.count
      isRedacted = true
    }
    return isRedacted ? String(decoding: result, as: UTF8.self) : nil
  }

  /// True for a letter of a token, and for the points between the parts of a JSON Web Token.
  private static func isOfToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-_.".utf8.contains(byte)
    }
  }

  /// The bytes that a percent-encoded text stands for, also if it was encoded several times.
  private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    for byte in bytes {
      result.append(byte)
      // A decoded byte may be the last one of another code.
      while result.count >= 3, result[result.count - 3] == UInt8(ascii: "%"),
        let high = result[result.count - 2].hexadecimalDigit,
        let low = result[result.count - 1].hexadecimalDigit
      {
        result.removeLast(3)
        result.append(high << 4 | low)
      }
    }
    return result
  }
}
