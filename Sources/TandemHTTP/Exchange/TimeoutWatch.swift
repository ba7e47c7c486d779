/// The ``HTTPTimeouts`` of one transfer after it is connected: a value that a client asks now and then.
struct TimeoutWatch {
  /// The state of a transfer at a look.
  struct Progress: Sendable {
    /// The bytes sent and received so far, header lines included.
    var byteCount: Int64
    /// True once the request can be sent.
    var isConnected = true
    /// True once the head has arrived.
    var hasHead: Bool
    /// True while the reader is behind.
    var isPaused: Bool
  }

  private let timeouts: HTTPTimeouts
  private let deadline: ContinuousClock.Instant?
  private var idle: IdleWatch
  private var head: IdleWatch?
  private var rate: IdleWatch?

  init(_ timeouts: HTTPTimeouts, now: ContinuousClock.Instant) {
    self.timeouts = timeouts
    deadline = timeouts.total.map { now + $0 }
    idle = IdleWatch(timeout: timeouts.idle, now: now)
    head = timeouts.head.map { IdleWatch(timeout: $0, now: now) }
    rate = timeouts.minBytesPerSecond.map {
      let count = Double($0) * (HTTPTimeouts.rateWindow / .seconds(1))
      return IdleWatch(timeout: HTTPTimeouts.rateWindow, minByteCount: Int64(count), now: now)
    }
  }

  /// The next moment at which to call ``expiry(of:now:)``.
  var nextLook: ContinuousClock.Instant {
    [deadline, head?.nextLook, rate?.nextLook].reduce(idle.nextLook) { min($0, $1 ?? $0) }
  }

  /// The message about the timeout that has run out; `nil` if none has.
  mutating func expiry(of progress: Progress, now: ContinuousClock.Instant) -> String? {
    let isMoving = progress.isConnected && !progress.isPaused
    if let deadline, deadline <= now {
      return message("the response was not complete", timeouts.total)
    }
    if idle.nextLook <= now, idle.look(at: isMoving ? progress.byteCount : nil, now: now) {
      return message("nothing was sent or received", timeouts.idle)
    }
    // The head does not move until it is complete.
    let isWaiting = progress.isConnected && !progress.hasHead
    if Self.look(at: isWaiting ? 0 : nil, by: &head, now) {
      return message("the header of the response was not complete", timeouts.head)
    }
    if Self.look(at: isMoving && progress.hasHead ? progress.byteCount : nil, by: &rate, now) {
      let least = "\(timeouts.minBytesPerSecond ?? 0) bytes per second"
      return message("fewer than \(least) were received", HTTPTimeouts.rateWindow)
    }
    return nil
  }

  private static func look(
    at count: Int64?, by watch: inout IdleWatch?, _ now: ContinuousClock.Instant
  ) -> Bool {
    guard let nextLook = watch?.nextLook, nextLook <= now else { return false }
    return watch?.look(at: count, now: now) == true
  }

  private func message(_ event: String, _ limit: Duration?) -> String {
    let span = limit.map { "\($0)" } ?? "the time allowed"
    return "\(event) within \(span); try again, or allow more time"
  }
}
