internal import Dispatch
internal import Synchronization

/// Resumes the task that waits for a database to be opened, once: with the database, or because the
/// task was cancelled.
final class DatabaseOpening: Sendable {
  private enum State {
    case idle
    case waiting(CheckedContinuation<Database, any Error>)
    /// Cancelled before the task waited.
    case ended(Result<Database, any Error>)
    case done
  }

  private let state = Mutex(State.idle)

  /// The task waits from now on; `false` if it has been cancelled, and is resumed already.
  func begin(_ continuation: CheckedContinuation<Database, any Error>) -> Bool {
    let result = state.withLock { state -> Result<Database, any Error>? in
      guard case .ended(let result) = state else {
        state = .waiting(continuation)
        return nil
      }
      state = .done
      return result
    }
    if let result { continuation.resume(with: result) }
    return result == nil
  }

  /// Resumes the task; the second call does nothing.
  func end(_ result: Result<Database, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Database, any Error>? in
      switch state {
      case .idle:
        state = .ended(result)
        return nil
      case .waiting(let continuation):
        state = .done
        return continuation
      case .ended, .done: return nil
      }
    }
    continuation?.resume(with: result)
  }
}
