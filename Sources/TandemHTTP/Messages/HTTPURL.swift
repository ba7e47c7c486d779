/// A URL in its parts (RFC 3986): all text, nothing decoded, without the fragment, which is never sent.
///
/// The library that sends the requests splits it: libcurl on Linux, Foundation on Apple platforms. What
/// is hidden as a password is therefore exactly what is sent as one.
package struct HTTPURL: Sendable {
  /// The scheme, in lower case.
  var scheme: String
  var user: String?
  var password: String?
  /// The host; an IPv6 address stands in brackets.
  var host: String
  var port: String?
  var path: String
  var query: String?
}

extension HTTPURL {
  /// The parts of `text`, or of the URL that `text` means in a document at `base` (RFC 3986, section
  /// 5.2); `nil` if it cannot be parsed.
  init?(_ text: String, relativeTo base: String? = nil) {
    let text = Self.encoded(text)
    guard Self.forbiddenByte(in: text) == nil,
      let url = SystemParser.url(text, relativeTo: base)
    else { return nil }
    // libcurl reads "https:/a" and "https:///a" as "https://a".
    let rest = text.utf8.dropFirst(url.scheme.utf8.count)
    let isExact = rest.starts(with: "://".utf8) && !rest.starts(with: ":///".utf8)
    guard base != nil || isExact || !url.isHTTP else { return nil }
    self = url
  }

  /// The URL in one text.
  var text: String {
    let credentials =
      user == nil && password == nil ? "" : (user ?? "") + (password.map { ":\($0)" } ?? "") + "@"
    return "\(scheme)://\(credentials)\(host)" + (port.map { ":\($0)" } ?? "")
      + (path.isEmpty ? "/" : path) + (query.map { "?\($0)" } ?? "")
  }

  /// True if a connection to this URL's own server is one to that host and port.
  func isReached(at host: String, port: String) -> Bool {
    let name = self.host.hasPrefix("[") ? String(self.host.dropFirst().dropLast()) : self.host
    return name.lowercased() == host.lowercased() && effectivePort == port
  }

  private var effectivePort: String { port ?? (scheme == "https" ? "443" : "80") }

  private var hasCredentials: Bool { user != nil || password != nil }

  private func hasSameOrigin(as other: HTTPURL) -> Bool {
    scheme == other.scheme && effectivePort == other.effectivePort
      && (host == other.host || host.lowercased() == other.host.lowercased())
  }
}

// MARK: - What may be sent

extension HTTPURL {
  /// `text` in the form in which it is sent: as it is, with spaces and other characters that no URL may have
  /// percent-encoded in path and query, and in the form of the domain name system in the host (RFC 5891).
  ///
  /// - Throws: ``TransportError/Code/invalidURL`` or ``TransportError/Code/unsupportedScheme``, with a
  ///   message for the person who typed the URL.
  package static func validated(_ text: String) throws(TransportError) -> String {
    let text = encoded(text)
    guard var url = HTTPURL(text), !url.host.isEmpty || !url.isHTTP else {
      throw TransportError(.invalidURL, defect(of: text), url: text)
    }
    guard url.isHTTP else {
      throw TransportError(
        .unsupportedScheme, "\"\(url.scheme)\" is not supported; use https or http", url: text)
    }
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
    url.path = percentEncoded(url.path) { $0 < 0x80 }
    url.query = url.query.map { percentEncoded($0) { $0 < 0x80 } }
    return url.text
  }

  private var isHTTP: Bool { scheme == "https" || scheme == "http" }

  /// The first byte that no URL may have: a space or a control character.
  private static func forbiddenByte(in text: String) -> UInt8? {
    text.utf8.first { $0 <= 0x20 || $0 == 0x7F }
  }

  /// `text` as browsers read it (the URL standard of the WHATWG): without the spaces around it, and with those
  /// characters of path and query percent-encoded that no URL may have. In the name of a server they are an error.
  private static func encoded(_ text: String) -> String {
    guard text.utf8.contains(where: { isEncoded($0, inQuery: false) }) else { return text }
    let rest = text.utf8.drop { $0 == 0x20 }
    let bytes = Array(rest.reversed().drop { $0 == 0x20 }.reversed())
    let isEnd = { (byte: UInt8) in "/?#".utf8.contains(byte) }
    let scheme = bytes.prefix { !isEnd($0) }
    var start = 0
    if bytes[scheme.count...].starts(with: "//".utf8), scheme.last.map({ $0 == 0x3A }) ?? true {
      start = bytes[(scheme.count + 2)...].firstIndex(where: isEnd) ?? bytes.count
    }
    let query = bytes[start...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.count
    return String(decoding: bytes[..<start], as: UTF8.self)
      + percentEncoded(bytes[start..<query]) { !isEncoded($0, inQuery: false) }
      + percentEncoded(bytes[query...]) { !isEncoded($0, inQuery: true) }
  }

  private static func isEncoded(_ byte: UInt8, inQuery: Bool) -> Bool {
    switch UnicodeScalar(byte) {
    case " ", "\"", "<", ">": true
    case "`", "{", "}", "^": !inQuery
    default: false
    }
  }

  private static func defect(of text: String) -> String {
    if let byte = forbiddenByte(in: text) {
      return "the address contains "
        + (byte == 0x20 ? "a space in the name of its server" : "a control character")
    }
    if !text.contains("://") { return "the address does not begin with https:// or http://" }
    return "the address is malformed; check host and port, and percent-encode the characters"
      + " @ : / ? # [ ] in a password"
  }
}

// MARK: - Credentials and origins

extension HTTPURL {
  /// `text` without user and password, to be shown and stored. A text that cannot be parsed is cut
  /// after its last `@`, because anything before it may be a password.
  package static func withoutCredentials(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
    guard var url = HTTPURL(text) else {
      return String(text[text.lastIndex(of: "@").map { text.index(after: $0) }!...])
    }
    // A fragment is not sent either; it may be the rest of a password that contains "#".
    guard url.hasCredentials || text.utf8.contains(UInt8(ascii: "#")) else { return text }
    (url.user, url.password) = (nil, nil)
    return url.text
  }

  /// True if a request to `text` does not leave this machine: its host is `localhost`, `127.0.0.1` or
  /// another number that begins with 127, or `[::1]`.
  package static func isLoopback(_ text: String) -> Bool {
    guard let host = HTTPURL(text)?.host.lowercased() else { return false }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return host == "localhost" || host == "[::1]"
      || numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
  }

  /// The password of a URL, or the user name if there is no password: some servers expect a token
  /// there.
  package static func password(in text: String) -> String? {
    HTTPURL(text).flatMap { $0.password ?? $0.user }
  }

  /// `text` with this user name and password; `nil` if it has some, or cannot be parsed.
  package static func settingCredentials(
    user: String, password: String, in text: String
  ) -> String? {
    guard var url = HTTPURL(text), !url.hasCredentials else { return nil }
    url.user = percentEncoded(user, except: isUnreserved)
    url.password = percentEncoded(password, except: isUnreserved)
    return url.text
  }

  /// `text` with the credentials of `base` if it has none and is of the same origin: a server that was
  /// sent them once needs them again, and names itself without them.
  package static func adoptingCredentials(of base: String, in text: String) -> String {
    guard var url = HTTPURL(text), let base = HTTPURL(base), url.adoptCredentials(of: base) else {
      return text
    }
    return url.text
  }

  /// Returns true if there were credentials to adopt.
  private mutating func adoptCredentials(of base: HTTPURL) -> Bool {
    guard base.hasCredentials, !hasCredentials, hasSameOrigin(as: base) else { return false }
    (user, password) = (base.user, base.password)
    return true
  }

  /// Returns true if both are URLs of one scheme, host and port, so that secrets of one may be sent to
  /// the other.
  package static func haveSameOrigin(_ first: String, _ second: String) -> Bool {
    guard let first = HTTPURL(first), let second = HTTPURL(second) else { return false }
    return first.hasSameOrigin(as: second)
  }
}

// MARK: - References

extension HTTPURL {
  /// The URL that `reference` means in a document at `base` (RFC 3986, section 5.2), with the
  /// credentials of `base` if it has none of its own and is of the same origin. A reference that cannot
  /// be parsed is returned as it is, to be refused by ``validated(_:)``.
  package static func resolved(_ reference: String, against base: String) -> String {
    let base = Base(base)
    return target(of: reference, at: base, owner: base).url
  }

  /// An address that many references are resolved against, parsed once.
  package struct Base: Sendable {
    fileprivate let text: String
    fileprivate let url: HTTPURL?

    package init(_ text: String) {
      self.text = text
      url = HTTPURL(text)
    }
  }

  /// The URL that `reference` means in a document at `base`, as ``resolved(_:against:)`` returns it, also with
  /// the credentials of `owner` if it is of that origin.
  ///
  /// - Returns: Also true if it is of the owner's origin.
  package static func target(
    of reference: String, at base: Base, owner: Base
  ) -> (url: String, isOwn: Bool) {
    var sent = encoded(
      String(reference[..<(reference.utf8.firstIndex(of: UInt8(ascii: "#")) ?? reference.endIndex)])
    )
    // Encoded here, as in ``validated(_:)``, where no host can be among it.
    if !sent.utf8.allSatisfy({ $0 < 0x80 }), !sent.contains("//") {
      sent = percentEncoded(sent) { $0 < 0x80 }
    }
    // libcurl 7.88 resolves an empty reference to the folder of its base.
    let url = sent.isEmpty ? base.url : HTTPURL(sent, relativeTo: base.text)
    guard var url, let baseURL = base.url else { return (reference, false) }
    _ = url.adoptCredentials(of: baseURL)
    if let owner = owner.url { _ = url.adoptCredentials(of: owner) }
    return (url.text, owner.url.map(url.hasSameOrigin) ?? false)
  }

  /// `text` with the scheme, the port and the credentials of `base`; `nil` if it is on another host.
  package static func readdressed(_ text: String, toOriginOf base: String) -> String? {
    guard var url = HTTPURL(text), let base = HTTPURL(base), url.isHTTP,
      url.host.lowercased() == base.host.lowercased()
    else { return nil }
    (url.scheme, url.port, url.user, url.password) = (
      base.scheme, base.port, base.user, base.password
    )
    return url.text
  }

  /// The value of a parameter of the query, as it stands there.
  package static func parameter(_ name: String, in text: String) -> String? {
    let name = percentEncoded(name, except: isUnreserved)
    return HTTPURL(text)?.query?.split(separator: "&").first { isNamed($0, name) }
      .map { String($0.dropFirst(name.count + 1)) }
  }

  /// The URL with a parameter of that value at the end of its query, in place of others of that name.
  package static func setting(_ name: String, to value: String, in text: String) -> String {
    guard var url = HTTPURL(text) else { return text }
    let name = percentEncoded(name, except: isUnreserved)
    let others = url.query?.split(separator: "&").filter { !isNamed($0, name) } ?? []
    let pair = Substring("\(name)=\(percentEncoded(value, except: isUnreserved))")
    url.query = (others + [pair]).joined(separator: "&")
    return url.text
  }

  private static func isNamed(_ pair: Substring, _ name: String) -> Bool {
    pair.hasPrefix("\(name)=") || pair == name
  }
}

// MARK: - Percent-encoding

extension HTTPURL {
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
    default: false
    }
  }

  private static func percentEncoded(
    _ text: String, except isKept: (UInt8) -> Bool
  ) -> String {
    percentEncoded(text.utf8, except: isKept)
  }

  private static func percentEncoded(
    _ bytes: some Sequence<UInt8>, except isKept: (UInt8) -> Bool
  ) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = bytes.flatMap { byte in
      isKept(byte) ? [byte] : [0x25, digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The bytes of `text`, those that are percent-encoded decoded.
  package static func percentDecoded(_ text: String) -> [UInt8] {
    var rest = Array(text.utf8)[...]
    var decoded: [UInt8] = []
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      // Two digits and nothing else: `UInt8` accepts a sign.
      if byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy({ isHexDigit($0) }),
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
}
