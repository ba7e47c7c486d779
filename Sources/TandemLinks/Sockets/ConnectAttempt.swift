import Synchronization
import SystemLibrary

/// An attempt to connect a socket, which can be cancelled.
final class ConnectAttempt: Sendable {
  private let isCancelled = Atomic(false)
  private let maxWait: Duration?
  private let now: @Sendable () -> ContinuousClock.Instant

  /// The time between looks at the cancellation, and between attempts if a listener has no room.
  private static let pollMilliseconds: CInt = 50

  /// An attempt with a time limit.
  ///
  /// - Parameters:
  ///   - maxWait: the longest wait for an answer; `nil` for the limit of the system.
  ///   - now: the clock.
  init(
    maxWait: Duration? = .seconds(SystemSockets.maxConnectWaitSeconds),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.maxWait = maxWait
    self.now = now
  }

  /// Ends the attempt soon, from any thread.
  func cancel() { isCancelled.store(true, ordering: .relaxed) }

  /// Connects a socket.
  ///
  /// - Returns: true if it is connected; otherwise `errno` has the reason.
  func connect(
    _ descriptor: SocketDescriptor, to name: UnsafePointer<sockaddr>, _ count: socklen_t
  ) -> Bool {
    let flags = fcntl(descriptor.number, F_GETFL)
    _ = fcntl(descriptor.number, F_SETFL, flags | O_NONBLOCK)
    let code = connectWithoutBlocking(descriptor.number, name, count)
    _ = fcntl(descriptor.number, F_SETFL, flags)
    errno = code
    return code == 0
  }

  private func connectWithoutBlocking(
    _ number: CInt, _ name: UnsafePointer<sockaddr>, _ count: socklen_t
  ) -> CInt {
    let deadline = maxWait.map { now() + $0 }
    while true {
      if isCancelled.load(ordering: .relaxed) { return ECANCELED }
      if SystemLibrary.connect(number, name, count) == 0 { return 0 }
      switch errno {
      case EINPROGRESS, EALREADY, EINTR: return answer(to: number, until: deadline)
      // The listener of a Unix-domain socket has no room for one more.
      case EAGAIN where isBefore(deadline): _ = poll(nil, 0, Self.pollMilliseconds)
      case let code: return code
      }
    }
  }

  private func isBefore(_ deadline: ContinuousClock.Instant?) -> Bool {
    deadline.map { now() < $0 } ?? true
  }

  private func answer(to number: CInt, until deadline: ContinuousClock.Instant?) -> CInt {
    while !isCancelled.load(ordering: .relaxed) {
      var waiting = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
      guard poll(&waiting, 1, Self.pollMilliseconds) > 0 else {
        // After the poll, because an answer may have come while the thread did not run.
        if isBefore(deadline) { continue } else { return ETIMEDOUT }
      }
      var code: CInt = 0
      var size = socklen_t(MemoryLayout<CInt>.size)
      return getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
    }
    return ECANCELED
  }
}
