/// Detects that no bytes have moved for a while, by reading a counter at intervals.
///
/// That costs less than an event for every byte. With a look every quarter of the timeout, it
/// runs out between one and one and a quarter times the timeout after the last movement.
struct IdleWatch {
  private let timeout: Duration
  private var lastCount: Int64?
  private var lastMovement: ContinuousClock.Instant

  /// The moment of the next look.
  private(set) var nextLook: ContinuousClock.Instant

  init(timeout: Duration, now: ContinuousClock.Instant) {
    self.timeout = timeout
    lastMovement = now
    nextLook = now + timeout / 4
  }

  /// Looks at `count`, or at `nil` while nothing is expected to move, and returns whether the time
  /// has run out.
  mutating func look(at count: Int64?, now: ContinuousClock.Instant) -> Bool {
    nextLook = now + timeout / 4
    if count == nil || count != lastCount {
      lastCount = count
      lastMovement = now
    }
    return now - lastMovement >= timeout
  }
}
