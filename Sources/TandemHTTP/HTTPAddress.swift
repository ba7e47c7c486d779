/// The checks that an address typed by a user must pass before anything is sent (RFC 3986).
///
/// What follows the authority is left to the server; only what would be sent wrongly, or to the
/// wrong place, is refused.
package enum HTTPAddress {
  /// `url` in the form in which it is sent: characters beyond ASCII percent-encoded after the host.
  package static func validated(_ url: String) throws(TransportError) -> String {
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
    let scheme = String(url[..<authority.lowerBound].utf8.dropLast(3)) ?? ""
    guard ["http", "https"].contains(scheme) || ["http", "https"].contains(scheme.lowercased())
    else {
      throw refusal(
        .unsupportedScheme, "\"\(scheme.lowercased())\" cannot be fetched; use https or http")
    }
    let bytes = url.utf8[authority]
    let host = bytes.lastIndex(of: UInt8(ascii: "@")).map { bytes[bytes.index(after: $0)...] }
    guard let first = (host ?? bytes).first, first != UInt8(ascii: ":") else {
      throw refusal(.invalidURL, "the address names no host after \(scheme)://")
    }
    guard url.utf8[authority.upperBound...].contains(where: { $0 >= 0x80 }) else { return url }
    return url[..<authority.upperBound] + percentEncoded(url[authority.upperBound...])
  }

  /// Where the authority of `url` is: after "://", up to the path, query or fragment.
  package static func authorityRange(of url: String) -> Range<String.Index>? {
    // Bytes, because every request comes by here: characters would take ten times as long.
    let bytes = url.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isScheme(url[..<colon]),
      bytes[colon...].starts(with: "://".utf8)
    else { return nil }
    let start = bytes.index(colon, offsetBy: 3)
    let end = bytes[start...].firstIndex { isAuthorityEnd($0) } ?? bytes.endIndex
    return start..<end
  }

  /// Whether a byte is one of `/`, `?`, `#` and `\`.
  private static func isAuthorityEnd(_ byte: UInt8) -> Bool {
    byte == 0x2F || byte == 0x3F || byte == 0x23 || byte == 0x5C
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
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      encoded += byte < 0x80 ? [byte] : [0x25, digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
