/// 128 random bits that name a history, a replica or a commit.
///
/// Nothing coordinates the parties that draw tokens: 128 bits make two equal ones improbable.
package struct SyncToken: Hashable, Sendable {
  /// The bits.
  package let bits: UInt128

  /// A token of given bits.
  package init(bits: UInt128) { self.bits = bits }

  /// The token of the space itself, as the replica of its own commits: all bits are zero.
  package static let ofSpace = SyncToken(bits: 0)

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
/// texts. The width of the bits is a multiple of 64.
enum Hexadecimal {
  static func text<Bits: FixedWidthInteger & UnsignedInteger>(of bits: Bits) -> String {
    let count = Bits.bitWidth / 4
    return String(unsafeUninitializedCapacity: count) { digits in
      for word in 0..<count / 16 {
        var rest = UInt64(truncatingIfNeeded: bits >> (word * 64))
        for place in (count - word * 16 - 16..<count - word * 16).reversed() {
          let digit = UInt8(truncatingIfNeeded: rest & 0xF)
          digits[place] = digit < 10 ? 0x30 + digit : 0x57 + digit
          rest >>= 4
        }
      }
      return count
    }
  }

  static func value<Bits: FixedWidthInteger & UnsignedInteger>(
    of text: some StringProtocol, as: Bits.Type
  ) -> Bits? {
    var text = String(text)
    return text.withUTF8 { digits in
      guard digits.count == Bits.bitWidth / 4 else { return nil }
      // Words of 64 bits, because arithmetic of 128 bits takes several times as long.
      var bits: Bits = 0
      for start in stride(from: 0, to: digits.count, by: 16) {
        var word: UInt64 = 0
        for digit in digits[start..<start + 16] {
          switch digit {
          case UInt8(ascii: "0")...UInt8(ascii: "9"): word = word << 4 | UInt64(digit - 0x30)
          case UInt8(ascii: "a")...UInt8(ascii: "f"): word = word << 4 | UInt64(digit - 0x57)
          default: return nil
          }
        }
        bits = bits << 64 | Bits(truncatingIfNeeded: word)
      }
      return bits
    }
  }
}
