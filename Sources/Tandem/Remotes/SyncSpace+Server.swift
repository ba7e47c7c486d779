public import TandemHTTP
internal import TandemSpace
public import TandemSync

extension SyncSpace {
  /// A space of a server, which `tandem serve` runs. No request is sent yet.
  ///
  /// <!-- Snippets/CodeInComments.swift space -->
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
    // A link may lead from the path to another one since the file was attached.
    guard SpaceAddress.isServer(name) else { return try await file(name).renamed(name) }
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
          + "https, or permit it when attaching (`allowsInsecureHTTP`)",
        url: address.url)
    }
    let transport = HTTPSyncTransport(url: address.url, token: token, client: client)
    self.init(
      name: address.name, remote: transport, head: { try await transport.state().head }, end: {})
  }
}
