internal import CSQLite

/// Ends what a connection does when the access that does it is cancelled: while it runs, and while it
/// waits for another program's lock.
///
/// Installed as the connection's progress and busy handlers, as long as this exists.
final class ConnectionInterruption {
  /// How many of SQLite's instructions may pass until a cancellation is noticed: some microseconds.
  static let instructionCount: Int32 = 1_000
  /// The longest pause between two tries to get a lock, in milliseconds.
  static let maxPauseMilliseconds: Int32 = 25

  private let handle: DatabaseHandle
  private let busyTimeout: Duration
  private var cancellation: AccessCancellation?
  private var isRunning = false
  private var busySince = ContinuousClock.now

  init(_ handle: DatabaseHandle, busyTimeout: Duration) {
    self.handle = handle
    self.busyTimeout = busyTimeout
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_progress_handler(
      handle.pointer, Self.instructionCount,
      { context in ConnectionInterruption.from(context).isDue ? 1 : 0 }, context)
    sqlite3_busy_handler(
      handle.pointer,
      { context, count in ConnectionInterruption.from(context).waits(count) ? 1 : 0 }, context)
  }

  deinit {
    sqlite3_progress_handler(handle.pointer, 0, nil, nil)
    sqlite3_busy_handler(handle.pointer, nil, nil)
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> ConnectionInterruption {
    guard let context else { preconditionFailure("SQLite passes back the context it was given") }
    return Unmanaged.fromOpaque(context).takeUnretainedValue()
  }

  /// From now until ``end()``, the cancellation interrupts the connection.
  func begin(_ cancellation: AccessCancellation?) {
    self.cancellation = cancellation
    isRunning = true
    cancellation?.begin(handle.pointer)
  }

  /// Once this returns, the connection runs on undisturbed.
  func end() {
    guard isRunning else { return }
    isRunning = false
    cancellation?.end()
  }

  /// - Throws: `CancellationError` if the access has been cancelled.
  func check() throws {
    if cancellation?.isCancelled == true { throw CancellationError() }
  }

  /// Whether an error only says that the access was interrupted.
  func isCause(of error: DatabaseError) -> Bool {
    let code = error.code.primary
    return cancellation?.isCancelled == true && (code == .interrupted || code == .busy)
  }

  private var isDue: Bool { isRunning && cancellation?.isCancelled == true }

  /// Pauses before another try to get a lock; `false` gives up.
  private func waits(_ count: Int32) -> Bool {
    let now = ContinuousClock.now
    if count == 0 { busySince = now }
    guard handle.waitsForLocks, !isDue, now - busySince < busyTimeout else { return false }
    sqlite3_sleep(min(count + 1, Self.maxPauseMilliseconds))
    return true
  }
}
