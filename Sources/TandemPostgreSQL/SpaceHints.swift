internal import Dispatch
internal import Synchronization
internal import SystemLibrary
internal import TandemRecords

/// Notices the commits of all nodes.
///
/// A connection of its own sends a notification after commits of this node, and hears those of others. They are hints:
/// they may be lost with a connection. So the heads of the spaces that somebody follows are also read once a second,
/// and after each new connection all followers look themselves. Notifications are never sent by the transaction of a
/// commit, because that takes a lock of the whole server.
final class SpaceHints: Sendable {
  /// The time between two looks at the heads of followed spaces, in milliseconds.
  static let pollTime: Int32 = 1_000
  private static let channel = "tandem"

  /// The statement that sends hints.
  static func notification(_ payloads: [String]) -> PostgreSQLQuery {
    PostgreSQLQuery(
      "SELECT count(pg_notify('\(channel)', payload)) FROM unnest($1::text[]) payload",
      [.texts(payloads)])
  }

  /// What the tasks of the node and the thread with the connection tell each other. Of a space, ``notes`` is on its way to
  /// other nodes, and ``heads`` comes from them: a note is gone when it was sent, a head stays to be compared.
  private struct State {
    /// Who waits for commits, by the number of the space.
    var followers: [Int64: [Int: AsyncStream<Void>.Continuation]] = [:]
    /// The number of the last follower.
    var lastID = 0
    /// The newest versions of this node that other nodes have not heard of.
    var notes: [Int64: Int] = [:]
    /// The heads that were read last.
    var heads: [Int64: Int64] = [:]
    /// Who follows the access tokens, and their version that it has.
    var tokens: (body: @Sendable (StoredTokens?) -> Void, version: Int64?)?
    /// When the heads and the tokens are read next; `nil` for now.
    var nextLook: ContinuousClock.Instant?
    /// True once the thread was started: by the first commit or follower. Whoever has none has no connection more.
    var isStarted = false
    /// True when the thread is to end.
    var isClosed = false
  }

  private let address: String
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "tandem.postgresql.hints")
  /// A byte in this pipe ends a wait.
  private let pipe: (output: Int32, input: Int32)

  init(address: String) {
    self.address = address
    var files: [Int32] = [-1, -1]
    guard Self.makePipe(&files) else { preconditionFailure("the process has no files left") }
    pipe = (files[0], files[1])
  }

  private static func makePipe(_ files: inout [Int32]) -> Bool {
    guard SystemLibrary.pipe(&files) == 0 else { return false }
    for file in files {
      _ = fcntl(file, F_SETFL, O_NONBLOCK)
      _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }
    return true
  }

  deinit {
    SystemLibrary.close(pipe.output)
    SystemLibrary.close(pipe.input)
  }

  /// Ends all waits. The thread ends as soon as it does not wait for the server.
  func close() {
    let followers = state.withLock { state in
      state.isClosed = true
      return state.followers.values.flatMap(\.values)
    }
    for follower in followers { follower.finish() }
    wake()
  }

  /// Begins to listen, on a thread that ends after ``close()``, unless that has happened.
  private func start() {
    let starts = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted && !state.isClosed
    }
    if starts { queue.async { self.run() } }
  }

  private func wake() { _ = write(pipe.input, [UInt8(0)], 1) }
}

// MARK: - Followers

extension SpaceHints {
  /// Notes a commit of this node, for its followers and for other nodes.
  func note(_ version: Int, of space: Int64) {
    let followers = state.withLock { state in
      state.notes[space] = max(state.notes[space] ?? 0, version)
      return state.followers[space].map { Array($0.values) } ?? []
    }
    for follower in followers { follower.yield() }
    start()
    wake()
  }

  /// The commits of a space from now on, by any node. Several may be one element.
  ///
  /// - Returns: The stream, and a function that ends it.
  func follow(_ space: Int64) -> (commits: AsyncStream<Void>, end: () -> Void) {
    let (stream, continuation) = AsyncStream<Void>.makeStream(
      bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.lastID += 1
      state.followers[space, default: [:]][state.lastID] = continuation
      state.nextLook = nil
      return state.lastID
    }
    // The heads are read from now on.
    start()
    wake()
    return (
      stream,
      {
        self.state.withLock { state in
          state.followers[space]?[id] = nil
          guard state.followers[space]?.isEmpty == true else { return }
          state.followers[space] = nil
          state.heads[space] = nil
        }
      }
    )
  }

  /// Calls `body` with the access tokens once they have changed, and with `nil` whenever they have not.
  func followTokens(_ body: @escaping @Sendable (StoredTokens?) -> Void) {
    state.withLock { ($0.tokens, $0.nextLook) = ((body, nil), nil) }
    start()
    wake()
  }

  private func notify(_ spaces: some Sequence<Int64>) {
    let followers = state.withLock { state in
      spaces.flatMap { state.followers[$0].map { Array($0.values) } ?? [] }
    }
    for follower in followers { follower.yield() }
  }
}

// MARK: - The thread

extension SpaceHints {
  private func run() {
    while !state.withLock({ $0.isClosed }) {
      do {
        let connection = try PostgreSQLConnection(address: address)
        // Through a pooler, nobody would hear: only the heads are read.
        if !connection.isPooled {
          try connection.exchange([PostgreSQLQuery("LISTEN \(Self.channel)")])
        }
        // What was committed before is known to nobody here.
        notify(state.withLock { Array($0.followers.keys) })
        while !state.withLock({ $0.isClosed }) { try step(connection) }
      } catch {
        // The next connection is tried after a while. Meanwhile, followers are those that ask the database.
        wait(for: nil)
      }
    }
  }

  /// Sends what is to be sent, reads the heads of followed spaces if it is time, and waits for the next event.
  private func step(_ connection: PostgreSQLConnection) throws {
    let (notes, looks) = state.withLock { state in
      let looks = state.nextLook.map { $0 <= .now } ?? true
      if looks { state.nextLook = .now + .milliseconds(Int64(Self.pollTime)) }
      defer { state.notes = [:] }
      return (state.notes, looks)
    }
    if !notes.isEmpty {
      // What is sent together is one transaction; nobody need wait until a hint is durable.
      try connection.exchange([
        PostgreSQLQuery("SELECT set_config('synchronous_commit', 'off', true)"),
        Self.notification(notes.map { space, version in "\(space) \(version)" }),
      ])
    }
    if looks { try look(connection) }
    try hear(connection)
    wait(for: connection.socket)
    try hear(connection)
  }

  private func look(_ connection: PostgreSQLConnection) throws {
    let followed = state.withLock { Array($0.followers.keys) }
    let answers = try connection.exchange([
      StoredTokens.versionQuery,
      PostgreSQLQuery(
        "SELECT id, head FROM tandem.space WHERE id = ANY ($1::bigint[])", [.integers(followed)]),
    ])
    try readTokens(connection, version: answers[0].first?.first)
    let changed = state.withLock { state in
      answers[1].compactMap { row -> Int64? in
        guard case .integer(let space) = row[0], case .integer(let head) = row[1],
          state.heads[space] != head
        else { return nil }
        if state.followers[space] != nil { state.heads[space] = head }
        return space
      }
    }
    notify(changed)
  }

  private func readTokens(_ connection: PostgreSQLConnection, version: FieldValue?) throws {
    guard let (body, known) = state.withLock({ $0.tokens }) else { return }
    guard case .integer(known)? = version else {
      let tokens = try StoredTokens.read(connection)
      state.withLock { $0.tokens?.version = tokens.version }
      return body(tokens)
    }
    body(nil)
  }

  private func hear(_ connection: PostgreSQLConnection) throws {
    let payloads = try connection.notifications()
    let spaces = payloads.compactMap { $0.split(separator: " ").first.flatMap { Int64($0) } }
    // Another hint is that of the tokens.
    if spaces.count < payloads.count { state.withLock { $0.nextLook = nil } }
    notify(spaces)
  }

  /// Waits for a message of the server, for a byte in the pipe, or until the time to look at the heads.
  private func wait(for socket: Int32?) {
    var files = [pollfd(fd: pipe.output, events: Int16(POLLIN), revents: 0)]
    var time = Self.pollTime
    if let socket {
      files.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0))
      let left = state.withLock { $0.nextLook.map { $0 - .now } ?? .zero }
      time = Int32(min(Double(time), max(0, (left / .milliseconds(1)).rounded(.up))))
    }
    _ = poll(&files, nfds_t(files.count), time)
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(pipe.output, &bytes, bytes.count) > 0 {}
  }
}
