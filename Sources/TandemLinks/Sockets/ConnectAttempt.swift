import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Connects sockets until one of them is, or nobody wants them any more.
final class ConnectAttempt: Sendable {
  private let isCancelled = Atomic(false)
  private let maxWait: Duration?
  private let now: @Sendable () -> ContinuousClock.Instant

  /// How often it looks whether it is cancelled, or whether a listener that was busy has room now.
  private static let lookUpMilliseconds: CInt = 50

  /// An attempt that reads the time as it is told.
  ///
  /// - Parameter maxWait: How long a socket may wait for an answer; `nil` for as long as the system lets
  ///   it.
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
  /// - Returns: whether it is connected; otherwise `errno` says why not.
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
      if systemConnect(number, name, count) == 0 { return 0 }
      switch errno {
      case EINPROGRESS, EALREADY, EINTR: return answer(to: number, until: deadline)
      // A Unix-domain socket whose listener has no room for one more.
      case EAGAIN where isBefore(deadline): _ = poll(nil, 0, Self.lookUpMilliseconds)
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
      guard poll(&waiting, 1, Self.lookUpMilliseconds) > 0 else {
        // Only now: an answer may be there although the thread did not run for long.
        if isBefore(deadline) { continue } else { return ETIMEDOUT }
      }
      var code: CInt = 0
      var size = socklen_t(MemoryLayout<CInt>.size)
      return getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno
    }
    return ECANCELED
  }
}

// Under a name that a member of the type above does not hide.
private func systemConnect(
  _ number: CInt, _ name: UnsafePointer<sockaddr>, _ count: socklen_t
) -> CInt {
  connect(number, name, count)
}
