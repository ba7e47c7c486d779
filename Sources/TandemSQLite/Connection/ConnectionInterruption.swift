internal import CSQLite
internal import Synchronization

/// The cancellation of one access: a flag, and the connection to interrupt.
///
/// `sqlite3_interrupt` alone is not enough, and lasts too long. SQLite forgets an interruption
/// between two statements, so the connection's progress handler checks ``isCancelled`` as well. An
/// interruption also stays pending for the next access, so `sqlite3_interrupt` is called under the
/// lock, and only while this access holds the connection. The handler alone is not enough either:
/// SQLite does not call it within one long instruction, such as counting a table.
final class AccessCancellation: Sendable {
  private struct State: @unchecked Sendable {
    // Safe to send: SQLite allows interrupting from any thread while the connection is open, and it
    // is open as long as this is set.
    var running: OpaquePointer?
  }

  private let flag = Atomic(false)
  private let state = Mutex(State())

  /// True if the task that asked has been cancelled.
  var isCancelled: Bool { flag.load(ordering: .acquiring) }

  /// Cancels: from any thread, at any time, any number of times.
  func cancel() {
    flag.store(true, ordering: .releasing)
    state.withLock { state in
      if let running = state.running { sqlite3_interrupt(running) }
    }
  }

  /// From now until ``end()``, cancelling interrupts the connection.
  func begin(_ connection: OpaquePointer) {
    let connection = State(running: connection)
    state.withLock { $0 = connection }
  }

  /// Once this returns, cancelling has no effect on the connection.
  func end() { state.withLock { $0.running = nil } }
}

/// The progress and busy handlers of a connection, as long as this exists: they end a statement,
/// and a wait for another connection's lock, when the access is cancelled.
final class ConnectionInterruption {
  /// The number of SQLite's instructions after which a cancellation is noticed: some microseconds.
  static let instructionCount: Int32 = 1_000
  /// The maximum pause between two attempts to get a lock, in milliseconds.
  static let maxPauseMilliseconds: Int32 = 25

  private let handle: DatabaseHandle
  private let busyTimeout: Duration
  private var cancellation: AccessCancellation?
  private var isRunning = false
  private var waitsForLocks = true
  private var busySince = ContinuousClock.now

  /// Installs the handlers.
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

  /// Throws `CancellationError` if the access has been cancelled.
  func check() throws {
    if cancellation?.isCancelled == true { throw CancellationError() }
  }

  /// True if an error only reports that the access was interrupted.
  func isCause(of error: DatabaseError) -> Bool {
    guard cancellation?.isCancelled == true else { return false }
    return switch error.code.primary {
    case .interrupted, .busy: true
    // SQLite loses the code in the declaration of a virtual table, and keeps the message.
    case .error: error.message == "interrupted"
    default: false
    }
  }

  /// Runs `body`, in which a statement that meets another connection's lock throws `busy` at once.
  func withoutWaiting<Value>(
    _ body: () throws(DatabaseError) -> Value
  ) throws(DatabaseError) -> Value {
    waitsForLocks = false
    defer { waitsForLocks = true }
    return try body()
  }

  /// Runs `body` again and again while it meets a lock for which SQLite does not wait, such as that of a writer
  /// when the journal mode changes; up to the busy timeout.
  func repeatingWhileLocked<Value>(
    _ body: () throws(DatabaseError) -> Value
  ) throws(DatabaseError) -> Value {
    let start = ContinuousClock.now
    var count: Int32 = 0
    while true {
      do throws(DatabaseError) {
        return try body()
      } catch {
        guard error.code.primary == .busy, pauses(count, since: start) else { throw error }
        count += 1
      }
    }
  }

  /// True if the access that runs has been cancelled.
  var isDue: Bool { isRunning && cancellation?.isCancelled == true }

  /// Pauses before the next attempt to get a lock; `false` gives up.
  private func waits(_ count: Int32) -> Bool {
    if count == 0 { busySince = .now }
    return pauses(count, since: busySince)
  }

  private func pauses(_ count: Int32, since start: ContinuousClock.Instant) -> Bool {
    guard waitsForLocks, !isDue, .now - start < busyTimeout else { return false }
    sqlite3_sleep(min(count, Self.maxPauseMilliseconds - 1) + 1)
    return true
  }
}
