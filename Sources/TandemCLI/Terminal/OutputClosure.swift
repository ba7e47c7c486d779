import Dispatch

/// Observes the end of the reader of standard output, such as `head`, also while nothing is written.
enum OutputClosure {
  /// Calls `body` once when the reader ends.
  static func notify(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async {
      // Without requested events, `poll` reports only the end of the reader.
      var entry = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
      while poll(&entry, 1, -1) < 0 {
        guard errno == EINTR else { return }
      }
      body()
    }
  }
}
