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
/// that it belongs to, so after each the question is asked again, since a disk may be slow to finish a
/// commit: at pauses of up to ``maxPauseMilliseconds`` for ``attentionMilliseconds``, of up to
/// ``pollingMilliseconds`` for ``patienceMilliseconds``, and then at pauses that double, until one would
/// be longer than ``lastPauseMilliseconds``. A commit may be made of thousands of writes, and being told
/// of each would slow whoever commits; so the system tells of one, and is asked to tell of another only
/// when the pause is long. Elsewhere the question is asked every ``pollingMilliseconds``.
///
/// Unchecked: everything that changes is touched on `queue` only.
final class FileWatch: @unchecked Sendable {
  static let minPauseMilliseconds = 1
  static let maxPauseMilliseconds = 8
  static let lastPauseMilliseconds = 60_000
  static let attentionMilliseconds = 1_000
  static let patienceMilliseconds = 30_000
  static let pollingMilliseconds = 40

  private let queue = DispatchQueue(label: "tandem.file-watch")
  private let path: String
  private let noticesChange: @Sendable () -> Bool
  /// Asks the next time.
  private let timer: any DispatchSourceTimer
  private var events: (any DispatchSourceRead)?
  private var pauseMilliseconds = FileWatch.minPauseMilliseconds
  private var lastQuestion = DispatchTime.now()
  private var lastEvent = DispatchTime.now()

  /// Begins to watch; ends with the last reference to it.
  init(path: String, noticesChange: @escaping @Sendable () -> Bool) {
    self.path = path
    self.noticesChange = noticesChange
    timer = DispatchSource.makeTimerSource(queue: queue)
    queue.sync {
      events = makeEventSource()
      if events == nil { poll() } else { timer.setEventHandler { [weak self] in self?.ask() } }
      timer.activate()
    }
  }

  deinit {
    timer.cancel()
    events?.cancel()
  }

  private func poll() {
    let interval = DispatchTimeInterval.milliseconds(FileWatch.pollingMilliseconds)
    timer.setEventHandler { [noticesChange] in _ = noticesChange() }
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(5))
  }

  /// Asks as soon as that makes sense, and again for a while.
  private func payAttention() {
    lastEvent = .now()
    pauseMilliseconds = FileWatch.minPauseMilliseconds
    timer.schedule(deadline: lastQuestion + .milliseconds(pauseMilliseconds))
  }

  private func ask() {
    // Before the question: what it does not see yet is told of.
    if pauseMilliseconds >= FileWatch.maxPauseMilliseconds { watchFiles() }
    lastQuestion = .now()
    if noticesChange() {
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
  /// How long a pause may be, so long after the last event.
  private var longestPauseMilliseconds: Int {
    if lastQuestion < lastEvent + .milliseconds(FileWatch.attentionMilliseconds) {
      return FileWatch.maxPauseMilliseconds
    }
    let isPatient = lastQuestion < lastEvent + .milliseconds(FileWatch.patienceMilliseconds)
    return isPatient ? FileWatch.pollingMilliseconds : .max
  }
}

#if os(Linux)
  extension FileWatch {
    /// Tells of a write to the file or to its write-ahead log, or of the file going away; `nil` if the
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
        self?.payAttention()
      }
      source.setCancelHandler { close(descriptor) }
      source.activate()
      return source
    }

    /// Asks the system to tell of what happens next. The log may be new since last time.
    private func watchFiles() {
      if let events { _ = FileWatch.watchFiles(path, Int32(events.handle)) }
    }

    /// Whether the database file is watched; its log need not be there yet.
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
