internal import TandemSync

/// The event streams of one space, and its last events.
///
/// A value without tasks: ``SpaceFeeds`` reads the space and calls it.
package struct SpaceFeed {
  /// A client that follows the space.
  struct Follower {
    let stream: AnswerStream
    /// True if only its role as a member of the space permits the client to read it.
    let isMember: Bool
    /// Returns false when the client may not read the space any more, by its access token and
    /// the members.
    let isPermitted: @Sendable () -> Bool
  }

  /// The bounds of the events that are kept for clients which connect again.
  package struct Limits: Hashable, Sendable {
    /// The maximum number of events.
    package var maxEventCount = 1_000
    /// The maximum length of all events, in bytes: less than the backlog of a stream, which gets them
    /// at once when it connects again.
    package var maxByteCount = 512 << 10
    /// The maximum length of an event. The changes of longer ones are pulled.
    package var maxEventByteCount = SyncLimits.maxEventByteCount

    /// The usual limits.
    package init() {}
  }

  private struct Entry {
    let from: SpaceRevision
    let bytes: [UInt8]
  }

  /// The bytes that keep a stream alive: a comment.
  static let heartbeat = Array(":\n\n".utf8)

  /// The last bytes of a stream whose client may not read the space any more: a comment.
  static let farewell = Array(
    ": the access token has ended, or does not permit to read the space any more\n\n".utf8)

  /// The revision of the last event; `nil` until the space was read.
  private(set) var head: SpaceRevision?
  private let limits: Limits
  /// The last events, each of which continues the one before.
  private var ring: [Entry] = []
  private var ringByteCount = 0
  private var followers: [Follower] = []
  /// The clients that connected before the space was read.
  private var waiting: [(follower: Follower, since: SpaceRevision)] = []

  init(limits: Limits = Limits()) { self.limits = limits }

  /// The number of clients.
  var followerCount: Int { followers.count + waiting.count }

  /// The clients.
  var allFollowers: [Follower] { followers + waiting.map(\.follower) }

  /// Adds a client by its revision.
  ///
  /// The client gets the events since then. If they are not known any more, it gets the head.
  mutating func add(_ follower: Follower, since: SpaceRevision) {
    guard let head else {
      waiting.append((follower, since))
      return
    }
    if since != head {
      if let start = ring.firstIndex(where: { $0.from == since }) {
        for entry in ring[start...] { follower.stream.send(entry.bytes) }
      } else if since.epoch != head.epoch || since.version < head.version {
        follower.stream.send(SyncMessageWriter.streamBytes(.head(head)))
      }
    }
    followers.append(follower)
  }

  /// The space was read for the first time, or again after it could not be read.
  mutating func begin(at revision: SpaceRevision) {
    let isContinued = head == revision
    head = revision
    if !isContinued {
      (ring, ringByteCount) = ([], 0)
      for follower in followers {
        follower.stream.send(SyncMessageWriter.streamBytes(.head(revision)))
      }
    }
    let waiting = waiting
    self.waiting = []
    for (follower, since) in waiting { add(follower, since: since) }
  }

  /// Sends an event that continues the head to all clients.
  ///
  /// - Returns: The numbers of clients that got it and that were cut off, because they read too slowly
  ///   or had left.
  mutating func publish(_ event: SyncEvent) -> (sentCount: Int, cutCount: Int) {
    let from = head
    head = event.revision
    var bytes = SyncMessageWriter.streamBytes(event)
    if case .commit = event, let from, bytes.count <= limits.maxEventByteCount {
      ring.append(Entry(from: from, bytes: bytes))
      ringByteCount += bytes.count
      while ring.count > limits.maxEventCount || ringByteCount > limits.maxByteCount {
        ringByteCount -= ring.removeFirst().bytes.count
      }
    } else {
      // A client that connects at an earlier revision pulls.
      (ring, ringByteCount) = ([], 0)
      bytes = SyncMessageWriter.streamBytes(.head(event.revision))
    }
    return send(bytes)
  }

  /// Keeps the streams alive. A client that has left is noticed by the second heartbeat at the latest.
  mutating func beat() -> (sentCount: Int, cutCount: Int) {
    waiting.removeAll { !$0.follower.stream.send(Self.heartbeat) }
    return send(Self.heartbeat)
  }

  /// Ends all streams.
  mutating func end() {
    for follower in allFollowers { follower.stream.end() }
    (followers, waiting) = ([], [])
  }

  private mutating func send(_ bytes: [UInt8]) -> (sentCount: Int, cutCount: Int) {
    let count = followers.count
    var cutCount = 0
    followers.removeAll { follower in
      let wasOpen = follower.stream.isOpen
      let isSent = follower.stream.send(bytes)
      if wasOpen, !isSent { cutCount += 1 }
      return !isSent
    }
    return (followers.count, min(cutCount, count))
  }
}
