internal import TandemSync

extension SyncService {
  /// The program that sends a request.
  enum Client: Sendable {
    /// A program of this machine, where there are no access tokens.
    case local
    case token(AccessToken)

    /// The rights in a space; `nil` if there are none.
    func access(to space: String) -> SpaceListing.Access? {
      switch self {
      case .local: .write
      case .token(let token): token.access(to: space)
      }
    }

    /// True if the client may inspect a space.
    func mayInspect(_ space: String) -> Bool {
      switch self {
      case .local: true
      case .token(let token): token.mayInspect(space)
      }
    }

    /// True if the client may copy all spaces for another server.
    var mayFollow: Bool {
      switch self {
      case .local: true
      case .token(let token): token.mayFollow
      }
    }

    var account: String? {
      switch self {
      case .local: nil
      case .token(let token): token.account
      }
    }

    /// True if it may still read a space, by the tokens as they are now.
    func isPermitted(toRead space: String, _ tokens: (any TokenSource)?) -> Bool {
      switch self {
      case .local: tokens?.areRequired != true
      case .token(let token): (try? tokens?.current(token))?.access(to: space) != nil
      }
    }

    /// The name under which its requests are counted.
    var id: String {
      switch self {
      case .local: ""
      case .token(let token): token.id
      }
    }
  }

  /// The client of a request, if it has any right in the space that the request names.
  func client(
    of head: ServedRequestHead, for request: RoutedRequest, _ subject: inout Subject
  ) throws(SyncRequestError) -> Client {
    if request.route.isOpen { return .local }
    if request.route.hasSpace { subject.space = request.space }
    let client = try client(of: head)
    subject.account = client.account
    if request.route.isForFollowers {
      guard client.mayFollow else {
        throw SyncRequestError(
          .unauthorized,
          "the access token does not permit to follow this server; tandem token create --follow makes one that does"
        )
      }
      return client
    }
    // As for a space that does not exist.
    if request.route.hasSpace, client.access(to: request.space) == nil {
      throw .unknownSpace(request.space)
    }
    return client
  }

  /// The client of a request.
  func client(of head: ServedRequestHead) throws(SyncRequestError) -> Client {
    guard let tokens, tokens.areRequired else {
      try checkHost(head)
      return .local
    }
    do {
      if let secret = head.bearerToken, let token = try tokens.token(ofSecret: secret) {
        return .token(token)
      }
    } catch let refusal as TokenRefusal {
      countFailure(of: head, isGuess: refusal.isGuess)
      throw SyncRequestError(
        .unauthenticated, "the access token is not accepted: \(refusal.reason)")
    } catch let refusal as SyncRequestError {
      throw refusal
    } catch {
      log(ServerEvent(.error, "\(error)"))
      metrics.count(.tokenFileErrors)
      throw SyncRequestError(
        .unavailable, "the server cannot read its access tokens; its log has the reason",
        retryAfter: .seconds(5))
    }
    // A request without any token is no guess.
    countFailure(of: head, isGuess: head.field("authorization") != nil)
    throw SyncRequestError(
      .unauthenticated, "the access token is missing or unknown: send Authorization: Bearer TOKEN")
  }

  /// Counts a request without a token that is accepted.
  private func countFailure(of head: ServedRequestHead, isGuess: Bool) {
    metrics.count(.authenticationFailures)
    if isGuess { noteFailure(of: head) }
  }

  /// Refuses requests of other machines, and of web pages: a browser sends the name of the page's
  /// server as host, which may resolve to this machine, or as origin.
  private func checkHost(_ head: ServedRequestHead) throws(SyncRequestError) {
    guard head.isLocal else {
      throw SyncRequestError(
        .unauthorized,
        "a server without access tokens is for programs of its machine: let it listen on 127.0.0.1, "
          + "or give it access tokens")
    }
    var host = (head.field("host") ?? "").asciiLowercased
    let isOwnPage = head.fields.allSatisfy { name, value in
      name != "origin" || ["http://\(host)", "https://\(host)"].contains(value.asciiLowercased)
    }
    if let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().allSatisfy(\.isNumber) {
      host = String(host[..<colon])
    }
    let isNumber = host.hasPrefix("127.") && host.utf8.allSatisfy { (46...57).contains($0) }
    guard isNumber || ["localhost", "[::1]"].contains(host), isOwnPage else {
      throw SyncRequestError(
        .unauthorized,
        "a server without access tokens is for programs of its machine, not for web pages: use the "
          + "host 127.0.0.1, and no origin")
    }
  }
}

extension ServedRequestHead {
  /// The secret that a request carries.
  fileprivate var bearerToken: String? {
    guard let field = field("authorization") else { return nil }
    let parts = field.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1].drop { $0 == " " })
  }
}
