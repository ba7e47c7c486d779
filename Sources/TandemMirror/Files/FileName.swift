internal import TandemDigests

/// The name of a file that holds one item's content: safe on every file system, whatever text it is
/// made from.
///
/// A name has the characters `a-z 0-9 - _ . ~` only, so that neither the case nor the normalisation
/// of letters can make two names one; it begins with a letter, a digit or `_`, is never a path, a
/// hidden file or a device of Windows, and has at most ``maxByteCount`` bytes.
///
/// A text that is such a name already, without `~`, stands as it is. Any other text is reduced to
/// one, and 128 bits of its SHA-256 follow after a `~`: different texts have different names.
public struct FileName: Hashable, Sendable {
  /// The name, in ASCII.
  public let text: String

  /// The maximum number of bytes a name has: what any file system takes, with room for a suffix.
  public static let maxByteCount = 200

  private static let maxStemByteCount = 100
  private static let maxExtensionByteCount = 10
  private static let digestDigitCount = 32

  /// The name for a text.
  ///
  /// - Parameters:
  ///   - text: The text that the name is made from.
  ///   - identity: The identity of the content, if `text` alone is not unique: its digest is then part of the
  ///     name in any case.
  ///   - fileExtension: The extension after the point; ignored unless it is 1 to 10 ASCII letters and
  ///     digits. Names with different extensions are different, too.
  public init(_ text: String, identity: String? = nil, extension fileExtension: String? = nil) {
    let suffix = Self.safeExtension(fileExtension)
    // A point without an extension after it could be read as one.
    let isPlain =
      identity == nil && Self.isSafe(text, allowing: suffix == nil ? "-_" : "-_.")
      && text.utf8.count <= Self.maxStemByteCount
    let stem = isPlain ? text : Self.reduced(text, identity: identity ?? text)
    self.text = suffix.map { "\(stem).\($0)" } ?? stem
  }

  /// Reads a name from a directory or a database; `nil` if the text is not a valid name.
  public init?(stored text: String) {
    guard text.utf8.count <= Self.maxByteCount, Self.isSafe(text, allowing: "-_.~") else {
      return nil
    }
    self.text = text
  }

  /// True if it is made of its text alone, without a digest.
  package var isPlain: Bool { !text.utf8.contains(UInt8(ascii: "~")) }

  private static func safeExtension(_ text: String?) -> String? {
    guard let text = text?.lowercased(), 1...maxExtensionByteCount ~= text.utf8.count,
      text.utf8.allSatisfy(isLetterOrDigit)
    else { return nil }
    return text
  }

  private static func isSafe(_ text: String, allowing symbols: String) -> Bool {
    guard let first = text.utf8.first, isLetterOrDigit(first) || first == UInt8(ascii: "_"),
      text.utf8.last != UInt8(ascii: ".")
    else { return false }
    return text.utf8.allSatisfy { isLetterOrDigit($0) || symbols.utf8.contains($0) }
      && !isDevice(text)
  }

  /// Names that Windows takes for devices, whatever comes after a point.
  private static func isDevice(_ text: String) -> Bool {
    let stem = text.utf8.prefix(5).prefix { $0 != UInt8(ascii: ".") }
    switch stem.count {
    case 3: return ["con", "prn", "aux", "nul"].contains { stem.elementsEqual($0.utf8) }
    case 4:
      return stem.last.map { 0x30...0x39 ~= $0 } == true
        && ["com", "lpt"].contains { stem.starts(with: $0.utf8) }
    default: return false
    }
  }

  /// The safe characters of `text`, with `-` for all others, and the digest of `identity`.
  private static func reduced(_ text: String, identity: String) -> String {
    var stem: [UInt8] = []
    for byte in text.utf8 where stem.count < 60 {
      let lowercased = 0x41...0x5A ~= byte ? byte | 0x20 : byte
      if isLetterOrDigit(lowercased) || lowercased == UInt8(ascii: "_") {
        stem.append(lowercased)
      } else if stem.last != UInt8(ascii: "-"), !stem.isEmpty {
        stem.append(UInt8(ascii: "-"))
      }
    }
    if stem.isEmpty { stem = Array("_".utf8) }
    let digest = "\(SHA256Digest(of: identity.utf8))".prefix(digestDigitCount)
    return "\(String(decoding: stem, as: UTF8.self))~\(digest)"
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    0x61...0x7A ~= byte || 0x30...0x39 ~= byte
  }
}

extension FileName: Comparable {
  /// True if the first name comes before the second, byte by byte.
  public static func < (first: FileName, second: FileName) -> Bool { first.text < second.text }
}

extension FileName: CustomStringConvertible {
  /// The name.
  public var description: String { text }
}
