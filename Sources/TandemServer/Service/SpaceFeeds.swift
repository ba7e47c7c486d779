internal import Synchronization
internal import TandemSpace
internal import TandemSync

/// Reads the spaces that clients follow, and sends them the events.
///
/// One task for each space with clients waits for commits, by whichever program, and reads what
/// changed: so one read serves all clients.
final class SpaceFeeds: Sendable {
  fileprivate struct State {
    var feeds: [String: SpaceFeed] = [:]
    /// The spaces that clients follow, each with the run that reads it; 0 if it waits for a run.
    var followed: [String: Int] = [:]
    /// The runs under way, each with the names of the spaces that it begins to read.
    var runs: [Int: AsyncStream<String>.Continuation] = [:]
    var lastRun = 0
    /// The pauses of the spaces whose files were closed for others.
    var resting: [String: Task<Void, Never>] = [:]
    /// The followed spaces with a commit since their files were opened.
    var changed: Set<String> = []
  }

  /// The pause before a space is read again that could not be read.
  private static let retryPause = Duration.seconds(1)
  /// The pause between two looks at the rights of all clients. They are also looked at before each event.
  private static let rightsPause = Duration.seconds(1)

  private let spaces: any ServedSpaces
  private let limits: SpaceFeed.Limits
  private let heartbeat: Duration
  private let clock: any Clock<Duration>
  private let metrics: ServerMetrics
  private let log: @Sendable (ServerEvent) -> Void
  private let state = Mutex(State())

  init(
    _ spaces: any ServedSpaces, limits: SpaceFeed.Limits, heartbeat: Duration,
    clock: any Clock<Duration>, metrics: ServerMetrics,
    log: @escaping @Sendable (ServerEvent) -> Void
  ) {
    self.spaces = spaces
    self.limits = limits
    self.heartbeat = heartbeat
    self.clock = clock
    self.metrics = metrics
    self.log = log
  }

  /// Adds a client to a space.
  func add(_ follower: SpaceFeed.Follower, to space: String, since: SpaceRevision) {
    metrics.count(.streamsOpened)
    state.withLock { state in
      state.feeds[space, default: SpaceFeed(limits: limits)].add(follower, since: since)
      if state.followed[space] == nil { state.assign(space) }
    }
  }

  /// Runs until the task is cancelled. Then another run reads its spaces; without one, all streams
  /// end.
  func run() async {
    let (starts, start) = AsyncStream<String>.makeStream()
    let run = state.withLock { $0.begin(start) }
    await withDiscardingTaskGroup { group in
      group.addTask { await self.beat(in: run) }
      group.addTask { await self.checkRights(in: run) }
      for await space in starts {
        group.addTask { await self.follow(space) }
      }
      group.cancelAll()
    }
    state.withLock { state in
      state.end(run)
      guard state.runs.isEmpty else { return }
      for space in state.feeds.keys { state.feeds[space]?.end() }
    }
  }

  /// The number of runs under way.
  var runCount: Int { state.withLock { $0.runs.count } }

  /// Sends heartbeats as long as this is the first of the runs.
  private func beat(in run: Int) async {
    while !Task.isCancelled {
      do { try await clock.sleep(for: heartbeat) } catch { return }
      state.withLock { state in
        guard state.runs.keys.min() == run else { return }
        for space in state.feeds.keys {
          guard let before = state.feeds[space]?.followerCount else { continue }
          let counts = state.feeds[space]?.beat()
          count(before, state.feeds[space]?.followerCount ?? 0, counts?.cutCount ?? 0)
        }
      }
    }
  }

  /// Ends the streams of clients whose tokens were revoked or have expired, and of former members, as long as this is the first of the runs.
  private func checkRights(in run: Int) async {
    while !Task.isCancelled {
      do { try await clock.sleep(for: Self.rightsPause) } catch { return }
      let followers = state.withLock { state in
        guard state.runs.keys.min() == run else { return [] as [SpaceFeed.Follower] }
        return state.feeds.values.flatMap(\.allFollowers)
      }
      // Events are sent only after the members were read.
      try? await refreshMembers(for: followers)
      endForbidden(followers)
    }
  }

  private func refreshMembers(for followers: [SpaceFeed.Follower]) async throws {
    if followers.contains(where: \.isMember) { try await spaces.members?.refresh() }
  }

  /// Without the lock: access tokens may be read again.
  private func endForbidden(_ followers: [SpaceFeed.Follower]) {
    for follower in followers where !follower.isPermitted() {
      follower.stream.end(saying: SpaceFeed.farewell)
    }
  }

  private func count(_ before: Int, _ after: Int, _ cutCount: Int) {
    metrics.count(.streamsEnded, before - after)
    metrics.count(.streamsCut, cutCount)
  }

  /// Reads a space until no client follows it.
  private func follow(_ space: String) async {
    while !Task.isCancelled {
      state.withLock { _ = $0.changed.remove(space) }
      do {
        try await spaces.follow(space) { store in try await self.follow(space, in: store) }
      } catch let refusal as SyncRequestError where refusal.code == .unknownSpace {
        state.withLock { state in
          count(state.feeds[space]?.followerCount ?? 0, 0, 0)
          state.feeds[space]?.end()
        }
      } catch is CancellationError where !Task.isCancelled {
        // Another space needs the place of this one among the open files.
        await rest(space)
      } catch {
        if Task.isCancelled { return }
        log(ServerEvent(.error, "\(error)", space: space))
        metrics.count(.spaceErrors)
        try? await clock.sleep(for: Self.retryPause)
      }
      let isEnd = state.withLock { state in
        guard state.feeds[space]?.followerCount ?? 0 == 0 else { return false }
        state.feeds[space] = nil
        state.followed[space] = nil
        state.changed.remove(space)
        return true
      }
      if isEnd { return }
    }
  }

  /// Waits for a commit through this server, or for a heartbeat: other programs may have made one.
  private func rest(_ space: String) async {
    let pause = Task { [clock, heartbeat] in _ = try? await clock.sleep(for: heartbeat) }
    let isChanged = state.withLock { state in
      state.resting[space] = pause
      return state.changed.contains(space)
    }
    if isChanged { pause.cancel() }
    await withTaskCancellationHandler {
      await pause.value
    } onCancel: {
      pause.cancel()
    }
    state.withLock { $0.resting[space] = nil }
  }

  /// Notes a commit, so that its space is read also if its file was closed for others.
  func noteCommit(in space: String) {
    state.withLock { state in
      guard state.followed[space] != nil else { return }
      state.changed.insert(space)
      state.resting[space]?.cancel()
    }
  }

  private func follow(_ space: String, in store: any SpaceStore) async throws {
    var head = try await store.state().head
    let start = head
    state.withLock { $0.feeds[space]?.begin(at: start) }
    while state.withLock({ $0.feeds[space]?.followerCount ?? 0 > 0 }) {
      guard try await store.waitsForCommit(after: head, atMost: heartbeat, on: clock) else {
        // Throws if the space was deleted or renamed.
        try await spaces.with(space) { _ in }
        continue
      }
      let event = try await event(after: head, in: store)
      guard event.revision != head else { continue }
      head = event.revision
      let followers = state.withLock { $0.feeds[space]?.allFollowers ?? [] }
      try await refreshMembers(for: followers)
      endForbidden(followers)
      state.withLock { state in
        guard let before = state.feeds[space]?.followerCount,
          let counts = state.feeds[space]?.publish(event)
        else { return }
        count(before, state.feeds[space]?.followerCount ?? 0, counts.cutCount)
        metrics.count(.eventsSent, counts.sentCount)
      }
    }
  }

  /// The commits after a revision as one event.
  private func event(
    after head: SpaceRevision, in store: any SpaceStore
  ) async throws -> SyncEvent {
    switch try await store.page(SyncPull(replica: nil, since: head)) {
    case .page(let page) where page.next == nil: return .commit(from: head, page)
    case .page(let page): return .head(page.revision)
    case .gone: return .head(try await store.state().head)
    }
  }
}

extension SpaceStore {
  /// Waits for a commit; returns false if there was none for a while. Then the caller looks whether the space is still
  /// there.
  func waitsForCommit(
    after head: SpaceRevision, atMost time: Duration, on clock: any Clock<Duration>
  ) async throws -> Bool {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        _ = try await self.waitForCommit(after: head)
        return true
      }
      group.addTask {
        try await clock.sleep(for: time)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }
}

extension SpaceFeeds.State {
  /// Gives a space to one of the runs; without any, to the next one that begins.
  fileprivate mutating func assign(_ space: String) {
    let run = runs.keys.min() ?? 0
    followed[space] = run
    runs[run]?.yield(space)
  }

  /// Begins a run, which reads the spaces that wait for one. Returns its number.
  fileprivate mutating func begin(_ start: AsyncStream<String>.Continuation) -> Int {
    lastRun += 1
    runs[lastRun] = start
    for (space, run) in followed where run == 0 { assign(space) }
    return lastRun
  }

  /// Gives the spaces of a run that has ended to another one.
  fileprivate mutating func end(_ run: Int) {
    runs[run] = nil
    for (space, reader) in followed where reader == run { assign(space) }
  }
}
