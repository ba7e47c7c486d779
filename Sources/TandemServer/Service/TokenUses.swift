internal import Synchronization
internal import TandemDigests

/// The last uses of tokens. A request only notes its time in memory, and at most once an hour for a token.
package final class TokenUses: Sendable {
  private struct State {
    /// The time of the last note of each token, in seconds since 1970.
    var noted: [SHA256Digest: Int] = [:]
    /// The times that have to be written.
    var waiting: [SHA256Digest: Int] = [:]
    var hasFailed = false
  }

  /// The time between two notes of a token, in seconds.
  private static let pause = 3_600
  /// The time between two writings.
  static let writePause = Duration.seconds(30)

  /// The present, in seconds since 1970.
  let now: @Sendable () -> Double
  private let log: @Sendable (String) -> Void
  private let state = Mutex(State())

  /// No uses.
  package init(
    now: @escaping @Sendable () -> Double = WallClock.seconds,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.now = now
    self.log = log
  }

  func note(_ token: AccessToken) {
    let time = Int(now())
    state.withLock { state in
      if let last = state.noted[token.hash], abs(time - last) < Self.pause { return }
      // Tokens that were revoked long ago need no place.
      if state.noted.count > 2 * TokenList.maxTokenCount { state.noted.removeAll() }
      state.noted[token.hash] = time
      state.waiting[token.hash] = time
    }
  }

  func take() -> [SHA256Digest: Int] {
    state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting
    }
  }

  /// Tells the operator once that times cannot be written.
  func fail(_ error: any Error) {
    let isFirst = state.withLock { state in
      defer { state.hasFailed = true }
      return !state.hasFailed
    }
    if isFirst { log("the last uses of access tokens cannot be written: \(error)") }
  }
}
