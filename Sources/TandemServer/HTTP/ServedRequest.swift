internal import TandemRecords

/// A request with its body.
public struct ServedRequest: Sendable {
  /// The line and the header.
  public let head: ServedRequestHead
  /// The body; empty if there is none.
  public let body: [UInt8]

  /// A request.
  public init(head: ServedRequestHead, body: [UInt8] = []) {
    self.head = head
    self.body = body
  }
}

extension String {
  /// The text that a part of a URL stands for; `nil` if it is not percent-encoded UTF-8, or has a NUL.
  init?(percentEncoded text: some StringProtocol) {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexadecimalDigit,
        let low = rest.popFirst()?.hexadecimalDigit
      else { return nil }
      bytes.append(high << 4 | low)
    }
    guard !bytes.contains(0) else { return nil }
    self.init(validating: bytes, as: UTF8.self)
  }

  /// The text with ASCII letters in lower case.
  var asciiLowercased: String {
    String(decoding: utf8.map { (65...90).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
