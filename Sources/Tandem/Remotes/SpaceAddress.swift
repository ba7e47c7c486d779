internal import SystemLibrary
internal import TandemHTTP
internal import TandemSync

/// The address of a space on a server, with the files that are needed to reach it.
struct SpaceAddress: Hashable, Sendable {
  /// The URL of the space: that of the server, `/v1/spaces/`, and the name of the space.
  let url: String
  let tokenFile: String?
  let certificateAuthorityFile: String?
  /// True if secrets may travel unencrypted.
  let allowsInsecureHTTP: Bool

  private static let route = "/v1/spaces/"
  private static let tokenFileKey = "token-file"
  private static let certificateKey = "cacert"
  private static let insecureKey = "insecure-http"

  init(
    server: String, space: String, token: ServerToken?, certificateAuthorityFile: String?,
    allowsInsecureHTTP: Bool = false
  ) throws(TransportError) {
    var base = server
    while base.hasSuffix("/") { base.removeLast() }
    guard HTTPURL.withoutCredentials(base) == base, !base.contains("?"), !base.contains("#") else {
      throw TransportError(
        .invalidURL,
        "the address of a server has no credentials, parameters or fragment; put the token into a file",
        url: base.prefix { $0 != "?" && $0 != "#" }.description)
    }
    if let route = base.firstRange(of: Self.route.dropLast()) {
      throw TransportError(
        .invalidURL,
        "this is the address of spaces; use that of the server, \(base[..<route.lowerBound]), and the "
          + "name of the space (`server(_:space:)`)", url: base)
    }
    guard SpaceName.isValid(space) else {
      throw TransportError(
        .invalidURL,
        "\"\(space)\" is no name of a space; use up to \(SpaceName.maxByteCount) letters, digits, "
          + "dots, hyphens and underscores, with a letter or digit first", url: base)
    }
    url = try HTTPURL.validated(base + Self.route + space)
    var file: String?
    if case .file(let path)? = token { file = path }
    tokenFile = file.map { Self.absolute($0) }
    self.certificateAuthorityFile = certificateAuthorityFile.map { Self.absolute($0) }
    self.allowsInsecureHTTP = allowsInsecureHTTP
  }

  /// True if nobody else can read what is sent, or if that was permitted.
  var keepsSecrets: Bool {
    url.hasPrefix("https:") || HTTPURL.isLoopback(url) || allowsInsecureHTTP
  }

  /// True if the name of a space is that of one on a server.
  static func isServer(_ name: String) -> Bool {
    name.hasPrefix("https://") || name.hasPrefix("http://")
  }

  /// Reads a ``name``.
  init(name: String) throws(TransportError) {
    let parts = name.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
    url = try HTTPURL.validated(String(parts[0]))
    let fragment = parts.count > 1 ? parts[1] : ""
    var values: [Substring: String] = [:]
    for pair in fragment.split(separator: "&") {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard sides.count == 2 else { continue }
      values[sides[0]] = String(
        decoding: HTTPURL.percentDecoded(String(sides[1])), as: UTF8.self)
    }
    tokenFile = values[Substring(Self.tokenFileKey)]
    certificateAuthorityFile = values[Substring(Self.certificateKey)]
    allowsInsecureHTTP = values[Substring(Self.insecureKey)] == "yes"
  }

  /// The URL, with the paths of the files and the permission in its fragment, which is never sent.
  var name: String {
    let values = [
      (Self.tokenFileKey, tokenFile), (Self.certificateKey, certificateAuthorityFile),
      (Self.insecureKey, allowsInsecureHTTP ? "yes" : nil),
    ].compactMap { key, value in value.map { "\(key)=\(Self.escaped($0))" } }
    return url + (values.isEmpty ? "" : "#" + values.joined(separator: "&"))
  }

  /// The name for people: the space, its server, and the files that are needed to reach it.
  var plainText: String {
    let parts = [
      tokenFile.map { "the token in \($0)" },
      certificateAuthorityFile.map { "the certificates in \($0)" },
      allowsInsecureHTTP ? "secrets over http" : nil,
    ].compactMap(\.self)
    return url + (parts.isEmpty ? "" : ", with " + parts.joined(separator: ", "))
  }

  /// A path as a value of the fragment.
  private static func escaped(_ path: String) -> String {
    path.utf8.reduce(into: "") { text, byte in
      let isKept = byte > 0x20 && byte < 0x7F && !"%&#=".utf8.contains(byte)
      text +=
        isKept
        ? String(UnicodeScalar(byte)) : "%" + String(Int(byte) | 0x100, radix: 16).dropFirst()
    }
  }

  /// The path from the root. Symbolic links stay, so that a file can be replaced by its link.
  private static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }
}
