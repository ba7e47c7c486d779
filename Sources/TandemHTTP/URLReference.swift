/// Addresses made from others (RFC 3986).
package enum URLReference {
  /// The parts of an address, or of a reference to one: all text, nothing decoded.
  package struct Parts {
    package var scheme: Substring?
    package var authority: Substring?
    package var path: Substring
    package var query: Substring?

    /// Takes a reference apart; a fragment, which is never sent, is dropped.
    package init(_ text: String) {
      var rest = text.prefix { $0 != "#" }
      if let mark = rest.firstIndex(of: "?") {
        query = rest[rest.index(after: mark)...]
        rest = rest[..<mark]
      }
      let colon = rest.firstIndex { ":/".contains($0) }
      if let colon, rest[colon] == ":", colon > rest.startIndex {
        scheme = rest[..<colon]
        rest = rest[rest.index(after: colon)...]
      }
      if rest.hasPrefix("//") {
        rest = rest.dropFirst(2)
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        authority = rest[..<end]
        rest = rest[end...]
      }
      path = rest
    }

    var text: String {
      (scheme.map { "\($0):" } ?? "") + (authority.map { "//\($0)" } ?? "") + path
        + (query.map { "?\($0)" } ?? "")
    }
  }

  /// The address that `reference` means in a document at `base` (RFC 3986, section 5.2), with the
  /// credentials of `base` if it has none of its own and is of the same origin.
  package static func resolved(_ reference: String, against base: String) -> String {
    adoptingCredentials(of: base, in: address(reference, against: base))
  }

  private static func address(_ reference: String, against base: String) -> String {
    let base = Parts(base)
    var parts = Parts(reference)
    guard parts.scheme == nil else { return parts.text }
    parts.scheme = base.scheme
    guard parts.authority == nil else { return parts.text }
    parts.authority = base.authority
    if parts.path.isEmpty {
      parts.path = base.path
      parts.query = parts.query ?? base.query
    } else if !parts.path.hasPrefix("/") {
      let folder = base.path.lastIndex(of: "/").map { base.path[...$0] } ?? "/"
      parts.path = Substring(withoutDots(String(folder + parts.path)))
    } else {
      parts.path = Substring(withoutDots(String(parts.path)))
    }
    return parts.text
  }

  /// A path without `.` and `..`.
  private static func withoutDots(_ path: String) -> String {
    var kept: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    for (position, segment) in segments.enumerated() {
      guard segment == "." || segment == ".." else {
        kept.append(segment)
        continue
      }
      if segment == "..", kept.count > 1 { kept.removeLast() }
      if position == segments.count - 1 { kept.append("") }
    }
    return kept.joined(separator: "/")
  }

  /// `url` with the credentials of `base`, if it has none and is of the same origin: the server that
  /// was told them once needs them again, and names itself without them.
  package static func adoptingCredentials(of base: String, in url: String) -> String {
    var parts = Parts(url)
    guard let authority = parts.authority, !authority.contains("@"),
      let known = Parts(base).authority, let end = known.lastIndex(of: "@"),
      haveSameOrigin(url, base)
    else { return url }
    parts.authority = known[...end] + authority
    return parts.text
  }

  /// Whether two addresses are of one scheme, host and port, so that what one may know, the other may.
  package static func haveSameOrigin(_ first: String, _ second: String) -> Bool {
    origin(of: first) == origin(of: second)
  }

  private static func origin(of url: String) -> String {
    let parts = Parts(url)
    let scheme = parts.scheme?.lowercased() ?? ""
    let authority = (parts.authority ?? "").split(separator: "@").last ?? ""
    let defaultPort = scheme == "https" ? ":443" : ":80"
    let host = authority.lowercased()
    return
      "\(scheme)://\(host.hasSuffix(defaultPort) ? String(host.dropLast(defaultPort.count)) : host)"
  }

  /// The value of a parameter in the query, as it stands there.
  package static func parameter(_ name: String, in url: String) -> String? {
    Parts(url).query?.split(separator: "&").first { isNamed($0, encoded(name)) }
      .map { String($0.dropFirst(encoded(name).count + 1)) }
  }

  /// The address with a parameter of that value in the query, in place of others of its name.
  package static func setting(_ name: String, to value: String, in url: String) -> String {
    var parts = Parts(url)
    let others = parts.query?.split(separator: "&").filter { !isNamed($0, encoded(name)) } ?? []
    let pairs = others + [Substring("\(encoded(name))=\(encoded(value))")]
    parts.query = Substring(pairs.joined(separator: "&"))
    if parts.path.isEmpty { parts.path = "/" }
    return parts.text
  }

  /// The bytes of a text with those in place that are percent-encoded.
  package static func percentDecoded(_ text: some StringProtocol) -> [UInt8] {
    var rest = Array(text.utf8)[...]
    var decoded: [UInt8] = []
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy(isHexDigit),
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      {
        decoded.append(value)
        rest = rest.dropFirst(2)
      } else {
        decoded.append(byte)
      }
    }
    return decoded
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || 0x61...0x66 ~= byte | 0x20
  }

  private static func isNamed(_ pair: Substring, _ name: String) -> Bool {
    pair.hasPrefix("\(name)=") || pair == name
  }

  /// Everything but the unreserved characters percent-encoded.
  private static func encoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: [byte]
      default: [0x25, digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
