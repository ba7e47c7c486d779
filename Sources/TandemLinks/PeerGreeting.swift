import TandemChannels

/// How far a peer's greeting has come.
struct PeerGreeting: Sendable {
  private let heard = AsyncStream.makeStream(of: Void.self)
  private let followed = AsyncStream.makeStream(of: Void.self)

  /// It has been read.
  func isHeard() { heard.continuation.finish() }

  /// The hub has followed the clock that it tells of.
  func isFollowed() { followed.continuation.finish() }

  /// Waits until the greeting has been read, or the task is cancelled.
  func untilHeard() async { for await _ in heard.stream {} }

  /// Waits until the hub has followed, or the task is cancelled.
  func untilFollowed() async { for await _ in followed.stream {} }
}
