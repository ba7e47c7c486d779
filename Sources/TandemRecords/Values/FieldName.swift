/// The name of a record's field; two are equal if their UTF-8 bytes are.
public struct FieldName: Sendable {
  /// The name as a text.
  public let text: String

  /// The name that a text is.
  public init(_ text: String) { self.text = text }
}

extension FieldName: Hashable {
  public static func == (first: FieldName, second: FieldName) -> Bool {
    UTF8Order.areEqual(first.text, second.text)
  }

  public func hash(into hasher: inout Hasher) {
    UTF8Order.withBytes(of: text) { hasher.combine(bytes: $0) }
  }
}

extension FieldName: ExpressibleByStringLiteral, CustomStringConvertible {
  public init(stringLiteral value: String) { self.init(value) }

  /// The name as a text.
  public var description: String { text }
}
