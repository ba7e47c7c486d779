/// 128 random bits that name a history, a replica or a commit.
///
/// Nothing coordinates the parties that draw tokens: 128 bits make two equal ones improbable.
package struct SyncToken: Hashable, Sendable {
  /// The bits.
  package let bits: UInt128

  /// A token of given bits.
  package init(bits: UInt128) { self.bits = bits }

  /// A token of random bits.
  package static func random(using generator: inout some RandomNumberGenerator) -> SyncToken {
    SyncToken(bits: UInt128.random(in: .min ... .max, using: &generator))
  }
}

extension SyncToken: CustomStringConvertible {
  /// The token in 32 hexadecimal digits, in lower case. Returns `nil` for any other text.
  package init?(_ text: some StringProtocol) {
    guard let bits = Hexadecimal.value(of: text, as: UInt128.self) else { return nil }
    self.init(bits: bits)
  }

  /// The bits in 32 hexadecimal digits, in lower case.
  package var description: String { Hexadecimal.text(of: bits) }
}

/// The one text form of bits in messages: all digits, in lower case, so that equal bits have equal
/// texts.
enum Hexadecimal {
  static func text<Bits: FixedWidthInteger & UnsignedInteger>(of bits: Bits) -> String {
    let digits = String(bits, radix: 16)
    return String(repeating: "0", count: Bits.bitWidth / 4 - digits.utf8.count) + digits
  }

  static func value<Bits: FixedWidthInteger & UnsignedInteger>(
    of text: some StringProtocol, as: Bits.Type
  ) -> Bits? {
    guard text.utf8.count == Bits.bitWidth / 4 else { return nil }
    var bits: Bits = 0
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): bits = bits << 4 | Bits(byte - 0x30)
      case UInt8(ascii: "a")...UInt8(ascii: "f"): bits = bits << 4 | Bits(byte - 0x57)
      default: return nil
      }
    }
    return bits
  }
}
