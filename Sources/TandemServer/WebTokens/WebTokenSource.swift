internal import Synchronization
internal import TandemDigests
internal import TandemSync

/// Accepts the tokens of an identity provider by its keys. The keys are read again when their time is over, when a
/// token names one that is not known, and when ``reload()`` is called.
package final class WebTokenSource: TokenSource {
  /// The text of a key set, and the time for which it may be used, if its source said so.
  package typealias KeyText = (bytes: [UInt8], maxAge: Duration?)

  /// The keys, and what was found out by them.
  private struct State {
    /// Those that were read last.
    var keys: WebKeys
    /// The time until the next reading.
    var age: Duration
    /// `nil` until the keys could be read. They count for two days from then on.
    var readAt: ContinuousClock.Instant?
    /// The last attempt, also one that failed: the next one waits for a while.
    var triedAt: ContinuousClock.Instant
    /// The tokens whose signature need not be checked again.
    var accepted: [SHA256Digest: Entry] = [:]
    /// The tokens of keys that are not known: those that wait for the next reading, and those that a reading since their
    /// first request has not helped.
    var waiting: Set<SHA256Digest> = []
    var unknown: Set<SHA256Digest> = []
  }

  /// A token that was accepted, and the key that signed it.
  private struct Entry {
    let token: AccessToken
    let key: String
  }

  private typealias ReadKeys = (keys: WebKeys, time: ContinuousClock.Instant)

  /// The maximum length of a key set, in bytes.
  package static let maxKeyByteCount = WebKeys.maxByteCount
  /// The time after which keys are read again, unless their source says otherwise.
  static let usualAge = Duration.seconds(600)
  /// The bounds of what their source says.
  static let ages = Duration.seconds(60)...Duration.seconds(86_400)
  /// The minimum time between two readings, whatever keys tokens name.
  static let minPause = Duration.seconds(30)
  /// The age of keys beyond which no token is accepted, because they could not be read again.
  static let maxAge = Duration.seconds(2 * 86_400)
  /// The time after which a client comes back while the keys are read.
  static let readingTime = Duration.seconds(2)
  /// The maximum number of tokens whose signature need not be checked again.
  static let maxAcceptedCount = 50_000
  /// The maximum number of tokens of unknown keys that are remembered. Beyond it, all are forgotten, and their clients are
  /// asked to try again once more.
  static let maxUnknownCount = 10_000

  /// The file or the address of the keys, for messages.
  private let place: String
  private let rules: WebTokenRules
  private let read: @Sendable () async throws -> KeyText
  private let now: @Sendable () -> Double
  private let log: @Sendable (String) -> Void
  private let state: Mutex<State>
  private let wake: AsyncStream<Void>.Continuation
  private let wakes: AsyncStream<Void>

  /// Reads the keys for the first time.
  ///
  /// - Parameters:
  ///   - place: The file or the address of the keys, for messages.
  ///   - mayStartWithoutKeys: True to refuse all tokens for the time being if the keys cannot be read.
  ///   - now: The seconds since 1970.
  ///   - log: Called with messages for the operator.
  ///   - read: Reads the keys, a JSON Web Key Set.
  /// - Throws: ``ServerError`` with code `keys`, or the error of `read`.
  package init(
    _ rules: WebTokenRules, keysAt place: String, mayStartWithoutKeys: Bool = false,
    now: @escaping @Sendable () -> Double = WallClock.seconds,
    log: @escaping @Sendable (String) -> Void,
    reading read: @escaping @Sendable () async throws -> KeyText
  ) async throws {
    self.place = place
    self.rules = rules
    self.now = now
    self.log = log
    self.read = read
    (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    let text: KeyText?
    do {
      text = try await read()
    } catch  where mayStartWithoutKeys {
      // Otherwise its absence would be noticed only later.
      _ = try SignatureLibrary.load()
      log("\(error). \(Self.refusal)")
      text = nil
    }
    if let text {
      let keys = try Self.keys(text, place, rules)
      state = Mutex(State(keys: keys, age: Self.age(text.maxAge), readAt: .now, triedAt: .now))
    } else {
      state = Mutex(State(keys: WebKeys(), age: Self.ages.lowerBound, triedAt: .now))
    }
  }

  private static func keys(
    _ text: KeyText, _ place: String, _ rules: WebTokenRules
  ) throws(ServerError) -> WebKeys {
    do throws(ServerError) {
      return try WebKeys(text.bytes, for: rules.algorithms)
    } catch {
      throw ServerError(error.code, "\(place): \(error.message)")
    }
  }

  private static let refusal =
    "Tokens of the identity provider are refused until its keys can be read"

  private static func age(_ maxAge: Duration?) -> Duration {
    maxAge.map { min(max($0, ages.lowerBound), ages.upperBound) } ?? usualAge
  }

  /// Reads the keys again whenever it is time, until the task is cancelled.
  package func run() async {
    await withDiscardingTaskGroup { group in
      group.addTask {
        while !Task.isCancelled {
          let age = self.state.withLock { $0.age }
          do { try await Task.sleep(for: age) } catch { return }
          self.wake.yield()
        }
      }
      for await _ in wakes {
        do {
          try await reload()
        } catch {
          let hasKeys = state.withLock { state in
            state.age = Self.ages.lowerBound
            return state.readAt != nil
          }
          log("\(error). \(hasKeys ? "The former keys of tokens stay in use" : Self.refusal)")
        }
      }
    }
  }

  /// Reads the keys again. Tokens of keys that are gone are accepted no more.
  ///
  /// - Throws: ``ServerError`` with code `keys`, or the error of the function that reads.
  package func reload() async throws {
    let waiting = state.withLock { state in
      state.triedAt = .now
      return state.waiting
    }
    let text = try await read()
    let keys = try Self.keys(text, place, rules)
    state.withLock { state in
      state.waiting.subtract(waiting)
      state.keys = keys
      state.age = Self.age(text.maxAge)
      state.readAt = .now
      let texts = Set(keys.keys.map(\.text))
      let gone = state.accepted.filter { !texts.contains($0.value.key) }.keys
      for hash in gone { state.accepted[hash] = nil }
      let unknown = waiting.union(gone)
      if state.unknown.count + unknown.count > Self.maxUnknownCount { state.unknown = [] }
      state.unknown.formUnion(unknown)
    }
  }

  /// The token of a text; `nil` if it is not a token of this kind.
  ///
  /// - Throws: ``TokenRefusal``, which names a time if the key may be a new one, until the keys were read again: such a
  ///   token is no guess yet; `SyncRequestError` with code `unavailable` if the keys are too old.
  package func token(ofSecret text: String) throws -> AccessToken? {
    guard WebToken.isOne(text) else { return nil }
    let hash = SHA256Digest(of: text.utf8)
    let now = now()
    let (known, read) = state.withLock { state -> (AccessToken?, ReadKeys?) in
      if let entry = state.accepted[hash], !entry.token.hasExpired(at: now) {
        return (entry.token, nil)
      }
      if let readAt = state.readAt, readAt.duration(to: .now) <= Self.maxAge {
        return (nil, (state.keys, readAt))
      }
      beginReading(&state)
      return (nil, nil)
    }
    if let known { return known }
    do throws(WebTokenError) {
      // What is no token is refused without keys, too.
      let token = try WebToken(text)
      if let read { return try accept(token, hash, read.keys, at: now) }
    } catch {
      let pause = error.isOfUnknownKey ? pause(before: hash, readAt: read?.time) : nil
      throw TokenRefusal(
        reason: error.description, isGuess: !error.isSigned && pause == nil, retryAfter: pause)
    }
    throw SyncRequestError(
      .unavailable, "the server cannot read the keys of tokens; its log has the reason",
      retryAfter: .seconds(60))
  }

  private func accept(
    _ token: WebToken, _ hash: SHA256Digest, _ keys: WebKeys, at now: Double
  ) throws(WebTokenError) -> AccessToken {
    let (accepted, key) = try token.accepted(by: rules, keys, now: now)
    let token = AccessToken(
      hash: hash, account: accepted.account, access: .write, scope: .spaces(accepted.writable),
      alsoReads: accepted.readable, creates: .spaces(accepted.creatable),
      expiry: accepted.expiry)
    state.withLock { state in
      // The keys may have changed since.
      guard state.keys.keys.contains(where: { $0.text == key }) else { return }
      if state.accepted.count >= Self.maxAcceptedCount {
        state.accepted = state.accepted.filter { !$0.value.token.hasExpired(at: now) }
        if state.accepted.count >= Self.maxAcceptedCount { state.accepted.removeAll() }
      }
      state.accepted[hash] = Entry(token: token, key: key)
    }
    return token
  }

  /// The token as it is now; `nil` if it has expired, or if its key is gone.
  package func current(_ token: AccessToken) -> AccessToken? {
    guard !token.hasExpired(at: now()) else { return nil }
    return state.withLock { $0.accepted[token.hash]?.token }
  }

  /// Permits to read the keys again at once.
  func forgetLastReading() { state.withLock { $0.triedAt -= Self.minPause } }

  /// The time after which a token of an unknown key may be accepted; `nil` if the keys were read since its first request.
  /// Begins to read the keys, unless that was tried lately.
  ///
  /// - Parameter time: The time of the reading of the keys that do not know it.
  private func pause(
    before hash: SHA256Digest, readAt time: ContinuousClock.Instant?
  ) -> Duration? {
    state.withLock { state in
      // Keys that were read meanwhile may know it.
      guard time == state.readAt else { return Self.readingTime }
      guard !state.unknown.contains(hash) else {
        beginReading(&state)
        return nil
      }
      if state.waiting.count >= Self.maxUnknownCount { state.waiting = [] }
      state.waiting.insert(hash)
      return beginReading(&state)
    }
  }

  /// Begins to read the keys, unless that was tried lately. Returns the time after which that may have helped.
  @discardableResult
  private func beginReading(_ state: inout State) -> Duration {
    let pause = Self.minPause - state.triedAt.duration(to: .now)
    guard pause <= .zero else { return pause + Self.readingTime }
    state.triedAt = .now
    wake.yield()
    return Self.readingTime
  }
}
