internal import TandemHTTP

/// The bytes of the whole that a response has (RFC 9110, section 14.4). Only the statuses 206 and 416 give the
/// field a meaning; some servers send it with a 200, for a part as well as for the whole.
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

  /// The number of bytes of the part.
  var byteCount: Int { end - start + 1 }

  /// True if the part is known to be the whole.
  var isWhole: Bool { start == 0 && totalByteCount == byteCount }

  private static func number(_ text: Substring) -> Int? {
    text.isEmpty ? nil : httpNumber(text).flatMap { Int(exactly: $0) }
  }
}

extension HTTPResponseHead {
  /// The bytes of the whole that the response has; `nil` if it does not say it in a readable way.
  var contentRange: ContentRange? { fields["Content-Range"].flatMap { ContentRange($0) } }

  /// True if a `Content-Range` contradicts that the response, which is no 206, has the whole content: it names a
  /// part, another length, or nothing that can be read. A range in another unit than bytes says nothing of that.
  var mayBePart: Bool {
    guard let field = fields["Content-Range"]?.lowercased() else { return false }
    guard let range = contentRange else { return field.drop { $0 == " " }.hasPrefix("bytes") }
    return !range.isWhole || bodyByteCount.map { $0 != range.byteCount } ?? false
  }
}
