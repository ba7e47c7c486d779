/// The rates of requests, and the addresses that have sent wrong access tokens. A value without a clock.
struct ClientRates {
  typealias Instant = ContinuousClock.Instant

  /// The maximum number of clients in each table, whose memory it bounds.
  static let maxClientCount = 100_000
  /// The requests of so many seconds may come at once.
  static let burstSeconds = 10

  private let limits: SyncService.Limits
  /// The time when the requests so far would have ended at the permitted rate.
  private var ends = ExpiringTable<Void>(maxCount: ClientRates.maxClientCount)
  private var failureCounts = ExpiringTable<Int>(maxCount: ClientRates.maxClientCount)

  init(_ limits: SyncService.Limits) { self.limits = limits }

  /// Counts a request of an account or an address.
  ///
  /// - Returns: `nil`, or the pause after which it is permitted; then it is not counted.
  mutating func pause(before client: String, at now: Instant) -> Duration? {
    guard let rate = limits.maxRequestRate else { return nil }
    let end = (ends.entry(of: client, at: now)?.expiry ?? now) + .seconds(1) / rate
    let excess = end - now - .seconds(Self.burstSeconds)
    guard excess <= .zero else { return excess }
    ends.set((), of: client, until: end, at: now)
    return nil
  }

  /// The rest of the time in which an address gets no answer; `nil` if it is not banned.
  func ban(of address: String, at now: Instant) -> Duration? {
    guard let max = limits.maxFailureCount,
      let entry = failureCounts.entry(of: address, at: now), entry.value >= max
    else { return nil }
    return entry.expiry - now
  }

  /// Counts a wrong access token. A pause as long as a ban forgets those before.
  ///
  /// - Returns: True if the address is banned from now on.
  mutating func isBanned(afterFailureOf address: String, at now: Instant) -> Bool {
    guard let max = limits.maxFailureCount else { return false }
    let count = (failureCounts.entry(of: address, at: now)?.value ?? 0) + 1
    failureCounts.set(count, of: address, until: now + limits.banTime, at: now)
    return count == max
  }
}

/// Values of clients, each until a time. If there is no room, those that would expire first are forgotten.
struct ExpiringTable<Value> {
  typealias Instant = ContinuousClock.Instant

  private let maxCount: Int
  private var entries: [String: (value: Value, expiry: Instant)] = [:]

  init(maxCount: Int) { self.maxCount = maxCount }

  var count: Int { entries.count }

  func entry(of client: String, at now: Instant) -> (value: Value, expiry: Instant)? {
    guard let entry = entries[client], entry.expiry > now else { return nil }
    return entry
  }

  mutating func set(_ value: Value, of client: String, until expiry: Instant, at now: Instant) {
    if entries.count >= maxCount, entries[client] == nil { makeRoom(at: now) }
    entries[client] = (value, expiry)
  }

  /// Forgets what has expired, and at least half of all, so that the cost is spread over many calls.
  private mutating func makeRoom(at now: Instant) {
    entries = entries.filter { $0.value.expiry > now }
    guard entries.count > maxCount / 2 else { return }
    let kept = entries.sorted { $0.value.expiry > $1.value.expiry }.prefix(maxCount / 2)
    entries = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
  }
}
