import Synchronization

/// The hub's end of a sequence of values: finishes the sequence when the hub releases it, and records when the
/// reader, in any isolation domain, has stopped.
final class ValueReader<Value: Sendable>: Sendable {
  let continuation: AsyncStream<Value>.Continuation
  private let end = ReadingEnd()

  init(_ continuation: AsyncStream<Value>.Continuation) {
    self.continuation = continuation
    continuation.onTermination = { [end] _ in end.isOver.store(true, ordering: .relaxed) }
  }

  deinit { continuation.finish() }

  var hasEnded: Bool { end.isOver.load(ordering: .relaxed) }
}

private final class ReadingEnd: Sendable {
  let isOver = Atomic(false)
}
