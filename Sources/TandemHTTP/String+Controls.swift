extension String {
  /// The text with control characters as JSON escapes, so that a list cannot control the terminal. This includes
  /// characters that break lines or change the direction of writing. Line feeds may be kept.
  package func escapingControls(keepsLineFeeds: Bool = false) -> String {
    // The bytes of U+0000 to U+001F and U+007F, and the first of U+0080 to U+009F and of U+2000 on.
    guard utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xE2 }) else {
      return self
    }
    var result = ""
    for scalar in unicodeScalars {
      let isControl =
        scalar.properties.generalCategory == .control || scalar.changesLinesOrDirection
      if isControl, !(keepsLineFeeds && scalar == "\n") {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  /// Line and paragraph separators, and the embeddings, overrides and isolates of bidirectional text
  /// (Unicode Standard Annex 9).
  fileprivate var changesLinesOrDirection: Bool {
    [0x2028...0x202E, 0x2066...0x2069].contains { $0.contains(value) }
  }
}
