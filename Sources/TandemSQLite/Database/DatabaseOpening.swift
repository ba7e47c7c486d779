internal import Synchronization

/// Hands a database that is being opened to the task that waits for it, unless that is cancelled before.
final class DatabaseOpening: Sendable {
  private enum State {
    case idle
    case waited(CheckedContinuation<Database, any Error>)
    /// How it ended before anybody waited: by a cancellation.
    case ended(Result<Database, any Error>)
    case done
  }

  private let state = Mutex(State.idle)

  /// From now on, the task waits; `false` if it has been cancelled.
  func begin(_ continuation: CheckedContinuation<Database, any Error>) -> Bool {
    let result = state.withLock { state -> Result<Database, any Error>? in
      guard case .ended(let result) = state else {
        state = .waited(continuation)
        return nil
      }
      state = .done
      return result
    }
    if let result { continuation.resume(with: result) }
    return result == nil
  }

  /// Wakes the task; the second time, nothing happens.
  func end(_ result: Result<Database, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Database, any Error>? in
      switch state {
      case .idle:
        state = .ended(result)
        return nil
      case .waited(let continuation):
        state = .done
        return continuation
      case .ended, .done: return nil
      }
    }
    continuation?.resume(with: result)
  }
}
