/// The name of a space: a letter or a digit, then up to 127 letters, digits, points, lines and
/// underscores of ASCII.
package enum SpaceName {
  /// The maximum number of bytes of a name.
  package static let maxByteCount = 128
  /// The names as a regular expression.
  package static let pattern = "[A-Za-z0-9][A-Za-z0-9._-]{0,127}"

  /// True if a text can be the name of a space.
  package static func isValid(_ text: some StringProtocol) -> Bool {
    let isLetter: (UInt8) -> Bool = { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: false
      }
    }
    guard let first = text.utf8.first, isLetter(first), text.utf8.count <= maxByteCount else {
      return false
    }
    return text.utf8.allSatisfy { isLetter($0) || "._-".utf8.contains($0) }
  }

  /// True if a text stands for spaces: a name, or the begin of names and a star, such as `notes-*`.
  package static func isPattern(_ text: String) -> Bool {
    isValid(text.hasSuffix("*") ? text.dropLast() : text[...])
  }

  /// True if a pattern stands for a name.
  package static func matches(_ pattern: String, _ name: String) -> Bool {
    guard pattern.hasSuffix("*") else { return pattern.utf8.elementsEqual(name.utf8) }
    return name.utf8.starts(with: pattern.utf8.dropLast())
  }
}
