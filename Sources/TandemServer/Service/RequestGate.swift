internal import Synchronization
internal import SystemLibrary

/// Lets a few requests in at a time, in the order in which they came.
package final class RequestGate: Sendable {
  private struct State {
    var freeCount: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  /// A gate for so many requests at a time.
  package init(width: Int) { state = Mutex(State(freeCount: width)) }

  /// The number of requests that wait.
  package var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Waits until there is room. Each call needs a later one of ``leave()``.
  package func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.freeCount == 0 else {
          state.freeCount -= 1
          return true
        }
        state.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  /// Makes room for the next request.
  package func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.freeCount += 1
      return nil
    }
    next?.resume()
  }
}

/// The number of processors of this machine.
func processorCount() -> Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
