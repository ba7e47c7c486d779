#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// A lock that is taken when a commit begins and released when it has been published, in different
/// functions of one thread, which `Mutex` does not allow.
///
/// Nothing but SQLite runs while a committing writer holds it, so nobody who waits for it is waited
/// for.
// Safe to send: the lock is made for that, and its address never changes.
final class CommitGate: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  init() {
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

  func close() { pthread_mutex_lock(lock) }

  func open() { pthread_mutex_unlock(lock) }

  func withClosed<Result>(_ body: () throws -> Result) rethrows -> Result {
    close()
    defer { open() }
    return try body()
  }
}
