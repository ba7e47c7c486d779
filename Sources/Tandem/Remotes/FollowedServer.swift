package import TandemHTTP
package import TandemSpace

/// A server whose spaces another one copies: its leader.
package struct FollowedServer: Sendable {
  /// The address of the server, without a slash at the end.
  package let url: String
  private let token: ServerToken?
  private let client: any HTTPClient

  /// A server.
  ///
  /// - Parameters:
  ///   - url: The address, such as `https://sync.example.org`, without credentials.
  ///   - token: The secret of an access token that may follow.
  ///   - certificateAuthorityFile: A file of PEM certificates to trust instead of the system's.
  ///   - allowsInsecureHTTP: True to send the secret to another machine over `http`.
  /// - Throws: ``/TandemHTTP/TransportError`` with code `invalidURL` or `unavailable`.
  package init(
    _ url: String, token: ServerToken?, certificateAuthorityFile: String? = nil,
    allowsInsecureHTTP: Bool = false
  ) throws(TransportError) {
    // Any name: the rules for the address are those of a space of the server.
    let address = try SpaceAddress(
      server: url, space: "any", token: token, certificateAuthorityFile: certificateAuthorityFile,
      allowsInsecureHTTP: allowsInsecureHTTP)
    guard token == nil || address.keepsSecrets else {
      throw TransportError(
        .invalidURL,
        "the access token would travel unencrypted, and whoever sees the network could use it; use "
          + "https, or permit it (`allowsInsecureHTTP`)", url: url)
    }
    var base = address.url
    base.removeLast("/v1/spaces/any".count)
    self.url = base
    self.token = token
    var options = HTTPClientOptions()
    options.certificateAuthorityFile = address.certificateAuthorityFile
    client = try SystemHTTPClient(options: options)
  }

  /// Reads the access token.
  ///
  /// - Throws: ``RemoteError`` if there is no token in its file.
  package func checkToken() throws(RemoteError) { _ = try token?.secret() }

  private func transport(_ path: String) -> HTTPSyncTransport {
    HTTPSyncTransport(url: url + path, token: token, client: client)
  }

  /// The spaces, each with a text that changes with its commits and its members.
  ///
  /// - Parameter tag: The tag of the list that is known: the server answers when there is another one, or after some
  ///   seconds. `nil` for an answer at once.
  /// - Throws: ``TandemSync/SyncRequestError`` of the server, also if the token may not follow;
  ///   ``/TandemHTTP/TransportError``; ``TandemSpace/SpaceCopyError``.
  package func spaces(after tag: String?) async throws -> SpaceCopyList {
    try await transport("/v1/copies").copies(after: tag)
  }

  /// A page of the rows that a space has got since a position, or of all.
  ///
  /// - Parameter members: The tag of the members that are known: the last page has the members if they have another one. `nil`
  ///   for no members.
  package func page(
    of space: String, since: SpaceCopyPosition?, cursor: String?, members: String?
  ) async throws -> SpaceCopyAnswer {
    try await transport("/v1/spaces/\(space)").copyPage(
      since: since, cursor: cursor, members: members)
  }

  /// Whether a server takes commits.
  package enum Standing: Hashable, Sendable {
    /// It answers, and takes commits.
    case serving
    /// Nobody listens at its address, or it follows another server.
    case stopped
    /// It may take commits: it could not be asked, for this reason.
    case unknown(String)
  }

  /// Whether the server takes commits.
  package func standing() async -> Standing { await transport("/healthz").standing() }
}
