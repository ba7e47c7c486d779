internal import TandemSpace
internal import TandemSync

extension SyncService {
  /// The program that sends a request.
  enum Client: Sendable {
    /// A program of this machine, where there are no access tokens.
    case local
    case token(AccessToken)

    /// The rights in a space, apart from those of a member; `nil` if there are none.
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

    var isLocal: Bool { if case .local = self { true } else { false } }

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

    /// The account whose roles in spaces are rights of the client, too.
    var member: String? {
      if case .token(let token) = self, token.hasRoles { token.account } else { nil }
    }

    /// The account that may create a space and then owns it; `nil` if the client may not.
    func creator(of space: String) -> String? {
      if case .token(let token) = self, token.mayCreate(space) { token.account } else { nil }
    }

    /// True if it may still read a space, by the tokens and the members as they are now.
    func isPermitted(
      toRead space: String, _ tokens: (any TokenSource)?, _ members: (any SpaceMemberships)?
    ) -> Bool {
      guard case .token(let token) = self else { return tokens?.areRequired != true }
      guard let current = try? tokens?.current(token) else { return false }
      if current.access(to: space) != nil { return true }
      guard current.hasRoles, let members else { return false }
      return (try? members.role(of: current.account, in: space)) != nil
    }

    /// The name under which its requests are counted.
    var id: String {
      switch self {
      case .local: ""
      case .token(let token): token.id
      }
    }
  }

  /// What a client may do in a space.
  struct Standing {
    let access: SpaceListing.Access?
    /// True if it may see and change the members.
    let isOwner: Bool
  }

  /// What a client may do in a space, by its token and as a member.
  func standing(of client: Client, in request: RoutedRequest) async throws -> Standing {
    let own = client.access(to: request.space)
    guard let account = client.member, let members = spaces.members,
      own != .write || request.route.isForOwners
    else {
      return Standing(access: own, isOwner: client.isLocal && spaces.members != nil)
    }
    try await members.refresh()
    let role = try members.role(of: account, in: request.space)
    return Standing(
      access: role?.access == .write ? .write : own ?? role?.access, isOwner: role == .owner)
  }

  /// What a client may do in the space that a request names, if it may do what it asks for.
  func permittedStanding(
    of client: Client, in request: RoutedRequest
  ) async throws -> Standing {
    guard request.route.hasSpace, !request.route.isForFollowers else {
      return Standing(access: nil, isOwner: false)
    }
    let standing = try await standing(of: client, in: request)
    let creates = request.route == .tables && client.creator(of: request.space) != nil
    guard standing.access != nil || creates else {
      throw try await refusal(of: request.space, for: client)
    }
    if request.route.isForOwners, !standing.isOwner { throw SyncRequestError.ownersOnly }
    return standing
  }

  /// The number of renamings of a space that a refusal follows.
  private static let maxRenamingCount = 8

  /// The refusal of a client without rights: as for a space that does not exist, unless it is a member of the space that
  /// had this name.
  func refusal(of space: String, for client: Client) async throws -> SyncRequestError {
    guard let account = client.member, let members = spaces.members else {
      return .unknownSpace(space)
    }
    var name = space
    for _ in 0..<Self.maxRenamingCount {
      guard let next = try await spaces.successor(of: name) else { break }
      name = next
      if try members.role(of: account, in: name) != nil {
        return FormerSpace.renamed(name).refusal(of: space)
      }
    }
    return .unknownSpace(space)
  }

  /// The client of a request.
  func client(
    of head: ServedRequestHead, for request: RoutedRequest, _ subject: inout Subject
  ) throws(SyncRequestError) -> Client {
    if request.route.isOpen { return .local }
    if request.route.hasSpace { subject.space = request.space }
    let client = try client(of: head)
    subject.account = client.account
    if request.route.isForFollowers, !client.mayFollow {
      throw SyncRequestError(
        .unauthorized,
        "the access token does not permit to follow this server; use one with the right to follow")
    }
    if case .token(let token) = client, token.access == .metrics, request.route != .metrics {
      throw SyncRequestError(
        .unauthorized, "the access token permits only to read the metrics; use another one")
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
      if let pause = refusal.retryAfter {
        throw SyncRequestError(
          .unavailable, "the access token is not accepted yet: \(refusal.reason)",
          retryAfter: pause)
      }
      throw SyncRequestError(
        .unauthenticated, SyncRequestError.refusedTokenPrefix + refusal.reason)
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
