/// Names one push, so that a repetition of it is recognised.
public struct PushToken: Hashable, Sendable, Codable {
  /// The token as text.
  public var text: String

  /// A token with a text of one's own, which no other push may ever have.
  public init(_ text: String) {
    self.text = text
  }

  /// A token of 128 random bits.
  public static func random() -> PushToken {
    var generator = SystemRandomNumberGenerator()
    return random(using: &generator)
  }

  /// A token of 128 bits from `generator`.
  public static func random(using generator: inout some RandomNumberGenerator) -> PushToken {
    PushToken(String(generator.next(), radix: 16) + "-" + String(generator.next(), radix: 16))
  }
}
