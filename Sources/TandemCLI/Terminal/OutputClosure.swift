import Dispatch

/// Tells when whoever reads the output goes away, as `head` does, though nothing is being written.
enum OutputClosure {
  /// Calls `body` once if that happens, any time until the process ends.
  static func notify(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async {
      // Without events asked for, only the end of the other side is told.
      var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
      while poll(&entry, 1, -1) < 0 {
        guard errno == EINTR else { return }
      }
      body()
    }
  }
}
