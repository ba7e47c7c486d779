internal import SystemLibrary

/// A lock around one value. A commit takes it when it begins and releases it when it has been
/// published, in different functions of one thread, which `Mutex` does not allow.
///
/// The thread that holds the gate runs SQLite and nothing else, and never waits for a SQLite lock
/// of another connection.
///
/// Unchecked: `value` is accessed only by the thread that holds `lock`, and the lock's address
/// never changes.
final class CommitGate<Value>: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var value: Value

  /// An open gate around a value.
  init(_ value: sending Value) {
    self.value = value
    lock.initialize(to: pthread_mutex_t())
    guard pthread_mutex_init(lock, nil) == 0 else {
      preconditionFailure("A lock without attributes needs nothing that can be missing")
    }
  }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deinitialize(count: 1)
    lock.deallocate()
  }

  /// Closes the gate; waits until it is open.
  func close() { pthread_mutex_lock(lock) }

  /// Opens the gate that this thread has closed, after a last access to the value.
  func open<Result, Failure: Error>(
    after body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    defer { pthread_mutex_unlock(lock) }
    return try body(&value)
  }

  /// Closes the gate, accesses the value and opens the gate again.
  func withClosed<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    close()
    return try open(after: body)
  }
}
