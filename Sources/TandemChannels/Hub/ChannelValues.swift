import Synchronization

/// The values of one property of a channel as they are sent; see
/// ``ChannelHub/values(of:on:maxBufferedValueCount:)``.
///
/// It can be iterated once, in any isolation domain.
public struct ChannelValues<Value: Sendable>: AsyncSequence, Sendable {
  let stream: AsyncStream<Value>

  /// An iterator over the values.
  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncStream<Value>.Iterator

    /// Waits for the next value; returns `nil` if the hub has been released or the task is cancelled.
    public mutating func next() async -> Value? { await base.next() }

    /// Waits for the next value; returns `nil` if the hub has been released or the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
      await base.next(isolation: actor)
    }
  }

  /// An iterator over the values.
  public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }
}

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
