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
/// ``maxPauseMilliseconds``, for ``attentionMilliseconds``. Elsewhere it is asked every
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
    pauseMilliseconds =
      noticesChange() ? 1 : min(pauseMilliseconds * 2, FileWatch.maxPauseMilliseconds)
    guard DispatchTime.now() < attentionEnd else {
      isAttentive = false
      return
    }
    queue.asyncAfter(deadline: .now() + .milliseconds(pauseMilliseconds)) { [weak self] in
      self?.ask()
    }
  }
}

#if os(Linux)
  extension FileWatch {
    /// Tells of writes to the file and to its write-ahead log; `nil` if the system refuses.
    private func makeEventSource() -> (any DispatchSourceProtocol)? {
      let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      guard descriptor >= 0 else { return nil }
      guard watchFiles(descriptor) else {
        close(descriptor)
        return nil
      }
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler { [weak self] in
        FileWatch.drain(descriptor)
        guard let self else { return }
        // The log may be new since last time.
        _ = watchFiles(descriptor)
        payAttention()
      }
      source.setCancelHandler { close(descriptor) }
      source.resume()
      return source
    }

    private func watchFiles(_ descriptor: Int32) -> Bool {
      let events = UInt32(IN_MODIFY)
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
  }
#endif
