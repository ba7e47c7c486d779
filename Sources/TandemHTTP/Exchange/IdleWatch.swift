/// Detects that too few bytes have moved for a while, by reading a counter at intervals.
///
/// That costs less than an event for every byte. With a look every quarter of the timeout, it
/// runs out between one and one and a quarter times the timeout after the last movement.
struct IdleWatch {
  private let timeout: Duration
  private let minByteCount: Int64
  /// The count at the last movement; `nil` before the first look.
  private var lastCount: Int64?
  private var lastMovement: ContinuousClock.Instant

  /// The moment of the next look.
  private(set) var nextLook: ContinuousClock.Instant

  /// - Parameter minByteCount: The fewest bytes that count as a movement.
  init(timeout: Duration, minByteCount: Int64 = 1, now: ContinuousClock.Instant) {
    self.timeout = timeout
    self.minByteCount = max(1, minByteCount)
    lastMovement = now
    nextLook = now + timeout / 4
  }

  /// Looks at `count`, or at `nil` while nothing is expected to move, and returns whether the time
  /// has run out.
  mutating func look(at count: Int64?, now: ContinuousClock.Instant) -> Bool {
    nextLook = now + timeout / 4
    if hasMoved(to: count) {
      lastCount = count
      lastMovement = now
    }
    return now - lastMovement >= timeout
  }

  private func hasMoved(to count: Int64?) -> Bool {
    guard let count, let lastCount else { return true }
    return count < lastCount || count - lastCount >= minByteCount
  }
}
