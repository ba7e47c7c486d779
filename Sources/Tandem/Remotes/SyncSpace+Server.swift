public import TandemHTTP
internal import TandemSpace
public import TandemSync

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The secret by which a program identifies itself to a server of spaces.
///
/// It is not part of any description, so that it does not get into a log by accident.
public enum ServerToken: Hashable, Sendable {
  /// The secret.
  case text(String)
  /// The path of a file with the secret on its first line. It is read for each request, so the secret
  /// can be replaced at any time.
  case file(String)
}

extension ServerToken: CustomStringConvertible, CustomReflectable {
  /// The place of the secret, without the secret.
  public var description: String {
    switch self {
    case .text: "a token"
    case .file(let path): "the token in \(path)"
    }
  }

  /// No children: the secret is not shown.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SyncSpace {
  /// A space of a server, which `tandem serve` runs. No request is sent yet.
  ///
  /// ```swift
  /// let space = try SyncSpace.server(
  ///   "https://sync.example.org", space: "notes", token: .file("/etc/notes/token"))
  /// ```
  ///
  /// All replicas that use the value share its connections.
  ///
  /// - Parameters:
  ///   - url: The address of the server, such as `https://sync.example.org`, without credentials.
  ///   - space: The name of the space: up to 128 letters, digits, dots, hyphens and underscores. If
  ///     the server has no such space, attaching a replica creates it.
  ///   - token: The secret, if the server requires one. The `name` of the space has the path of its
  ///     file, and never the secret.
  ///   - certificateAuthorityFile: A file of PEM certificates to trust instead of the system's; not
  ///     on Apple platforms, where the keychain has them.
  ///   - allowsInsecureHTTP: True to send the secret to another machine over `http`, where whoever
  ///     sees the network can read it. The `name` of the space keeps this decision.
  /// - Throws: ``/TandemHTTP/TransportError`` with code `invalidURL` for another address or name, and
  ///   with code `unavailable` if the system has no thread for the client.
  public static func server(
    _ url: String, space: String, token: ServerToken? = nil,
    certificateAuthorityFile: String? = nil, allowsInsecureHTTP: Bool = false
  ) throws -> SyncSpace {
    let address = try SpaceAddress(
      server: url, space: space, token: token, certificateAuthorityFile: certificateAuthorityFile,
      allowsInsecureHTTP: allowsInsecureHTTP)
    return try SyncSpace(at: address, token: token)
  }

  /// A space of a server, over a client of the application's own.
  ///
  /// - Throws: ``/TandemHTTP/TransportError`` with code `invalidURL`.
  public static func server(
    _ url: String, space: String, token: ServerToken? = nil, client: any HTTPClient,
    allowsInsecureHTTP: Bool = false
  ) throws -> SyncSpace {
    let address = try SpaceAddress(
      server: url, space: space, token: token, certificateAuthorityFile: nil,
      allowsInsecureHTTP: allowsInsecureHTTP)
    return try SyncSpace(at: address, token: token, client: client)
  }

  /// The space that a file is attached to, by its `name`: in a file or of a server.
  ///
  /// - Parameters:
  ///   - name: The name, as ``/TandemReplica/ReplicaStatus/space`` has it.
  ///   - token: The secret for a server, if its name has no file with it.
  /// - Throws: As `file(_:creates:)` and
  ///   ``server(_:space:token:certificateAuthorityFile:allowsInsecureHTTP:)``.
  public static func named(_ name: String, token: ServerToken? = nil) async throws -> SyncSpace {
    guard SpaceAddress.isServer(name) else { return try await file(name) }
    let address = try SpaceAddress(name: name)
    return try SyncSpace(at: address, token: address.tokenFile.map { .file($0) } ?? token)
  }

  /// The name of a space as people read it: `name` has the paths of files in the form of a URL.
  package static func plainName(_ name: String) -> String {
    guard SpaceAddress.isServer(name), let address = try? SpaceAddress(name: name) else {
      return name
    }
    return address.plainText
  }

  private init(at address: SpaceAddress, token: ServerToken?) throws(TransportError) {
    var options = HTTPClientOptions()
    options.certificateAuthorityFile = address.certificateAuthorityFile
    try self.init(at: address, token: token, client: SystemHTTPClient(options: options))
  }

  private init(
    at address: SpaceAddress, token: ServerToken?, client: any HTTPClient
  ) throws(TransportError) {
    guard token == nil || address.keepsSecrets else {
      throw TransportError(
        .invalidURL,
        "the access token would travel unencrypted, and whoever sees the network could use it; use "
          + "https, or permit it when attaching (--insecure-http, allowsInsecureHTTP)",
        url: address.url)
    }
    let transport = HTTPSyncTransport(url: address.url, token: token, client: client)
    self.init(
      name: address.name, remote: transport, head: { try await transport.state().head }, end: {})
  }
}

/// The address of a space on a server, with the files that are needed to reach it.
struct SpaceAddress: Hashable, Sendable {
  /// The URL of the space: that of the server, `/v1/spaces/`, and the name of the space.
  let url: String
  let tokenFile: String?
  let certificateAuthorityFile: String?
  /// True if secrets may travel unencrypted.
  let allowsInsecureHTTP: Bool

  private static let maxSpaceNameByteCount = 128
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
          + "name of the space (--server, --space)", url: base)
    }
    guard Self.isSpaceName(space) else {
      throw TransportError(
        .invalidURL,
        "\"\(space)\" is no name of a space; use up to \(Self.maxSpaceNameByteCount) letters, digits, "
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

  private static func isSpaceName(_ name: String) -> Bool {
    let isAlphanumeric = { (byte: UInt8) in
      0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte
    }
    guard let first = name.utf8.first, name.utf8.count <= maxSpaceNameByteCount else {
      return false
    }
    return isAlphanumeric(first)
      && name.utf8.allSatisfy { isAlphanumeric($0) || ".-_".utf8.contains($0) }
  }

  /// The path from the root. Symbolic links stay, so that a file can be replaced by its link.
  private static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }
}
