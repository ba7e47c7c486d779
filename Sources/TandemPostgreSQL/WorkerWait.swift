internal import Synchronization

/// A task that waits for a result, and goes when it is cancelled before there is a connection.
final class WorkerWait<Value: Sendable>: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Result<Value, any Error>, Never>?
    var isConnecting = true
    var isCancelled = false
  }

  private let state = Mutex(State())

  func begin(_ continuation: CheckedContinuation<Result<Value, any Error>, Never>) {
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.continuation = continuation }
      return state.isCancelled
    }
    if isCancelled { continuation.resume(returning: .failure(CancellationError())) }
  }

  /// Called when a connection is there.
  func leaveConnecting() throws(CancellationError) { try set(isConnecting: false) }

  /// Called before a connection is made.
  func enterConnecting() throws(CancellationError) { try set(isConnecting: true) }

  private func set(isConnecting: Bool) throws(CancellationError) {
    let isCancelled = state.withLock { state in
      state.isConnecting = isConnecting
      if isConnecting, state.isCancelled { return true }
      return state.continuation == nil
    }
    if isCancelled { throw CancellationError() }
  }

  func cancel() {
    let isOver = state.withLock { state in
      state.isCancelled = true
      return state.isConnecting
    }
    if isOver { end(.failure(CancellationError())) }
  }

  func end(_ result: Result<Value, any Error>) {
    let continuation = state.withLock { state in
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume(returning: result)
  }
}
