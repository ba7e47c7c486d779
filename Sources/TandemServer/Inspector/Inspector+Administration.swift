internal import TandemRecords
internal import TandemSpace
internal import TandemSync

/// What administrators do on the page.
///
/// A request needs a token with the right `admin` in its header, as all requests of the page do: browsers send no such
/// header by themselves, and refuse it to pages of other servers. There are no cookies.
extension Inspector {
  /// The maximum number of access tokens in an answer.
  static let maxTokenCount = 50

  /// Performs the action of a request; returns its answer.
  func answerAction(
    _ request: ServedRequest, _ subject: inout SyncService.Subject
  ) async throws -> String {
    let client = try client(of: request.head, &subject)
    guard case .token(let token) = client, token.access == .admin else {
      throw SyncRequestError(
        .unauthorized,
        "the access token does not permit to administer; tandem token create --admin makes one that does"
      )
    }
    try RoutedRequest.checkMedia(request.head)
    let action = try InspectorAction(request.body)
    subject.space = action.space
    if action.space != nil { try service.following?.checkServes() }
    try service.begin(client)
    defer { service.end(client) }
    return try await perform(action, by: token, request.head)
  }

  /// Performs an action that a token permits, notes it in the log, and returns the answer.
  private func perform(
    _ action: InspectorAction, by token: AccessToken, _ head: ServedRequestHead
  ) async throws -> String {
    func note(_ text: String, _ space: String? = nil) {
      var event = ServerEvent(.notice, text, space: space)
      event.account = token.account
      event.address = head.address
      service.log(event)
    }
    switch action {
    case .tokens(let search): return try await list(search, for: token)
    case .createToken(let account, let access, let scope, let creates, let expiry, let comment):
      let secret = TokenList.newSecret()
      let new = AccessToken(
        secret: secret, account: account, access: access, scope: scope, creates: creates,
        expiry: expiry, note: comment)
      try await place(for: token).change(creates: false) { list in try list.add(new) }
      // Without its note, which is a text of any kind.
      note("created the access token \(new.id): \(new.words)")
      return Self.text { json in
        json.field("id", new.id)
        json.field("token", secret)
      }
    case .revokeToken(let id):
      try await place(for: token).change(creates: false) { list in
        guard !list.revoke(where: { $0.id == id }).isEmpty else {
          throw SyncRequestError(.malformed, "there is no access token \(id)")
        }
      }
      note("revoked the access token \(id)")
    case .setMember(let space, let account, let role):
      guard let members = service.spaces.members else { throw SyncRequestError.ownersOnly }
      let change = SpaceMemberChange(account: account, role: role)
      let isChanged = try await with(space, token) { _ in
        try await members.members(of: space) != members.change(change, in: space)
      }
      if isChanged { note(SyncService.text(of: change), space) }
    case .forget(let space, let count):
      let horizon = try await with(space, token) { store in
        try await store.forget(before: max(0, try await store.state().head.version - count))
        return try await store.state().horizon
      }
      note("forgot the commits up to version \(horizon)", space)
    case .rename(let space, let name):
      // The new name must be one of the token's, too: it may be reserved for others.
      guard token.mayAdminister(space), token.mayAdminister(name) else {
        throw SyncRequestError.unknownSpace(token.mayAdminister(space) ? name : space)
      }
      guard try await service.spaces.rename(space, to: name) else {
        throw SyncRequestError(.malformed, "there is a space \(name); choose another name")
      }
      service.feeds.noteCommit(in: space)
      note("renamed the space to \(name)", space)
    case .delete(let space):
      guard token.mayAdminister(space) else { throw SyncRequestError.unknownSpace(space) }
      try await service.spaces.delete(space)
      service.feeds.noteCommit(in: space)
      note("deleted the space", space)
    }
    return Self.text { _ in }
  }

  private static func text(_ fields: (inout JSONWriter) -> Void) -> String {
    var json = JSONWriter()
    json.object { fields(&$0) }
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// Runs `body` with a space that a token permits to administer.
  private func with<Value: Sendable>(
    _ space: String, _ token: AccessToken,
    _ body: @Sendable (any SpaceStore) async throws -> Value
  ) async throws -> Value {
    guard token.mayAdminister(space) else { throw SyncRequestError.unknownSpace(space) }
    return try await service.spaces.with(space, body)
  }

  /// The place of the access tokens, if a token permits to change them.
  private func place(for token: AccessToken) throws(SyncRequestError) -> any TokenPlace {
    guard let tokens, token.mayChangeTokens else {
      throw SyncRequestError(
        .unauthorized,
        "only an access token with the right admin for all spaces changes access tokens")
    }
    return tokens
  }

  private func list(_ search: String, for token: AccessToken) async throws -> String {
    let (list, uses) = try await place(for: token).read()
    let found = list.tokens.filter { token in
      search.isEmpty || token.id.contains(search) || token.account.asciiLowercased.contains(search)
    }
    return Self.text { json in
      json.field("count", found.count)
      // The newest ones are at the end.
      json.objects("tokens", of: found.suffix(Self.maxTokenCount).reversed()) { token, json in
        token.writeFields(to: &json, used: uses[token.hash])
        json.field("isExpired", token.hasExpired(at: WallClock.seconds()))
      }
    }
  }
}
