internal import Dispatch
internal import SystemLibrary

/// Checks for commits whenever any process writes to the files of a database.
///
/// On Linux, inotify reports writes, and an idle file costs nothing. A write precedes its commit,
/// which a slow disk may delay, so the check is repeated after each write: at pauses of up to
/// ``maxPauseMilliseconds`` for ``frequentMilliseconds``, of up to ``pollingMilliseconds`` for
/// ``regularMilliseconds``, and then at pauses that double, until one would be longer than
/// ``lastPauseMilliseconds``. A commit may consist of thousands of writes, and an event for each
/// would slow the writer. So each watch reports one write, and is renewed only when the pause is
/// long. On other systems the check runs every ``pollingMilliseconds``.
///
/// Unchecked: everything that changes is touched on `queue` only.
final class FileWatch: @unchecked Sendable {
  static let minPauseMilliseconds = 1
  static let maxPauseMilliseconds = 8
  static let lastPauseMilliseconds = 60_000
  static let frequentMilliseconds = 1_000
  static let regularMilliseconds = 30_000
  static let pollingMilliseconds = 40

  private let queue = DispatchQueue(label: "tandem.file-watch")
  private let path: String
  private let detectsChange: @Sendable () -> Bool
  /// Fires at the next check.
  private let timer: any DispatchSourceTimer
  private var events: (any DispatchSourceRead)?
  private var pauseMilliseconds = FileWatch.minPauseMilliseconds
  private var lastCheck = DispatchTime.now()
  private var lastEvent = DispatchTime.now()

  /// Begins to watch; ends with the last reference to it.
  init(path: String, detectsChange: @escaping @Sendable () -> Bool) {
    self.path = path
    self.detectsChange = detectsChange
    timer = DispatchSource.makeTimerSource(queue: queue)
    queue.sync {
      events = makeEventSource()
      if events == nil {
        poll()
      } else {
        timer.setEventHandler { [weak self] in self?.check() }
        // A commit may have written before the watch began, and become visible only now.
        timer.schedule(deadline: lastCheck + .milliseconds(pauseMilliseconds))
      }
      timer.activate()
    }
  }

  deinit {
    timer.cancel()
    events?.cancel()
  }

  private func poll() {
    let interval = DispatchTimeInterval.milliseconds(FileWatch.pollingMilliseconds)
    timer.setEventHandler { [detectsChange] in _ = detectsChange() }
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(5))
  }

  /// Checks soon, and repeatedly for a while.
  private func didWrite() {
    lastEvent = .now()
    pauseMilliseconds = FileWatch.minPauseMilliseconds
    timer.schedule(deadline: lastCheck + .milliseconds(pauseMilliseconds))
  }

  private func check() {
    // Before the check: inotify reports the writes that come after it.
    if pauseMilliseconds >= FileWatch.maxPauseMilliseconds { watchFiles() }
    lastCheck = .now()
    if detectsChange() {
      pauseMilliseconds = FileWatch.minPauseMilliseconds
    } else {
      pauseMilliseconds = min(pauseMilliseconds * 2, longestPauseMilliseconds)
    }
    if pauseMilliseconds <= FileWatch.lastPauseMilliseconds {
      timer.schedule(deadline: .now() + .milliseconds(pauseMilliseconds))
    }
  }
}

extension FileWatch {
  /// The maximum pause, given the time since the last event.
  private var longestPauseMilliseconds: Int {
    if lastCheck < lastEvent + .milliseconds(FileWatch.frequentMilliseconds) {
      return FileWatch.maxPauseMilliseconds
    }
    let isRegular = lastCheck < lastEvent + .milliseconds(FileWatch.regularMilliseconds)
    return isRegular ? FileWatch.pollingMilliseconds : .max
  }
}

#if os(Linux)
  extension FileWatch {
    /// Reports a write to the file or to its write-ahead log, and the file's removal; `nil` if the
    /// system refuses.
    private func makeEventSource() -> (any DispatchSourceRead)? {
      let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      guard descriptor >= 0 else { return nil }
      guard FileWatch.watchFiles(path, descriptor) else {
        close(descriptor)
        return nil
      }
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler { [weak self] in
        FileWatch.drain(descriptor)
        self?.didWrite()
      }
      source.setCancelHandler { close(descriptor) }
      source.activate()
      return source
    }

    /// Renews the watches. The log may be new since the last time.
    private func watchFiles() {
      if let events { _ = FileWatch.watchFiles(path, Int32(events.handle)) }
    }

    /// True if the database file is watched; its log need not exist yet.
    private static func watchFiles(_ path: String, _ descriptor: Int32) -> Bool {
      let events = UInt32(IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF) | UInt32(IN_ONESHOT)
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
    private func makeEventSource() -> (any DispatchSourceRead)? { nil }

    private func watchFiles() {}
  }
#endif
