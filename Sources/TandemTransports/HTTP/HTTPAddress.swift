/// The checks that an address typed by a user must pass before anything is sent (RFC 3986).
///
/// What follows the authority is left to the server; only what would be sent wrongly, or to the
/// wrong place, is refused.
enum HTTPAddress {
  /// `url` in the form in which it is sent: characters beyond ASCII percent-encoded after the host.
  static func validated(_ url: String) throws(TransportError) -> String {
    func refusal(_ code: TransportError.Code, _ message: String) -> TransportError {
      TransportError(code, message, url: url)
    }
    if let byte = url.utf8.first(where: { $0 <= 0x20 || $0 == 0x7F }) {
      let name = byte == 0x20 ? "a space (write %20)" : "a control character"
      throw refusal(.invalidURL, "the address contains \(name)")
    }
    guard let authority = authorityRange(of: url) else {
      if let scheme = schemeWithoutAuthority(of: url) {
        throw refusal(.unsupportedScheme, "\"\(scheme)\" is no scheme for the web; use https")
      }
      throw refusal(.invalidURL, "the address lacks a scheme; begin it with https://")
    }
    let scheme = url[..<authority.lowerBound].dropLast(3).lowercased()
    guard scheme == "https" || scheme == "http" else {
      throw refusal(.unsupportedScheme, "\"\(scheme)\" cannot be fetched; use https or http")
    }
    let host = url[authority].split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    guard let first = host.first, first != ":" else {
      throw refusal(.invalidURL, "the address names no host after \(scheme)://")
    }
    return url[..<authority.upperBound] + percentEncoded(url[authority.upperBound...])
  }

  /// Where the authority of `url` is: after "://", up to the path, query or fragment.
  static func authorityRange(of url: String) -> Range<String.Index>? {
    guard let colon = url.firstIndex(of: ":"), isScheme(url[..<colon]),
      url[colon...].hasPrefix("://")
    else { return nil }
    let start = url.index(colon, offsetBy: 3)
    let end = url[start...].firstIndex { "/?#\\".contains($0) } ?? url.endIndex
    return start..<end
  }

  /// The scheme of `mailto:x` or `file:/x`; `nil` for `host:80/path`, where it is a host.
  private static func schemeWithoutAuthority(of url: String) -> Substring? {
    guard let colon = url.firstIndex(of: ":"), isScheme(url[..<colon]) else { return nil }
    let next = url[url.index(after: colon)...].first
    return next.map { "0"..."9" ~= $0 } == true ? nil : url[..<colon]
  }

  private static func isScheme(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, isLetter(first) else { return false }
    return text.utf8.allSatisfy {
      isLetter($0) || 0x30...0x39 ~= $0 || [0x2B, 0x2D, 0x2E].contains($0)
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte | 0x20 }

  private static func percentEncoded(_ text: Substring) -> String {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return String(text) }
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      encoded += byte < 0x80 ? [byte] : [0x25, digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
