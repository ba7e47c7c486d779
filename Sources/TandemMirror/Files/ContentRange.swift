internal import TandemHTTP

/// The bytes of the whole that a response with status 206 has (RFC 9110, section 14.4).
struct ContentRange: Equatable {
  /// The offset of the first byte.
  var start: Int
  /// The offset of the last byte.
  var end: Int
  /// The length of the whole, if the server knows it.
  var totalByteCount: Int?

  /// Reads `bytes 10-19/100` and `bytes 10-19/*`; `nil` for anything else.
  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, bounds.count == 2, let start = Self.number(bounds[0]),
      let end = Self.number(bounds[1]), start <= end
    else { return nil }
    let total = Self.number(parts[1])
    guard parts[1] == "*" || total.map({ end < $0 }) == true else { return nil }
    self.start = start
    self.end = end
    totalByteCount = total
  }

  private static func number(_ text: Substring) -> Int? {
    text.isEmpty ? nil : httpNumber(text).flatMap { Int(exactly: $0) }
  }
}
