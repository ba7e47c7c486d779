extension String {
  /// The text with its control characters as JSON escapes: a terminal would obey them, whoever wrote
  /// them into a list. Line feeds may stay.
  func escapingControls(keepsLineFeeds: Bool = false) -> String {
    // The bytes of U+0000 to U+001F and U+007F, and the first of U+0080 to U+009F.
    guard utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 }) else { return self }
    var result = ""
    for scalar in unicodeScalars {
      let isControl = scalar.properties.generalCategory == .control
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
