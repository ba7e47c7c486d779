internal import Synchronization
internal import TandemSpace
internal import TandemSync

extension SyncService {
  func stream(
    _ space: String, since: SpaceRevision?, for client: Client
  ) async throws -> HTTPAnswer {
    let (answer, head) = try await spaces.with(space) { store in
      // Read before the client has the answer, so that it hears of each commit from then on.
      (
        try await store.page(SyncPull(replica: nil, since: since, maxChangeCount: 1)),
        try await store.state().head
      )
    }
    if case .gone(let reason) = answer {
      let reply = SyncReply.outcome(.gone(reason))
      metrics.countAnswer(SyncRoute.events.rawValue, status: reply.status)
      return reply.answer
    }
    let stream = AnswerStream(maxBacklogByteCount: limits.messages.maxStreamBacklogByteCount)
    try use(client, stream, of: space)
    // The first bytes show the client, and a proxy, that the stream has begun.
    stream.send(SpaceFeed.heartbeat)
    feeds.add(
      SpaceFeed.Follower(
        stream: stream,
        isMember: client.access(to: space) == nil,
        isPermitted: { [tokens, spaces] in
          client.isPermitted(toRead: space, tokens, spaces.members)
        }),
      to: space, since: since ?? head)
    metrics.countAnswer(SyncRoute.events.rawValue, status: 200)
    return HTTPAnswer(
      status: 200,
      fields: [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
        // nginx otherwise collects events before it sends them on.
        ("X-Accel-Buffering", "no"),
      ], content: .stream(stream))
  }

  /// Counts a stream of a client.
  private func use(
    _ client: Client, _ stream: AnswerStream, of space: String
  ) throws(SyncRequestError) {
    let excess = usages.withLock { usages -> (limit: String, isLogged: Bool)? in
      var usage = usages[client.id, default: Usage()]
      defer { usages[client.id] = usage }
      usage.streams.removeAll { !$0.stream.isOpen }
      guard let limit = limit(reachedBy: usage.streams.map(\.space), with: space) else {
        usage.streams.append((space, stream))
        return nil
      }
      defer { usage.isLogged = true }
      return (limit, usage.isLogged)
    }
    guard let excess else { return }
    if !excess.isLogged {
      log(ServerEvent(.warning, "the access token \(client.id) has \(excess.limit)"))
    }
    throw .tooManyRequests
  }

  /// The limit that one more stream of a client would exceed; `nil` if none.
  private func limit(reachedBy spaces: [String], with space: String) -> String? {
    if spaces.count >= limits.maxTokenStreamCount {
      return "\(limits.maxTokenStreamCount) event streams, the most (`maxTokenStreamCount`)"
    }
    let followed = Set(spaces)
    guard !followed.contains(space), followed.count >= limits.maxTokenFollowedSpaceCount else {
      return nil
    }
    return "event streams of \(limits.maxTokenFollowedSpaceCount) spaces, the most "
      + "(`maxTokenFollowedSpaceCount`)"
  }
}
