internal import Synchronization
internal import TandemPostgreSQL
internal import TandemSpace
package import TandemSync

/// Answers the requests of replicas: routes, rights, limits and encoding. It uses no sockets.
public final class SyncService: HTTPResponder {
  /// The bounds of a service.
  package struct Limits: Hashable, Sendable {
    /// The bounds of messages.
    package var messages = SyncLimits()
    /// The maximum number of event streams of one access token.
    package var maxTokenStreamCount = 4_000
    /// The maximum number of spaces that one access token follows by event streams at a time.
    package var maxTokenFollowedSpaceCount = 1_000
    /// The maximum number of requests of one access token that are not answered.
    package var maxTokenRequestCount = 256
    /// The bounds of the events that are kept for each space.
    package var feed = SpaceFeed.Limits()
    /// The time between two heartbeats of an event stream.
    package var heartbeat = Duration.seconds(15)
    /// The maximum number of requests in a second of each account and of each address, on average over
    /// ten seconds; `nil` for any number.
    package var maxRequestRate: Int?
    /// The number of wrong access tokens after which an address is banned; `nil` for any number.
    package var maxFailureCount: Int?
    /// The duration of a ban, and the time in which wrong access tokens are counted together.
    package var banTime = Duration.seconds(600)
    /// The time in which the rules of an application decide on a commit.
    package var maxRuleTime = Duration.seconds(5)
    /// The maximum number of commits that rules decide on at a time, late decisions included.
    package var maxRuleCount = 256

    /// The usual limits.
    package init() {}
  }

  /// The counts of one client.
  struct Usage {
    var requestCount = 0
    var streams: [(space: String, stream: AnswerStream)] = []
    /// True if the log has the limit of streams that the client has reached.
    var isLogged = false
  }

  /// The spaces.
  package let spaces: any ServedSpaces
  let tokens: (any TokenSource)?
  let limits: Limits
  let metrics: ServerMetrics
  let log: @Sendable (ServerEvent) -> Void
  let feeds: SpaceFeeds
  let clock: any Clock<Duration>
  /// Called with the name of a space after each commit of this service.
  private let onCommit: @Sendable (String) -> Void
  /// What this server follows; `nil` for a server that follows none.
  let following: Following?
  /// Lets requests with large bodies in.
  package let gate = RequestGate(width: SyncService.maxLargeRequestCount)
  let rules: CommitRuler?
  /// By the id of the access token; all clients have one count where there are no tokens.
  let usages = Mutex<[String: Usage]>([:])
  let rates: Mutex<ClientRates>

  /// A service with spaces as files of a directory.
  ///
  /// - Parameters:
  ///   - path: The directory, which is created if it is missing. A space is the file `NAME.space`.
  ///   - tokens: The path of a file of access tokens, which `tandem token` makes. Each request needs
  ///     one. The file is read again when it changes. Without access tokens, the service answers only
  ///     requests that a server received on loopback; they may do everything.
  ///   - log: Called with messages for the operator, on any thread: it must not wait. Requests are logged by the
  ///     ``HTTPServer``.
  ///   - rules: Decide on each commit before it is made (``CommitRules``); `nil` to accept all.
  /// - Throws: ``ServerError`` with code `directory` or `tokens`.
  public convenience init(
    spacesIn path: String, tokens: String? = nil,
    log: @escaping @Sendable (ServerEvent) -> Void = { _ in }, rules: CommitRules? = nil
  ) throws(ServerError) {
    let metrics = ServerMetrics()
    let file = try Self.tokenFile(tokens, log)
    self.init(
      spaces: try SpaceDirectory(path: path, metrics: metrics), tokens: file, metrics: metrics,
      log: log, rules: rules)
  }

  /// A service with spaces in a PostgreSQL database, which any number of services and of servers (`tandem serve
  /// --store`) may use at the same time.
  ///
  /// It needs the library libpq, which it loads when it connects. All of the services should have the same rules.
  ///
  /// - Parameters:
  ///   - address: An address of libpq, as `postgresql://USER@HOST/DATABASE`.
  ///   - createsSchema: True to create the schema `tandem` in the database if it is missing.
  ///   - tokens: The path of a file of access tokens; `nil` for the tokens in the database, which `tandem token --store`
  ///     makes. As long as there are none, the service answers only requests that a server received on loopback.
  ///   - log: Called with messages for the operator, on any thread: it must not wait.
  ///   - rules: Decide on each commit before it is made (``CommitRules``); `nil` to accept all.
  /// - Throws: ``ServerError`` with code `tokens`; an error that says why the database cannot be used.
  public convenience init(
    spacesOn address: String, createsSchema: Bool = false, tokens: String? = nil,
    log: @escaping @Sendable (ServerEvent) -> Void = { _ in }, rules: CommitRules? = nil
  ) async throws {
    let file = try Self.tokenFile(tokens, log)
    let warn = { @Sendable (message: String) in log(ServerEvent(.warning, message)) }
    let database = try await PostgreSQLDatabase.open(
      address: address, creates: createsSchema, log: warn)
    let tokens: any TokenSource
    do {
      tokens = if let file { file } else { try await PostgreSQLTokens(database, log: warn) }
    } catch {
      await database.close()
      throw error
    }
    self.init(
      spaces: PostgreSQLSpaces(database, limits: Limits().messages), tokens: tokens, log: log,
      rules: rules)
  }

  private static func tokenFile(
    _ path: String?, _ log: @escaping @Sendable (ServerEvent) -> Void
  ) throws(ServerError) -> TokenFile? {
    guard let path else { return nil }
    return try TokenFile(path: path, log: { log(ServerEvent(.warning, $0)) })
  }

  /// A service.
  ///
  /// - Parameters:
  ///   - tokens: The access tokens; `nil` to serve programs of this machine, all of which may do
  ///     everything.
  ///   - following: The leader, whose spaces the directory has copies of.
  ///   - clock: The clock of the heartbeats, and of the time that rules have.
  ///   - log: Called with messages for the operator.
  ///   - rules: The rules of the application; `nil` for none.
  ///   - executor: Runs the rules; `nil` for the usual one.
  ///   - onCommit: Called with the name of a space after each commit; it must not wait.
  package init(
    spaces: any ServedSpaces, tokens: (any TokenSource)?, limits: Limits = Limits(),
    following: Following? = nil, clock: any Clock<Duration> = .continuous,
    metrics: ServerMetrics = ServerMetrics(),
    log: @escaping @Sendable (ServerEvent) -> Void = { _ in }, rules: CommitRules? = nil,
    executor: (any TaskExecutor)? = nil, onCommit: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.spaces = spaces
    self.tokens = tokens
    self.limits = limits
    self.metrics = metrics
    self.following = following
    self.log = { log($0.redacted) }
    self.clock = clock
    self.onCommit = onCommit
    rates = Mutex(ClientRates(limits))
    self.rules = rules.map { CommitRuler($0, limits, clock, executor, log) }
    feeds = SpaceFeeds(
      spaces, limits: limits.feed, heartbeat: limits.heartbeat, clock: clock, metrics: metrics,
      log: log)
  }

  /// Sends events to streams until the task is cancelled. When the last run ends, the streams end.
  ///
  /// ``HTTPServer/run()`` calls it. Call it yourself only where another HTTP server answers by this
  /// service. Several runs may be under way.
  public func run() async {
    await withDiscardingTaskGroup { group in
      if let tokens { group.addTask { await tokens.run() } }
      await feeds.run()
      group.cancelAll()
    }
  }

  /// Closes the spaces. The service must not be used any more, and no ``run()`` be under way.
  public func close() async { await spaces.close() }
}

// MARK: - Requests

extension SyncService {
  /// Refuses a request by its route, its token or its header; or accepts it for its token.
  public func admission(of head: ServedRequestHead) -> HTTPAdmission {
    var subject = Subject()
    do throws(SyncRequestError) {
      let request = try RoutedRequest(head)
      // A load balancer asks often, and has to hear of the server.
      guard request.route != .health else { return admission(for: .local) }
      try checkAddress(of: head)
      let client = try client(of: head, for: request, &subject)
      try checkRate(of: client)
      return admission(for: client)
    } catch {
      return .refused(subject.noted(in: answer(.refusal(error), route: nil, head)))
    }
  }

  /// Accepts a request. Where there are no tokens, there are no clients to distinguish.
  func admission(for client: Client) -> HTTPAdmission {
    .accepted(client: tokens?.areRequired == true ? client.id : nil)
  }

  /// The rejection for a limit that the server has reached.
  public func answer(to trouble: ServerTrouble) -> HTTPAnswer {
    let refusal =
      switch trouble {
      case .malformedHead:
        SyncRequestError(
          .malformed,
          "the header is not valid: send one Host, one Content-Length or Transfer-Encoding: chunked, and no control "
            + "characters")
      case .unexpectedBody:
        SyncRequestError(
          .overLimit, "a request with this method has no body: send this one without")
      case .clientOverloaded: SyncRequestError.tooManyRequests
      case .bodyTooLong:
        SyncRequestError(
          .overLimit,
          "the body has more than \(limits.messages.maxCommitByteCount) bytes: send less")
      case .overloaded:
        SyncRequestError(
          .unavailable, "the server has too much to do; try again", retryAfter: .seconds(1))
      case .stopping:
        SyncRequestError(.unavailable, "the server stops; try again", retryAfter: .seconds(1))
      }
    metrics.countAnswer("server", status: refusal.status, refusal: refusal.code.name)
    return SyncReply.refusal(refusal).answer
  }

  /// The length of a body in bytes beyond which a request is large.
  package static let maxSmallBodyByteCount = 1 << 20
  /// The maximum number of large requests at a time, because a message may take ten times its length
  /// of memory: all processors but one, which small requests share, and at most four.
  package static let maxLargeRequestCount = min(4, max(1, processorCount() - 1))

  /// The route, the account and the space of a request, as far as they are known.
  struct Subject {
    var route: SyncRoute?
    var account: String?
    var space: String?

    func noted(in answer: HTTPAnswer) -> HTTPAnswer {
      var answer = answer
      answer.event.account = account
      answer.event.space = space
      return answer
    }
  }

  /// Answers a request of a replica.
  public func answer(_ request: ServedRequest) async -> HTTPAnswer {
    var subject = Subject()
    let start = ContinuousClock.now
    let answer = await answer(request, &subject)
    metrics.countRequest(subject.route?.rawValue ?? "none", ContinuousClock.now - start)
    return subject.noted(in: answer)
  }

  private func answer(_ request: ServedRequest, _ subject: inout Subject) async -> HTTPAnswer {
    do {
      let routed = try RoutedRequest(request.head)
      subject.route = routed.route
      let client = try client(of: request.head, for: routed, &subject)
      try following?.check(routed.route)
      try begin(client)
      defer { end(client) }
      let standing = try await permittedStanding(of: client, in: routed)
      var isLarge = request.body.count > Self.maxSmallBodyByteCount
      if isLarge { await gate.enter() }
      defer { if isLarge { gate.leave() } }
      let call = try routed.call(
        request, mayWrite: standing.access == .write, limits: limits.messages)
      if case .commit(let commit) = call, commit.of > 1, !isLarge {
        // With the last missing part, the space reads all others.
        await gate.enter()
        isLarge = true
      }
      if case .events(let since) = call {
        return try await stream(routed.space, since: since, for: client)
      }
      return answer(
        try await reply(to: call, routed, client, standing), route: subject.route, request.head)
    } catch let refusal as SyncRequestError {
      return answer(.refusal(refusal), route: subject.route, request.head)
    } catch is CancellationError {
      return answer(to: .stopping)
    } catch {
      return answer(
        .refusal(refusal(for: error, of: request.head)), route: subject.route, request.head)
    }
  }

  /// The refusal of a request that failed because of the store of a space.
  func refusal(for error: any Error, of head: ServedRequestHead) -> SyncRequestError {
    // The message may contain paths of this machine: it is for the operator only.
    var event = ServerEvent(.error, "\(error)")
    event.add(method: head.method, target: head.path)
    log(event)
    metrics.count(.spaceErrors)
    return SyncRequestError(
      .unavailable, "the server cannot use the space; its log has the reason",
      retryAfter: .seconds(5))
  }

  private func answer(
    _ reply: SyncReply, route: SyncRoute?, _ head: ServedRequestHead
  ) -> HTTPAnswer {
    var answer = reply.answer
    if case .refusal(let refusal) = reply, refusal.code == .methodNotAllowed,
      let segments = head.segments
    {
      let methods = SyncRoute.matching(segments).routes.map(\.method)
      answer.fields.append(("Allow", methods.joined(separator: ", ")))
    }
    var code: String?
    if case .refusal(let refusal) = reply { code = refusal.code.name }
    metrics.countAnswer(route?.rawValue ?? "none", status: reply.status, refusal: code)
    return answer
  }

  private func reply(
    to call: SyncCall, _ request: RoutedRequest, _ client: Client, _ standing: Standing
  ) async throws -> SyncReply {
    let space = request.space
    switch call {
    case .health:
      guard let following, following.isFollowing else { return .health }
      return .following(secondsBehind: following.secondsBehind)
    case .metrics: return .text(metrics.text, type: "text/plain; version=0.0.4; charset=utf-8")
    case .description:
      return .text(
        String(decoding: PackageResources.openapi_json, as: UTF8.self), type: "application/json")
    case .spaces: return .spaces(try await listings(for: client))
    case .state:
      return .state(
        try await spaces.with(space) { try await $0.state() }.withoutConstraints)
    case .changes(let pull):
      let answer = try await spaces.with(space) {
        try await $0.page(pull, account: client.account)
      }
      if case .page(let page) = answer, let since = pull.since, pull.cursor == nil {
        metrics.countPull(lacking: page.revision.version - since.version)
      }
      return SyncReply(answer)
    case .declare(let tables):
      return .tables(try await declare(tables, in: request, client, standing))
    case .members: return .members(try await memberships.members(of: space))
    case .setMember(let account, let role):
      return .members(try await setMember(account, role, in: space, client))
    case .commit(let commit):
      return .outcome(
        try await outcome(in: space) { store in
          guard let rules = self.rules else {
            return try await store.commit(commit, account: client.account)
          }
          return try await rules.outcome(of: commit, in: space, store, account: client.account)
        })
    case .repeatedCommit(let commit):
      return .outcome(
        try await outcome(in: space) {
          try await self.repeatedOutcome(of: commit, in: $0, account: client.account)
        })
    case .copies(let tag): return .lines(try await copies(after: tag).bytes)
    case .copy(let since, let cursor, let members):
      return try await copy(of: space, since: since, cursor, members: members)
    case .events: preconditionFailure("an event stream is answered before")
    }
  }

  private func listings(for client: Client) async throws -> [SpaceListing] {
    var roles: [String: SpaceRole] = [:]
    if let account = client.member, let members = spaces.members {
      try await members.refresh()
      roles = try members.roles(of: account)
    }
    return try await spaces.names().compactMap { name in
      let (own, role) = (client.access(to: name), roles[name]?.access)
      let access = role == .write ? role : own ?? role
      return access.map { SpaceListing(name: name, access: $0) }
    }
  }

  private func declare(
    _ tables: [SpaceTable], in request: RoutedRequest, _ client: Client, _ standing: Standing
  ) async throws -> [SpaceTable] {
    let space = request.space
    var access = standing.access
    if let account = client.creator(of: space) {
      access = try await create(request, owner: account, client, access)
    }
    let mayWrite = access == .write
    // A member cannot create the space again that it was a member of.
    return try await spaces.with(space, creates: client.access(to: space) == .write) { store in
      try await store.declare(tables, adds: mayWrite)
    }
  }

  /// Answers a commit by `body`, and counts it.
  private func outcome(
    in space: String, _ body: @Sendable (any SpaceStore) async throws -> SyncOutcome
  ) async throws -> SyncOutcome {
    let start = ContinuousClock.now
    let outcome = try await spaces.with(space, body)
    metrics.countCommit(outcome.name, ContinuousClock.now - start)
    if case .accepted = outcome {
      feeds.noteCommit(in: space)
      onCommit(space)
    }
    return outcome
  }

  /// The stored outcome of a commit of a client that may only read: it may have lost the right to
  /// write after it sent the commit, and the outcome then.
  private func repeatedOutcome(
    of commit: SyncCommitIdentity, in store: any SpaceStore, account: String?
  ) async throws -> SyncOutcome {
    let pull = SyncPull(replica: commit.replica, since: nil, maxChangeCount: 1)
    guard case .page(let page) = try await store.page(pull), let standing = page.replica,
      standing.sequence == commit.sequence, standing.commit == commit.id
    else {
      try await store.refuse(commit, account: account)
      throw SyncRequestError(
        .unauthorized, "the access token permits only to read the space; use one that may write")
    }
    return standing.outcome
  }
}

// MARK: - Limits

extension SyncService {
  /// Counts a request of a client, until ``end(_:)``.
  func begin(_ client: Client) throws(SyncRequestError) {
    let isTooMany = usages.withLock { usages in
      guard usages[client.id, default: Usage()].requestCount < limits.maxTokenRequestCount else {
        return true
      }
      usages[client.id, default: Usage()].requestCount += 1
      return false
    }
    if isTooMany { throw .tooManyRequests }
  }

  func end(_ client: Client) {
    usages.withLock { usages in
      usages[client.id]?.requestCount -= 1
      if usages[client.id]?.requestCount == 0, usages[client.id]?.streams.isEmpty == true {
        usages[client.id] = nil
      }
    }
  }
}

extension SyncOutcome {
  /// The name of the outcome, as messages have it.
  var name: String {
    switch self {
    case .accepted: "accepted"
    case .conflict: "conflict"
    case .refused: "refused"
    case .sequence: "sequence"
    case .gone: "gone"
    case .parts: "parts"
    }
  }
}
