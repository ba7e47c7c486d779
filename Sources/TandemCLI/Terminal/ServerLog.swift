import Dispatch
import Synchronization
import Tandem
import TandemServer

/// The log of `tandem serve` on standard error, one line for each event.
///
/// Its own thread writes the lines, so that no request waits for the reader of the log. If the reader is too slow, lines
/// are lost, and a later line has their number. An error of writing, as after the end of the reader, is ignored.
final class ServerLog: Sendable {
  /// The words of `--log`.
  enum Form: String, CaseIterable { case text, json }

  /// The words of `--log-level`. Refused access, limits and errors are always written.
  enum Threshold: String, CaseIterable {
    case warning, notice, info

    var level: ServerEvent.Level {
      switch self {
      case .warning: .warning
      case .notice: .notice
      case .info: .info
      }
    }
  }

  /// The maximum number of lines that wait for the reader.
  static let maxWaitingCount = 10_000
  /// The maximum time that ``flush()`` waits for the reader, in milliseconds.
  private static let maxFlushMilliseconds = 1_000

  private let format: ServerLogFormat
  private let level: ServerEvent.Level
  private let write: @Sendable ([UInt8]) -> Void
  private let queue = DispatchQueue(label: "log")
  private let state = Mutex((waitingCount: 0, lostCount: 0))

  init(
    _ format: ServerLogFormat, level: ServerEvent.Level,
    write: @escaping @Sendable ([UInt8]) -> Void = {
      try? OutputStream.write($0, to: STDERR_FILENO)
    }
  ) {
    self.format = format
    self.level = level
    self.write = write
  }

  /// Writes an event soon, if it is important enough.
  func add(_ event: ServerEvent) {
    guard event.level <= level else { return }
    let time = millisecondsSince1970()
    let isKept = state.withLock { state in
      let isKept = state.waitingCount < Self.maxWaitingCount
      if isKept { state.waitingCount += 1 } else { state.lostCount += 1 }
      return isKept
    }
    guard isKept else { return }
    queue.async { [self] in
      write(format.line(of: event, time: time))
      let lostCount = state.withLock { state in
        state.waitingCount -= 1
        defer { state.lostCount = 0 }
        return state.lostCount
      }
      guard lostCount > 0 else { return }
      let lines = Quantity.count(lostCount, "line")
      write(
        format.line(
          of: ServerEvent(.warning, "the log lost \(lines): its reader is too slow"), time: time))
    }
  }

  /// Waits until all lines are written, or for a second.
  func flush() {
    let end = DispatchSemaphore(value: 0)
    queue.async { end.signal() }
    _ = end.wait(timeout: .now() + .milliseconds(Self.maxFlushMilliseconds))
  }
}
