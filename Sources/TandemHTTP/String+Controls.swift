extension String {
  /// The text with control characters as JSON escapes, so that a list cannot control the terminal. This includes
  /// characters that break lines or change the direction of writing. Line feeds may be kept.
  package func escapingControls(keepsLineFeeds: Bool = false) -> String {
    var text = self
    guard text.withUTF8({ Self.mayHaveControls($0) }) else { return self }
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

  /// True if some bytes are those of a character to escape; looking up categories is slow.
  private static func mayHaveControls(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    for offset in bytes.indices {
      switch bytes[offset] {
      case 0..<0x20, 0x7F: return true
      // U+0080 to U+009F.
      case 0xC2 where offset + 1 < bytes.count && bytes[offset + 1] < 0xA0: return true
      // U+2000 to U+207F.
      case 0xE2 where offset + 1 < bytes.count && bytes[offset + 1] < 0x82: return true
      default: continue
      }
    }
    return false
  }
}

extension Unicode.Scalar {
  /// Line and paragraph separators, and the embeddings, overrides and isolates of bidirectional text
  /// (Unicode Standard Annex 9).
  fileprivate var changesLinesOrDirection: Bool {
    [0x2028...0x202E, 0x2066...0x2069].contains { $0.contains(value) }
  }
}
