import Synchronization

/// Values for everybody who listens at the moment.
final class Broadcast<Value: Sendable>: Sendable {
  private struct State {
    var nextListener = 0
    var listeners: [Int: AsyncStream<Value>.Continuation] = [:]
  }

  private let state = Mutex(State())

  /// Gives a value to all listeners. A slow one gets the newest.
  func send(_ value: Value) {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(value) }
  }

  /// The values from now on, until the task is cancelled.
  func values() -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream<Value>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let listener = state.withLock { state in
      state.nextListener += 1
      state.listeners[state.nextListener] = continuation
      return state.nextListener
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.listeners.removeValue(forKey: listener) }
    }
    return stream
  }
}
