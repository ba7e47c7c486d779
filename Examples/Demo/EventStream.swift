import Tandem
import TandemServer

/// A stream of events to a page: each has a name, and JSON as its data (`text/event-stream` of the
/// HTML standard).
struct EventStream: Sendable {
  /// A page that is so far behind is cut off. It connects again and begins anew.
  private static let maxBacklogByteCount = 16 << 20
  private static let heartbeatInterval = Duration.seconds(5)

  let body = AnswerStream(maxBacklogByteCount: maxBacklogByteCount)

  /// Sends an event.
  ///
  /// - Throws: `CancellationError` if the page has left.
  func send(_ name: String, _ json: [UInt8]) throws {
    let bytes = Array("event: \(name)\ndata: ".utf8) + json + Array("\n\n".utf8)
    guard body.send(bytes) else { throw CancellationError() }
  }

  /// Runs sources of events at the same time, until the page leaves or the task is cancelled.
  func sending(_ sources: (@Sendable () async throws -> Void)...) async throws {
    defer { body.end() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for source in sources { group.addTask { try await source() } }
      // Only writing shows that the page has left, and only an event shows the page that this process runs.
      group.addTask {
        while true {
          try await Task.sleep(for: EventStream.heartbeatInterval)
          try send("alive", Array("{}".utf8))
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}
