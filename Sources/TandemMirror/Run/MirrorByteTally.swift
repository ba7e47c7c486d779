internal import Synchronization

/// Counts the bytes that all transfers of a run receive, and says when there are more.
final class MirrorByteTally: Sendable {
  private let count = Atomic<Int>(0)
  private let signals: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() {
    (signals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  var byteCount: Int { count.load(ordering: .relaxed) }

  func add(_ byteCount: Int) {
    count.wrappingAdd(byteCount, ordering: .relaxed)
    continuation.yield()
  }

  /// Waits for more bytes than there were at the last return; returns whether there may be further
  /// ones. Not to be called by two tasks at a time.
  func next() async -> Bool {
    for await _ in signals { return true }
    return false
  }

  /// Ends the waiting for good.
  func finish() { continuation.finish() }
}
