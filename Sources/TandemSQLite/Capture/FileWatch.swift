internal import Dispatch

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Asks whether a database changed whenever its files are written to, by whichever process.
///
/// On Linux, inotify tells of writes, and an idle file costs nothing. A write comes before the commit
/// that it belongs to, so after each the question is asked at growing intervals, up to
/// ``maxPauseMilliseconds``, for ``attentionMilliseconds``. A commit may be made of thousands of writes,
/// and being told of each would slow whoever commits; so the system tells of one, and is asked to tell
/// of another only when the pause is at its longest. Elsewhere the question is asked every
/// ``pollingMilliseconds``.
///
/// Unchecked: everything that changes is touched on `queue` only.
final class FileWatch: @unchecked Sendable {
  static let maxPauseMilliseconds = 8
  static let attentionMilliseconds = 1_000
  static let pollingMilliseconds = 40

  private let queue = DispatchQueue(label: "tandem.file-watch")
  private let path: String
  private let noticesChange: @Sendable () -> Bool
  private var source: (any DispatchSourceProtocol)?
  private var pauseMilliseconds = 1
  private var attentionEnd = DispatchTime.now()
  private var isAttentive = false

  /// Begins to watch; ends with the last reference to it.
  init(path: String, noticesChange: @escaping @Sendable () -> Bool) {
    self.path = path
    self.noticesChange = noticesChange
    queue.sync { source = makeEventSource() ?? makeTimer() }
  }

  deinit { source?.cancel() }

  private func makeTimer() -> any DispatchSourceProtocol {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let interval = DispatchTimeInterval.milliseconds(FileWatch.pollingMilliseconds)
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(5))
    timer.setEventHandler { [noticesChange] in _ = noticesChange() }
    timer.resume()
    return timer
  }

  /// Asks now, and again for a while.
  private func payAttention() {
    attentionEnd = .now() + .milliseconds(FileWatch.attentionMilliseconds)
    pauseMilliseconds = 1
    guard !isAttentive else { return }
    isAttentive = true
    ask()
  }

  private func ask() {
    isAttentive = DispatchTime.now() < attentionEnd
    // Before the question: what it does not see yet is told of.
    if !isAttentive || pauseMilliseconds == FileWatch.maxPauseMilliseconds { watchFiles() }
    pauseMilliseconds =
      noticesChange() ? 1 : min(pauseMilliseconds * 2, FileWatch.maxPauseMilliseconds)
    guard isAttentive else { return }
    queue.asyncAfter(deadline: .now() + .milliseconds(pauseMilliseconds)) { [weak self] in
      self?.ask()
    }
  }
}

#if os(Linux)
  extension FileWatch {
    /// Tells of a write to the file or to its write-ahead log; `nil` if the system refuses.
    private func makeEventSource() -> (any DispatchSourceProtocol)? {
      let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      guard descriptor >= 0 else { return nil }
      guard FileWatch.watchFiles(path, descriptor) else {
        close(descriptor)
        return nil
      }
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler { [weak self] in
        FileWatch.drain(descriptor)
        self?.payAttention()
      }
      source.setCancelHandler { close(descriptor) }
      source.resume()
      return source
    }

    /// Asks the system to tell of the next write. The log may be new since last time.
    private func watchFiles() {
      if let source { _ = FileWatch.watchFiles(path, Int32(truncatingIfNeeded: source.handle)) }
    }

    private static func watchFiles(_ path: String, _ descriptor: Int32) -> Bool {
      let events = UInt32(IN_MODIFY) | UInt32(IN_ONESHOT)
      let isWatched = inotify_add_watch(descriptor, path, events) >= 0
      inotify_add_watch(descriptor, path + "-wal", events)
      return isWatched
    }

    private static func drain(_ descriptor: Int32) {
      withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
        while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
      }
    }
  }
#else
  extension FileWatch {
    private func makeEventSource() -> (any DispatchSourceProtocol)? { nil }

    private func watchFiles() {}
  }
#endif
